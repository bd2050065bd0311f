//! Encoded-words (RFC 2047) in header values, including malformed ones: a character split between
//! two words, spaces within a word, words without a space between them, words without an end.

use std::borrow::Cow;

use crate::charset;
use crate::transfer;

/// Maximum length of a charset name in an encoded-word.
const CHARSET_BYTES: usize = 64;

struct Word<'a> {
    charset: &'a str,
    bytes: Vec<u8>,
    /// Bytes of the word in the text.
    length: usize,
}

/// Replaces every encoded-word with its text.
pub(super) fn decode(text: &str) -> Cow<'_, str> {
    if !text.contains("=?") {
        return Cow::Borrowed(text);
    }
    let mut decoded = String::with_capacity(text.len());
    // Words of one charset are decoded together, because some programs split a character between
    // two words.
    let mut pending: Option<(&str, Vec<u8>)> = None;
    let mut rest = text;
    while let Some(start) = rest.find("=?") {
        let (before, from_word) = rest.split_at(start);
        let Some(word) = read(from_word) else {
            flush(&mut pending, &mut decoded);
            decoded.push_str(before);
            decoded.push_str("=?");
            rest = &from_word[2..];
            continue;
        };
        // White space between two encoded-words is removed (section 6.2).
        let joins = pending.is_some() && before.trim().is_empty();
        if !joins {
            flush(&mut pending, &mut decoded);
            decoded.push_str(before);
        }
        match &mut pending {
            Some((charset, bytes)) if charset.eq_ignore_ascii_case(word.charset) => {
                bytes.extend(word.bytes);
            }
            _ => {
                flush(&mut pending, &mut decoded);
                pending = Some((word.charset, word.bytes));
            }
        }
        rest = &from_word[word.length..];
    }
    flush(&mut pending, &mut decoded);
    decoded.push_str(rest);
    Cow::Owned(decoded)
}

fn flush(pending: &mut Option<(&str, Vec<u8>)>, decoded: &mut String) {
    if let Some((charset, bytes)) = pending.take() {
        decoded.push_str(&charset::decode(Cow::Owned(bytes), Some(charset)));
    }
}

/// Reads the encoded-word at the start of `text`.
fn read(text: &str) -> Option<Word<'_>> {
    let body = text.strip_prefix("=?")?;
    let (charset, rest) = split_at_question_mark(body, CHARSET_BYTES)?;
    let (encoding, rest) = split_at_question_mark(rest, 1)?;
    if charset.is_empty() || charset.contains(char::is_whitespace) {
        return None;
    }
    // Before the text is searched: what is no word is searched again from its third byte.
    let decode = match encoding {
        "q" | "Q" => transfer::q_encoding,
        "b" | "B" => transfer::base64,
        _ => return None,
    };
    let data_start = text.len() - rest.len();
    let (data, length) = match encoded_text(rest) {
        (data, true) => (data, data_start + data.len() + 2),
        (data, false) => (data, data_start + data.len()),
    };
    Some(Word {
        charset,
        bytes: decode(data.as_bytes()),
        length,
    })
}

/// The encoded text, and whether `?=` ends it; without that it ends at the next space.
fn encoded_text(rest: &str) -> (&str, bool) {
    // Searches only up to the next word: searching the whole text for the end of each word would
    // take quadratic time. In `=?=` the first equals sign is padding.
    for mark in memchr::memchr_iter(b'?', rest.as_bytes()) {
        if rest[mark..].starts_with("?=") {
            return (&rest[..mark], true);
        }
        if rest[..mark].ends_with('=') {
            break;
        }
    }
    (
        rest.split(char::is_whitespace).next().unwrap_or_default(),
        false,
    )
}

fn split_at_question_mark(text: &str, limit: usize) -> Option<(&str, &str)> {
    let end = text.bytes().take(limit + 1).position(|byte| byte == b'?')?;
    Some((&text[..end], &text[end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_decoded_and_joined() {
        for (text, expected) in [
            ("=?utf-8?Q?caf=C3=A9_au_lait?=", "café au lait"),
            ("=?UTF-8?B?w6k=?= =?utf-8?b?w6k=?=", "éé"),
            ("=?utf-8?q?=C3?= =?utf-8?q?=A9?=", "é"),
            ("=?utf-8?B?8J+Y?= =?utf-8?B?gA==?= ok", "😀 ok"),
            (
                "=?iso-8859-1*de?q?gr=FC=DFe?= from =?koi8-r?q?=F1?=",
                "grüße from Я",
            ),
            ("=?iso-8859-1?q?a?= =?utf-8?q?b?=", "ab"),
            ("plain =?utf-8?q?a?=, b", "plain a, b"),
            ("=?UTF-8?B?Q2Fmw6k=?=. Mail failure.", "Café. Mail failure."),
            (
                "=?UTF-8?B?8J+UkSA=?=482913 is your code",
                "🔑 482913 is your code",
            ),
            (
                "=?ISO-2022-JP?B?GyRCM05HJyUzITwlSSROJCpDTiRpJDsbKEI=?= =?ISO-2022-JP?B?GyRCJEckORsoQg==?=",
                "確認コードのお知らせです",
            ),
        ] {
            assert_eq!(decode(text), expected, "{text}");
        }
    }

    /// In quadratic time, this takes minutes.
    #[test]
    fn a_long_field_is_read_once() {
        for unit in ["=?a?x?", "=?a?q?", "=?a?q?=", "=?a?b? "] {
            decode(&unit.repeat(1024 * 1024 / unit.len()));
        }
        let unknown = "=?a?x?".repeat(180_000);
        assert_eq!(decode(&unknown), unknown);
    }

    #[test]
    fn broken_encoded_words_are_decoded_as_far_as_possible() {
        for (text, expected) in [
            ("=?utf-8?Q?two words here?= x", "two words here x"),
            ("=?utf-8?Q?cut_off", "cut off"),
            ("a=?utf-8?Q?b?=c", "abc"),
            ("=?utf-8?X?b?=", "=?utf-8?X?b?="),
            ("=?=?=?", "=?=?=?"),
            ("=?utf-8?Q??=", ""),
            ("1 =? 2 ?= 3", "1 =? 2 ?= 3"),
        ] {
            assert_eq!(decode(text), expected, "{text}");
        }
    }
}
