//! Which codes belong to an older message that is quoted. A quoted line begins with `>`, as in plain text.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use super::{FoundCode, SUBJECT, normalize};

/// The codes that the text or the HTML has only in its quotes. The other one and the subject may repeat them without a
/// mark.
#[derive(Default)]
pub(super) struct Quoted(HashSet<String>);

impl Quoted {
    pub(super) fn new(found: &[FoundCode]) -> Self {
        let places = |is_quoted: bool| {
            let bodies = found.iter().filter(move |one| one.source != SUBJECT && one.is_quoted == is_quoted);
            bodies.map(|one| (one.source, one.code.as_str()))
        };
        // Most messages quote nothing, and need no sets.
        if places(true).next().is_none() {
            return Self::default();
        }
        let new: HashSet<_> = places(false).collect();
        Self(places(true).filter(|place| !new.contains(place)).map(|(_, code)| code.to_owned()).collect())
    }

    pub(super) fn has(&self, found: &FoundCode) -> bool {
        self.0.contains(&found.code)
    }
}

/// Whether the line of this place is quoted.
pub(super) fn is_quoted(text: &str, place: usize) -> bool {
    let line = text[..place].rfind('\n').map_or(0, |line_end| line_end + 1);
    text[line..].starts_with('>')
}

/// The visible text of HTML, with `>` before the lines of its quotes.
pub(super) fn marked<'a>(page_text: &'a str, quotes: &[Range<usize>]) -> Cow<'a, str> {
    if quotes.is_empty() {
        return Cow::Borrowed(page_text);
    }
    let mut marked = String::with_capacity(page_text.len() * 2);
    let mut quotes = quotes.iter().peekable();
    let mut start = 0;
    for line in page_text.split_inclusive(normalize::LINE_ENDS) {
        while quotes.next_if(|quote| quote.end <= start).is_some() {}
        if !line.trim().is_empty() && quotes.peek().is_some_and(|quote| quote.start <= start) {
            marked.push('>');
        }
        marked.push_str(line);
        start += line.len();
    }
    Cow::Owned(marked)
}
