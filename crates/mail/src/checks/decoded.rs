//! Finds the place in the source for a place in the decoded text, in which character references
//! such as `&amp;` are shorter or longer.

use html5gum::Token;

use crate::html::tokens;

/// Maximum number of bytes of a character reference.
const REFERENCE_BYTES: usize = 40;

/// A text with its source, read from the start.
pub(super) struct Decoded<'a> {
    source: &'a str,
    text: &'a str,
    /// How far both were read.
    in_source: usize,
    in_text: usize,
}

impl<'a> Decoded<'a> {
    pub(super) fn new(source: &'a str, text: &'a str) -> Self {
        Self {
            source,
            text,
            in_source: 0,
            in_text: 0,
        }
    }

    /// The offset in the source of an offset in the text. Offsets must not decrease from call to
    /// call, so that all calls together take linear time.
    pub(super) fn in_source(&mut self, offset: usize) -> usize {
        while self.in_text < offset.min(self.text.len()) {
            let start = self.in_source;
            let Some(reference) = self
                .source
                .get(start..)
                .filter(|rest| rest.starts_with('&'))
                .map(reference)
            else {
                self.skip(1, 1);
                continue;
            };
            let shown = shown(reference);
            match self
                .text
                .get(self.in_text..)
                .is_some_and(|rest| rest.starts_with(&shown))
            {
                true => self.skip(reference.len(), shown.len()),
                false => self.skip(1, 1),
            }
        }
        self.in_source.min(self.source.len())
    }

    fn skip(&mut self, in_source: usize, in_text: usize) {
        self.in_source += in_source;
        self.in_text += in_text;
    }
}

/// The ampersand at the start, and what may belong to its character reference.
fn reference(source: &str) -> &str {
    let name = source.bytes().skip(1).take(REFERENCE_BYTES);
    let end = 1 + name
        .take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'#')
        .count();
    &source[..if source[end..].starts_with(';') {
        end + 1
    } else {
        end
    }]
}

fn shown(reference: &str) -> String {
    let tokens = tokens(reference).filter_map(|token| match token {
        Token::String(text) => Some(String::from_utf8_lossy(&text).into_owned()),
        _ => None,
    });
    tokens.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_counted_as_they_are_written() {
        for (source, text, marks) in [
            ("a|b", "a|b", 1),
            ("&nGt;&nGt;|b", "≫⃒≫⃒|b", 1),
            ("&amp;&#x41;|&eacute;é&eacute|", "&A|éé\u{e9}|", 2),
            ("&amp;amp;|", "&amp;|", 1),
            ("& &unknown; &notit;|", "& &unknown; ¬it;|", 1),
        ] {
            let mut decoded = Decoded::new(source, text);
            let found: Vec<_> = text
                .match_indices('|')
                .map(|(at, _)| decoded.in_source(at))
                .collect();
            let expected: Vec<_> = source.match_indices('|').map(|(at, _)| at).collect();
            assert_eq!((found.len(), found), (marks, expected), "{source}");
        }
    }

    #[test]
    fn an_offset_is_never_after_the_end_of_the_source() {
        assert_eq!(Decoded::new("&nGt;", "≫⃒≫⃒≫⃒").in_source(18), 5);
        assert_eq!(Decoded::new("", "more").in_source(9), 0);
    }
}
