//! What is recorded of an inbox, except waits and rejections: SMTP sessions and claims.

use restante_api::Exchange;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{ProjectId, Timestamp};

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
    pub at: Timestamp,
}
