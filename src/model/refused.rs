//! Something that was refused over SMTP, as somebody sees it who asks why a mail did not come.

use super::{InboxId, Timestamp};

/// One reply that refused something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedMail {
    /// The client's address and port.
    pub peer: String,
    /// The reverse-path as the client wrote it; empty where it came to none.
    pub sender: String,
    /// The recipient or recipients as the client wrote them; empty where it came to none.
    pub recipient: String,
    /// The inbox whose local part the recipient has; nothing where no recipient is known.
    pub inbox: Option<InboxId>,
    /// Why, as one word in snake case.
    pub reason: String,
    /// What the client was told.
    pub reply: String,
    /// When.
    pub refused_at: Timestamp,
}
