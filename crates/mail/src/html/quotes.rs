//! Where a page quotes an older message: in a `blockquote`, or from the element on with which a
//! mail client begins its quote. Quotes that only their text shows are found later.

use std::ops::Range;

use crate::budget::CODE_SEARCH_BYTES;

/// The classes and ids with which Gmail, Outlook and Yahoo begin a quote. Clients that quote it
/// again put a prefix before them.
const MARKS: [&[u8]; 3] = [b"gmail_quote", b"divRplyFwdMsg", b"yahoo_quoted"];

/// The border of the line with which Outlook for Windows begins a quote, since 2013 and before.
const RULE_NAME: &[u8] = b"border-top:";
const RULES: [&[u8]; 2] = [b"solid #E1E1E1 1.0pt", b"solid #B5C4DF 1.0pt"];

/// The quotes so far.
#[derive(Debug, Default)]
pub(super) struct Quotes {
    ranges: Vec<Range<usize>>,
    /// Where the open quote starts.
    start: Option<usize>,
}

impl Quotes {
    /// A quote starts, if none is open. Those in a part of the text in which no code is looked for
    /// are not kept, so a hostile page cannot have many.
    pub(super) fn begin(&mut self, position: usize) {
        if position < CODE_SEARCH_BYTES {
            self.start.get_or_insert(position);
        }
    }

    /// The outermost `blockquote` ends, or the page. A client puts a `blockquote` into the element
    /// that has its mark, and a reply may follow.
    pub(super) fn end(&mut self, position: usize) {
        self.ranges.extend(
            self.start
                .take()
                .map(|start| start..position)
                .filter(|quote| !quote.is_empty()),
        );
    }

    /// The byte ranges of the quotes, in order.
    pub(super) fn finish(mut self, position: usize) -> Vec<Range<usize>> {
        self.end(position);
        self.ranges
    }
}

/// Whether a `class` or `id` marks the start of a quote.
pub(super) fn is_mark(value: &[u8]) -> bool {
    value
        .split(u8::is_ascii_whitespace)
        .any(|word| MARKS.iter().any(|mark| word.ends_with(mark)))
}

/// Whether a `style` is that of the line with which Outlook for Windows begins a quote:
/// `border:none;border-top:solid #E1E1E1 1.0pt`.
pub(super) fn is_rule(style: &[u8]) -> bool {
    let mut borders = style.split(|&byte| byte == b';').filter_map(|declaration| {
        let (name, value) = declaration.trim_ascii().split_at_checked(RULE_NAME.len())?;
        name.eq_ignore_ascii_case(RULE_NAME).then_some(value)
    });
    borders.any(|border| {
        RULES
            .iter()
            .any(|rule| border.trim_ascii().eq_ignore_ascii_case(rule))
    })
}
