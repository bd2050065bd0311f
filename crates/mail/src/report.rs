//! Delivery status notifications (RFC 3464): reports that a message could not be delivered.
//!
//! A report has three parts: a text for people, fields for programs, and the header of the original
//! message.

use crate::address::Domain;

/// A report that a message failed.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    /// The domain that sends the report.
    pub mail_domain: &'a Domain,
    /// The sender of the message, who gets the report.
    pub to: &'a str,
    /// The header section of the message; see [`header_section`].
    pub header: &'a [u8],
    /// The id of the message, with angle brackets, if it has one.
    pub message_id: Option<&'a str>,
    /// The text for people; its lines end with CR LF.
    pub text: &'a str,
    /// When the message arrived, in the date format of RFC 5322.
    pub arrived_at: &'a str,
    /// The recipients to which it was not delivered.
    pub recipients: &'a [FailedRecipient],
    /// A unique text, used for the Message-ID and the boundary of the parts.
    pub id: &'a str,
    /// When the report was created, in the date format of RFC 5322.
    pub date: &'a str,
}

/// A recipient to which the message was not delivered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FailedRecipient {
    /// The address.
    pub address: String,
    /// The enhanced status code (RFC 3463).
    pub status: String,
    /// The server that rejected it.
    pub server: Option<String>,
    /// Its reply, on one line.
    pub reply: Option<String>,
    /// When the last attempt was made, in the date format of RFC 5322.
    pub last_attempt: Option<String>,
}

impl Report<'_> {
    /// The report as a message.
    #[must_use]
    pub fn compose(&self) -> Vec<u8> {
        // RFC 6533 has separate content types for fields with UTF-8.
        let ascii = self.to.is_ascii()
            && self
                .recipients
                .iter()
                .all(|recipient| recipient.address.is_ascii());
        let (status_type, header_type) = if ascii {
            ("message/delivery-status", "text/rfc822-headers")
        } else {
            ("message/global-delivery-status", "message/global-headers")
        };
        let mut report = format!(
            "From: Mail Delivery System <mailer-daemon@{domain}>\r\n\
             To: <{to}>\r\n\
             Subject: Undelivered Mail:{subject}\r\n\
             Date: {date}\r\n\
             Message-ID: <{id}@{domain}>\r\n\
             {threading}\
             Auto-Submitted: auto-replied\r\n\
             MIME-Version: 1.0\r\n\
             Content-Type: multipart/report; report-type=delivery-status;\r\n boundary=\"=_{id}\"\r\n\
             \r\n\
             --=_{id}\r\n\
             Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: 8bit\r\n\r\n{text}\r\n\
             --=_{id}\r\n\
             Content-Type: {status_type}\r\nContent-Transfer-Encoding: 8bit\r\n\r\n{fields}\r\n\
             --=_{id}\r\n\
             Content-Type: {header_type}\r\nContent-Transfer-Encoding: 8bit\r\n\r\n",
            domain = self.mail_domain,
            to = self.to,
            subject = String::from_utf8_lossy(subject(self.header)),
            date = self.date,
            id = self.id,
            threading = self.threading(),
            text = self.text,
            fields = self.fields(ascii),
        )
        .into_bytes();
        report.extend_from_slice(self.header);
        report.extend_from_slice(format!("\r\n--=_{}--\r\n", self.id).as_bytes());
        report
    }

    fn threading(&self) -> String {
        self.message_id.map_or_else(String::new, |id| {
            format!("In-Reply-To: {id}\r\nReferences: {id}\r\n")
        })
    }

    /// The fields of the message and of each recipient (RFC 3464, sections 2.2 and 2.3).
    fn fields(&self, ascii: bool) -> String {
        let address_type = if ascii { "rfc822" } else { "utf-8" };
        let mut fields = vec![
            format!("Reporting-MTA: dns; {}", self.mail_domain),
            format!("Arrival-Date: {}", self.arrived_at),
        ];
        for FailedRecipient {
            address,
            status,
            server,
            reply,
            last_attempt,
        } in self.recipients
        {
            fields.push(String::new());
            fields.push(format!("Final-Recipient: {address_type}; {address}"));
            fields.push("Action: failed".to_owned());
            fields.push(format!("Status: {status}"));
            fields.extend(
                server
                    .iter()
                    .map(|server| format!("Remote-MTA: dns; {server}")),
            );
            fields.extend(
                reply
                    .iter()
                    .map(|reply| format!("Diagnostic-Code: smtp; {reply}")),
            );
            fields.extend(
                last_attempt
                    .iter()
                    .map(|date| format!("Last-Attempt-Date: {date}")),
            );
        }
        fields.join("\r\n") + "\r\n"
    }
}

/// All fields of a message, including the last line end.
#[must_use]
pub fn header_section(message: &[u8]) -> &[u8] {
    let end = message.windows(4).position(|bytes| bytes == b"\r\n\r\n");
    end.map_or(message, |end| &message[..end + 2])
}

/// The raw value of `Subject`, still encoded and folded, without the last line end.
fn subject(header: &[u8]) -> &[u8] {
    const NAME: &[u8] = b"subject:";
    let begins = |at: &usize| {
        header[*at..]
            .get(..NAME.len())
            .is_some_and(|name| name.eq_ignore_ascii_case(NAME))
    };
    let line_starts = header
        .windows(2)
        .enumerate()
        .filter(|(_, end)| *end == b"\r\n")
        .map(|(at, _)| at + 2);
    let Some(start) = std::iter::once(0).chain(line_starts.clone()).find(begins) else {
        return b"";
    };
    let continues = |at: &usize| matches!(header.get(*at), Some(b' ' | b'\t'));
    let end = line_starts
        .filter(|at| *at > start)
        .find(|at| !continues(at))
        .unwrap_or(header.len());
    header[start + NAME.len()..end].trim_ascii_end()
}

#[cfg(test)]
mod tests {
    use mail_parser::{MessageParser, MimeHeaders};

    use super::*;

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
    fn every_recipient_has_its_group_of_fields() {
        let recipient = |address: &str| FailedRecipient {
            address: address.to_owned(),
            status: "5.1.1".to_owned(),
            ..FailedRecipient::default()
        };
        let report = Report {
            mail_domain: &Domain::parse("restante.example.com").unwrap(),
            to: "app@client.example",
            header: b"From: a\r\n",
            message_id: None,
            text: "It failed.\r\n",
            arrived_at: "Fri, 20 Nov 2026 09:30:00 +0000",
            recipients: &[
                recipient("a@restante.example.com"),
                recipient("b@restante.example.com"),
            ],
            id: "1",
            date: "Fri, 20 Nov 2026 09:30:01 +0000",
        };
        let report = report.compose();
        let parsed = MessageParser::new().parse(&report).unwrap();
        let [whole, text, fields, header] = &parsed.parts[..] else {
            panic!("{} parts", parsed.parts.len())
        };
        assert_eq!(
            whole.content_type().unwrap().attribute("report-type"),
            Some("delivery-status")
        );
        assert_eq!(text.text_contents().unwrap().trim_end(), "It failed.");
        assert_eq!(header.text_contents().unwrap().trim_end(), "From: a");
        let fields = String::from_utf8_lossy(fields.contents());
        for address in ["a", "b"] {
            let group = format!(
                "\r\n\r\nFinal-Recipient: rfc822; {address}@restante.example.com\r\nAction: failed\r\nStatus: 5.1.1\r\n"
            );
            assert!(fields.contains(&group), "{fields}");
        }
        assert!(parsed.in_reply_to().is_empty());
    }
}
