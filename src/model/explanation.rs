//! The facts of an explanation: how an inbox ended, the latest messages, similar inboxes, and the use of SMTP.

use super::{InboxId, MessageId, Timestamp, Via};

/// A message in a list of the latest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Latest {
    /// Identifies it.
    pub id: MessageId,
    /// The sender's address.
    pub from: String,
    /// The subject, decoded.
    pub subject: String,
    /// When it was accepted.
    pub received_at: Timestamp,
    /// The names of the filters that exclude it.
    pub missed_by: Vec<&'static str>,
}

/// Another inbox that received mail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Similar {
    /// The inbox.
    pub id: InboxId,
    /// The messages in it.
    pub messages: i64,
    /// When the last one arrived.
    pub last_received_at: Timestamp,
    /// Whether it was created by mail.
    pub opened_by_mail: bool,
}

/// How an inbox ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InboxEnd {
    /// It expired.
    Expired(Timestamp),
    /// It was deleted.
    Deleted(Timestamp),
}

/// The use of SMTP, at one node or at several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SmtpUse {
    /// Connections that are open.
    pub connections_open: i64,
    /// When the last client connected.
    pub last_connection_at: Option<Timestamp>,
    /// When the last message was stored.
    pub last_message_at: Option<Timestamp>,
}

/// When each of [`Via::SEND_APIS`] was last used, at one node or at several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SendApisUse(pub [Option<Timestamp>; Via::SEND_APIS.len()]);

impl SendApisUse {
    /// Each API with the time of its last use.
    pub fn each(&self) -> impl Iterator<Item = (Via, Option<Timestamp>)> {
        Via::SEND_APIS.into_iter().zip(self.0)
    }

    /// Adds the use at other nodes.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let mut both = self.0;
        both.iter_mut().zip(other.0).for_each(|(own, other)| *own = (*own).max(other));
        Self(both)
    }
}

impl SmtpUse {
    /// Adds the use at other nodes.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            connections_open: self.connections_open + other.connections_open,
            last_connection_at: self.last_connection_at.max(other.last_connection_at),
            last_message_at: self.last_message_at.max(other.last_message_at),
        }
    }
}
