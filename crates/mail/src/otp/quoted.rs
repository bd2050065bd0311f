//! Which codes belong to an older message that is quoted with `>`.

use std::collections::HashSet;

use super::{FoundCode, Source, normalize};

/// The plain text, the only one with marks of quoting.
const TEXT: Source = 1;

/// The codes that only the quoted lines of the text have. The subject and the HTML may repeat them without a mark.
pub(super) struct Quoted(HashSet<String>);

impl Quoted {
    pub(super) fn new(sources: [&str; 3], found: &[FoundCode]) -> Self {
        let lines: Vec<&str> = match found.is_empty() {
            true => Vec::new(),
            false => sources[TEXT].split(normalize::LINE_ENDS).collect(),
        };
        let is_quoted = |found: &FoundCode| lines.get(found.lines.0).is_some_and(|line| line.starts_with('>'));
        let in_text = || found.iter().filter(|found| found.source == TEXT);
        let mut codes: HashSet<String> =
            in_text().filter(|found| is_quoted(found)).map(|found| found.code.clone()).collect();
        for found in in_text().filter(|found| !is_quoted(found)) {
            codes.remove(&found.code);
        }
        Self(codes)
    }

    pub(super) fn has(&self, found: &FoundCode) -> bool {
        self.0.contains(&found.code)
    }
}
