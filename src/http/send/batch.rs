//! Limits the messages that a request makes of one text, and the work of replacing their tags: each copy needs memory
//! and time, however small the request is.

use std::borrow::Cow;

use super::call::Received;
use super::failure::Failure;
use super::outgoing::Outgoing;
use crate::model::Refusal;

/// Maximum number of messages of a request.
pub(super) const MESSAGES: usize = 1_000;
/// The bytes that the messages of a small request may have together.
const BYTES: usize = 8 * 1024 * 1024;
/// Maximum work of replacing tags, in bytes of texts and tags that are compared.
const MAX_WORK: usize = 512 * 1024 * 1024;
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

/// The work of replacing tags so far.
#[derive(Default)]
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
    /// Counts work.
    ///
    /// # Errors
    /// [`Failure`] if it is too much.
    pub(super) fn add(&mut self, amount: usize) -> Result<(), Failure> {
        self.0 = self.0.saturating_add(amount);
        if self.0 > MAX_WORK {
            return Err(Failure::invalid("too many variables in texts of this size"));
        }
        Ok(())
    }
}

impl Batch {
    /// The batch of a request; a larger one may have more bytes.
    pub(super) fn of(received: &Received) -> Self {
        let most = received.body.len().saturating_mul(2).max(BYTES);
        Self { messages: 0, bytes: 0, work: Work::default(), most }
    }

    /// The message, as one more of the request.
    ///
    /// # Errors
    /// [`Failure`] for too many messages, or if they have too many bytes that no other shares.
    pub(super) fn add(&mut self, message: Outgoing) -> Result<Outgoing, Failure> {
        self.messages += 1;
        if self.messages > MESSAGES {
            return Err(Failure::invalid(format!("a request sends at most {MESSAGES} messages")));
        }
        self.bytes = self.bytes.saturating_add(message.own_bytes());
        if self.bytes > self.most { Err(self.too_large()) } else { Ok(message) }
    }

    /// The text with each of its tags replaced; `None` if it has none. What replaces a tag is not searched for others,
    /// so the text is read once, however many tags there are.
    ///
    /// # Errors
    /// [`Failure`] if the text becomes too large, or for too many tags in large texts.
    pub(super) fn replaced(&mut self, text: &str, tags: &impl Tags) -> Result<Option<String>, Failure> {
        self.work.add(START + text.len())?;
        let (mut replaced, mut copied) = (String::new(), 0);
        for (position, _) in text.char_indices() {
            // Within the last tag.
            if position < copied {
                continue;
            }
            let Some((length, value)) = tags.first(&text[position..], &mut self.work)? else { continue };
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
        let text = format!("the messages of the request have more than {} bytes together", self.most);
        Failure::refused(Refusal::MessageTooLarge).because(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every `x`.
    struct X;

    impl Tags for X {
        fn first(&self, rest: &str, _: &mut Work) -> Result<Option<(usize, Cow<'_, str>)>, Failure> {
            Ok(rest.starts_with('x').then(|| (1, "[x]".into())))
        }
    }

    fn batch(most: usize) -> Batch {
        Batch { messages: 0, bytes: 0, work: Work::default(), most }
    }

    #[test]
    fn a_text_is_read_once_and_its_values_are_not_searched() {
        let mut batch = batch(20);
        for (text, replaced) in
            [("", None), ("ä", None), ("x", Some("[x]")), ("äxxö", Some("ä[x][x]ö")), ("xé", Some("[x]é"))]
        {
            assert_eq!(batch.replaced(text, &X).unwrap().as_deref(), replaced, "{text}");
        }
        assert!(batch.replaced("xxxxxxx", &X).unwrap_err().text.contains("more than 20 bytes"));
        assert!(batch.replaced("xxxxxx123", &X).unwrap_err().text.contains("more than 20 bytes"));
    }

    #[test]
    fn even_empty_texts_are_work() {
        let mut batch = batch(BYTES);
        let most = MAX_WORK / START;
        let replaced = (0..=most).take_while(|_| batch.replaced("", &X).is_ok()).count();
        assert_eq!(replaced, most);
        assert!(batch.replaced("", &X).unwrap_err().text.contains("too many variables"));
    }
}
