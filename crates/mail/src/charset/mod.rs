//! Decodes bytes to text in every charset that mail uses, with a correct, wrong or missing label.

mod legacy;

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{
    BIG5, DecoderResult, EUC_JP, EUC_KR, Encoding, GBK, ISO_2022_JP, MACINTOSH, REPLACEMENT,
    SHIFT_JIS, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252, X_USER_DEFINED,
};

use crate::budget::BODY_BYTES;
use legacy::{Decoded, Legacy};

/// Bytes that are decoded at once, and from which the charset is guessed.
const CHUNK: usize = 64 * 1024;

/// Decodes text that is labelled with the charset `label`. If the label is missing or unknown, the
/// charset is guessed from the text. Reads no more than the largest body.
pub(super) fn decode(bytes: Cow<'_, [u8]>, label: Option<&str>) -> String {
    if let Some(encoding) = byte_order_mark(&bytes) {
        return decode_as(encoding, bytes);
    }
    let label = label.map(trimmed).unwrap_or_default();
    match named(label) {
        Some(Charset::Known(encoding)) => decode_labelled(encoding, label, bytes),
        Some(Charset::Legacy(legacy)) if is_utf8(&bytes) && !legacy.is_ascii_only() => {
            decode_as(UTF_8, bytes)
        }
        Some(Charset::Legacy(legacy)) => match legacy.decode(&bytes[..bytes.len().min(BODY_BYTES)])
        {
            Decoded::Text(text) => text,
            Decoded::As(encoding, bytes) => decode_as(encoding, Cow::Owned(bytes)),
        },
        None => decode_as(guess(&bytes), bytes),
    }
}

/// Decodes the bytes of a header, which have no label (RFC 6532 requires UTF-8; older programs used
/// other charsets).
pub(super) fn decode_unlabelled(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.contains('\u{1b}') && !text.starts_with('\u{feff}') => {
            Cow::Borrowed(text)
        }
        _ => Cow::Owned(decode(Cow::Borrowed(bytes), None)),
    }
}

/// The meaning of a label.
enum Charset {
    Known(&'static Encoding),
    Legacy(Legacy),
}

/// Removes quotes, a language (RFC 2231, section 5) and other text after the label.
fn trimmed(label: &str) -> &str {
    let label = label
        .trim_matches(|character: char| character.is_whitespace() || "\"';".contains(character));
    label.split(['*', ';', ' ', '$']).next().unwrap_or_default()
}

/// The charset of a label: the WHATWG list, and other names that mail programs use.
fn named(label: &str) -> Option<Charset> {
    // WHATWG maps a few old encodings to one that decodes no text, to protect browsers.
    let useful = |encoding: &&Encoding| *encoding != REPLACEMENT && *encoding != X_USER_DEFINED;
    let whatwg = |label: &str| Encoding::for_label(label.as_bytes()).filter(useful);
    if let Some(encoding) = whatwg(label) {
        return Some(Charset::Known(encoding));
    }
    let label = label.to_ascii_lowercase().replace('_', "-");
    let encoding =
        whatwg(&label).or_else(
            || match label.trim_start_matches("x-").trim_start_matches('-') {
                "cp932" | "windows-932" | "ms-cp932" | "ms-kanji" | "shift-jis-2004"
                | "shiftjis" => Some(SHIFT_JIS),
                "iso-2022-jp" | "iso-2022-jp-1" | "iso-2022-jp-2" | "iso-2022-jp-3"
                | "iso-2022-jp-ms" | "iso2022jp" | "cp50220" | "cp50221" | "cp50222"
                | "windows-iso2022jp" | "jis" => Some(ISO_2022_JP),
                "cp51932" | "eucjp" | "ujis" | "euc" => Some(EUC_JP),
                "cp936" | "windows-936" | "ms936" | "euc-cn" | "euccn" | "gb" | "gb-2312" => {
                    Some(GBK)
                }
                "cp949" | "ms949" | "uhc" | "windows-949" | "euckr" => Some(EUC_KR),
                "cp950" | "windows-950" | "big-5" => Some(BIG5),
                "utf-8mb4" | "utf8mb4" | "utf-8-strict" | "utf-8n" => Some(UTF_8),
                "mac-roman" | "macroman" | "mac-latin1" => Some(MACINTOSH),
                "latin-1"
                | "ansi"
                | "8859-1"
                | "ansi-x3.110-1983"
                | "iso-8859-1-windows-3.1-latin-1" => Some(WINDOWS_1252),
                other => {
                    whatwg(other).or_else(|| whatwg(&format!("windows-{}", code_page(other)?)))
                }
            },
        );
    encoding
        .map(Charset::Known)
        .or_else(|| Legacy::named(&label).map(Charset::Legacy))
}

/// The digits of `cp850`, `ibm-850`, `windows1252` and similar labels.
fn code_page(label: &str) -> Option<&str> {
    let name = label.trim_start_matches("cs");
    let digits = ["cp", "ibm", "dos", "oem", "pc", "win", "windows"]
        .iter()
        .find_map(|start| name.strip_prefix(start))?;
    let digits = digits.trim_start_matches('-');
    (!digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())).then_some(digits)
}

/// Decodes labelled text, unless the bytes show that the label is wrong.
fn decode_labelled(encoding: &'static Encoding, label: &str, bytes: Cow<'_, [u8]>) -> String {
    let is_wrong = match encoding {
        encoding if encoding == UTF_8 => !is_utf8(&bytes) && !has_utf8_sequence(&bytes),
        encoding if encoding == UTF_16LE || encoding == UTF_16BE => {
            !bytes.contains(&0) && is_utf8(&bytes)
        }
        // Bytes with their high bit set are not ASCII.
        encoding if encoding == WINDOWS_1252 && is_ascii_label(label) => !bytes.is_ascii(),
        // The text is entirely ASCII, with escapes.
        encoding if encoding == ISO_2022_JP => !bytes.is_ascii() && !bytes.contains(&0x1b),
        // Text in another encoding is hardly ever valid UTF-8. UTF-8 with a wrong label is common.
        encoding if encoding.is_single_byte() => !bytes.is_ascii() && is_utf8(&bytes),
        encoding => !bytes.is_ascii() && is_utf8(&bytes) && has_errors(encoding, &bytes),
    };
    if !is_wrong {
        let tidy = if encoding == ISO_2022_JP {
            legacy::without_idle_escapes(bytes)
        } else {
            bytes
        };
        return decode_as(encoding, tidy);
    }
    let japanese = [EUC_JP, SHIFT_JIS]
        .into_iter()
        .filter(|_| encoding == ISO_2022_JP && !is_utf8(&bytes));
    let right = japanese
        .into_iter()
        .find(|japanese| !has_errors(japanese, &bytes));
    decode_as(right.unwrap_or_else(|| guess(&bytes)), bytes)
}

fn is_ascii_label(label: &str) -> bool {
    ["us-ascii", "ascii", "ansi_x3.4-1968"]
        .iter()
        .any(|name| name.eq_ignore_ascii_case(label))
}

fn is_utf8(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_ok()
}

fn has_errors(encoding: &'static Encoding, bytes: &[u8]) -> bool {
    let sample = &bytes[..bytes.len().min(CHUNK)];
    let mut decoded = String::with_capacity(sample.len() * 3);
    let mut decoder = encoding.new_decoder_without_bom_handling();
    let (result, _) = decoder.decode_to_string_without_replacement(sample, &mut decoded, false);
    matches!(result, DecoderResult::Malformed(..))
}

/// Whether the text contains a character of several bytes in UTF-8.
fn has_utf8_sequence(bytes: &[u8]) -> bool {
    bytes.utf8_chunks().any(|chunk| !chunk.valid().is_ascii())
}

fn byte_order_mark(bytes: &[u8]) -> Option<&'static Encoding> {
    Encoding::for_bom(bytes).map(|(encoding, _)| encoding)
}

/// The most likely encoding of bytes without a label.
fn guess(bytes: &[u8]) -> &'static Encoding {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    if is_utf8(bytes) && !bytes.contains(&0x1b) {
        return UTF_8;
    }
    // The first bytes that are not ASCII may follow pages of ASCII.
    let first = bytes
        .iter()
        .position(|&byte| byte >= 0x80 || byte == 0x1b)
        .unwrap_or(0);
    let sample = &bytes[first.saturating_sub(256)..];
    detector.feed(&sample[..sample.len().min(CHUNK)], true);
    detector.guess(None, Utf8Detection::Allow)
}

/// Decodes to UTF-8, and replaces malformed sequences. Only the text and one chunk are in memory.
fn decode_as(encoding: &'static Encoding, bytes: Cow<'_, [u8]>) -> String {
    if encoding == UTF_8 && is_utf8(&bytes) && !bytes.starts_with(b"\xef\xbb\xbf") {
        return String::from_utf8(bytes.into_owned()).unwrap_or_default();
    }
    let mut decoder = encoding.new_decoder();
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.chunks(CHUNK) {
        text.reserve(decoder.max_utf8_buffer_length(chunk.len()).unwrap_or(0));
        // The buffer has space for the whole chunk, so all of it is read.
        let _ = decoder.decode_to_string(chunk, &mut text, false);
        if text.len() > BODY_BYTES {
            return text;
        }
    }
    text.reserve(decoder.max_utf8_buffer_length(0).unwrap_or(0));
    let _ = decoder.decode_to_string(&[], &mut text, true);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8], label: &str) -> String {
        decode(Cow::Borrowed(bytes), (!label.is_empty()).then_some(label))
    }

    #[test]
    fn correct_charset_labels_are_used() {
        assert_eq!(text(b"gr\xfc\xdfe", "ISO-8859-1"), "grüße");
        assert_eq!(text(b"\xcf\xf0\xe8\xe2\xe5\xf2", "windows-1251"), "Привет");
        assert_eq!(text(b"\xf0\xd2\xc9\xd7\xc5\xd4", "\"KOI8-R\""), "Привет");
        assert_eq!(text(b"\x83R\x81[\x83h", "cp932"), "コード");
        assert_eq!(text(b"\x1b$B%3!<%I\x1b(B", "iso-2022-jp"), "コード");
        assert_eq!(text(b"Hi Mom +Jjo-!", "utf-7"), "Hi Mom ☺!");
        assert_eq!(text(b"1 +- 1, +AGE +AOkA6Q-.", "UTF-7"), "1 + 1, a éé.");
        assert_eq!(text(b"\x9c 5 \x8b\x8c", "cp437"), "£ 5 ïî");
        assert_eq!(text(b"K\xa2d p\xfd\xa1li\xe7", "IBM852"), "Kód příliš");
        assert_eq!(text(b"\x1b$)C\x0eGQ1[\x0f ok", "iso-2022-kr"), "한글 ok");
        assert_eq!(text(b"~{VPND~} ok", "hz-gb-2312"), "中文 ok");
        assert_eq!(text(b"h\0i\0", "utf-16le"), "hi");
    }

    #[test]
    fn wrong_charset_labels_are_ignored() {
        assert_eq!(text("grüße".as_bytes(), "iso-8859-1"), "grüße");
        assert_eq!(text("grüße".as_bytes(), "us-ascii"), "grüße");
        let big5 =
            b"\xb1z\xaa\xba\xc5\xe7\xc3\xd2\xbdX\xac\xb0\xa1A\xbd\xd0\xa6b\xa4Q\xa4\xc0\xc4\xc1\xa4\xba\xbf\xe9\xa4J";
        assert_eq!(text(big5, "us-ascii"), "您的驗證碼為，請在十分鐘內輸入");
        assert_eq!(text(b"plain", "utf-16"), "plain");
        assert_eq!(text(b"gr\xfc\xdfe aus K\xf6ln", "utf-8"), "grüße aus Köln");
        assert_eq!(text("验证码".as_bytes(), "euc-kr"), "验证码");
        assert_eq!(text("grüße".as_bytes(), "x-unknown"), "grüße");
        assert_eq!(
            text(b"\x8am\x94F\x83R\x81[\x83h", "iso-2022-jp"),
            "確認コード"
        );
        assert_eq!(
            text(b"\xb3\xce\xc7\xa7\xa5\xb3\xa1\xbc\xa5\xc9", "iso-2022-jp"),
            "確認コード"
        );
        assert_eq!(text("確認".as_bytes(), "iso-2022-jp"), "確認");
    }

    #[test]
    fn idle_and_unfinished_escapes_are_not_seen() {
        let decoded = |end: &str| {
            text(
                format!("\x1b$B%3!<\x1b(B\x1b$B%I\x1b(B{end}").as_bytes(),
                "iso-2022-jp",
            )
        };
        for end in ["", "\x1b", "\x1b$", "\x1b(", "\x1b$("] {
            assert_eq!(decoded(end), "コード", "{end:?}");
        }
        // An escape within another one.
        for end in [
            "\x1b(\x1b\x1b",
            "\x1b$\x1b\x1b",
            "\x1b\x1b\x1b\x1b",
            "\x1b(\x1b(B",
        ] {
            assert!(decoded(end).starts_with("コード"), "{end:?}");
        }
    }

    #[test]
    fn without_a_label_the_charset_is_detected() {
        assert_eq!(text("验证码".as_bytes(), ""), "验证码");
        assert_eq!(text(b"\x1b$B%3!<%I\x1b(B", ""), "コード");
        assert_eq!(text(b"\xef\xbb\xbfmark", ""), "mark");
        assert_eq!(
            text(b"d\xe9j\xe0 vu, \xe0 bient\xf4t", ""),
            "déjà vu, à bientôt"
        );
    }
}
