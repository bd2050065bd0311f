//! Limits what the messages of a request have together: each is stored with all that it has,
//! however small the request is.

use std::borrow::Cow;
use std::ops::Range;

use super::failure::Failure;
use super::outgoing::Outgoing;
use crate::model::Refusal;

/// Maximum number of messages of a request.
pub(super) const MESSAGES: usize = 1_000;

/// The bytes that the messages of a request may still have.
pub(super) struct Batch(usize);

/// Where a tag is in a text, and its value.
pub(super) type Found<'a> = (Range<usize>, Cow<'a, str>);

impl Batch {
    /// Messages of at most this many bytes together.
    pub(super) fn of(bytes: usize) -> Self {
        Self(bytes)
    }

    /// The message, as one more of the request.
    ///
    /// # Errors
    /// [`Failure`] if they have too many bytes.
    pub(super) fn add(&mut self, message: Outgoing) -> Result<Outgoing, Failure> {
        self.take(message.bytes())?;
        Ok(message)
    }

    /// Takes some of the bytes.
    ///
    /// # Errors
    /// [`Failure`] if there are not as many.
    pub(super) fn take(&mut self, bytes: usize) -> Result<(), Failure> {
        self.0 = self.0.checked_sub(bytes).ok_or_else(too_large)?;
        Ok(())
    }

    /// The text with each of its tags replaced; `None` if it has none. `next` finds the next tag in a
    /// text. What replaces a tag is not searched for others.
    ///
    /// # Errors
    /// [`Failure`] if the text becomes too large.
    pub(super) fn replaced<'a>(
        &mut self,
        text: &str,
        next: impl Fn(&str) -> Option<Found<'a>>,
    ) -> Result<Option<String>, Failure> {
        let mut replaced = String::new();
        let mut rest = text;
        while let Some((tag, value)) = next(rest) {
            if replaced.len() + tag.start + value.len() > self.0 {
                return Err(too_large());
            }
            replaced.push_str(&rest[..tag.start]);
            replaced.push_str(&value);
            rest = &rest[tag.end..];
        }
        if rest.len() == text.len() {
            return Ok(None);
        }
        replaced.push_str(rest);
        Ok(Some(replaced))
    }
}

/// The failure of a request whose messages have too many bytes together.
pub(super) fn too_large() -> Failure {
    Failure::refused(Refusal::MessageTooLarge)
        .because("the messages of a request have at most four times --max-message-size together")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_read_once_and_its_values_are_not_searched() {
        let x = |text: &str| text.find('x').map(|at| (at..at + 1, "[x]".into()));
        for (text, replaced) in [
            ("", None),
            ("ä", None),
            ("x", Some("[x]")),
            ("äxxö", Some("ä[x][x]ö")),
            ("xé", Some("[x]é")),
        ] {
            let found = Batch::of(20).replaced(text, x).unwrap();
            assert_eq!(found.as_deref(), replaced, "{text}");
        }
        let refused = Batch::of(20).replaced("xxxxxxx", x).unwrap_err();
        assert!(refused.text.contains("four times"), "{}", refused.text);
    }
}
