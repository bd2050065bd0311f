//! The envelope of a message: all information that the session has about it except the message
//! itself.

use std::sync::Arc;

use restante_mail::EmailAddress;

use crate::path::ReversePath;

/// The sender, the recipients, and how the message arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// The sender.
    pub reverse_path: ReversePath,
    /// The recipients, all on the mail domain or an accepted one, in the order of the RCPT
    /// commands; may contain duplicates.
    pub recipients: Vec<EmailAddress>,
    /// The name that the client gave. It is one word without control characters; otherwise it is
    /// not validated.
    pub client_name: Arc<str>,
    /// Whether the client used EHLO and not HELO.
    pub extended: bool,
    /// Whether the connection was encrypted.
    pub encrypted: bool,
    /// Whether the client authenticated.
    pub authenticated: bool,
    /// Whether the client requested SMTPUTF8.
    pub smtputf8: bool,
}

impl Envelope {
    /// The protocol for the `with` clause of a Received field (RFC 3848; RFC 6531, section 4.3).
    #[must_use]
    pub fn protocol(&self) -> &'static str {
        match (
            self.smtputf8,
            self.extended,
            self.encrypted,
            self.authenticated,
        ) {
            (true, _, false, false) => "UTF8SMTP",
            (true, _, true, false) => "UTF8SMTPS",
            (true, _, false, true) => "UTF8SMTPA",
            (true, _, true, true) => "UTF8SMTPSA",
            (false, false, ..) => "SMTP",
            (false, true, false, false) => "ESMTP",
            (false, true, true, false) => "ESMTPS",
            (false, true, false, true) => "ESMTPA",
            (false, true, true, true) => "ESMTPSA",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_protocol_names_what_the_client_used() {
        let protocol = |smtputf8, extended, encrypted, authenticated| {
            let reverse_path = ReversePath::default();
            let recipients = Vec::new();
            let client_name = "c".into();
            let envelope = Envelope {
                reverse_path,
                recipients,
                client_name,
                extended,
                encrypted,
                authenticated,
                smtputf8,
            };
            envelope.protocol()
        };
        assert_eq!(protocol(false, false, false, false), "SMTP");
        for (encrypted, authenticated, extended, utf8) in [
            (false, false, "ESMTP", "UTF8SMTP"),
            (true, false, "ESMTPS", "UTF8SMTPS"),
            (false, true, "ESMTPA", "UTF8SMTPA"),
            (true, true, "ESMTPSA", "UTF8SMTPSA"),
        ] {
            assert_eq!(protocol(false, true, encrypted, authenticated), extended);
            assert_eq!(protocol(true, true, encrypted, authenticated), utf8);
        }
    }
}
