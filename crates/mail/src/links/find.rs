//! Finds URLs in text: where they start, and where a reader would say that they end.

use std::ops::Range;

use memchr::memmem::Finder;

/// Maximum number of characters of a scheme.
const SCHEME_CHARACTERS: usize = 32;

/// The bytes of each URL in `text`, in order. Each character is read a bounded number of times.
pub(crate) fn urls(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    let separators = Finder::new("://");
    let mut searched = 0;
    std::iter::from_fn(move || {
        loop {
            let separator = searched + separators.find(&text.as_bytes()[searched..])?;
            let start = scheme_start(text, searched, separator);
            let rest = separator + 3;
            searched = rest;
            let Some(start) = start else { continue };
            let end = rest
                + length(
                    &text[rest..],
                    text[..start].chars().next_back(),
                    is_web(&text[start..separator]),
                );
            if end > rest {
                searched = end;
                return Some(start..end);
            }
        }
    })
}

/// The schemes of the web. A scheme precedes those with which it ends.
const WEB: [&str; 3] = ["https", "http", "ftp"];

fn is_web(scheme: &str) -> bool {
    WEB.iter().any(|web| scheme.eq_ignore_ascii_case(web))
}

/// The start of the scheme before `separator` (RFC 3986, section 3.1).
fn scheme_start(text: &str, from: usize, separator: usize) -> Option<usize> {
    let is_scheme = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    let before = &text.as_bytes()[from..separator];
    let length = before
        .iter()
        .rev()
        .take(SCHEME_CHARACTERS)
        .take_while(|byte| is_scheme(byte))
        .count();
    let scheme = &text[separator - length..separator];
    // The schemes of the web are recognised in any text, even without a space before them:
    // "see:-https://", "550-http://". Only after a plus sign they are part of another scheme:
    // "git+https://".
    for web in WEB {
        let start = scheme.len().saturating_sub(web.len());
        let is_web = scheme
            .get(start..)
            .is_some_and(|end| end.eq_ignore_ascii_case(web));
        if is_web && !scheme[..start].ends_with('+') {
            return Some(separator - web.len());
        }
    }
    let trimmed = scheme.trim_start_matches(|character: char| !character.is_ascii_alphabetic());
    (trimmed.len() > 1).then_some(separator - trimmed.len())
}

/// How many bytes of `rest`, which follows `://`, belong to the URL; 0 if it is not a URL.
fn length(rest: &str, before: Option<char>, is_web: bool) -> usize {
    let authority = authority_length(rest);
    let host_start = rest[..authority].rfind('@').map_or(0, |at| at + 1);
    let has_host = rest[host_start..authority]
        .starts_with(|character: char| character.is_alphanumeric() || character == '[');
    if !(has_host || !is_web && rest.starts_with('/')) {
        return 0;
    }
    let after = &rest[authority..];
    let continues = after.starts_with(['/', '?', '#']);
    let end = authority
        + if continues {
            path_length(after, before)
        } else {
            0
        };
    trimmed(&rest[..end], before)
}

/// User information, host and port. Letters of a script without spaces belong to the host only if
/// its label starts with one; otherwise they are text after the URL.
fn authority_length(rest: &str) -> usize {
    let mut label_is_unspaced = None;
    for (index, character) in rest.char_indices() {
        let unspaced = is_unspaced(character);
        let belongs = match character {
            '.' | '@' | ':' => {
                label_is_unspaced = None;
                continue;
            }
            '[' | ']' => rest.starts_with('['),
            _ if character.is_ascii() => {
                character.is_ascii_alphanumeric() || "-_~%!$&+=*".contains(character)
            }
            _ if unspaced => *label_is_unspaced.get_or_insert(true),
            _ => character.is_alphanumeric(),
        };
        if !belongs {
            return index;
        }
        label_is_unspaced.get_or_insert(unspaced);
    }
    rest.len()
}

/// Path, query and fragment. They end at white space, a delimiter (RFC 3986, appendix C), a bracket
/// that was not opened, punctuation of another script, a letter of a script without spaces, or a
/// comma before another URL.
fn path_length(rest: &str, before: Option<char>) -> usize {
    let closing_quote = before.filter(|&quote| quote == '\'');
    let mut open = [0_u32; 3];
    for (index, character) in rest.char_indices() {
        let bracket = "()[]{}".find(character);
        let belongs = match (character, bracket) {
            (_, Some(place)) if place % 2 == 0 => {
                open[place / 2] += 1;
                true
            }
            (_, Some(place)) => {
                let was_open = open[place / 2] > 0;
                open[place / 2] = open[place / 2].saturating_sub(1);
                was_open
            }
            ('<' | '>' | '"' | '\\' | '^' | '`', _) => false,
            (',', _) => !begins_web_url(&rest[index + 1..]),
            _ if character.is_whitespace() || character.is_control() => false,
            _ if character.is_ascii() => Some(character) != closing_quote,
            _ => !is_unspaced(character) && !is_punctuation(character),
        };
        if !belongs {
            return index;
        }
    }
    rest.len()
}

fn begins_web_url(text: &str) -> bool {
    WEB.iter().any(|web| {
        text.get(..web.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(web))
            && text[web.len()..].starts_with("://")
    })
}

/// Removes punctuation that ends a sentence, unbalanced brackets, joiners, and the marks of
/// emphasis that are before the URL too. Tokens in base64url may end in `_`.
fn trimmed(url: &str, before: Option<char>) -> usize {
    let mark = before.filter(|mark| "*_~".contains(*mark));
    let is_outside = |character: char| {
        Some(character) == mark || ".,;:!?'([{|\u{200c}\u{200d}\u{fe0f}".contains(character)
    };
    url.trim_end_matches(is_outside).len()
}

/// Whether this is punctuation outside ASCII or an invisible character. In scripts without spaces,
/// every character ends a URL.
fn is_punctuation(character: char) -> bool {
    matches!(character,
        // Latin, and characters that all scripts share. The zero-width joiners are part of emoji.
        '\u{a1}' | '\u{ab}' | '\u{ad}' | '\u{b6}' | '\u{bb}' | '\u{bf}' | '\u{200b}' | '\u{200e}'..='\u{206f}'
        | '\u{2e00}'..='\u{2e7f}' | '\u{feff}' | '\u{fffc}' | '\u{fffd}'
        // Greek, Armenian, Hebrew, Arabic, Syriac, N'Ko
        | '\u{37e}' | '\u{387}' | '\u{55a}'..='\u{55f}' | '\u{589}' | '\u{58a}' | '\u{5be}' | '\u{5c0}' | '\u{5c3}'
        | '\u{5c6}' | '\u{5f3}' | '\u{5f4}' | '\u{60c}' | '\u{60d}' | '\u{61b}'..='\u{61f}' | '\u{66a}'..='\u{66d}'
        | '\u{6d4}' | '\u{700}'..='\u{70d}' | '\u{7f7}'..='\u{7f9}'
        // India and Sri Lanka, Tibet, Georgia, Ethiopia, Canada, Mongolia, Java, Manipur
        | '\u{964}' | '\u{965}' | '\u{970}' | '\u{df4}' | '\u{f04}'..='\u{f14}' | '\u{10fb}' | '\u{1361}'..='\u{1368}'
        | '\u{166e}' | '\u{1800}'..='\u{180a}' | '\u{1c3b}'..='\u{1c3f}' | '\u{1c7e}' | '\u{1c7f}'
        | '\u{a9c1}'..='\u{a9cd}' | '\u{aaf0}' | '\u{abeb}')
}

/// Letters of Chinese, Japanese, Korean, Thai and related scripts, which are written without spaces
/// or attach endings.
pub(crate) fn is_unspaced(character: char) -> bool {
    matches!(character,
        '\u{0e00}'..='\u{0eff}' | '\u{1000}'..='\u{109f}' | '\u{1100}'..='\u{11ff}' | '\u{1780}'..='\u{17ff}'
        | '\u{2e80}'..='\u{9fff}' | '\u{a960}'..='\u{a97f}' | '\u{ac00}'..='\u{d7ff}' | '\u{f900}'..='\u{faff}'
        | '\u{ff00}'..='\u{ffef}' | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_end_where_a_reader_expects() {
        for (text, expected) in [
            ("Go to https://x.example/a.", &["https://x.example/a"][..]),
            (
                "(https://x.example/a) [https://x.example/b], \"https://x.example/c\"",
                &[
                    "https://x.example/a",
                    "https://x.example/b",
                    "https://x.example/c",
                ],
            ),
            (
                "https://en.example/wiki/A_(b) and (https://x.example/(c))",
                &["https://en.example/wiki/A_(b)", "https://x.example/(c)"],
            ),
            (
                "<https://x.example/?a=1&b=2>",
                &["https://x.example/?a=1&b=2"],
            ),
            (
                "[text](https://x.example/a) **https://x.example/b**",
                &["https://x.example/a", "https://x.example/b"],
            ),
            (
                "'https://x.example/a' `https://x.example/b`",
                &["https://x.example/a", "https://x.example/b"],
            ),
            (
                "こちらhttps://x.example/abcをクリック。https://y.exampleです",
                &["https://x.example/abc", "https://y.example"],
            ),
            (
                "请点击https://x.example/verify?t=1，谢谢",
                &["https://x.example/verify?t=1"],
            ),
            (
                "https://例え.jp/a と https://bücher.example/straße",
                &["https://例え.jp/a", "https://bücher.example/straße"],
            ),
            (
                "myapp://open?x=1 myapp:///deep/link git+ssh://h.example/x",
                &[
                    "myapp://open?x=1",
                    "myapp:///deep/link",
                    "git+ssh://h.example/x",
                ],
            ),
            (
                "http://localhost:3000/a?b=c#d http://[::1]:80/x http://u:p@h.example/",
                &[
                    "http://localhost:3000/a?b=c#d",
                    "http://[::1]:80/x",
                    "http://u:p@h.example/",
                ],
            ),
            (
                "https://web.example/2020/https://x.example/y",
                &["https://web.example/2020/https://x.example/y"],
            ),
            (
                "http:// nothing, ://x.example, a://, www.x.example, https://…",
                &[],
            ),
            (
                "URL:https://x.example/1;https://x.example/2",
                &["https://x.example/1;https://x.example/2"],
            ),
            ("https://x.example…", &["https://x.example"]),
            ("http:///x, ab://?x, c://x.example, http://u@/x", &[]),
            (
                "http://@h.example http://my-host_1.example/x",
                &["http://@h.example", "http://my-host_1.example/x"],
            ),
            (
                "http://x.example[1] or http://x.example]",
                &["http://x.example", "http://x.example"],
            ),
            (
                "'https://x.example/a'b 'https://x.example'",
                &["https://x.example/a", "https://x.example"],
            ),
            ("https://x.example/a'b", &["https://x.example/a'b"]),
            (
                "https://x.example/a((b)c)d",
                &["https://x.example/a((b)c)d"],
            ),
            (
                "https://x.example/a[b]c{d}e(f)g",
                &["https://x.example/a[b]c{d}e(f)g"],
            ),
            (
                "https://x.example/a(b]c https://x.example/a[b}c https://x.example/a{b)c",
                &[
                    "https://x.example/a(b",
                    "https://x.example/a[b",
                    "https://x.example/a{b",
                ],
            ),
        ] {
            let found: Vec<&str> = urls(text).map(|range| &text[range]).collect();
            assert_eq!(found, expected, "{text}");
        }
    }
}
