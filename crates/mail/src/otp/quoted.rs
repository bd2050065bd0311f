//! Which codes belong to an older message that is quoted. A quoted line begins with `>`, as in
//! plain text, and with one more in a quote of a quote; where a client writes none, [`heads`] finds
//! the quote.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use super::{FoundCode, SUBJECT, Source, heads, normalize};

/// Maximum number of bytes that are read as marks of one line.
const MAX_MARKS: usize = 100;

/// How deep in quotes the codes are that a text has only there.
#[derive(Default)]
pub(super) struct Depths<'a>(HashMap<&'a str, usize>);

impl<'a> Depths<'a> {
    pub(super) fn of(found: &'a [FoundCode]) -> Self {
        let bodies = found.iter().filter(|one| one.source != SUBJECT);
        // Most messages quote nothing, and need no maps.
        if bodies.clone().all(|one| one.depth == 0) {
            return Self::default();
        }
        let mut least: HashMap<(Source, &str), usize> = HashMap::new();
        for one in bodies {
            let depth = least.entry((one.source, &one.code)).or_insert(one.depth);
            *depth = one.depth.min(*depth);
        }
        // The text, the HTML and the subject may repeat a code without a mark.
        let mut depths: HashMap<&str, usize> = HashMap::new();
        for ((_, code), depth) in least {
            let deepest = depths.entry(code).or_default();
            *deepest = depth.max(*deepest);
        }
        Self(depths)
    }

    pub(super) fn depth(&self, found: &FoundCode) -> usize {
        self.0.get(found.code.as_str()).copied().unwrap_or_default()
    }
}

/// The lines of a text, which are counted from one place to the next: a hostile text has thousands
/// of codes, on as many lines or on one.
pub(super) struct Lines<'a> {
    text: &'a str,
    place: usize,
    number: usize,
    start: usize,
}

impl<'a> Lines<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        Self {
            text,
            place: 0,
            number: 0,
            start: 0,
        }
    }

    pub(super) fn text(&self) -> &'a str {
        self.text
    }

    /// The number of the line of this place, which is not before the last one.
    pub(super) fn number(&mut self, place: usize) -> usize {
        for line_end in memchr::memchr_iter(
            b'\n',
            self.text
                .as_bytes()
                .get(self.place..place)
                .unwrap_or_default(),
        ) {
            self.number += 1;
            self.start = self.place + line_end + 1;
        }
        self.place = place;
        self.number
    }

    /// How deep in quotes this line is.
    pub(super) fn depth(&self) -> usize {
        let marks = self.text[self.start..]
            .bytes()
            .take(MAX_MARKS)
            .take_while(|byte| matches!(byte, b'>' | b' '));
        marks.filter(|byte| *byte == b'>').count()
    }
}

/// The plain text, with `>` before the lines of quotes that have none.
pub(super) fn text(text: &str) -> Cow<'_, str> {
    let heads = heads::starts(text);
    if heads.is_empty() {
        return Cow::Borrowed(text);
    }
    Cow::Owned(marked(text, |start| {
        heads.iter().take_while(|head| **head <= start).count()
    }))
}

/// The visible text of HTML, with `>` before the lines of its quotes.
pub(super) fn page<'a>(page_text: &'a str, quotes: &[Range<usize>]) -> Cow<'a, str> {
    if quotes.is_empty() {
        return text(page_text);
    }
    let mut quotes = quotes.iter().peekable();
    let marked = marked(page_text, |start| {
        while quotes.next_if(|quote| quote.end <= start).is_some() {}
        usize::from(quotes.peek().is_some_and(|quote| quote.start <= start))
    });
    Cow::Owned(text(&marked).into_owned())
}

/// The text with marks; `depth` is called with the start of each line that is not empty.
fn marked(text: &str, mut depth: impl FnMut(usize) -> usize) -> String {
    let mut marked = String::with_capacity(text.len() * 2);
    let mut start = 0;
    for line in text.split_inclusive(normalize::LINE_ENDS) {
        if !line.trim().is_empty() {
            marked.extend(std::iter::repeat_n('>', depth(start)));
        }
        marked.push_str(line);
        start += line.len();
    }
    marked
}
