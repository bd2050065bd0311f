//! A received message as a test reads it.

use std::fmt;

use uuid::Uuid;

use super::{InboxId, Timestamp};

/// The text is no message id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a message id")]
pub struct InvalidMessageId;

/// Identifies a message; a UUID of version 7, opaque to callers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MessageId(pub Uuid);

impl MessageId {
    /// Makes a new id.
    #[must_use]
    pub fn generate() -> Self {
        Self(Uuid::now_v7())
    }

    /// Reads an id that somebody gave: the hyphenated form, in any case.
    ///
    /// # Errors
    /// [`InvalidMessageId`] for anything else.
    pub fn parse(text: &str) -> Result<Self, InvalidMessageId> {
        // Uuid reads braces and URNs too; an id has one spelling.
        if text.len() != uuid::fmt::Hyphenated::LENGTH {
            return Err(InvalidMessageId);
        }
        Uuid::try_parse(text).map(Self).map_err(|_| InvalidMessageId)
    }
}

impl fmt::Display for MessageId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// A received message with its parsed parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Identifies it; also the `after` cursor.
    pub id: MessageId,
    /// The inbox it lies in.
    pub inbox_id: InboxId,
    /// Its position in the inbox: 1, 2, 3 … in commit order.
    pub sequence: i64,
    /// The sender's address; empty where there is none.
    pub from: String,
    /// The subject, decoded; empty where there is none.
    pub subject: String,
    /// The plain text, lines ended by `\n`.
    pub text: String,
    /// The HTML; empty where there is none.
    pub html: String,
    /// Absolute URIs in the order they stand in the message, each once.
    pub links: Vec<String>,
    /// The one-time code, 4 to 8 digits; empty where there is none.
    pub otp: String,
    /// When it was accepted.
    pub received_at: Timestamp,
}
