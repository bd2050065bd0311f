//! A message on its way out of an inbox.

use std::fmt;

use uuid::Uuid;

/// Identifies an outgoing item; a UUID of version 7, opaque to callers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OutgoingId(pub Uuid);

impl OutgoingId {
    /// Makes a new id.
    #[must_use]
    pub fn generate() -> Self {
        Self(Uuid::now_v7())
    }
}

impl fmt::Display for OutgoingId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// Where an outgoing item stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutgoingStatus {
    /// It waits for the mail worker.
    Queued,
    /// It was delivered: into a local inbox, or to the server of its recipient.
    Sent,
}

impl OutgoingStatus {
    /// The word that is stored.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Sent => "sent",
        }
    }
}
