//! The JSON of Mailpit, with its names.

use std::collections::BTreeMap;

use restante_api::Mailbox;
use restante_mail::Addressing;
use serde::Serialize;

use crate::model::Domain;
use crate::service::MailEntry;

/// Maximum number of bytes of a snippet, as in Mailpit.
const SNIPPET_BYTES: usize = 200;

/// A list of messages.
#[derive(Serialize)]
pub(super) struct Messages {
    pub(super) total: u64,
    pub(super) unread: u64,
    pub(super) count: usize,
    pub(super) messages_count: u64,
    pub(super) messages_unread: u64,
    pub(super) start: usize,
    pub(super) tags: [String; 0],
    pub(super) messages: Vec<Entry>,
}

/// A message in a list.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Entry {
    #[serde(rename = "ID")]
    id: String,
    #[serde(rename = "MessageID")]
    message_id: String,
    read: bool,
    #[serde(flatten)]
    people: People,
    subject: String,
    created: String,
    username: &'static str,
    tags: [String; 0],
    size: usize,
    attachments: i64,
    snippet: String,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Message {
    #[serde(rename = "ID")]
    pub(super) id: String,
    #[serde(rename = "MessageID")]
    pub(super) message_id: String,
    #[serde(flatten)]
    pub(super) people: People,
    pub(super) return_path: String,
    pub(super) subject: String,
    pub(super) list_unsubscribe: ListUnsubscribe,
    pub(super) date: String,
    pub(super) tags: [String; 0],
    pub(super) username: &'static str,
    pub(super) text: String,
    #[serde(rename = "HTML")]
    pub(super) html: String,
    pub(super) size: usize,
    pub(super) inline: Vec<Attachment>,
    pub(super) attachments: Vec<Attachment>,
}

/// The addresses of a message.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct People {
    from: Person,
    to: Vec<Person>,
    cc: Vec<Person>,
    bcc: Vec<Person>,
    reply_to: Vec<Person>,
}

/// An address with its name; both may be empty.
#[derive(Serialize, Default)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Person {
    name: String,
    address: String,
}

#[derive(Serialize, Default)]
#[serde(rename_all = "PascalCase")]
pub(super) struct ListUnsubscribe {
    pub(super) header: String,
    pub(super) links: Vec<String>,
    pub(super) errors: String,
    pub(super) header_post: String,
}

/// An attachment without its content.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Attachment {
    #[serde(rename = "PartID")]
    pub(super) part_id: String,
    pub(super) file_name: String,
    pub(super) content_type: String,
    #[serde(rename = "ContentID")]
    pub(super) content_id: String,
    pub(super) size: usize,
    pub(super) checksums: Checksums,
}

/// The checksums of a file, in hexadecimal.
#[derive(Serialize)]
pub(super) struct Checksums {
    #[serde(rename = "MD5")]
    pub(super) md5: String,
    #[serde(rename = "SHA1")]
    pub(super) sha1: String,
    #[serde(rename = "SHA256")]
    pub(super) sha256: String,
}

/// The fields of a header: each name once, with the values of all its fields.
pub(super) type Headers = BTreeMap<String, Vec<String>>;

impl Entry {
    pub(super) fn new(entry: MailEntry, mail_domain: &Domain) -> Self {
        let inboxes = entry.inboxes.iter();
        let recipients = inboxes
            .flat_map(|reached| reached.addresses(mail_domain))
            .collect();
        let mut addressing = entry.addressing;
        Self {
            id: entry.head.id.to_string(),
            message_id: std::mem::take(&mut addressing.message_id),
            read: entry.is_read,
            people: People::new(addressing, recipients),
            subject: entry.head.subject,
            created: entry.head.received_at.to_string(),
            username: "",
            tags: [],
            size: entry.head.raw_size,
            attachments: entry.head.attachments,
            snippet: snippet(&entry.text),
        }
    }
}

impl People {
    /// The addresses of the header. A recipient of the envelope that is not among them got a blind
    /// copy.
    pub(super) fn new(header: Addressing, recipients: Vec<String>) -> Self {
        let Addressing {
            from,
            to,
            cc,
            bcc,
            reply_to,
            ..
        } = header;
        let is_named = |recipient: &String| {
            let addresses = [&to, &cc, &bcc]
                .into_iter()
                .flatten()
                .filter_map(|one| one.address.as_ref());
            addresses
                .into_iter()
                .any(|address| address.eq_ignore_ascii_case(recipient))
        };
        let hidden = recipients
            .into_iter()
            .filter(|recipient| !is_named(recipient));
        let hidden: Vec<_> = hidden
            .map(|address| Person {
                name: String::new(),
                address,
            })
            .collect();
        Self {
            from: people(from).into_iter().next().unwrap_or_default(),
            to: people(to),
            cc: people(cc),
            bcc: people(bcc).into_iter().chain(hidden).collect(),
            reply_to: people(reply_to),
        }
    }

    /// The address of the sender.
    pub(super) fn sender(&self) -> &str {
        &self.from.address
    }
}

fn people(mailboxes: Vec<Mailbox>) -> Vec<Person> {
    let person = |Mailbox { name, address }| Person {
        name: name.unwrap_or_default(),
        address: address.unwrap_or_default(),
    };
    mailboxes.into_iter().map(person).collect()
}

/// The start of a text, on one line.
fn snippet(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.len() {
        0..=SNIPPET_BYTES => line,
        _ => format!("{}...", &line[..line.floor_char_boundary(SNIPPET_BYTES)]),
    }
}
