//! Octets to text: every charset that mail is written in, whether it is labelled rightly, wrongly or not at all.

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{
    BIG5, DecoderResult, EUC_KR, Encoding, GBK, REPLACEMENT, SHIFT_JIS, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252,
};
use mail_parser::decoders::charsets::map::charset_decoder;

use crate::budget::BODY_OCTETS;

/// Octets that are decoded at a time, and that a guess is made from.
const CHUNK: usize = 64 * 1024;

/// Decodes text that says it is in the charset `label`; without one, or with one that nobody knows, the text itself
/// must tell. Reads no more than fits into the largest body.
pub(super) fn decode(octets: Cow<'_, [u8]>, label: Option<&str>) -> String {
    if let Some(encoding) = byte_order_mark(&octets) {
        return decode_as(encoding, octets);
    }
    let label = label.map(normalized).unwrap_or_default();
    match label.as_str() {
        "utf-7" | "unicode-1-1-utf-7" | "utf7" => return decode_by_name(&octets, "utf-7"),
        "iso-2022-kr" | "csiso2022kr" => return decode_as(EUC_KR, Cow::Owned(shifted_korean(&octets))),
        "hz-gb-2312" => return decode_as(GBK, Cow::Owned(hz_chinese(&octets))),
        // What has its high bits set is not ASCII, whatever the label says.
        "us-ascii" | "ascii" | "ansi_x3.4-1968" if !octets.is_ascii() => return decode_as(guess(&octets), octets),
        _ => {}
    }
    match known(&label) {
        Some(encoding) => decode_labelled(encoding, octets),
        None if octets.is_ascii() || std::str::from_utf8(&octets).is_ok() => decode_as(guess(&octets), octets),
        None if charset_decoder(label.as_bytes()).is_some() => decode_by_name(&octets, &label),
        None => decode_as(guess(&octets), octets),
    }
}

/// Decodes a header's octets, which carry no label (RFC 6532 says UTF-8; older senders wrote what they had).
pub(super) fn decode_unlabelled(octets: &[u8]) -> String {
    decode(Cow::Borrowed(octets), None)
}

/// The label in lower case, without quotes, a language (RFC 2231, section 5) or the year of a standard.
fn normalized(label: &str) -> String {
    let label = label.trim_matches(|character: char| character.is_whitespace() || "\"';".contains(character));
    let label = label.split(['*', ';', ' ']).next().unwrap_or_default();
    label.to_ascii_lowercase()
}

/// The encoding that a label names: WHATWG's list, and what mailers write besides.
fn known(label: &str) -> Option<&'static Encoding> {
    let encoding = Encoding::for_label(label.as_bytes()).or_else(|| match label {
        "cp932" | "windows-932" | "x-ms-cp932" | "ms-kanji" => Some(SHIFT_JIS),
        "cp936" | "windows-936" | "ms936" => Some(GBK),
        "cp949" | "ms949" | "uhc" | "x-windows-949" => Some(EUC_KR),
        "cp950" | "windows-950" | "cn-big5" => Some(BIG5),
        "utf-8mb4" | "utf8mb4" | "utf_8" | "utf-8-strict" => Some(UTF_8),
        "latin-1" | "iso8859_1" | "iso_8859_1" | "ansi" | "8859-1" => Some(WINDOWS_1252),
        _ => Encoding::for_label(label.strip_prefix("cp")?.to_owned().as_bytes())
            .or_else(|| Encoding::for_label(label.replacen("cp", "windows-", 1).as_bytes())),
    })?;
    // WHATWG maps a few old encodings to one that decodes nothing, for the safety of browsers.
    (encoding != REPLACEMENT).then_some(encoding)
}

/// Decodes labelled text, unless the octets show that the label is wrong.
fn decode_labelled(encoding: &'static Encoding, octets: Cow<'_, [u8]>) -> String {
    if encoding == UTF_8 {
        return match std::str::from_utf8(&octets) {
            Err(_) if !has_utf8_sequence(&octets) => decode_as(guess(&octets), octets),
            _ => decode_as(UTF_8, octets),
        };
    }
    let is_utf16 = encoding == UTF_16LE || encoding == UTF_16BE;
    // Text of another encoding is almost never valid UTF-8 by accident; the reverse label is everyday.
    let truly_utf8 = || !octets.is_ascii() && std::str::from_utf8(&octets).is_ok();
    if is_utf16 && !octets.contains(&0) && std::str::from_utf8(&octets).is_ok()
        || encoding.is_single_byte() && truly_utf8()
        || !is_utf16 && !encoding.is_single_byte() && truly_utf8() && has_errors(encoding, &octets)
    {
        return decode_as(UTF_8, octets);
    }
    decode_as(encoding, octets)
}

fn has_errors(encoding: &'static Encoding, octets: &[u8]) -> bool {
    let sample = &octets[..octets.len().min(CHUNK)];
    let mut decoded = String::with_capacity(sample.len() * 3);
    let mut decoder = encoding.new_decoder_without_bom_handling();
    let (result, _) = decoder.decode_to_string_without_replacement(sample, &mut decoded, false);
    matches!(result, DecoderResult::Malformed(..))
}

/// Whether a character of several octets stands in the text as UTF-8 writes it.
fn has_utf8_sequence(octets: &[u8]) -> bool {
    octets.utf8_chunks().any(|chunk| !chunk.valid().is_ascii())
}

fn byte_order_mark(octets: &[u8]) -> Option<&'static Encoding> {
    Encoding::for_bom(octets).map(|(encoding, _)| encoding)
}

/// The encoding that unlabelled octets are in, most likely.
fn guess(octets: &[u8]) -> &'static Encoding {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    if std::str::from_utf8(octets).is_ok() && !octets.contains(&0x1b) {
        return UTF_8;
    }
    // The telling octets may stand behind pages of ASCII.
    let first = octets.iter().position(|&octet| octet >= 0x80 || octet == 0x1b).unwrap_or(0);
    let sample = &octets[first.saturating_sub(256)..];
    detector.feed(&sample[..sample.len().min(CHUNK)], true);
    detector.guess(None, Utf8Detection::Allow)
}

/// Decodes to UTF-8, malformed sequences replaced, without ever holding more than the text and one chunk.
fn decode_as(encoding: &'static Encoding, octets: Cow<'_, [u8]>) -> String {
    if encoding == UTF_8 && std::str::from_utf8(&octets).is_ok() && !octets.starts_with(b"\xef\xbb\xbf") {
        return String::from_utf8(octets.into_owned()).unwrap_or_default();
    }
    let mut decoder = encoding.new_decoder();
    let mut text = String::with_capacity(octets.len());
    for chunk in octets.chunks(CHUNK) {
        text.reserve(decoder.max_utf8_buffer_length(chunk.len()).unwrap_or(0));
        // The buffer has room for the whole chunk, so this reads all of it.
        let _ = decoder.decode_to_string(chunk, &mut text, false);
        if text.len() > BODY_OCTETS {
            return text;
        }
    }
    text.reserve(decoder.max_utf8_buffer_length(0).unwrap_or(0));
    let _ = decoder.decode_to_string(&[], &mut text, true);
    text
}

/// Decodes one of the few charsets that browsers gave up and mail has not.
fn decode_by_name(octets: &[u8], label: &str) -> String {
    let octets = &octets[..octets.len().min(BODY_OCTETS)];
    charset_decoder(label.as_bytes())
        .map_or_else(|| String::from_utf8_lossy(octets).into_owned(), |decode| decode(octets))
}

/// ISO-2022-KR (RFC 1557) as EUC-KR: what stands between shift-out and shift-in has its high bits set.
fn shifted_korean(octets: &[u8]) -> Vec<u8> {
    let mut shifted = false;
    let mut converted = Vec::with_capacity(octets.len());
    let mut rest = octets;
    while let Some((&octet, behind)) = rest.split_first() {
        rest = behind;
        match octet {
            0x1b if rest.starts_with(b"$)C") => rest = &rest[3..],
            0x0e => shifted = true,
            0x0f => shifted = false,
            0x21..=0x7e if shifted => converted.push(octet | 0x80),
            _ => converted.push(octet),
        }
    }
    converted
}

/// HZ (RFC 1843) as GBK: what stands between `~{` and `~}` has its high bits set.
fn hz_chinese(octets: &[u8]) -> Vec<u8> {
    let mut chinese = false;
    let mut converted = Vec::with_capacity(octets.len());
    let mut rest = octets;
    while let Some((&octet, behind)) = rest.split_first() {
        rest = behind;
        match (octet, rest.first()) {
            (b'~', Some(b'{')) => (chinese, rest) = (true, &rest[1..]),
            (b'~', Some(b'}')) => (chinese, rest) = (false, &rest[1..]),
            (b'~', Some(b'~')) => {
                converted.push(b'~');
                rest = &rest[1..];
            }
            (b'~', Some(b'\n')) => rest = &rest[1..],
            (0x21..=0x7e, _) if chinese => converted.push(octet | 0x80),
            _ => converted.push(octet),
        }
    }
    converted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(octets: &[u8], label: &str) -> String {
        decode(Cow::Borrowed(octets), (!label.is_empty()).then_some(label))
    }

    #[test]
    fn labels_are_believed() {
        assert_eq!(text(b"gr\xfc\xdfe", "ISO-8859-1"), "grüße");
        assert_eq!(text(b"\xcf\xf0\xe8\xe2\xe5\xf2", "windows-1251"), "Привет");
        assert_eq!(text(b"\xf0\xd2\xc9\xd7\xc5\xd4", "\"KOI8-R\""), "Привет");
        assert_eq!(text(b"\x83R\x81[\x83h", "cp932"), "コード");
        assert_eq!(text(b"\x1b$B%3!<%I\x1b(B", "iso-2022-jp"), "コード");
        assert_eq!(text(b"Hi Mom +Jjo-!", "utf-7"), "Hi Mom ☺!");
        assert_eq!(text(b"\x1b$)C\x0eGQ1[\x0f ok", "iso-2022-kr"), "한글 ok");
        assert_eq!(text(b"~{VPND~} ok", "hz-gb-2312"), "中文 ok");
        assert_eq!(text(b"h\0i\0", "utf-16le"), "hi");
    }

    #[test]
    fn wrong_labels_are_not() {
        assert_eq!(text("grüße".as_bytes(), "iso-8859-1"), "grüße");
        assert_eq!(text("grüße".as_bytes(), "us-ascii"), "grüße");
        let big5 =
            b"\xb1z\xaa\xba\xc5\xe7\xc3\xd2\xbdX\xac\xb0\xa1A\xbd\xd0\xa6b\xa4Q\xa4\xc0\xc4\xc1\xa4\xba\xbf\xe9\xa4J";
        assert_eq!(text(big5, "us-ascii"), "您的驗證碼為，請在十分鐘內輸入");
        assert_eq!(text(b"plain", "utf-16"), "plain");
        assert_eq!(text(b"gr\xfc\xdfe aus K\xf6ln", "utf-8"), "grüße aus Köln");
        assert_eq!(text("验证码".as_bytes(), "euc-kr"), "验证码");
        assert_eq!(text("grüße".as_bytes(), "x-unknown"), "grüße");
    }

    #[test]
    fn without_a_label_the_text_tells() {
        assert_eq!(text("验证码".as_bytes(), ""), "验证码");
        assert_eq!(text(b"\x1b$B%3!<%I\x1b(B", ""), "コード");
        assert_eq!(text(b"\xef\xbb\xbfmark", ""), "mark");
        assert_eq!(text(b"d\xe9j\xe0 vu, \xe0 bient\xf4t", ""), "déjà vu, à bientôt");
    }
}
