//! What a list of messages shows of a header: the addresses and the Message-ID. The body is not
//! read.

use restante_api::Mailbox;

use crate::budget::HEADER_SECTION_BYTES;
use crate::details::all_mailboxes;
use crate::header::{Section, text};
use crate::threading::ids;

/// The addresses in a header, and its Message-ID. All of it is untrusted text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Addressing {
    /// The senders.
    pub from: Vec<Mailbox>,
    /// The recipients.
    pub to: Vec<Mailbox>,
    /// The recipients of copies.
    pub cc: Vec<Mailbox>,
    /// The recipients of blind copies, which a header rarely has.
    pub bcc: Vec<Mailbox>,
    /// The addresses for replies.
    pub reply_to: Vec<Mailbox>,
    /// The Message-ID without angle brackets; empty if there is none.
    pub message_id: String,
}

/// Reads the addresses in the header of a message, or of its first piece. Never fails.
#[must_use]
pub fn addressing(raw: &[u8]) -> Addressing {
    let fields = Section::read(raw, HEADER_SECTION_BYTES, |_| false).fields;
    let message_id = fields
        .iter()
        .find(|field| field.is("message-id"))
        .map(|field| {
            let id = ids(*field)
                .into_iter()
                .next()
                .unwrap_or_else(|| text(field.bounded_value()));
            id.trim_matches(['<', '>']).to_owned()
        });
    Addressing {
        from: all_mailboxes(&fields, "from"),
        to: all_mailboxes(&fields, "to"),
        cc: all_mailboxes(&fields, "cc"),
        bcc: all_mailboxes(&fields, "bcc"),
        reply_to: all_mailboxes(&fields, "reply-to"),
        message_id: message_id.unwrap_or_default(),
    }
}

/// The fields of the header as they were sent: each on one line, with encoded words left as they
/// are.
#[must_use]
pub fn sent_fields(raw: &[u8]) -> Vec<(String, String)> {
    let line = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        text.lines()
            .map(str::trim)
            .collect::<Vec<_>>()
            .join(" ")
            .trim()
            .to_owned()
    };
    let fields = Section::read(raw, HEADER_SECTION_BYTES, |_| false).fields;
    fields
        .iter()
        .map(|field| (line(field.name), line(field.bounded_value())))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RAW: &[u8] = b"From: =?utf-8?q?Caf=C3=A9?= <shop@app.example>\r\nTo: a@x.example,\r\n b@x.example\r\n\
        Bcc: c@x.example\r\nReply-To: Help <help@app.example>\r\nMessage-ID: <1@app.example>\r\n\r\n\
        Cc: d@x.example\r\n";

    #[test]
    fn addresses_are_read_only_from_the_header_section() {
        let read = addressing(RAW);
        let addresses = |list: &[Mailbox]| {
            list.iter()
                .filter_map(|one| one.address.clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(read.from[0].name.as_deref(), Some("Caf\u{e9}"));
        assert_eq!(addresses(&read.to), ["a@x.example", "b@x.example"]);
        assert_eq!(
            (addresses(&read.bcc), addresses(&read.cc)),
            (vec!["c@x.example".to_owned()], vec![])
        );
        assert_eq!(addresses(&read.reply_to), ["help@app.example"]);
        assert_eq!(read.message_id, "1@app.example");
        assert_eq!(addressing(b"Message-ID: 2 3\n\n").message_id, "2 3");
        assert_eq!(addressing(b""), Addressing::default());
    }

    #[test]
    fn sent_fields_are_unfolded_and_not_decoded() {
        let fields = sent_fields(RAW);
        assert_eq!(
            fields[0],
            (
                "From".to_owned(),
                "=?utf-8?q?Caf=C3=A9?= <shop@app.example>".to_owned()
            )
        );
        assert_eq!(
            fields[1],
            ("To".to_owned(), "a@x.example, b@x.example".to_owned())
        );
        assert_eq!(fields.len(), 5);
    }
}
