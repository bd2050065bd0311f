//! A record of a wait, so that a person can see what a test waited for and how that ended.

use std::time::Duration;

use uuid::Uuid;

use super::{Features, InboxId, MessageId, ProjectId, Timestamp};

/// A wait: open, or ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitRecord {
    /// Identifies it; a UUID of version 7, so waits are ordered by their start.
    pub id: Uuid,
    /// The project of the inbox.
    pub project: ProjectId,
    /// The inbox.
    pub inbox: InboxId,
    /// When that inbox was created: another inbox may get the address later.
    pub inbox_created_at: Timestamp,
    /// The filters as the caller gave them.
    pub subject: Option<String>,
    /// The filter of the sender.
    pub from: Option<String>,
    /// What the message must have.
    pub has: Features,
    /// The message after which the caller waits.
    pub after: Option<String>,
    /// When it started.
    pub started_at: Timestamp,
    /// How long the caller wanted to wait.
    pub timeout: Duration,
    /// When and how it ended.
    pub end: Option<(Timestamp, WaitEnd)>,
}

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitEnd {
    /// With this message.
    Message(MessageId),
    /// Without a message, after its timeout.
    Timeout,
    /// Its inbox was deleted or has expired.
    InboxEnded,
    /// The key had too many open waits.
    TooMany,
    /// The client closed the connection.
    Left,
    /// The service stopped, or failed.
    Failed,
}

impl WaitEnd {
    /// The word for it in the database.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Message(_) => "message",
            Self::Timeout => "timeout",
            Self::InboxEnded => "inbox ended",
            Self::TooMany => "too many",
            Self::Left => "left",
            Self::Failed => "failed",
        }
    }

    /// The end of a word of [`WaitEnd::as_str`]; `message` is the message of a wait that found one.
    #[must_use]
    pub fn of_word(word: &str, message: Option<MessageId>) -> Self {
        match (word, message) {
            ("message", Some(message)) => Self::Message(message),
            ("timeout", _) => Self::Timeout,
            ("inbox ended", _) => Self::InboxEnded,
            ("too many", _) => Self::TooMany,
            ("left", _) => Self::Left,
            _ => Self::Failed,
        }
    }
}

impl WaitRecord {
    /// When it ends if no message comes.
    #[must_use]
    pub fn deadline(&self) -> Timestamp {
        self.started_at.after(self.timeout)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_comes_back_from_its_word() {
        let message = MessageId::generate();
        for end in [
            WaitEnd::Message(message),
            WaitEnd::Timeout,
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
