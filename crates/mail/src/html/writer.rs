//! Lays out the visible text: white space is collapsed, and breaks are written only when more text
//! follows.

use std::fmt::Write as _;

use crate::budget::BODY_BYTES;

/// The separator before the next text. Of several, the strongest is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Gap {
    #[default]
    None,
    Space,
    Cell,
    Line,
    Paragraph,
}

/// The text so far.
#[derive(Debug, Default)]
pub(super) struct Writer {
    text: String,
    gap: Gap,
    /// The number of `br` elements since the last text.
    breaks: usize,
    /// Written before the next text: the bullet or number of a list item, or an empty text.
    mark: String,
    /// The number of open elements that keep white space.
    pub(super) preformatted: usize,
}

impl Writer {
    /// A writer for a document of `bytes` bytes. Most documents have less than half of that as
    /// visible text.
    pub(super) fn for_document(bytes: usize) -> Self {
        // The buffer is doubled at most once. It then has space for all text that may be written.
        Self {
            text: String::with_capacity(bytes.min(BODY_BYTES) / 2 + 64),
            ..Self::default()
        }
    }

    /// Bytes written.
    pub(super) fn position(&self) -> usize {
        self.text.len()
    }

    /// The text from `start` on.
    pub(super) fn since(&self, start: usize) -> &str {
        self.text.get(start..).unwrap_or_default()
    }

    /// The whole text.
    pub(super) fn finish(mut self) -> String {
        self.text.truncate(self.text.trim_end().len());
        self.text
    }

    /// Requests a gap before the next text.
    pub(super) fn gap(&mut self, gap: Gap) {
        self.gap = self.gap.max(gap);
    }

    /// A line break.
    pub(super) fn line_break(&mut self) {
        self.gap(Gap::Line);
        self.breaks += 1;
    }

    /// Puts a bullet or number before the next text, indented by `indent` steps: a number, or a
    /// dash.
    pub(super) fn mark(&mut self, indent: usize, number: Option<u32>) {
        self.gap(Gap::Line);
        self.mark.clear();
        self.mark.extend(std::iter::repeat_n("  ", indent));
        match number {
            // Writing to a string cannot fail.
            Some(number) => drop(write!(self.mark, "{number}. ")),
            None => self.mark.push_str("- "),
        }
    }

    /// Writes text.
    pub(super) fn write(&mut self, text: &str) {
        if self.preformatted > 0 {
            return self.write_preformatted(text);
        }
        let mut rest = text;
        loop {
            let plain_end = plain_length(rest);
            self.write_plain(&rest[..plain_end]);
            let Some(odd) = rest[plain_end..].chars().next() else {
                return;
            };
            if is_space(odd) {
                self.gap(Gap::Space);
            } else if is_joiner(odd) && self.gap == Gap::None {
                self.write_joiner(odd);
            }
            rest = &rest[plain_end + odd.len_utf8()..];
        }
    }

    fn write_plain(&mut self, text: &str) {
        if text.is_empty() || self.text.len() + self.mark.len() + text.len() + 2 > BODY_BYTES {
            return;
        }
        self.close_gap();
        self.text.push_str(text);
    }

    /// Joiners are needed within a word. They are dropped if they only fill up a preview line.
    fn write_joiner(&mut self, joiner: char) {
        if self.text.len() < BODY_BYTES
            && self
                .text
                .chars()
                .next_back()
                .is_some_and(|last| !last.is_whitespace() && !is_joiner(last))
        {
            self.text.push(joiner);
        }
    }

    fn write_preformatted(&mut self, text: &str) {
        if self.text.len() + self.mark.len() + text.len() + 2 > BODY_BYTES {
            return;
        }
        if !text.is_empty() {
            self.close_gap();
        }
        self.text.extend(text.chars().map(|character| {
            if character == '\0' {
                '\u{FFFD}'
            } else {
                character
            }
        }));
    }

    fn close_gap(&mut self) {
        if !self.text.is_empty() {
            match self.gap {
                Gap::None => {}
                Gap::Space => self.text.push(' '),
                Gap::Cell => self.text.push('\t'),
                Gap::Line if self.breaks > 1 => self.text.push_str("\n\n"),
                Gap::Line => self.text.push('\n'),
                Gap::Paragraph => self.text.push_str("\n\n"),
            }
        }
        self.text.push_str(&self.mark);
        self.mark.clear();
        (self.gap, self.breaks) = (Gap::None, 0);
    }
}

/// The number of bytes at the start of `text` that are written unchanged: words, and single spaces
/// between them.
fn plain_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut length = 0;
    while let Some(&byte) = bytes.get(length) {
        match byte {
            b'!'..=0x7f => length += 1,
            b' ' if length > 0
                && bytes
                    .get(length + 1)
                    .is_some_and(|next| matches!(next, b'!'..=0x7f)) =>
            {
                length += 1;
            }
            0x80.. => match text[length..]
                .chars()
                .next()
                .filter(|character| !is_odd(*character))
            {
                Some(character) => length += character.len_utf8(),
                None => return length,
            },
            _ => return length,
        }
    }
    length
}

fn is_odd(character: char) -> bool {
    is_space(character) || is_joiner(character) || is_invisible(character)
}

fn is_space(character: char) -> bool {
    character.is_whitespace() || matches!(character, '\0'..='\u{1f}' | '\u{2800}')
}

/// Zero-width joiners, which are part of Persian words, Indic letters and emoji.
fn is_joiner(character: char) -> bool {
    matches!(character, '\u{200c}' | '\u{200d}')
}

/// Characters without width or meaning, which senders use to fill up preview lines.
fn is_invisible(character: char) -> bool {
    matches!(
        character,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{2060}' | '\u{feff}'
    )
}
