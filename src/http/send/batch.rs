//! Limits the messages that a request makes of one text, and the work of replacing their tags: each
//! copy needs memory and time, however small the request is.

use std::borrow::Cow;

use super::call::Received;
use super::failure::Failure;
use super::outgoing::Outgoing;
use crate::model::Refusal;

/// Maximum number of messages of a request.
pub(super) const MESSAGES: usize = 1_000;
/// The bytes that the messages of a small request may have together, if there is memory for them.
pub(super) const BYTES: usize = 8 * 1024 * 1024;
/// The work of replacing tags in a small request, in bytes of texts and tags that are compared. A
/// larger one may take more, as if each message had the whole body as its text.
const WORK: usize = 64 * 1024 * 1024;
/// Maximum work of any request.
const MAX_WORK: usize = 8 * WORK;
/// The work that even an empty text takes.
const START: usize = 64;

/// What the messages of a request have so far.
pub(super) struct Batch {
    messages: usize,
    bytes: usize,
    work: Work,
    /// Maximum number of bytes.
    most: usize,
}

/// The work of replacing tags that may still be done.
pub(super) struct Work(usize);

/// The tags of a message and their values.
pub(super) trait Tags {
    /// The tag with which the rest of a text begins: its length, which is not 0, and its value.
    ///
    /// # Errors
    /// [`Failure`] for too much work.
    fn first(&self, rest: &str, work: &mut Work) -> Result<Option<(usize, Cow<'_, str>)>, Failure>;
}

impl Work {
    /// Does some of it.
    ///
    /// # Errors
    /// [`Failure`] if it is too much.
    pub(super) fn take(&mut self, amount: usize) -> Result<(), Failure> {
        let rest = self.0.checked_sub(amount);
        self.0 =
            rest.ok_or_else(|| Failure::invalid("too many variables in texts of this size"))?;
        Ok(())
    }
}

impl Batch {
    /// The batch of a request.
    pub(super) fn of(received: &Received) -> Self {
        let work = Work(
            received
                .body
                .len()
                .saturating_mul(MESSAGES)
                .clamp(WORK, MAX_WORK),
        );
        Self {
            messages: 0,
            bytes: 0,
            work,
            most: received.most,
        }
    }

    /// The message, as one more of the request.
    ///
    /// # Errors
    /// [`Failure`] for too many messages, or if they have too many bytes that no other shares.
    pub(super) fn add(&mut self, message: Outgoing) -> Result<Outgoing, Failure> {
        self.messages += 1;
        if self.messages > MESSAGES {
            return Err(Failure::invalid(format!(
                "a request sends at most {MESSAGES} messages"
            )));
        }
        self.bytes = self.bytes.saturating_add(message.own_bytes());
        if self.bytes > self.most {
            Err(self.too_large())
        } else {
            Ok(message)
        }
    }

    /// The text with each of its tags replaced; `None` if it has none. What replaces a tag is not
    /// searched for others, so the text is read once, however many tags there are.
    ///
    /// # Errors
    /// [`Failure`] if the text becomes too large, or for too many tags in large texts.
    pub(super) fn replaced(
        &mut self,
        text: &str,
        tags: &impl Tags,
    ) -> Result<Option<String>, Failure> {
        self.work.take(START + text.len())?;
        let (mut replaced, mut copied) = (String::new(), 0);
        for (position, _) in text.char_indices() {
            // Within the last tag.
            if position < copied {
                continue;
            }
            let Some((length, value)) = tags.first(&text[position..], &mut self.work)? else {
                continue;
            };
            self.extend(&mut replaced, [&text[copied..position], &value])?;
            copied = position + length;
        }
        if copied == 0 {
            return Ok(None);
        }
        self.extend(&mut replaced, [&text[copied..], ""])?;
        Ok(Some(replaced))
    }

    fn extend(&self, text: &mut String, more: [&str; 2]) -> Result<(), Failure> {
        if text.len() + more[0].len() + more[1].len() > self.most {
            return Err(self.too_large());
        }
        text.extend(more);
        Ok(())
    }

    fn too_large(&self) -> Failure {
        let text = format!(
            "the messages of the request have more than {} bytes together",
            self.most
        );
        Failure::refused(Refusal::MessageTooLarge).because(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every `x`.
    struct X;

    impl Tags for X {
        fn first(
            &self,
            rest: &str,
            _: &mut Work,
        ) -> Result<Option<(usize, Cow<'_, str>)>, Failure> {
            Ok(rest.starts_with('x').then(|| (1, "[x]".into())))
        }
    }

    fn batch(most: usize) -> Batch {
        Batch {
            messages: 0,
            bytes: 0,
            work: Work(10 * START),
            most,
        }
    }

    #[test]
    fn a_text_is_read_once_and_its_values_are_not_searched() {
        let mut batch = batch(20);
        for (text, replaced) in [
            ("", None),
            ("ä", None),
            ("x", Some("[x]")),
            ("äxxö", Some("ä[x][x]ö")),
            ("xé", Some("[x]é")),
        ] {
            assert_eq!(
                batch.replaced(text, &X).unwrap().as_deref(),
                replaced,
                "{text}"
            );
        }
        assert!(
            batch
                .replaced("xxxxxxx", &X)
                .unwrap_err()
                .text
                .contains("more than 20 bytes")
        );
        assert!(
            batch
                .replaced("xxxxxx123", &X)
                .unwrap_err()
                .text
                .contains("more than 20 bytes")
        );
    }

    #[test]
    fn even_empty_texts_are_work() {
        let mut batch = batch(BYTES);
        let replaced = (0..100)
            .take_while(|_| batch.replaced("", &X).is_ok())
            .count();
        assert_eq!(replaced, 10);
        assert!(
            batch
                .replaced("", &X)
                .unwrap_err()
                .text
                .contains("too many variables")
        );
    }
}
