//! The parts of a message (RFC 2046, section 5.1), found in one pass over its lines.
//!
//! The pass keeps the open boundaries and looks up each line among them, so it takes linear time
//! for any input. A message inside the message is not parsed: it is never shown.

use std::collections::HashMap;

use crate::budget::{Budget, DEPTH, HEADER_SECTION_BYTES, PARTS};
use crate::header::{Field, Parameterized, Section, line_at};
use crate::transfer::TransferEncoding;

/// How many bytes of a multipart without a boundary are searched for the first line that may be
/// one.
const BOUNDARY_SEARCH_BYTES: usize = 4 * 1024;

/// The kind of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Plain,
    Html,
    /// Its children are forms of the same content, in increasing order of preference.
    Alternative,
    /// Its first child, or the one with this Content-ID, is shown. The other children are its
    /// images and other resources.
    Related(Option<String>),
    /// Its children are shown one after the other.
    Multipart,
    /// A part that is not shown.
    Opaque,
}

/// One part.
#[derive(Debug)]
pub(super) struct Part<'a> {
    pub(super) kind: Kind,
    pub(super) content_type: Parameterized,
    pub(super) encoding: TransferEncoding,
    pub(super) content_id: Option<&'a [u8]>,
    /// Its header marks it as an attachment.
    pub(super) attachment: bool,
    /// Its header marks it as shown within the text.
    pub(super) inline: bool,
    /// It has a file name, still encoded.
    pub(super) file_name: Option<String>,
    /// The bytes of its body, still encoded.
    pub(super) body: &'a [u8],
    pub(super) children: Vec<usize>,
}

/// The structure of a message.
pub(super) struct Structure<'a> {
    /// The fields of the top header.
    pub(super) fields: Vec<Field<'a>>,
    /// All parts; the first is the message itself.
    pub(super) parts: Vec<Part<'a>>,
    /// The first limit that was exceeded.
    pub(super) over_budget: Option<Budget>,
}

impl<'a> Structure<'a> {
    /// Finds the parts of a message. Never fails: malformed parts are read as well as possible.
    pub(super) fn read(raw: &'a [u8]) -> Self {
        let mut walk = Walk::new(raw);
        let section = Section::read(raw, HEADER_SECTION_BYTES, |_| false);
        walk.note(&section);
        walk.begin(&section, 0, None);
        walk.run(section.length);
        Self {
            fields: section.fields,
            parts: walk.parts,
            over_budget: walk.over_budget,
        }
    }
}

/// A multipart that has not ended yet.
struct Open {
    part: usize,
    boundary: Vec<u8>,
    /// The earlier meaning of the boundary: an inner multipart may use the boundary of an outer
    /// one.
    shadowed: Option<usize>,
}

struct Walk<'a> {
    raw: &'a [u8],
    parts: Vec<Part<'a>>,
    open: Vec<Open>,
    /// From a boundary to the index of its multipart in `open`.
    boundaries: HashMap<Vec<u8>, usize>,
    /// The part to which the current lines belong, and the start of its body.
    leaf: Option<(usize, usize)>,
    part_header_bytes: usize,
    over_budget: Option<Budget>,
}

impl<'a> Walk<'a> {
    fn new(raw: &'a [u8]) -> Self {
        Self {
            raw,
            parts: Vec::new(),
            open: Vec::new(),
            boundaries: HashMap::new(),
            leaf: None,
            part_header_bytes: 0,
            over_budget: None,
        }
    }

    fn run(&mut self, body_start: usize) {
        let raw = self.raw;
        let mut position = body_start;
        while position < raw.len() && !self.open.is_empty() {
            let line = line_at(raw, position);
            let Some((index, closes)) = self.delimiter(line) else {
                position += line.len();
                continue;
            };
            self.end_at(position, index + usize::from(!closes));
            position += line.len();
            if closes {
                continue;
            }
            if self.parts.len() >= PARTS || self.part_header_bytes > HEADER_SECTION_BYTES {
                let reason = if self.parts.len() >= PARTS {
                    Budget::Parts
                } else {
                    Budget::HeaderSection
                };
                self.over_budget.get_or_insert(reason);
                break;
            }
            position = self.read_part(position, index);
        }
        let end = if self.open.is_empty() {
            raw.len()
        } else {
            position
        };
        self.end_at(end, 0);
    }

    /// Reads the header of a part of the multipart at `index`; returns the start of its body.
    fn read_part(&mut self, position: usize, index: usize) -> usize {
        let section = Section::read(&self.raw[position..], HEADER_SECTION_BYTES, |line| {
            self.delimiter(line).is_some()
        });
        self.part_header_bytes += section.length;
        self.note(&section);
        self.begin(
            &section,
            position,
            self.open.get(index).map(|open| open.part),
        );
        position + section.length
    }

    fn note(&mut self, section: &Section<'_>) {
        if section.section_too_long {
            self.over_budget.get_or_insert(Budget::HeaderSection);
        } else if section.field_too_long {
            self.over_budget.get_or_insert(Budget::HeaderField);
        }
    }

    /// Starts the part whose header was read at `position`.
    fn begin(&mut self, section: &Section<'a>, position: usize, parent: Option<usize>) {
        let body_start = position + section.length;
        let mut part = Part::from_header(
            section,
            parent.map(|parent| self.parts[parent].content_type.value.as_str()),
        );
        let index = self.parts.len();
        let boundary = if part.kind.is_multipart() {
            self.boundary(&part, body_start)
        } else {
            None
        };
        match boundary {
            Some(_) if self.open.len() >= DEPTH => {
                self.over_budget.get_or_insert(Budget::Depth);
                part.kind = Kind::Opaque;
                self.leaf = Some((index, body_start));
            }
            Some(boundary) => {
                let shadowed = self.boundaries.insert(boundary.clone(), self.open.len());
                part.body = &self.raw[body_start..];
                self.open.push(Open {
                    part: index,
                    boundary,
                    shadowed,
                });
                self.leaf = None;
            }
            None => {
                if part.kind.is_multipart() {
                    part.kind = Kind::Plain;
                }
                self.leaf = Some((index, body_start));
            }
        }
        self.parts.push(part);
        if let Some(parent) = parent {
            self.parts[parent].children.push(index);
        }
    }

    /// The boundary in the header of a multipart, or the first line of its body that looks like
    /// one.
    fn boundary(&self, part: &Part<'_>, body_start: usize) -> Option<Vec<u8>> {
        if let Some(boundary) = part
            .content_type
            .parameter("boundary")
            .map(str::trim_end)
            .filter(|text| !text.is_empty())
        {
            return Some(boundary.as_bytes().to_vec());
        }
        let body = &self.raw[body_start..];
        let mut lines = body[..body.len().min(BOUNDARY_SEARCH_BYTES)].split(|&byte| byte == b'\n');
        let line = lines.find(|line| line.starts_with(b"--") && line.trim_ascii_end().len() > 2)?;
        Some(line[2..].trim_ascii_end().to_vec())
    }

    /// The open multipart with the boundary in this line, and whether the line closes it.
    fn delimiter(&self, line: &[u8]) -> Option<(usize, bool)> {
        let text = line.strip_prefix(b"--")?.trim_ascii_end();
        if let Some(&index) = self.boundaries.get(text) {
            return Some((index, false));
        }
        let &index = self
            .boundaries
            .get(text.strip_suffix(b"--")?.trim_ascii_end())?;
        Some((index, true))
    }

    /// Ends the current part and all but `keep` multiparts, at the start of a delimiter line.
    fn end_at(&mut self, position: usize, keep: usize) {
        // The line end before a delimiter belongs to the delimiter.
        let content = &self.raw[..position];
        let content = content.strip_suffix(b"\n").map_or(content, |content| {
            content.strip_suffix(b"\r").unwrap_or(content)
        });
        if let Some((part, start)) = self.leaf.take() {
            let end = if self.open.is_empty() || position == self.raw.len() {
                position
            } else {
                content.len()
            };
            self.parts[part].body = &self.raw[start..end.max(start)];
        }
        while self.open.len() > keep {
            let Some(open) = self.open.pop() else { return };
            match open.shadowed {
                Some(index) => self.boundaries.insert(open.boundary, index),
                None => self.boundaries.remove(&open.boundary),
            };
            let part = &mut self.parts[open.part];
            let start = self.raw.len() - part.body.len();
            part.body = &self.raw[start..content.len().max(start)];
            if part.children.is_empty() {
                // The boundary did not occur, so the body is shown as one part.
                part.kind = Kind::Plain;
            }
        }
    }
}

impl Kind {
    fn is_multipart(&self) -> bool {
        matches!(self, Self::Alternative | Self::Related(_) | Self::Multipart)
    }
}

impl<'a> Part<'a> {
    fn from_header(section: &Section<'a>, parent: Option<&str>) -> Self {
        let content_type = section
            .field("content-type")
            .map(|field| Parameterized::parse(field.value))
            .unwrap_or_default();
        let disposition = section
            .field("content-disposition")
            .map(|field| Parameterized::parse(field.value))
            .unwrap_or_default();
        let encoding = section.field("content-transfer-encoding");
        Self {
            kind: kind(&content_type, parent),
            encoding: encoding
                .map(|field| TransferEncoding::parse(field.bounded_value()))
                .unwrap_or_default(),
            content_id: section
                .field("content-id")
                .map(|field| without_brackets(field.bounded_value())),
            attachment: disposition.value == "attachment",
            inline: disposition.value == "inline",
            file_name: disposition
                .parameter("filename")
                .or(content_type.parameter("name"))
                .map(str::to_owned),
            content_type,
            body: &[],
            children: Vec::new(),
        }
    }
}

/// An id without its angle brackets, which some writers leave out (RFC 2392).
pub(super) fn without_brackets(id: &[u8]) -> &[u8] {
    let id = id.trim_ascii();
    let id = id.strip_prefix(b"<").unwrap_or(id);
    id.strip_suffix(b">").unwrap_or(id)
}

/// The kind of a content type; without one, the parent decides (RFC 2046, section 5.1.5).
fn kind(content_type: &Parameterized, parent: Option<&str>) -> Kind {
    match content_type.value.as_str() {
        "" if parent == Some("multipart/digest") => Kind::Opaque,
        "text/html" | "application/xhtml+xml" => Kind::Html,
        "text/plain" | "text" | "text/markdown" | "text/x-markdown" | "" => Kind::Plain,
        "multipart/alternative" => Kind::Alternative,
        "multipart/related" => Kind::Related(content_type.parameter("start").map(str::to_owned)),
        value if value.starts_with("multipart/") || value == "multipart" => Kind::Multipart,
        // A value without type and subtype is an error, so the default applies (RFC 2045, section
        // 5.2).
        value if !value.contains('/') => Kind::Plain,
        _ => Kind::Opaque,
    }
}
