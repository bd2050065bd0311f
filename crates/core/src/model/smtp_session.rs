//! What the timeline of an inbox is made of: claims, SMTP sessions, messages, uses of faults, and
//! sent mail.

use restante_api::Exchange;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{InboxId, MessageId, ProjectId, Timestamp};

/// The part of an SMTP session that concerns one mail transaction, with the commands before it. It
/// has no password, no key and no body.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct SmtpSession {
    /// Identifies it; a UUID of version 7.
    pub id: Uuid,
    /// The inboxes that it named: the ids on the mail domain, and whole addresses on other domains.
    pub named: Vec<String>,
    /// The project that it concerns alone: that of the client's key, or the owner of the only inbox
    /// that it named. It is `None` if that is not known.
    pub project: Option<ProjectId>,
    pub client: String,
    /// The TLS version, if it is encrypted.
    pub tls: Option<String>,
    /// Whether something was rejected, or no message was sent.
    pub has_failed: bool,
    /// When it named the first inbox.
    pub started_at: Timestamp,
    /// When the last command was answered.
    pub ended_at: Timestamp,
    /// The commands with their replies.
    pub exchanges: Vec<Exchange>,
}

/// An inbox that existed was claimed again.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct InboxClaim {
    pub inbox: InboxId,
    pub project: ProjectId,
    /// When it was created.
    pub inbox_created_at: Timestamp,
    /// When it was claimed.
    pub at: Timestamp,
}

/// A message that arrived, for the timeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrivedMail {
    pub id: MessageId,
    pub from: String,
    pub subject: String,
    /// The labelled code; empty if there is none.
    pub code: String,
    /// Its size in bytes, as received.
    pub size: i64,
    /// When it was accepted.
    pub received_at: Timestamp,
    /// The provider whose API was used; `None` for SMTP.
    pub via: Option<String>,
    pub client: Option<String>,
    pub tls: Option<String>,
}

/// A use of a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultUse {
    pub point: String,
    pub action: String,
    pub used_at: Timestamp,
}

/// A message that was sent from the inbox, with one of its attempts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentMail {
    pub recipient: String,
    pub subject: String,
    pub status: String,
    /// When it was queued.
    pub created_at: Timestamp,
    /// When the attempt was made.
    pub attempted_at: Option<Timestamp>,
    /// The reply to the attempt.
    pub reply: Option<String>,
}
