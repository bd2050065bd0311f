//! The bounce for a message that could not be delivered (RFC 3464), sent to the inbox that sent the
//! message.

use restante_mail::report::{FailedRecipient, Report};

use super::failure::Failure;
use super::status::Status;
use crate::model::{Domain, Outgoing, Timestamp};

/// The content of the bounce.
pub(super) struct Bounce<'a> {
    /// The item that failed.
    pub(super) item: &'a Outgoing,
    /// The address that sent the message.
    pub(super) sender: &'a str,
    /// The header section of the message.
    pub(super) header: &'a [u8],
    /// Why the delivery failed.
    pub(super) failure: &'a Failure,
    /// The domain that sends the report.
    pub(super) mail_domain: &'a Domain,
    /// The time of the report.
    pub(super) now: Timestamp,
}

impl Bounce<'_> {
    /// The report as a message.
    pub(super) fn compose(&self) -> Vec<u8> {
        let attempted_at = self.item.attempted_at.unwrap_or(self.now);
        let recipient = FailedRecipient {
            address: self.item.recipient.clone(),
            status: self.permanent_status().to_string(),
            server: self.failure.server.clone(),
            reply: self.failure.reply.clone(),
            last_attempt: Some(attempted_at.to_rfc5322()),
        };
        let report = Report {
            mail_domain: self.mail_domain,
            to: self.sender,
            header: self.header,
            message_id: Some(&self.item.message_id),
            text: &self.text(),
            arrived_at: &self.item.created_at.to_rfc5322(),
            recipients: &[recipient],
            id: &uuid::Uuid::now_v7().to_string(),
            date: &self.now.to_rfc5322(),
        };
        report.compose()
    }

    fn text(&self) -> String {
        let attempts = match self.item.attempts {
            1 => "There was one attempt".to_owned(),
            attempts => format!("There were {attempts} attempts"),
        };
        format!(
            "Your message to {} could not be delivered:\r\n\r\n    {}\r\n\r\n{attempts}. It will not be retried.\r\n",
            self.item.recipient, self.failure.text,
        )
    }

    /// A transient failure becomes permanent when there are no more attempts.
    fn permanent_status(&self) -> Status {
        let Status(_, subject, detail) = self.failure.status;
        Status(Status::PERMANENT, subject, detail)
    }
}

#[cfg(test)]
mod tests {
    use mail_parser::MimeHeaders;

    use super::super::peer::Peer;
    use super::*;
    use crate::model::{InboxId, OutgoingId, OutgoingStatus, ProjectId};

    #[test]
    fn a_report_has_words_fields_and_the_header() {
        let report = compose(
            "a@shop.example",
            b"Subject: Hello\r\nMessage-ID: <1@restante.example.com>\r\n",
        );
        let parsed = mail_parser::MessageParser::new().parse(&report).unwrap();
        assert_eq!(parsed.subject(), Some("Undelivered Mail: Hello"));
        let [whole, text, fields, header] = &parsed.parts[..] else {
            panic!("{} parts", parsed.parts.len())
        };
        assert_eq!(
            whole.content_type().unwrap().attribute("report-type"),
            Some("delivery-status")
        );
        assert!(
            text.text_contents()
                .unwrap()
                .contains("could not be delivered:\r\n\r\n    mx: refused\r\n")
        );
        let fields = String::from_utf8_lossy(fields.contents());
        for line in [
            "Final-Recipient: rfc822; a@shop.example",
            "Action: failed",
            "Status: 5.4.1",
            "Remote-MTA: dns; mx",
        ] {
            assert!(
                fields.contains(&format!("\r\n{line}\r\n")),
                "{line} is not in {fields}"
            );
        }
        assert!(
            header
                .text_contents()
                .unwrap()
                .starts_with("Subject: Hello\r\nMessage-ID: <1@restante.example.com>")
        );
    }

    #[test]
    fn an_address_outside_ascii_has_fields_of_another_type() {
        let report =
            String::from_utf8(compose("jörg@shop.example", b"Subject: Hello\r\n")).unwrap();
        assert!(report.contains("Content-Type: message/global-delivery-status\r\n"));
        assert!(report.contains("\r\nFinal-Recipient: utf-8; jörg@shop.example\r\n"));
    }

    fn compose(recipient: &str, header: &[u8]) -> Vec<u8> {
        let now = Timestamp::from_millis(1_795_167_000_123);
        let item = Outgoing {
            id: OutgoingId::generate(),
            project: ProjectId(uuid::Uuid::now_v7()),
            inbox: InboxId::parse("k3v9").unwrap(),
            recipient: recipient.to_owned(),
            subject: "Hello".to_owned(),
            message_id: "<1@restante.example.com>".to_owned(),
            status: OutgoingStatus::Queued,
            created_at: now,
            attempts: 2,
            attempted_at: Some(now),
            due_at: Some(now),
            expires_at: Some(now),
            leased_until: None,
            last_reply: String::new(),
            is_report: false,
            shared: None,
        };
        let peer = Peer {
            name: "mx".to_owned(),
            address: ([192, 0, 2, 1], 25).into(),
        };
        let failure = Failure {
            text: "mx: refused".to_owned(),
            ..Failure::transient(4, 1, "refused").at(&peer)
        };
        let mail_domain = &Domain::parse("restante.example.com").unwrap();
        Bounce {
            item: &item,
            sender: "k3v9@restante.example.com",
            header,
            failure: &failure,
            mail_domain,
            now,
        }
        .compose()
    }
}
