//! A refusal over SMTP, kept so that users can find out why a mail did not arrive.

use super::{InboxId, Timestamp};

/// One SMTP reply that refused something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedMail {
    /// The client's address and port.
    pub peer: String,
    /// The reverse-path as the client sent it; empty if there was none yet.
    pub sender: String,
    /// The recipient or recipients as the client sent them; empty if there were none yet.
    pub recipient: String,
    /// The inbox whose local part the recipient has; `None` if no recipient is known.
    pub inbox: Option<InboxId>,
    /// Why, as one word in snake case.
    pub reason: String,
    /// The reply to the client.
    pub reply: String,
    /// The time of the reply.
    pub refused_at: Timestamp,
}
