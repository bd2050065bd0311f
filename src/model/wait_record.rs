//! A record of a wait, so that users can see what a test waited for and how the wait ended.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{
    Domain, InboxId, MessageFilter, MessageId, ProjectId, SharedAddress, Timestamp, address_of,
};

/// A wait, open or ended.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitEnd {
    /// A message was found.
    Message(MessageId),
    /// A message was found, although the client expected none.
    Unexpected(MessageId),
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
    /// Whether the test that waited has failed, as far as the server knows.
    #[must_use]
    pub fn is_failure(self) -> bool {
        matches!(self, Self::Unexpected(_) | Self::Timeout)
    }

    /// The message that was found.
    #[must_use]
    pub fn message(self) -> Option<MessageId> {
        match self {
            Self::Message(id) | Self::Unexpected(id) => Some(id),
            _ => None,
        }
    }
}

impl WaitRecord {
    /// The address of the inbox.
    #[must_use]
    pub fn address(&self, mail_domain: &Domain) -> String {
        address_of(&self.inbox, self.shared.as_ref(), mail_domain)
    }

    /// When the wait ends if no message arrives.
    #[must_use]
    pub fn deadline(&self) -> Timestamp {
        self.started_at.after(self.timeout)
    }
}
