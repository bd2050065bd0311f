//! A record of a wait, so that users can see what a test waited for and how the wait ended.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use uuid::{Builder, Uuid};

use super::{
    Domain, Inbox, InboxId, MessageFilter, MessageId, ProjectId, SharedAddress, Timestamp,
    address_of,
};

/// A wait, open or ended.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct WaitRecord {
    /// Identifies it: the same in all requests of the wait.
    pub id: Uuid,
    /// Its request; a UUID of version 7, so requests are ordered by their start.
    pub request: Uuid,
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
        matches!(self, Self::Unexpected(_) | Self::Timeout | Self::InboxEnded)
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

    /// The id of the wait on an inbox whose requests have this name, which their client has chosen:
    /// the same on all nodes, and no other project has it.
    #[must_use]
    pub fn id_of(inbox: &Inbox, name: &str) -> Uuid {
        let created_at = inbox.created_at.as_millis().to_be_bytes();
        let hash = Sha256::new_with_prefix(inbox.project.0.as_bytes())
            .chain_update(created_at)
            .chain_update(inbox.id.as_str())
            .chain_update("/")
            .chain_update(name)
            .finalize();
        let (start, _) = hash.as_chunks();
        Builder::from_custom_bytes(start[0]).into_uuid()
    }

    /// Whether it goes on, or has found what its earlier requests had not: then these are no
    /// failures.
    #[must_use]
    pub fn is_going_on_or_found(&self) -> bool {
        matches!(
            self.end,
            None | Some((_, WaitEnd::Message(_) | WaitEnd::Empty))
        )
    }

    /// The next request of the same wait.
    pub fn go_on(&mut self, request: &Self) {
        let timeout = request.deadline().since(self.started_at);
        self.timeout = self.timeout.max(timeout);
        self.end = request.end;
        // A client without filters of its own has gone on after a message that another wait of it
        // has returned.
        if self.filter.client.is_none() {
            self.filter.after.clone_from(&request.filter.after);
        }
    }

    /// When the wait ends if no message arrives.
    #[must_use]
    pub fn deadline(&self) -> Timestamp {
        self.started_at.after(self.timeout)
    }
}
