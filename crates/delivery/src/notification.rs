//! The delivery status notification for the sender of a message that a fault makes bounce.

use restante_mail::report::{FailedRecipient, Report, header_section};
use restante_mail::{Domain, EmailAddress};
use restante_smtp::RequestedReply;
use restante_smtp::path::ForwardPath;
use uuid::Uuid;

use crate::{InboxId, ProjectId, Recipient};

/// A notification that is queued for the sender of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notification {
    /// Identifies it; also part of its Message-ID.
    pub id: Uuid,
    /// The inbox at which the message bounces.
    pub inbox: InboxId,
    /// The project that owns the inbox.
    pub project: ProjectId,
    /// The sender of the message: the reverse-path, which can be an address that only another
    /// server has.
    pub to: String,
    /// The recipients that the message did not reach, as addressed.
    pub recipients: Vec<Recipient>,
}

/// The message that bounces.
#[derive(Clone, Copy, Debug)]
pub struct Original<'a> {
    /// Its subject, decoded.
    pub subject: &'a str,
    /// Its bytes, at least up to the end of its header.
    pub bytes: &'a [u8],
    /// When it arrived, which is also when it bounces, in the date format of RFC 5322.
    pub arrived_at: &'a str,
}

impl Notification {
    /// Its subject.
    #[must_use]
    pub fn subject(&self, original: &Original<'_>) -> String {
        format!("Undelivered Mail: {}", original.subject)
    }

    /// Its Message-ID, with angle brackets.
    #[must_use]
    pub fn message_id(&self, mail_domain: &Domain) -> String {
        format!("<{}@{mail_domain}>", self.id)
    }

    /// Composes it (RFC 3464).
    #[must_use]
    pub fn compose(&self, original: &Original<'_>, mail_domain: &Domain) -> Vec<u8> {
        let reply = RequestedReply::rejected();
        let recipients: Vec<FailedRecipient> = self
            .recipients
            .iter()
            .map(|recipient| FailedRecipient {
                address: recipient.at(mail_domain),
                status: reply.status(),
                server: None,
                reply: Some(reply.to_string()),
                last_attempt: Some(original.arrived_at.to_owned()),
            })
            .collect();
        let addresses: Vec<&str> = recipients
            .iter()
            .map(|failed| failed.address.as_str())
            .collect();
        let text = format!(
            "Your message could not be delivered to:\r\n\r\n    {}\r\n\r\n\
             A test has asked for this bounce. The message was not stored.\r\n",
            addresses.join("\r\n    "),
        );
        let threading = restante_mail::threading(original.bytes);
        let report = Report {
            mail_domain,
            to: &self.to,
            header: header_section(original.bytes),
            message_id: threading.message_id.as_deref(),
            text: &text,
            arrived_at: original.arrived_at,
            recipients: &recipients,
            id: &self.id.to_string(),
            date: original.arrived_at,
        };
        report.compose()
    }
}

/// The address for a notification: the reverse-path. A local part that needs no quotes is written
/// without them, which means the same (RFC 5321, section 4.1.2), so that the address of an inbox is
/// recognised. `None` for the null path.
pub(crate) fn destination(reverse_path: &str) -> Option<String> {
    if reverse_path.is_empty() {
        return None;
    }
    let address = match ForwardPath::parse(&format!("<{reverse_path}>")) {
        Ok((ForwardPath::Mailbox { local_part, domain }, _)) => {
            EmailAddress::new(&local_part, domain).ok()
        }
        _ => None,
    };
    Some(address.map_or_else(|| reverse_path.to_owned(), |address| address.to_string()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    #[test]
    fn a_notification_names_each_recipient_and_why_the_message_bounced() {
        let mail_domain = Domain::parse("restante.example.com").unwrap();
        let shared = crate::SharedAddress::from_stored("ada@shop.test".to_owned());
        let notification = Notification {
            id: Uuid::from_u128(7),
            inbox: InboxId::parse("ada").unwrap(),
            project: ProjectId(Uuid::from_u128(1)),
            to: "app@client.example".to_owned(),
            recipients: vec![
                InboxId::parse("ada+x").unwrap().into(),
                Recipient::Shared(shared),
            ],
        };
        let bytes = b"Subject: Hi\r\nMessage-ID: <1@client.example>\r\n\r\nbody\r\n";
        let original = Original {
            subject: "Hi",
            bytes,
            arrived_at: "Thu, 1 Jan 2026 00:00:00 +0000",
        };
        let id = "00000000-0000-0000-0000-000000000007@restante.example.com";
        assert_eq!(notification.subject(&original), "Undelivered Mail: Hi");
        assert_eq!(notification.message_id(&mail_domain), format!("<{id}>"));
        let report = String::from_utf8(notification.compose(&original, &mail_domain)).unwrap();
        for line in [
            "Subject: Undelivered Mail: Hi",
            &format!("Message-ID: <{id}>"),
            "In-Reply-To: <1@client.example>",
            "    ada+x@restante.example.com",
            "    ada@shop.test",
            "Final-Recipient: rfc822; ada+x@restante.example.com",
            "Final-Recipient: rfc822; ada@shop.test",
            "Status: 5.1.1",
            "Diagnostic-Code: smtp; 550 5.1.1 Rejected on request",
            "Last-Attempt-Date: Thu, 1 Jan 2026 00:00:00 +0000",
        ] {
            assert!(
                report.lines().any(|found| found == line),
                "{line}: {report}"
            );
        }
        assert!(!report.contains("body"), "{report}");
    }

    #[test]
    fn needless_quotes_are_removed() {
        for (path, address) in [
            ("", None),
            ("a@B.example", Some("a@b.example")),
            (r#""a.b"@b.example"#, Some("a.b@b.example")),
            (r#""a\b"@b.example"#, Some("ab@b.example")),
            (r#""a b"@b.example"#, Some(r#""a b"@b.example"#)),
            ("a@[192.0.2.1]", Some("a@[192.0.2.1]")),
        ] {
            assert_eq!(destination(path).as_deref(), address);
        }
    }
}
