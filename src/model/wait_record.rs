//! A record of a wait, so that users can see what a test waited for and how the wait ended.

use std::time::Duration;

use uuid::Uuid;

use super::{InboxId, MessageFilter, MessageId, ProjectId, SharedAddress, Timestamp};

/// A wait, open or ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitRecord {
    /// Identifies it; a UUID of version 7, so waits are ordered by their start.
    pub id: Uuid,
    /// The project of the inbox.
    pub project: ProjectId,
    pub inbox: InboxId,
    /// Its address, if that is not on the mail domain.
    pub shared: Option<SharedAddress>,
    /// When that inbox was created, because another inbox may get the address later.
    pub inbox_created_at: Timestamp,
    pub filter: MessageFilter,
    pub started_at: Timestamp,
    /// The timeout that the caller requested.
    pub timeout: Duration,
    /// When and how it ended.
    pub end: Option<(Timestamp, WaitEnd)>,
}

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitEnd {
    /// A message was found.
    Message(MessageId),
    /// The timeout passed without a message.
    Timeout,
    /// No message arrived, as the client expected.
    Empty,
    /// Its inbox was deleted or has expired.
    InboxEnded,
    /// The key had too many open waits.
    TooMany,
    Left,
    /// The service stopped, or failed.
    Failed,
}

impl WaitEnd {
    /// The word that the database has for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Message(_) => "message",
            Self::Timeout => "timeout",
            Self::Empty => "empty",
            Self::InboxEnded => "inbox ended",
            Self::TooMany => "too many",
            Self::Left => "left",
            Self::Failed => "failed",
        }
    }

    /// Converts a word of [`WaitEnd::as_str`]; `message` is the message of a wait that found one.
    #[must_use]
    pub fn of_word(word: &str, message: Option<MessageId>) -> Self {
        match (word, message) {
            ("message", Some(message)) => Self::Message(message),
            ("timeout", _) => Self::Timeout,
            ("empty", _) => Self::Empty,
            ("inbox ended", _) => Self::InboxEnded,
            ("too many", _) => Self::TooMany,
            ("left", _) => Self::Left,
            _ => Self::Failed,
        }
    }
}

impl WaitRecord {
    /// When the wait ends if no message arrives.
    #[must_use]
    pub fn deadline(&self) -> Timestamp {
        self.started_at.after(self.timeout)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outcome_survives_a_round_trip_through_its_word() {
        let message = MessageId::generate();
        for end in [
            WaitEnd::Message(message),
            WaitEnd::Timeout,
            WaitEnd::Empty,
            WaitEnd::InboxEnded,
            WaitEnd::TooMany,
            WaitEnd::Left,
            WaitEnd::Failed,
        ] {
            assert_eq!(WaitEnd::of_word(end.as_str(), Some(message)), end);
        }
        assert_eq!(WaitEnd::of_word("message", None), WaitEnd::Failed);
    }
}
