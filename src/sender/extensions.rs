//! The extensions that a server lists in its reply to EHLO, and the MAIL parameters that use them.

use super::mail::Mail;
use super::reply::Reply;

/// The extensions that the client uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Extensions {
    /// STARTTLS (RFC 3207).
    pub(super) starttls: bool,
    /// The connection is already encrypted.
    pub(super) encrypted: bool,
    /// SIZE (RFC 1870): the largest message in bytes; 0 if the server gives no limit.
    pub(super) size: Option<u64>,
    /// 8BITMIME (RFC 6152).
    pub(super) eight_bit_mime: bool,
    /// SMTPUTF8 (RFC 6531).
    pub(super) smtputf8: bool,
    /// AUTH PLAIN (RFC 4954, RFC 4616).
    pub(super) auth_plain: bool,
    pub(super) auth_login: bool,
}

impl Extensions {
    /// Reads them from the reply to EHLO, whose first line is the server's name.
    pub(super) fn read(reply: &Reply) -> Self {
        let mut extensions = Self::default();
        for line in reply.lines().iter().skip(1) {
            let line = line.to_ascii_uppercase();
            // Some servers write AUTH=LOGIN.
            let mut words = line.split([' ', '=']).filter(|word| !word.is_empty());
            match words.next() {
                Some("STARTTLS") => extensions.starttls = true,
                Some("SIZE") => {
                    extensions.size =
                        Some(words.next().and_then(|size| size.parse().ok()).unwrap_or(0));
                }
                Some("8BITMIME") => extensions.eight_bit_mime = true,
                Some("SMTPUTF8") => extensions.smtputf8 = true,
                Some("AUTH") => words.for_each(|mechanism| match mechanism {
                    "PLAIN" => extensions.auth_plain = true,
                    "LOGIN" => extensions.auth_login = true,
                    _ => {}
                }),
                _ => {}
            }
        }
        extensions
    }

    /// The parameters of MAIL, each with a space before it.
    pub(super) fn mail_parameters(&self, mail: &Mail) -> String {
        let mut parameters = String::new();
        if self.size.is_some() {
            parameters.push_str(&format!(" SIZE={}", mail.size()));
        }
        if self.eight_bit_mime && mail.needs_eight_bits() {
            parameters.push_str(" BODY=8BITMIME");
        }
        if self.smtputf8 && mail.needs_utf8() {
            parameters.push_str(" SMTPUTF8");
        }
        parameters
    }
}

#[cfg(test)]
mod tests {
    use super::super::mail::Message;
    use super::super::reply::Reading;
    use super::*;

    fn read(lines: &[&str]) -> Extensions {
        let mut reading = Reading::default();
        let last = lines.len() - 1;
        lines[..last].iter().for_each(|line| {
            assert!(
                reading
                    .take(format!("250-{line}").as_bytes())
                    .unwrap()
                    .is_none()
            );
        });
        Extensions::read(
            &reading
                .take(format!("250 {}", lines[last]).as_bytes())
                .unwrap()
                .unwrap(),
        )
    }

    #[test]
    fn known_extensions_are_found_in_any_case() {
        let extensions = read(&[
            "mx.example",
            "size 1000",
            "8BITMIME",
            "STARTTLS",
            "Auth plain LOGIN XOAUTH2",
            "XYZ",
        ]);
        let expected = Extensions {
            starttls: true,
            size: Some(1_000),
            eight_bit_mime: true,
            auth_plain: true,
            auth_login: true,
            ..Extensions::default()
        };
        assert_eq!(extensions, expected);
    }

    #[test]
    fn the_server_s_name_is_no_extension() {
        assert_eq!(
            read(&["STARTTLS", "SIZE"]),
            Extensions {
                size: Some(0),
                ..Extensions::default()
            }
        );
        assert!(read(&["x", "AUTH=LOGIN"]).auth_login);
    }

    #[test]
    fn mail_says_what_the_server_knows_and_the_message_needs() {
        let mail = |recipient: &str, message: &str| Mail {
            sender: "a@b.example".to_owned(),
            recipients: vec![recipient.to_owned()],
            signature: String::new(),
            message: Message::in_memory(message.as_bytes().to_vec()),
            is_ascii: message.is_ascii(),
        };
        let all = read(&["x", "SIZE", "8BITMIME", "SMTPUTF8"]);
        assert_eq!(all.mail_parameters(&mail("c@d.example", "text")), " SIZE=4");
        assert_eq!(
            all.mail_parameters(&mail("ü@d.example", "ü")),
            " SIZE=2 BODY=8BITMIME SMTPUTF8"
        );
        assert_eq!(
            Extensions::default().mail_parameters(&mail("c@d.example", "text")),
            ""
        );
    }
}
