//! The problems that the checks find, with the lines of the source in which they are.

use restante_api::{CheckName, Problem, Severity, SourcePart};

/// Maximum number of problems of one check. Others are counted.
const MAX_PROBLEMS: usize = 20;
/// Maximum number of characters of a line that are shown, and of a text from the message in a
/// detail.
const LINE_CHARACTERS: usize = 200;
const QUOTED_CHARACTERS: usize = 120;

/// Collects problems.
pub(super) struct Problems<'a> {
    header: Lines<'a>,
    text: Lines<'a>,
    html: Lines<'a>,
    found: Vec<Problem>,
    check: CheckName,
    /// The number of problems of the current check, and the index of the first.
    count: usize,
    start: usize,
}

/// The lines of a part.
struct Lines<'a> {
    bytes: &'a [u8],
    /// Where each line but the first starts; empty until the first problem.
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            starts: Vec::new(),
        }
    }

    /// The number of the line at an offset, and its start.
    fn at(&mut self, offset: usize) -> (usize, String) {
        if self.starts.is_empty() {
            self.starts = memchr::memchr_iter(b'\n', self.bytes)
                .map(|end| end + 1)
                .collect();
        }
        let offset = offset.min(self.bytes.len());
        let number = self.starts.partition_point(|start| *start <= offset);
        let start = number.checked_sub(1).map_or(0, |index| self.starts[index]);
        let end = self
            .starts
            .get(number)
            .map_or(self.bytes.len(), |next| next - 1);
        // A minified page is one long line: show what is around the problem.
        let start = if offset - start > LINE_CHARACTERS {
            offset
        } else {
            start
        };
        let line = &self.bytes[start..end.min(start + 4 * LINE_CHARACTERS).max(start)];
        (
            number + 1,
            shortened(String::from_utf8_lossy(line).trim(), LINE_CHARACTERS),
        )
    }
}

impl<'a> Problems<'a> {
    pub(super) fn new(raw: &'a [u8], text: &'a str, html: &'a str) -> Self {
        let header = &raw[..raw.len().min(crate::budget::HEADER_SECTION_BYTES)];
        Self {
            header: Lines::new(header),
            text: Lines::new(text.as_bytes()),
            html: Lines::new(html.as_bytes()),
            found: Vec::new(),
            check: CheckName::Placeholder,
            count: 0,
            start: 0,
        }
    }

    /// Starts a check.
    pub(super) fn start(&mut self, check: CheckName) {
        self.sum_up();
        (self.check, self.count, self.start) = (check, 0, self.found.len());
    }

    /// Something is missing in the message.
    pub(super) fn missing(&mut self, severity: Severity, detail: impl Into<String>) {
        self.add(severity, detail.into(), None);
    }

    /// Something is wrong at a byte offset of a part.
    pub(super) fn at(
        &mut self,
        severity: Severity,
        part: SourcePart,
        offset: usize,
        detail: impl Into<String>,
    ) {
        self.add(severity, detail.into(), Some((part, offset)));
    }

    fn add(&mut self, severity: Severity, detail: String, place: Option<(SourcePart, usize)>) {
        let mut of_check = self.found[self.start..].iter();
        if of_check
            .any(|problem| problem.detail == detail && problem.part == place.map(|(part, _)| part))
        {
            return;
        }
        self.count += 1;
        if self.count > MAX_PROBLEMS {
            return;
        }
        let found = place.map(|(part, offset)| match part {
            SourcePart::Header => self.header.at(offset),
            SourcePart::Text => self.text.at(offset),
            SourcePart::Html => self.html.at(offset),
        });
        let (line, source) = found.unzip();
        let part = place.map(|(part, _)| part);
        self.found.push(Problem {
            check: self.check,
            severity,
            detail,
            part,
            line,
            source,
        });
    }

    /// Counts what is not listed.
    fn sum_up(&mut self) {
        let more = self.count.saturating_sub(MAX_PROBLEMS);
        if more > 0
            && let Some(last) = self.found.last()
        {
            self.found.push(Problem {
                check: self.check,
                severity: last.severity,
                detail: format!("{more} more problems of this kind are not listed."),
                part: None,
                line: None,
                source: None,
            });
        }
    }

    /// All of them, the errors first.
    pub(super) fn sorted(mut self) -> Vec<Problem> {
        self.sum_up();
        self.found
            .sort_by_key(|problem| problem.severity != Severity::Error);
        self.found
    }
}

/// A text from the message in quotes, on one line.
pub(super) fn quoted(text: &str) -> String {
    let plain = |one: char| match one {
        '`' => '\'',
        one if one.is_control() => ' ',
        one => one,
    };
    let line: String = text.chars().map(plain).collect();
    format!("`{}`", shortened(&line, QUOTED_CHARACTERS))
}

fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
