//! Content transfer encodings (RFC 2045, section 6), decoded leniently: malformed data is kept if
//! possible.

use std::borrow::Cow;

/// How the bytes of a body are encoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum TransferEncoding {
    /// 7bit, 8bit, binary, and all unknown names.
    #[default]
    Identity,
    Base64,
    QuotedPrintable,
}

impl TransferEncoding {
    /// Parses the value of a Content-Transfer-Encoding field.
    pub(super) fn parse(value: &[u8]) -> Self {
        let name = value
            .split(|&byte| byte == b';' || byte == b'(')
            .next()
            .unwrap_or_default()
            .trim_ascii();
        if name.eq_ignore_ascii_case(b"base64") {
            Self::Base64
        } else if name.eq_ignore_ascii_case(b"quoted-printable") {
            Self::QuotedPrintable
        } else {
            Self::Identity
        }
    }

    /// The maximum number of bytes of [`Self::decode`], unless text is wrongly labelled as base64.
    pub(super) fn most_decoded(self, body: &[u8]) -> usize {
        if self == Self::Base64 {
            body.len() / 4 * 3 + 3
        } else {
            body.len()
        }
    }

    /// The decoded bytes of `body`.
    pub(super) fn decode(self, body: &[u8]) -> Cow<'_, [u8]> {
        match self {
            Self::Base64 if looks_like_base64(body) => Cow::Owned(base64(body)),
            Self::QuotedPrintable => Cow::Owned(quoted_printable(body)),
            Self::Identity | Self::Base64 => Cow::Borrowed(body),
        }
    }
}

/// Whether a body that is labelled as base64 is base64. Some senders give plain text this label:
/// then its first line has many characters outside the alphabet, or it has spaces and does not
/// decode to text.
fn looks_like_base64(body: &[u8]) -> bool {
    let line = body
        .split(|&byte| byte == b'\n')
        .map(<[u8]>::trim_ascii)
        .find(|line| !line.is_empty());
    let Some(line) = line else { return true };
    let sample = &line[..line.len().min(256)];
    let spaces = sample.iter().filter(|&&byte| byte == b' ').count();
    let strange = sample
        .iter()
        .filter(|&&byte| sextet(byte).is_none() && byte != b'=' && byte != b' ')
        .count();
    if spaces == 0 {
        strange * 8 <= sample.len()
    } else {
        strange == 0 && looks_like_text(&base64(sample))
    }
}

fn looks_like_text(bytes: &[u8]) -> bool {
    let is_control =
        |byte: &u8| byte.is_ascii_control() && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x1b);
    // The sample may have cut the last character.
    let is_utf8 = std::str::from_utf8(bytes)
        .err()
        .is_none_or(|error| error.error_len().is_none());
    is_utf8 && !bytes.iter().any(is_control)
}

/// Decodes base64. Characters outside the alphabet are skipped (RFC 2045, section 6.8). Padding
/// ends a group. The data ends if other text follows the padding on a new line, as list servers
/// append it.
pub(super) fn base64(text: &[u8]) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(text.len() / 4 * 3 + 3);
    let mut group: u32 = 0;
    let mut sextets = 0;
    let mut padded = false;
    for line in text.split(|&byte| byte == b'\n') {
        if padded
            && line
                .trim_ascii()
                .iter()
                .any(|&byte| sextet(byte).is_none() && byte != b'=')
        {
            break;
        }
        for &byte in line {
            if let Some(value) = sextet(byte) {
                group = group << 6 | u32::from(value);
                sextets += 1;
                if sextets == 4 {
                    decoded.extend_from_slice(&group.to_be_bytes()[1..]);
                    (group, sextets) = (0, 0);
                }
            } else if byte == b'=' {
                flush(&mut decoded, group, sextets);
                (group, sextets, padded) = (0, 0, true);
            }
        }
    }
    flush(&mut decoded, group, sextets);
    decoded
}

/// Writes the bytes of an incomplete group.
fn flush(decoded: &mut Vec<u8>, group: u32, sextets: u32) {
    match sextets {
        2 => decoded.extend_from_slice(&(group << 12).to_be_bytes()[1..2]),
        3 => decoded.extend_from_slice(&(group << 6).to_be_bytes()[1..3]),
        _ => {}
    }
}

pub(super) fn sextet(byte: u8) -> Option<u8> {
    match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    }
}

/// Decodes quoted-printable. An equals sign that does not start an escape is kept (RFC 2045,
/// section 6.7).
fn quoted_printable(text: &[u8]) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(text.len());
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        let content = line.trim_ascii_end();
        let ended = line.ends_with(b"\n");
        // White space at the end of a line was added in transit (rule 3); an equals sign there
        // joins the lines.
        let (content, soft) = match content.strip_suffix(b"=") {
            Some(content) => (content, true),
            None => (content, false),
        };
        unescape(content, b'=', &mut decoded);
        if ended && !soft {
            decoded.push(b'\n');
        }
    }
    decoded
}

/// Decodes the Q encoding of an encoded-word (RFC 2047, section 4.2).
pub(super) fn q_encoding(text: &[u8]) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(text.len());
    for (index, piece) in text.split(|&byte| byte == b'_').enumerate() {
        if index > 0 {
            decoded.push(b' ');
        }
        unescape(piece, b'=', &mut decoded);
    }
    decoded
}

/// Copies `text`, and replaces each `escape` and its two hexadecimal digits with the byte.
fn unescape(text: &[u8], escape: u8, decoded: &mut Vec<u8>) {
    let mut rest = text;
    while let Some(position) = rest.iter().position(|&byte| byte == escape) {
        decoded.extend_from_slice(&rest[..position]);
        rest = &rest[position..];
        if let Some(byte) = escaped_byte(rest) {
            decoded.push(byte);
            rest = &rest[3..];
        } else {
            decoded.push(escape);
            rest = &rest[1..];
        }
    }
    decoded.extend_from_slice(rest);
}

fn escaped_byte(text: &[u8]) -> Option<u8> {
    let digit = |index: usize| {
        text.get(index)
            .and_then(|&byte| char::from(byte).to_digit(16))
    };
    u8::try_from(digit(1)? * 16 + digit(2)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(encoding: TransferEncoding, body: &str) -> String {
        String::from_utf8_lossy(&encoding.decode(body.as_bytes())).into_owned()
    }

    #[test]
    fn names_are_read_in_any_case_and_with_trimmings() {
        assert_eq!(
            TransferEncoding::parse(b" BASE64 ; x=y\r\n"),
            TransferEncoding::Base64
        );
        assert_eq!(
            TransferEncoding::parse(b"Quoted-Printable (why not)"),
            TransferEncoding::QuotedPrintable
        );
        assert_eq!(
            TransferEncoding::parse(b"x-something"),
            TransferEncoding::Identity
        );
    }

    #[test]
    fn base64_is_decoded_despite_invalid_characters() {
        let base64 = TransferEncoding::Base64;
        assert_eq!(
            decoded(base64, "SGVsbG8s\r\nIHdvcmxkIQ==\r\n"),
            "Hello, world!"
        );
        assert_eq!(decoded(base64, "SGVsbG8"), "Hello");
        assert_eq!(decoded(base64, "SGVs*bG8="), "Hello");
        assert_eq!(decoded(base64, "SGVsbG8=\nIHdvcmxkIQ==\n"), "Hello world!");
        assert_eq!(
            decoded(base64, "SGVs bG8s IHdv\n cmxk IQ==\n"),
            "Hello, world!"
        );
        assert_eq!(
            decoded(base64, "Hello there\nthis is plain text\n"),
            "Hello there\nthis is plain text\n"
        );
        assert_eq!(
            decoded(base64, "SGVsbG8=\n\n_____\nThe list's footer.\n"),
            "Hello"
        );
        assert_eq!(
            decoded(base64, "This was never encoded, honestly.\n"),
            "This was never encoded, honestly.\n"
        );
    }

    #[test]
    fn quoted_printable_keeps_invalid_escapes() {
        let quoted = TransferEncoding::QuotedPrintable;
        assert_eq!(
            decoded(quoted, "caf=C3=A9 =\r\nau lait  \r\nend"),
            "café au lait\nend"
        );
        assert_eq!(
            decoded(quoted, "a=3db =zz 100=% =\t\nx="),
            "a=b =zz 100=% x"
        );
        assert_eq!(
            decoded(quoted, "https://x.example/?a=3D1&b=\r\n=3D2"),
            "https://x.example/?a=1&b=2"
        );
    }
}
