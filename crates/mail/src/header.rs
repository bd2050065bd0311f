//! Header sections: their fields (RFC 5322, section 2.2), and the values of the fields that this
//! crate needs.

use std::borrow::Cow;

use mail_parser::parsers::MessageStream;
use mail_parser::{ContentType as ParsedContentType, HeaderValue};

use crate::budget::{HEADER_FIELD_BYTES, PARAMETERS_BYTES};
use crate::charset;
use crate::encoded_word;
use crate::parameters::extended;

/// One field of a message; its value is still folded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field<'a> {
    pub(super) name: &'a [u8],
    pub(super) value: &'a [u8],
}

impl<'a> Field<'a> {
    pub(super) fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name.as_bytes())
    }

    /// The bytes of the value within the limit for one field.
    pub(super) fn bounded_value(&self) -> &'a [u8] {
        &self.value[..self.value.len().min(HEADER_FIELD_BYTES)]
    }
}

/// A header section from the start of a message or part.
pub(super) struct Section<'a> {
    pub(super) fields: Vec<Field<'a>>,
    /// Number of bytes before the body.
    pub(super) length: usize,
    /// Whether the limit for a field or for the section was exceeded.
    pub(super) field_too_long: bool,
    pub(super) section_too_long: bool,
}

impl<'a> Section<'a> {
    /// Reads fields up to the empty line, up to a line that cannot belong to a header, or up to a
    /// line for which `ends` is true. Only fields that start within the first `limit` bytes are
    /// kept.
    pub(super) fn read(text: &'a [u8], limit: usize, ends: impl Fn(&[u8]) -> bool) -> Self {
        let mut section = Self {
            fields: Vec::new(),
            length: 0,
            field_too_long: false,
            section_too_long: false,
        };
        let mut position = 0;
        while position < text.len() {
            let line = line_at(text, position);
            if line.trim_ascii().is_empty() && !starts_with_space(line) || line == b"\r" {
                section.length = position + line.len();
                return section;
            }
            if ends(line) {
                break;
            }
            let end = position + line.len();
            let Some(colon) = field_colon(line) else {
                if !section.is_stray_line(line, text.get(end..).unwrap_or_default(), position) {
                    break;
                }
                section.extend_last(text, end);
                position = end;
                continue;
            };
            section.push(text, position, colon, end, limit);
            position = end;
        }
        section.length = position;
        section
    }

    /// The first field with this name.
    pub(super) fn field(&self, name: &str) -> Option<Field<'a>> {
        self.fields.iter().find(|field| field.is(name)).copied()
    }

    fn push(&mut self, text: &'a [u8], start: usize, colon: usize, end: usize, limit: usize) {
        if start >= limit {
            self.section_too_long = true;
            return;
        }
        let name = text[start..start + colon].trim_ascii();
        self.fields.push(Field {
            name,
            value: &text[start + colon + 1..end],
        });
    }

    /// Adds the line that ends at `end` to the last field.
    fn extend_last(&mut self, text: &'a [u8], end: usize) {
        if self.section_too_long {
            return;
        }
        if let Some(field) = self.fields.last_mut() {
            let start = field.value.as_ptr() as usize - text.as_ptr() as usize;
            field.value = &text[start..end];
            self.field_too_long |= field.value.len() > HEADER_FIELD_BYTES;
        }
    }

    /// Whether a line without a field name belongs to the header: a continuation, the "From " line
    /// of a mailbox file, or a malformed line that is followed by more of the header.
    fn is_stray_line(&self, line: &[u8], after: &[u8], position: usize) -> bool {
        starts_with_space(line)
            || position == 0 && (line.starts_with(b"From ") || line.starts_with(b">From "))
            || !self.fields.is_empty() && {
                let next = line_at(after, 0);
                field_colon(next).is_some_and(|colon| next[..colon].contains(&b'-'))
            }
    }
}

/// The line at `position` with its line end.
pub(super) fn line_at(text: &[u8], position: usize) -> &[u8] {
    let rest = &text[position..];
    let length = rest
        .iter()
        .position(|&byte| byte == b'\n')
        .map_or(rest.len(), |end| end + 1);
    &rest[..length]
}

fn starts_with_space(line: &[u8]) -> bool {
    matches!(line.first(), Some(b' ' | b'\t'))
}

/// The position of the colon after a field name, if the line starts with one.
fn field_colon(line: &[u8]) -> Option<usize> {
    let colon = line
        .iter()
        .position(|byte| !matches!(byte, 33..=57 | 59..=126))?;
    let spaces = line[colon..]
        .iter()
        .position(|byte| !matches!(byte, b' ' | b'\t'))?;
    (colon > 0 && line[colon + spaces] == b':').then_some(colon + spaces)
}

/// An unstructured value as one line of text: decoded, unfolded, with control characters replaced
/// by spaces.
pub(super) fn text(value: &[u8]) -> String {
    let text = charset::decode_unlabelled(value);
    let unfolded = unfolded(text.trim());
    let decoded = encoded_word::decode(&unfolded);
    let shown = |character| match character {
        '\0' => char::REPLACEMENT_CHARACTER,
        '\u{2028}' | '\u{2029}' => ' ',
        _ if character.is_control() => ' ',
        _ => character,
    };
    let line: String = decoded.trim().chars().map(shown).collect();
    // A control character at the start or end has become a space.
    if line.trim().len() == line.len() {
        line
    } else {
        line.trim().to_owned()
    }
}

/// Removes the line ends; the white space after each remains (RFC 5322, section 2.2.3).
fn unfolded(text: &str) -> Cow<'_, str> {
    if text.contains(['\r', '\n']) {
        Cow::Owned(text.replace(['\r', '\n'], ""))
    } else {
        Cow::Borrowed(text)
    }
}

/// A Content-Type or Content-Disposition field: a value, and parameters by name in lower case.
#[derive(Debug, Default)]
pub(super) struct Parameterized {
    /// For example `text/plain` or `attachment`; in lower case.
    pub(super) value: String,
    parameters: Vec<(String, String)>,
}

impl Parameterized {
    /// Parses a field. If the field is malformed, the value is empty.
    pub(super) fn parse(value: &[u8]) -> Self {
        let value = &value[..value.len().min(PARAMETERS_BYTES)];
        let mut line = value.trim_ascii().to_vec();
        line.push(b'\n');
        let HeaderValue::ContentType(parsed) = MessageStream::new(&line).parse_content_type()
        else {
            return Self::default();
        };
        let mut read = Self::from_parsed(&parsed);
        if line.contains(&b'*') {
            // They win over plain parameters, which are for old programs.
            let plain = std::mem::take(&mut read.parameters);
            read.parameters = extended(&line).chain(plain).collect();
        }
        read
    }

    fn from_parsed(parsed: &ParsedContentType<'_>) -> Self {
        let kind = parsed.ctype().trim().to_ascii_lowercase();
        let value = match parsed.subtype() {
            Some(subtype) => format!("{kind}/{}", subtype.trim().to_ascii_lowercase()),
            None => kind,
        };
        let parameters = parsed.attributes().unwrap_or_default().iter();
        let parameters = parameters.map(|attribute| {
            (
                attribute.name.to_ascii_lowercase(),
                attribute.value.to_string(),
            )
        });
        Self {
            value,
            parameters: parameters.collect(),
        }
    }

    /// The first parameter with this name.
    pub(super) fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(text: &str) -> Section<'_> {
        Section::read(text.as_bytes(), usize::MAX, |_| false)
    }

    #[test]
    fn a_section_ends_at_the_empty_line_or_where_the_body_begins_without_one() {
        let read = section("From me\nA: 1\n folded\nB : 2\n\nbody");
        assert_eq!(read.fields.len(), 2);
        assert_eq!(read.field("a").unwrap().value, b" 1\n folded\n");
        assert_eq!(read.field("b").unwrap().value, b" 2\n");
        assert_eq!(read.length, "From me\nA: 1\n folded\nB : 2\n\n".len());
        assert_eq!(section("A: 1\nHello there.\nBye").length, 5);
        assert_eq!(section("A: 1\nbroken here\nX-B: 2\n\n").fields.len(), 2);
    }

    #[test]
    fn text_is_one_decoded_line() {
        assert_eq!(
            text(b" =?utf-8?q?caf=C3=A9?=\r\n =?utf-8?b?IQ==?= now\r\n"),
            "café! now"
        );
        assert_eq!(text(b" one\r\n\ttwo\x07 \xc3\xa9\n"), "one two  é");
        assert_eq!(text(b" caf\xe9\n"), "café");
    }

    #[test]
    fn parameters_are_read_by_name() {
        let read = Parameterized::parse(b" Text/HTML; CHARSET=\"utf-8\"; name*0=a; name*1=b\r\n");
        assert_eq!(read.value, "text/html");
        assert_eq!(read.parameter("charset"), Some("utf-8"));
        assert_eq!(read.parameter("name"), Some("ab"));
        for field in [
            "attachment; filename=A.pdf; filename*=UTF-8''%C3%84.pdf",
            "attachment; filename*=UTF-8''%C3%84.pdf; filename=A.pdf",
        ] {
            let read = Parameterized::parse(field.as_bytes());
            assert_eq!(read.parameter("filename"), Some("Ä.pdf"), "{field}");
        }
        assert_eq!(Parameterized::parse(b";").value, "");
    }
}
