//! A message and its envelope, as the client transfers it.

/// A message and its envelope.
#[derive(Clone, Debug)]
pub(super) struct Mail {
    /// The reverse-path without angle brackets.
    pub(super) sender: String,
    /// The forward-paths without angle brackets.
    pub(super) recipients: Vec<String>,
    /// The message; its lines end with CR LF.
    pub(super) message: Vec<u8>,
}

impl Mail {
    /// Whether an address needs SMTPUTF8 (RFC 6531).
    pub(super) fn needs_utf8(&self) -> bool {
        !self.sender.is_ascii() || !self.recipients.iter().all(|recipient| recipient.is_ascii())
    }

    /// Whether the message needs 8BITMIME (RFC 6152).
    pub(super) fn needs_eight_bits(&self) -> bool {
        !self.message.is_ascii()
    }
}
