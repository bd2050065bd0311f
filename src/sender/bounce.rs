//! The bounce for a message that could not be delivered (RFC 3464), sent to the inbox that sent the message.
//!
//! It has three parts: a text for people, fields for programs, and the header of the original message.

use super::failure::Failure;
use super::status::Status;
use crate::model::{Domain, Outgoing, Timestamp};

/// What the bounce reports.
pub(super) struct Bounce<'a> {
    /// The item that failed.
    pub(super) item: &'a Outgoing,
    /// The address that sent the message.
    pub(super) sender: &'a str,
    /// The header section of the message.
    pub(super) header: &'a [u8],
    /// Why delivery was given up.
    pub(super) failure: &'a Failure,
    /// The domain that reports.
    pub(super) mail_domain: &'a Domain,
    /// The time of the report.
    pub(super) now: Timestamp,
}

impl Bounce<'_> {
    /// The report as a message.
    pub(super) fn compose(&self) -> Vec<u8> {
        let (boundary, id) = (uuid::Uuid::now_v7().simple(), uuid::Uuid::now_v7());
        // RFC 6533 has separate content types for fields with UTF-8.
        let ascii = self.item.recipient.is_ascii() && self.sender.is_ascii();
        let (status_type, header_type) = if ascii {
            ("message/delivery-status", "text/rfc822-headers")
        } else {
            ("message/global-delivery-status", "message/global-headers")
        };
        let mut report = format!(
            "From: Mail Delivery System <mailer-daemon@{domain}>\r\n\
             To: <{sender}>\r\n\
             Subject: Undelivered Mail:{subject}\r\n\
             Date: {date}\r\n\
             Message-ID: <{id}@{domain}>\r\n\
             In-Reply-To: {original}\r\n\
             References: {original}\r\n\
             Auto-Submitted: auto-replied\r\n\
             MIME-Version: 1.0\r\n\
             Content-Type: multipart/report; report-type=delivery-status;\r\n boundary=\"{boundary}\"\r\n\
             \r\n\
             --{boundary}\r\n\
             Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: 8bit\r\n\r\n{text}\r\n\
             --{boundary}\r\n\
             Content-Type: {status_type}\r\nContent-Transfer-Encoding: 8bit\r\n\r\n{fields}\r\n\
             --{boundary}\r\n\
             Content-Type: {header_type}\r\nContent-Transfer-Encoding: 8bit\r\n\r\n",
            domain = self.mail_domain,
            sender = self.sender,
            subject = String::from_utf8_lossy(subject(self.header)),
            date = self.now.to_rfc5322(),
            original = self.item.message_id,
            text = self.text(),
            fields = self.fields(ascii),
        )
        .into_bytes();
        report.extend_from_slice(self.header);
        report.extend_from_slice(format!("\r\n--{boundary}--\r\n").as_bytes());
        report
    }

    fn text(&self) -> String {
        let attempts = match self.item.attempts {
            1 => "It was tried once".to_owned(),
            attempts => format!("It was tried {attempts} times"),
        };
        format!(
            "Your message to {} could not be delivered:\r\n\r\n    {}\r\n\r\n{attempts}, and is not tried again.\r\n",
            self.item.recipient, self.failure.text,
        )
    }

    /// The fields of the message and of its one recipient (RFC 3464, sections 2.2 and 2.3).
    fn fields(&self, ascii: bool) -> String {
        let address_type = if ascii { "rfc822" } else { "utf-8" };
        let mut fields = vec![
            format!("Reporting-MTA: dns; {}", self.mail_domain),
            format!("Arrival-Date: {}", self.item.created_at.to_rfc5322()),
            String::new(),
            format!("Final-Recipient: {address_type}; {}", self.item.recipient),
            "Action: failed".to_owned(),
            format!("Status: {}", self.permanent_status()),
        ];
        fields.extend(self.failure.server.iter().map(|server| format!("Remote-MTA: dns; {server}")));
        fields.extend(self.failure.reply.iter().map(|reply| format!("Diagnostic-Code: smtp; {reply}")));
        let attempted_at = self.item.attempted_at.unwrap_or(self.now);
        fields.push(format!("Last-Attempt-Date: {}", attempted_at.to_rfc5322()));
        fields.join("\r\n") + "\r\n"
    }

    /// A transient failure becomes permanent when delivery is given up.
    fn permanent_status(&self) -> Status {
        let Status(_, subject, detail) = self.failure.status;
        Status(Status::PERMANENT, subject, detail)
    }
}

/// All fields, with the last line end.
pub(super) fn header_section(message: &[u8]) -> &[u8] {
    let end = message.windows(4).position(|bytes| bytes == b"\r\n\r\n");
    end.map_or(message, |end| &message[..end + 2])
}

/// The raw value of `Subject`, still encoded and folded, without the last line end.
fn subject(header: &[u8]) -> &[u8] {
    const NAME: &[u8] = b"subject:";
    let begins = |at: &usize| header[*at..].get(..NAME.len()).is_some_and(|name| name.eq_ignore_ascii_case(NAME));
    let line_starts = header.windows(2).enumerate().filter(|(_, end)| *end == b"\r\n").map(|(at, _)| at + 2);
    let Some(start) = std::iter::once(0).chain(line_starts.clone()).find(begins) else { return b"" };
    let continues = |at: &usize| matches!(header.get(*at), Some(b' ' | b'\t'));
    let end = line_starts.filter(|at| *at > start).find(|at| !continues(at)).unwrap_or(header.len());
    header[start + NAME.len()..end].trim_ascii_end()
}

#[cfg(test)]
mod tests {
    use mail_parser::MimeHeaders;

    use super::super::peer::Peer;
    use super::*;
    use crate::model::{InboxId, OutgoingId, OutgoingStatus, ProjectId};

    #[test]
    fn the_subject_is_copied_unchanged() {
        let of = |header: &str| String::from_utf8(subject(header.as_bytes()).to_vec()).unwrap();
        assert_eq!(of("From: a\r\nSubject: Hello\r\nTo: b\r\n"), " Hello");
        assert_eq!(
            of("SUBJECT: =?utf-8?b?w7w=?=\r\n =?utf-8?b?w7w=?=\r\nTo: b\r\n"),
            " =?utf-8?b?w7w=?=\r\n =?utf-8?b?w7w=?="
        );
        assert_eq!(of("From: Subject: no\r\nX-Subject: no\r\n"), "");
        assert_eq!(of("Subject:\r\n"), "");
    }

    #[test]
    fn the_header_ends_before_the_empty_line() {
        assert_eq!(header_section(b"A: b\r\n\r\nbody\r\n\r\n"), b"A: b\r\n");
        assert_eq!(header_section(b"A: b\r\n"), b"A: b\r\n");
    }

    #[test]
    fn a_report_has_words_fields_and_the_header() {
        let report = compose("a@shop.example", b"Subject: Hello\r\nMessage-ID: <1@restante.test>\r\n");
        let parsed = mail_parser::MessageParser::new().parse(&report).unwrap();
        assert_eq!(parsed.subject(), Some("Undelivered Mail: Hello"));
        let [whole, text, fields, header] = &parsed.parts[..] else { panic!("{} parts", parsed.parts.len()) };
        assert_eq!(whole.content_type().unwrap().attribute("report-type"), Some("delivery-status"));
        assert!(text.text_contents().unwrap().contains("could not be delivered:\r\n\r\n    mx: refused\r\n"));
        let fields = String::from_utf8_lossy(fields.contents());
        for line in
            ["Final-Recipient: rfc822; a@shop.example", "Action: failed", "Status: 5.4.1", "Remote-MTA: dns; mx"]
        {
            assert!(fields.contains(&format!("\r\n{line}\r\n")), "{line} is not in {fields}");
        }
        assert!(header.text_contents().unwrap().starts_with("Subject: Hello\r\nMessage-ID: <1@restante.test>"));
    }

    #[test]
    fn an_address_outside_ascii_has_fields_of_another_type() {
        let report = String::from_utf8(compose("jörg@shop.example", b"Subject: Hello\r\n")).unwrap();
        assert!(report.contains("Content-Type: message/global-delivery-status\r\n"));
        assert!(report.contains("\r\nFinal-Recipient: utf-8; jörg@shop.example\r\n"));
    }

    fn compose(recipient: &str, header: &[u8]) -> Vec<u8> {
        let now = Timestamp::from_millis(1_795_167_000_123);
        let item = Outgoing {
            id: OutgoingId::generate(),
            project: ProjectId::generate(),
            inbox: InboxId::parse("k3v9").unwrap(),
            recipient: recipient.to_owned(),
            subject: "Hello".to_owned(),
            message_id: "<1@restante.test>".to_owned(),
            status: OutgoingStatus::Queued,
            created_at: now,
            attempts: 2,
            attempted_at: Some(now),
            due_at: Some(now),
            expires_at: Some(now),
            leased_until: None,
            last_reply: String::new(),
        };
        let peer = Peer { name: "mx".to_owned(), address: ([192, 0, 2, 1], 25).into() };
        let failure = Failure { text: "mx: refused".to_owned(), ..Failure::transient(4, 1, "refused").at(&peer) };
        let mail_domain = &Domain::parse("restante.test").unwrap();
        Bounce { item: &item, sender: "k3v9@restante.test", header, failure: &failure, mail_domain, now }.compose()
    }
}
