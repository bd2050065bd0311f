//! A message that an inbox sends.

use std::fmt;

pub use restante_api::OutgoingStatus;
use uuid::Uuid;

use super::{InboxId, InvalidId, ProjectId, SharedAddress, Timestamp, parse_id};

/// Identifies an outgoing item; a UUID of version 7, opaque to callers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OutgoingId(pub Uuid);

impl OutgoingId {
    #[must_use]
    pub fn generate() -> Self {
        Self(Uuid::now_v7())
    }

    /// Parses an id from outside: the hyphenated form, case-insensitively.
    ///
    /// # Errors
    /// [`InvalidId`] for anything else.
    pub fn parse(text: &str) -> Result<Self, InvalidId> {
        parse_id(text).map(Self)
    }
}

impl fmt::Display for OutgoingId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// Identifies one run of a mail worker, which owns its leases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WorkerId(pub Uuid);

impl WorkerId {
    #[must_use]
    pub fn generate() -> Self {
        Self(Uuid::now_v7())
    }
}

/// The result of one attempt to send an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// Counted from 1.
    pub number: u32,
    pub attempted_at: Option<Timestamp>,
    /// The server to which the attempt was made.
    pub server: Option<String>,
    /// The server's reply or the error, on one line.
    pub reply: String,
}

/// Maximum number of characters of a subject in a list, which has those of many messages at once.
pub const SUBJECT_CHARACTERS: usize = 1_000;

/// The part of a recipient's address after the `@`; empty without one.
#[must_use]
pub fn domain_of(recipient: &str) -> &str {
    recipient.rsplit_once('@').map_or("", |(_, domain)| domain)
}

/// An outgoing item, without its message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outgoing {
    pub id: OutgoingId,
    /// The project of the sending inbox.
    pub project: ProjectId,
    pub inbox: InboxId,
    /// The address it is sent to.
    pub recipient: String,
    pub subject: String,
    /// Its Message-ID, with angle brackets; the same on every copy.
    pub message_id: String,
    pub status: OutgoingStatus,
    /// When the caller sent it.
    pub created_at: Timestamp,
    /// How many attempts the mail worker has started.
    pub attempts: u32,
    /// When the last attempt started.
    pub attempted_at: Option<Timestamp>,
    /// When the next attempt is due; only set while it is queued.
    pub due_at: Option<Timestamp>,
    /// After this time no attempt is made; only set for items that were queued.
    pub expires_at: Option<Timestamp>,
    /// When the lease of the mail worker ends; only set during an attempt.
    pub leased_until: Option<Timestamp>,
    /// The result of the last attempt, on one line; empty before the first.
    pub last_reply: String,
    /// Whether it is a delivery status notification: it has the null reverse-path, and its failure
    /// is not reported.
    pub is_report: bool,
    /// The address of the sending inbox, if that is not on the mail domain.
    pub shared: Option<SharedAddress>,
}
