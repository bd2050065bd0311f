//! Limits the messages that a request makes of one text: each copy needs memory, however small the request is.

use super::call::Received;
use super::failure::Failure;
use super::outgoing::Outgoing;
use crate::model::Refusal;

/// Maximum number of messages of a request.
const MESSAGES: usize = 1_000;
/// The bytes that the messages of a small request may have together.
const BYTES: usize = 8 * 1024 * 1024;
/// Maximum number of bytes in which tags are looked for.
const SCANNED: usize = 4 * 1024 * 1024 * 1024;

/// What the messages of a request have so far.
pub(super) struct Batch {
    messages: usize,
    bytes: usize,
    scanned: usize,
    /// Maximum number of bytes.
    most: usize,
}

impl Batch {
    /// The batch of a request; a larger one may have more bytes.
    pub(super) fn of(received: &Received) -> Self {
        Self { messages: 0, bytes: 0, scanned: 0, most: received.body.len().saturating_mul(2).max(BYTES) }
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

    /// The text with every tag replaced; `None` if it has none.
    ///
    /// # Errors
    /// [`Failure`] if the text becomes too large, or for too many tags in large texts.
    pub(super) fn replaced(&mut self, text: &str, tag: &str, value: &str) -> Result<Option<String>, Failure> {
        self.scanned = self.scanned.saturating_add(text.len());
        if self.scanned > SCANNED {
            return Err(Failure::invalid("too many variables in texts of this size"));
        }
        let count = if tag.is_empty() { 0 } else { text.matches(tag).count() };
        if count == 0 {
            return Ok(None);
        }
        if text.len().saturating_add(count.saturating_mul(value.len())) > self.most {
            return Err(self.too_large());
        }
        Ok(Some(text.replace(tag, value)))
    }

    fn too_large(&self) -> Failure {
        let text = format!("the messages of the request have more than {} bytes together", self.most);
        Failure::refused(Refusal::MessageTooLarge).because(text)
    }
}
