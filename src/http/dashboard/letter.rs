//! The header of an open message: sender, recipients, time, envelope and attachments.

use restante_mail::details::{Attachment, Details, Mailbox};

use super::page::given;
use super::plain::shown;
use super::when::{When, size};
use crate::http::download::safe_name;
use crate::model::{Envelope, Timestamp};

/// Maximum number of addresses of one field that are shown.
const ADDRESSES: usize = 50;
/// Maximum number of letters of a file's kind.
const KIND_LETTERS: usize = 4;

/// The header of a message.
pub(super) struct Letter {
    pub(super) fields: Vec<LetterField>,
    pub(super) received: When,
    pub(super) size: String,
    /// The lines of the envelope and the connection.
    pub(super) envelope: Vec<(&'static str, String)>,
    pub(super) attachments: Vec<AttachmentRow>,
}

/// A field with addresses.
pub(super) struct LetterField {
    pub(super) name: &'static str,
    pub(super) people: Vec<Person>,
    /// How many more there are.
    pub(super) more: usize,
}

/// An address with a name.
pub(super) struct Person {
    pub(super) name: Option<String>,
    pub(super) address: String,
}

pub(super) struct AttachmentRow {
    pub(super) name: String,
    /// The kind of the file in a few letters.
    pub(super) kind: String,
    pub(super) size: String,
    pub(super) url: String,
    pub(super) is_inline: bool,
}

impl Letter {
    pub(super) fn new(
        details: &Details,
        envelope: &Envelope,
        recipient: &str,
        bytes: usize,
        received_at: Timestamp,
        now: Timestamp,
        parts_url: &str,
    ) -> Self {
        let fields = [
            ("From", &details.from),
            ("To", &details.to),
            ("Cc", &details.cc),
            ("Reply-To", &details.reply_to),
        ];
        let fields = fields.into_iter().filter(|(_, people)| !people.is_empty());
        Self {
            fields: fields
                .map(|(name, people)| LetterField::new(name, people))
                .collect(),
            received: When::new(received_at, now),
            size: size(bytes as u64),
            envelope: envelope_lines(envelope, recipient, details),
            attachments: details
                .attachments
                .iter()
                .map(|one| AttachmentRow::new(one, parts_url))
                .collect(),
        }
    }
}

impl LetterField {
    fn new(name: &'static str, people: &[Mailbox]) -> Self {
        let shown = people.iter().take(ADDRESSES).map(|one| Person {
            name: one.name.as_deref().map(shown),
            address: shown(one.address.as_deref().unwrap_or_default()),
        });
        Self {
            name,
            people: shown.collect(),
            more: people.len().saturating_sub(ADDRESSES),
        }
    }
}

impl AttachmentRow {
    fn new(attachment: &Attachment, parts_url: &str) -> Self {
        let name = attachment
            .file_name
            .as_deref()
            .map(safe_name)
            .and_then(given);
        let extension = name
            .as_deref()
            .and_then(|name| name.rsplit_once('.'))
            .map(|(_, extension)| extension);
        let subtype = attachment.content_type.rsplit(['/', '+', '.']).next();
        let kind = extension
            .filter(|kind| kind.len() <= KIND_LETTERS)
            .or(subtype)
            .unwrap_or_default();
        let kind: String = kind
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .take(KIND_LETTERS)
            .collect();
        Self {
            name: name.unwrap_or_else(|| format!("part-{}", attachment.part)),
            kind: kind.to_ascii_uppercase(),
            size: size(attachment.size as u64),
            url: format!("{parts_url}/parts/{}", attachment.part),
            is_inline: attachment.is_inline,
        }
    }
}

fn envelope_lines(
    envelope: &Envelope,
    recipient: &str,
    details: &Details,
) -> Vec<(&'static str, String)> {
    let sender = if envelope.from.is_empty() {
        "<> (the null sender)".to_owned()
    } else {
        envelope.from.clone()
    };
    let authenticated = envelope
        .authenticated
        .map(|is| if is { "yes" } else { "no" }.to_owned());
    let tls = envelope.client.as_ref().map(|_| {
        envelope
            .tls
            .clone()
            .unwrap_or_else(|| "not encrypted".to_owned())
    });
    let lines = [
        ("Envelope sender", Some(sender)),
        ("Envelope recipient", Some(recipient.to_owned())),
        (
            "Received by",
            envelope.via.map(|via| via.title().to_owned()),
        ),
        ("Client", envelope.client.clone()),
        ("HELO name", envelope.helo.clone()),
        ("TLS", tls),
        ("Authenticated", authenticated),
        ("Date field", details.date.clone()),
        ("Message-ID", details.message_id.clone()),
        ("In reply to", details.in_reply_to.clone()),
    ];
    lines
        .into_iter()
        .filter_map(|(name, value)| Some((name, shown(&value.filter(|value| !value.is_empty())?))))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_envelope_cannot_turn_the_text_around() {
        let envelope = Envelope {
            from: "a\u{202e}@b.example".to_owned(),
            client: None,
            helo: Some("gnp\u{202e}.exe".to_owned()),
            tls: None,
            authenticated: None,
            via: None,
        };
        let lines = envelope_lines(&envelope, "box@b.example", &Details::default());
        let expected = [
            ("Envelope sender", "a‹U+202E›@b.example"),
            ("Envelope recipient", "box@b.example"),
            ("HELO name", "gnp‹U+202E›.exe"),
        ];
        assert_eq!(
            lines,
            expected.map(|(name, value)| (name, value.to_owned()))
        );
    }
}
