//! A message with its bytes as received.

use super::{Envelope, InboxId, MessageId, SharedAddress, Timestamp};

/// A message with all its stored data.
#[derive(Debug)]
pub struct Everything {
    pub id: MessageId,
    /// The inbox in which it is.
    pub inbox_id: InboxId,
    /// The address of the inbox, if that is not on the mail domain.
    pub shared: Option<SharedAddress>,
    /// The sender's address; empty if there is none.
    pub from: String,
    /// The subject, decoded; empty if there is none.
    pub subject: String,
    /// When it was accepted.
    pub received_at: Timestamp,
    /// The header fields that this server put before it.
    pub trace: String,
    /// Its envelope and connection.
    pub envelope: Envelope,
    /// Its bytes as received.
    pub raw: Vec<u8>,
}
