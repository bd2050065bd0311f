//! A message with its bytes as received.

use super::{Envelope, InboxId, MessageId, Timestamp};
use crate::memory::Room;

/// A message as received.
#[derive(Debug)]
pub struct Source {
    /// Its bytes.
    pub raw: Vec<u8>,
    /// The memory reservation for `raw`.
    pub room: Room,
}

/// A message with all its stored data.
#[derive(Debug)]
pub struct Everything {
    /// Identifies it.
    pub id: MessageId,
    /// The inbox in which it is.
    pub inbox_id: InboxId,
    /// When it was accepted.
    pub received_at: Timestamp,
    /// The header fields that this server put before it.
    pub trace: String,
    /// Its envelope and connection.
    pub envelope: Envelope,
    /// Its bytes as received.
    pub raw: Vec<u8>,
    /// Memory for the bytes and for the data decoded from them, which can be as large.
    pub room: Room,
}
