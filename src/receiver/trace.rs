//! The trace fields that this server adds in front of a message: `Return-Path` and `Received` (RFC
//! 5321, section 4.4).

use std::fmt;
use std::net::IpAddr;

use crate::model::{Domain, Timestamp};
use restante_smtp::Envelope;

/// A client name longer than this, in bytes, is left out (RFC 5321, section 4.5.3.1.2).
const CLIENT_NAME_BYTES: usize = 255;

/// How one message arrived; `Display` writes the fields, each followed by CR LF.
pub(super) struct Trace<'a> {
    pub(super) envelope: &'a Envelope,
    pub(super) peer: IpAddr,
    pub(super) mail_domain: &'a Domain,
    pub(super) received_at: Timestamp,
}

impl fmt::Display for Trace<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            envelope,
            mail_domain,
            ..
        } = self;
        write!(formatter, "Return-Path: {}\r\n", envelope.reverse_path)?;
        let peer = AddressLiteral(self.peer);
        match self.client_name() {
            Some(name) => write!(formatter, "Received: from {name} ({peer})\r\n")?,
            None => write!(formatter, "Received: from {peer} ({peer})\r\n")?,
        }
        write!(formatter, "\tby {mail_domain} with {}", envelope.protocol())?;
        // With several recipients, each would see the addresses of the others (section 7.6).
        if let [recipient] = envelope.recipients.as_slice() {
            write!(formatter, "\r\n\tfor <{recipient}>")?;
        }
        write!(formatter, ";\r\n\t{}\r\n", self.received_at.to_rfc5322())
    }
}

impl Trace<'_> {
    /// The client's name, if it looks like a domain or an address literal. Other names are not
    /// written to the header.
    fn client_name(&self) -> Option<&str> {
        let name = &*self.envelope.client_name;
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:[]".contains(&byte);
        let usable = (1..=CLIENT_NAME_BYTES).contains(&name.len()) && name.bytes().all(plain);
        usable.then_some(name)
    }
}

/// An address in the format of RFC 5321, section 4.1.3: `[192.0.2.1]`, `[IPv6:2001:db8::1]`.
struct AddressLiteral(IpAddr);

impl fmt::Display for AddressLiteral {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.to_canonical() {
            IpAddr::V4(address) => write!(formatter, "[{address}]"),
            IpAddr::V6(address) => write!(formatter, "[IPv6:{address}]"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::EmailAddress;
    use restante_smtp::ReversePath;

    fn trace(client_name: &str, peer: &str, recipients: &[&str]) -> String {
        let recipients = recipients
            .iter()
            .map(|text| EmailAddress::parse(text).unwrap());
        let envelope = Envelope {
            reverse_path: ReversePath::parse("<a@b.example>").unwrap().0,
            recipients: recipients.collect(),
            client_name: client_name.into(),
            extended: true,
            encrypted: true,
            authenticated: false,
            smtputf8: false,
        };
        let mail_domain = &Domain::parse("restante.example.com").unwrap();
        let peer = peer.parse().unwrap();
        Trace {
            envelope: &envelope,
            peer,
            mail_domain,
            received_at: Timestamp::from_millis(1_795_167_000_123),
        }
        .to_string()
    }

    #[test]
    fn a_message_is_traced() {
        assert_eq!(
            trace("mail.b.example", "192.0.2.1", &["x@restante.example.com"]),
            "Return-Path: <a@b.example>\r\n\
             Received: from mail.b.example ([192.0.2.1])\r\n\
             \tby restante.example.com with ESMTPS\r\n\
             \tfor <x@restante.example.com>;\r\n\
             \tFri, 20 Nov 2026 09:30:00 +0000\r\n"
        );
    }

    #[test]
    fn several_recipients_do_not_learn_of_each_other() {
        let traced = trace(
            "[IPv6:2001:db8::2]",
            "2001:db8::1",
            &["x@restante.example.com", "y@restante.example.com"],
        );
        assert!(traced.contains("from [IPv6:2001:db8::2] ([IPv6:2001:db8::1])\r\n"));
        assert!(traced.contains("with ESMTPS;\r\n") && !traced.contains("for"));
    }

    #[test]
    fn an_invalid_name_is_not_repeated() {
        let long = "a".repeat(256);
        for name in [
            "",
            "x\r\nBcc: y",
            "a b",
            "a(b)",
            "a;b",
            "büro",
            "a\tb",
            &long,
        ] {
            let traced = trace(name, "::ffff:192.0.2.1", &[]);
            assert!(
                traced.contains("Received: from [192.0.2.1] ([192.0.2.1])\r\n"),
                "{traced}"
            );
        }
    }
}
