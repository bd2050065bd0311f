//! Charsets that browsers no longer support but mail still uses. Each is converted to a supported
//! charset, or decoded here.

use std::borrow::Cow;

use encoding_rs::{EUC_KR, Encoding, GBK};
use mail_parser::decoders::charsets::DecoderFnc;
use mail_parser::decoders::charsets::map::charset_decoder;
use oem_cp::code_table::DECODING_TABLE_CP_MAP;
use oem_cp::code_table_type::TableType;

use super::code_page;

/// A charset that is not in the WHATWG list.
pub(super) enum Legacy {
    Utf7,
    Korean,
    Hz,
    /// A code page of DOS or OS/2.
    CodePage(&'static TableType),
    /// A charset that mail-parser supports.
    Other(DecoderFnc),
}

/// The text, or its bytes in a supported encoding.
pub(super) enum Decoded {
    Text(String),
    As(&'static Encoding, Vec<u8>),
}

impl Legacy {
    /// The charset with this lower-case name.
    pub(super) fn named(label: &str) -> Option<Self> {
        match label {
            "utf-7" | "utf7" | "unicode-1-1-utf-7" | "x-unicode-2-0-utf-7" | "csutf7" => {
                Some(Self::Utf7)
            }
            "iso-2022-kr" | "csiso2022kr" => Some(Self::Korean),
            "hz-gb-2312" | "hz" => Some(Self::Hz),
            "cspc8codepage437" | "437" => Self::code_page("437"),
            "cspc850multilingual" | "850" => Self::code_page("850"),
            "cspcp852" | "852" => Self::code_page("852"),
            _ => code_page(label)
                .and_then(Self::code_page)
                .or_else(|| charset_decoder(label.replace('-', "_").as_bytes()).map(Self::Other)),
        }
    }

    fn code_page(digits: &str) -> Option<Self> {
        DECODING_TABLE_CP_MAP
            .get(&digits.parse().ok()?)
            .map(Self::CodePage)
    }

    /// Whether its encoded text consists only of ASCII bytes, so that it is always valid UTF-8.
    pub(super) fn is_ascii_only(&self) -> bool {
        matches!(self, Self::Utf7 | Self::Korean | Self::Hz)
    }

    pub(super) fn decode(&self, bytes: &[u8]) -> Decoded {
        match self {
            Self::Utf7 => Decoded::Text(utf7(bytes)),
            Self::Korean => Decoded::As(EUC_KR, shifted_korean(bytes)),
            Self::Hz => Decoded::As(GBK, hz_chinese(bytes)),
            Self::CodePage(table) => Decoded::Text(table.decode_string_lossy(bytes)),
            Self::Other(decoder) => Decoded::Text(decoder(bytes)),
        }
    }
}

/// UTF-7 (RFC 2152): the text between `+` and `-` is UTF-16 in base64; `+-` is a plus sign.
fn utf7(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(plus) = memchr::memchr(b'+', rest) {
        text.push_str(&String::from_utf8_lossy(&rest[..plus]));
        rest = &rest[plus + 1..];
        let length = rest
            .iter()
            .take_while(|&&byte| crate::transfer::sextet(byte).is_some())
            .count();
        let units = crate::transfer::base64(&rest[..length]);
        let units = units
            .chunks_exact(2)
            .map(|unit| u16::from_be_bytes([unit[0], unit[1]]));
        text.extend(
            char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)),
        );
        rest = &rest[length..];
        if let Some(after) = rest.strip_prefix(b"-") {
            rest = after;
            if length == 0 {
                text.push('+');
            }
        }
    }
    text.push_str(&String::from_utf8_lossy(rest));
    text
}

/// ISO-2022-JP without two kinds of escapes that decoders report as errors: an escape directly
/// followed by another one, for example in joined encoded-words, and an escape that is cut off at
/// the end.
pub(super) fn without_idle_escapes(bytes: Cow<'_, [u8]>) -> Cow<'_, [u8]> {
    const ESCAPE: u8 = 0x1b;
    let is_idle = |text: &[u8]| match text {
        [ESCAPE, b'(' | b'$', _, rest @ ..] => rest.first() == Some(&ESCAPE),
        [ESCAPE, ..] => text.len() < 3,
        _ => false,
    };
    let escapes = |bytes: &[u8]| memchr::memchr_iter(ESCAPE, bytes).collect::<Vec<_>>();
    let escapes = escapes(&bytes);
    let mut kept = Vec::new();
    let mut copied = 0;
    for escape in escapes {
        // Within the last one.
        if escape < copied {
            continue;
        }
        if is_idle(&bytes[escape..]) || bytes[escape..] == *b"\x1b$(" {
            kept.extend_from_slice(&bytes[copied..escape]);
            copied = (escape + 3).min(bytes.len());
        }
    }
    if copied == 0 {
        return bytes;
    }
    kept.extend_from_slice(&bytes[copied..]);
    Cow::Owned(kept)
}

/// Converts ISO-2022-KR (RFC 1557) to EUC-KR: sets the high bits of the bytes between shift-out and
/// shift-in.
fn shifted_korean(bytes: &[u8]) -> Vec<u8> {
    let mut shifted = false;
    let mut converted = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        match byte {
            0x1b if rest.starts_with(b"$)C") => rest = &rest[3..],
            0x0e => shifted = true,
            0x0f => shifted = false,
            0x21..=0x7e if shifted => converted.push(byte | 0x80),
            _ => converted.push(byte),
        }
    }
    converted
}

/// Converts HZ (RFC 1843) to GBK: sets the high bits of the bytes between `~{` and `~}`.
fn hz_chinese(bytes: &[u8]) -> Vec<u8> {
    let mut chinese = false;
    let mut converted = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        match (byte, rest.first()) {
            (b'~', Some(b'{')) => (chinese, rest) = (true, &rest[1..]),
            (b'~', Some(b'}')) => (chinese, rest) = (false, &rest[1..]),
            (b'~', Some(b'~')) => {
                converted.push(b'~');
                rest = &rest[1..];
            }
            (b'~', Some(b'\n')) => rest = &rest[1..],
            (0x21..=0x7e, _) if chinese => converted.push(byte | 0x80),
            _ => converted.push(byte),
        }
    }
    converted
}
