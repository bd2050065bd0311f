//! Parameters of header fields in several pieces or in a charset (RFC 2231):
//! `filename*0*=UTF-8''R%C3; filename*1*=%A4t.pdf`. The pieces are one value in the charset of the
//! first, so that they are joined before they are decoded.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::charset;

/// The decoded values of the extended parameters, by name in lower case. Plain parameters are left
/// out.
pub(super) fn extended(field: &[u8]) -> impl Iterator<Item = (String, String)> {
    // By name, then in the order of the pieces.
    let mut pieces: BTreeMap<(String, u16), (&[u8], bool)> = BTreeMap::new();
    for parameter in split(field) {
        let Some(equals) = memchr::memchr(b'=', parameter) else {
            continue;
        };
        let name = &parameter[..equals];
        let value = &parameter[equals + 1..];
        let name = String::from_utf8_lossy(name.trim_ascii()).to_ascii_lowercase();
        let Some((name, section)) = name.split_once('*') else {
            continue;
        };
        let number = section.trim_end_matches('*');
        let Some(number) = Some(0)
            .filter(|_| number.is_empty())
            .or(number.parse().ok())
        else {
            continue;
        };
        let is_encoded = section.is_empty() || section.ends_with('*');
        pieces
            .entry((name.to_owned(), number))
            .or_insert((value.trim_ascii(), is_encoded));
    }
    let mut values: BTreeMap<String, Value> = BTreeMap::new();
    for ((name, _), (piece, is_encoded)) in pieces {
        values.entry(name).or_default().push(piece, is_encoded);
    }
    values.into_iter().map(|(name, value)| {
        let label = value.charset.as_deref().filter(|label| !label.is_empty());
        (name, charset::decode(Cow::Owned(value.bytes), label))
    })
}

/// A value of which some pieces are known.
#[derive(Default)]
struct Value {
    charset: Option<String>,
    bytes: Vec<u8>,
}

impl Value {
    fn push(&mut self, piece: &[u8], is_encoded: bool) {
        let mut text = unquoted(piece);
        if is_encoded {
            let mut parts = text.splitn(3, |byte| *byte == b'\'');
            if let (None, Some(charset), Some(_), Some(rest)) =
                (&self.charset, parts.next(), parts.next(), parts.next())
            {
                self.charset = Some(String::from_utf8_lossy(charset).into_owned());
                text = rest.to_vec();
            }
            text = percent_decoded(&text);
        }
        self.charset.get_or_insert_default();
        self.bytes.extend(text);
    }
}

/// The parts between semicolons that are not in quotes.
fn split(field: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut is_quoted = false;
    let mut is_escaped = false;
    field.split(move |&byte| {
        let ends = byte == b';' && !is_quoted;
        is_quoted ^= byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && is_quoted && !is_escaped;
        ends
    })
}

fn unquoted(value: &[u8]) -> Vec<u8> {
    let inner = value
        .strip_prefix(b"\"")
        .map(|inner| inner.strip_suffix(b"\"").unwrap_or(inner));
    let Some(inner) = inner else {
        return value.to_vec();
    };
    let mut is_escaped = false;
    let kept = inner.iter().filter(|byte| {
        is_escaped = **byte == b'\\' && !is_escaped;
        !is_escaped
    });
    kept.copied().collect()
}

/// The bytes that `%41` and the like stand for.
pub(super) fn percent_decoded(text: &[u8]) -> Vec<u8> {
    let mut bytes = text.iter().copied();
    let mut decoded = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        let mut ahead = bytes.clone();
        let escaped = (byte == b'%')
            .then(|| Some(hex(ahead.next()?)? << 4 | hex(ahead.next()?)?))
            .flatten();
        if escaped.is_some() {
            bytes = ahead;
        }
        decoded.push(escaped.unwrap_or(byte));
    }
    decoded
}

fn hex(byte: u8) -> Option<u8> {
    char::from(byte)
        .to_digit(16)
        .and_then(|digit| u8::try_from(digit).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pieces_of_a_value_are_decoded_together() {
        for (field, expected) in [
            (
                "attachment; filename*0*=UTF-8''Rechnung%20%E2%82;\r\n filename*1*=%AC%20%C3%A4.pdf",
                "Rechnung € ä.pdf",
            ),
            (
                "attachment; filename*0*=gb2312''%D1%E9; filename*1*=%D6%A4.pdf",
                "验证.pdf",
            ),
            (
                "attachment; filename*1*=%A4.pdf; filename*0*=utf-8'de'%C3",
                "ä.pdf",
            ),
            ("x; filename*0=\"a;\\\" \"; filename*1=b.pdf", "a;\" b.pdf"),
            (
                "x; filename*0*=utf-8''%C3%A4; filename*1=\"%20b.pdf\"",
                "ä%20b.pdf",
            ),
            ("x; filename*=\"UTF-8''%c3%a4 b.pdf\"", "ä b.pdf"),
            ("x; FileName*=plain.pdf", "plain.pdf"),
            ("x; filename*=iso-8859-1''%A3%20it's", "£ it's"),
        ] {
            let found: Vec<_> = extended(field.as_bytes()).collect();
            assert_eq!(
                found,
                [("filename".to_owned(), expected.to_owned())],
                "{field}"
            );
        }
    }

    #[test]
    fn other_parameters_are_left_out() {
        let field = b"attachment; filename=a; name*x=b; boundary=\"c; d*=e\"; f*";
        assert_eq!(extended(field).count(), 0);
    }
}
