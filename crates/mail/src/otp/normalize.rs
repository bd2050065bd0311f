//! Normalises the text for the search: removes invisible characters, makes every digit ASCII, uses
//! one kind of space and hyphen and lower case, and blanks addresses.

use super::PIECE;
use crate::links;

/// The characters that end a line.
pub(super) const LINE_ENDS: [char; 3] = ['\n', '\u{2028}', '\u{2029}'];

/// Placeholder for a URL or mail address. It is neither a letter nor a digit nor punctuation.
const BLANK: char = '\u{fffc}';

/// Bytes of a local part, and of a domain (RFC 5321, section 4.5.3.1).
const LOCAL_PART: usize = 64;
const DOMAIN: usize = 255;

/// Maximum number of bytes that one call of `push_plain` checks. The limit keeps normalising
/// linear: without it, each call would check the rest of the text again.
const STRETCH: usize = 16 * PIECE;

/// Normalises visible text: collapses spaces, and keeps line breaks and tabs (table cells).
pub(super) fn normalized(text: &str) -> String {
    normalized_in(text, Case::Lower)
}

/// Like [`normalized`], with the letters as they are.
pub(super) fn normalized_with_capitals(text: &str) -> String {
    normalized_in(text, Case::Kept)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Case {
    Lower,
    Kept,
}

fn normalized_in(text: &str, case: Case) -> String {
    let mut normalized = String::with_capacity(text.len());
    let mut rest = text;
    loop {
        rest = rest.split_at(push_plain(rest, case, &mut normalized)).1;
        let mut characters = rest.chars();
        let Some(character) = characters.next() else {
            break;
        };
        rest = characters.as_str();
        match character {
            _ if LINE_ENDS.contains(&character) => {
                trim_line(&mut normalized);
                normalized.push('\n');
            }
            _ if is_invisible(character) => {}
            '\t' => push_separator(&mut normalized, '\t'),
            _ if character.is_whitespace() || character.is_control() => {
                push_separator(&mut normalized, ' ');
            }
            '\u{2010}'..='\u{2012}' | '\u{2212}' | '\u{ff0d}' => normalized.push('-'),
            '\u{2019}' => normalized.push('\''),
            _ if case == Case::Kept => normalized.push(ascii_digit(character).unwrap_or(character)),
            _ => normalized.push(ascii_digit(character).unwrap_or_else(|| lower_case(character))),
        }
    }
    trim_line(&mut normalized);
    without_addresses(&normalized)
}

/// Copies the words at the start of `text` that need only lower-casing, which is true for most
/// text. Returns the number of bytes copied.
fn push_plain(text: &str, case: Case, normalized: &mut String) -> usize {
    let stretch = &text.as_bytes()[..text.len().min(STRETCH)];
    let printable = &text[..printable(stretch)];
    // Checking whether there are two spaces is faster than finding them, and most text has none.
    let spaces = if printable.contains("  ") {
        printable.find("  ")
    } else {
        None
    };
    let plain = match spaces {
        _ if printable.starts_with(' ') => 0,
        Some(first) => first + 1,
        None => printable.len(),
    };
    let start = normalized.len();
    normalized.push_str(&text[..plain]);
    if case == Case::Lower {
        normalized[start..].make_ascii_lowercase();
    }
    plain
}

/// The number of bytes at the start that are printable ASCII.
fn printable(text: &[u8]) -> usize {
    let is_printable = |byte: &u8| matches!(byte, b' '..=b'~');
    let are_printable = |piece: &&[u8]| {
        piece
            .iter()
            .fold(true, |are, byte| are & is_printable(byte))
    };
    let whole = text.chunks_exact(PIECE).take_while(are_printable).count() * PIECE;
    whole
        + text[whole..]
            .iter()
            .take_while(|byte| is_printable(byte))
            .count()
}

/// Collapses spaces; a tab replaces adjacent spaces.
fn push_separator(normalized: &mut String, separator: char) {
    match normalized.chars().next_back() {
        None | Some('\n' | '\t') => {}
        Some(' ') if separator == '\t' => {
            normalized.pop();
            normalized.push('\t');
        }
        Some(' ') => {}
        Some(_) => normalized.push(separator),
    }
}

fn trim_line(normalized: &mut String) {
    normalized.truncate(normalized.trim_end_matches([' ', '\t']).len());
}

/// Zero-width characters, bidi marks, variation selectors and the enclosing keycap.
fn is_invisible(character: char) -> bool {
    matches!(character,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{20e3}')
}

pub(super) fn lower_case(character: char) -> char {
    // If a character becomes several, only the first one is the letter.
    character.to_lowercase().next().unwrap_or(character)
}

/// The zeros of Unicode's decimal digits (general category Nd); each is followed by the other nine
/// digits.
const ZEROS: &[u32] = &[
    0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xde6,
    0xe50, 0xed0, 0xf20, 0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80, 0x1a90, 0x1b50,
    0x1bb0, 0x1c40, 0x1c50, 0xa620, 0xa8d0, 0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0, 0xff10,
    0x104a0, 0x10d30, 0x11066, 0x110f0, 0x11136, 0x111d0, 0x112f0, 0x11450, 0x114d0, 0x11650,
    0x116c0, 0x11730, 0x118e0, 0x11950, 0x11c50, 0x11d50, 0x11da0, 0x16a60, 0x16ac0, 0x16b50,
    0x1d7ce, 0x1d7d8, 0x1d7e2, 0x1d7ec, 0x1d7f6, 0x1e140, 0x1e2f0, 0x1e4f0, 0x1e950, 0x1fbf0,
];

fn ascii_digit(character: char) -> Option<char> {
    let code = u32::from(character);
    let zero = *ZEROS.get(ZEROS.partition_point(|&zero| zero <= code).checked_sub(1)?)?;
    char::from_digit(code - zero, 10)
}

/// Replaces URLs and mail addresses, because digits in them are not codes.
fn without_addresses(text: &str) -> String {
    let mut blanked = String::with_capacity(text.len());
    let mut position = 0;
    for url in links::urls(text) {
        blank_mail_addresses(&text[position..url.start], &mut blanked);
        blanked.push(BLANK);
        position = url.end;
    }
    blank_mail_addresses(&text[position..], &mut blanked);
    blanked
}

fn blank_mail_addresses(text: &str, blanked: &mut String) {
    let mut position = 0;
    for (at, _) in text.match_indices('@') {
        let local_part = text[position..at]
            .bytes()
            .rev()
            .take(LOCAL_PART)
            .take_while(is_address_byte)
            .count();
        let domain = text[at + 1..]
            .bytes()
            .take(DOMAIN)
            .take_while(is_address_byte)
            .count();
        if local_part > 0 && domain > 0 {
            blanked.push_str(&text[position..at - local_part]);
            blanked.push(BLANK);
            position = at + 1 + domain;
        }
    }
    blanked.push_str(&text[position..]);
}

fn is_address_byte(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || b".+-_%'".contains(byte)
}

/// The code of the domain-bound form: a last line `@host #123456`, which may be quoted.
pub(super) fn domain_bound(text: &str) -> Option<String> {
    let line = text.trim_end().rsplit('\n').next()?;
    let (host, code) = line
        .trim_start_matches('>')
        .trim()
        .strip_prefix('@')?
        .split_once(" #")?;
    let code = code.split(' ').next()?;
    let is_host = !host.is_empty()
        && host
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b".-".contains(&byte));
    let is_code = (4..=8).contains(&code.len()) && code.bytes().all(|byte| byte.is_ascii_digit());
    (is_host && is_code).then(|| code.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_normalized() {
        assert_eq!(
            normalized("A\u{200b}B  １２\u{a0}٣٤ \u{2011}५ "),
            "ab 12 34 -5"
        );
        assert_eq!(normalized(" a \t b\t\tc \n d"), "a\tb\tc\nd");
        assert_eq!(normalized("1️⃣ 𝟐"), "1 2");
        assert_eq!(
            normalized("x https://h.example/123456. a+1234@h.example!"),
            "x \u{fffc}. \u{fffc}!"
        );
        assert_eq!(
            normalized("@Ada1 ada@ 12 a@b@c1 @@"),
            "@ada1 ada@ 12 \u{fffc}@c1 @@"
        );
        assert_eq!(normalized("Don\u{2019}t"), "don't");
        assert_eq!(normalized_with_capitals("AÜ\u{2019}B"), "AÜ'B");
    }

    #[test]
    fn text_of_every_length_is_normalized() {
        for length in 0..2 * STRETCH {
            let plain = "A".repeat(length);
            let after = " B\u{a0} ü  C";
            assert_eq!(
                normalized(&format!("x{plain} {after}")),
                format!("x{} b ü c", plain.to_lowercase())
            );
        }
    }

    #[test]
    fn the_domain_bound_form_is_recognised() {
        assert_eq!(
            domain_bound("Your code.\n\n@shop.example #012345\n").as_deref(),
            Some("012345")
        );
        assert_eq!(
            domain_bound("@shop.example #0123 %frame.example").as_deref(),
            Some("0123")
        );
        for line in [
            "@shop #abc",
            "@shop #abcd",
            "@shop #123",
            "@shop #123456789",
            "@ #1234",
            "@a,b #1234",
        ] {
            assert_eq!(domain_bound(line), None, "{line}");
        }
        assert_eq!(domain_bound("@x.example #1234\nmore"), None);
    }
}
