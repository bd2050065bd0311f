//! A search in all messages of a project, as the API of Mailpit has it: several conditions, all of
//! which must be met.

use std::fmt::Display;

use restante_mail::Addressing;

use super::{Inbox, InboxId, MessageId, SharedAddress, Timestamp};

/// The conditions that a message must meet. Without any, all messages of the project do.
#[derive(Clone, Debug, Default)]
pub struct MailSearch {
    /// It is in this inbox.
    pub inbox: Option<Inbox>,
    /// Addresses to which it must have been sent, or with `true` must not.
    pub recipients: Vec<(String, bool)>,
    /// Texts that it must contain, or not contain.
    pub texts: Vec<TextCondition>,
    /// Whether it must have an attachment, or none.
    pub has_attachment: Option<bool>,
    /// Whether it was read with Mailpit's API, or not.
    pub is_read: Option<bool>,
    /// The domain of the inboxes that have no address of their own.
    pub mail_domain: String,
}

/// An inbox that a message has reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reached {
    pub inbox: InboxId,
    pub shared: Option<SharedAddress>,
    /// The recipients as addressed, one on each line, if not only the inbox's address.
    pub recipients: Option<String>,
}

impl Reached {
    /// The recipients of the message there.
    #[must_use]
    pub fn addresses(&self, mail_domain: &impl Display) -> Vec<String> {
        let own = match &self.shared {
            Some(address) => address.as_str(),
            None => self.inbox.as_str(),
        };
        let named = self.recipients.as_deref().unwrap_or(own).lines();
        let whole = named.map(|name| match self.shared {
            Some(_) => name.to_owned(),
            None => format!("{name}@{mail_domain}"),
        });
        whole.collect()
    }
}

/// A text that a part of a message must contain, case-insensitive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextCondition {
    /// The part that is compared.
    pub part: SearchedPart,
    pub text: String,
    /// Whether the part must not contain it.
    pub is_excluded: bool,
}

/// What of a message a text is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchedPart {
    /// The addresses, the subject and the text.
    All,
    /// All names and addresses.
    Addresses,
    /// The names and addresses of the senders.
    From,
    /// Those of the recipients of copies.
    Cc,
    ReplyTo,
    Subject,
    MessageId,
}

/// A message of a project. If several of its inboxes have the message, this stands for all of them.
#[derive(Clone, Debug)]
pub struct MailEntry {
    /// The id of the message in the oldest of its inboxes.
    pub id: MessageId,
    /// The inboxes of the project that have it.
    pub inboxes: Vec<Reached>,
    /// The addresses in its header.
    pub addressing: Addressing,
    /// The subject, decoded; empty if there is none.
    pub subject: String,
    /// When it was accepted.
    pub received_at: Timestamp,
    /// The size of its bytes as received.
    pub size: usize,
    /// The number of its attachments, without images that its HTML shows.
    pub attachments: i64,
    /// The start of its text.
    pub text: String,
    /// Whether it was read with Mailpit's API.
    pub is_read: bool,
}

/// What is done with messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MailChange {
    Delete,
    /// They are marked as read, or as unread.
    Mark {
        is_read: bool,
    },
}

/// Some of the messages that meet the conditions of a search.
#[derive(Clone, Debug)]
pub struct MailEntries {
    /// The messages, newest first.
    pub entries: Vec<MailEntry>,
    /// The number of all messages that were found.
    pub found: u64,
    /// How many of these are unread.
    pub unread: u64,
}

impl MailSearch {
    /// Whether every message meets the conditions.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.inbox.is_none()
            && self.recipients.is_empty()
            && self.texts.is_empty()
            && self.has_attachment.is_none()
            && self.is_read.is_none()
    }

    /// Whether more than the row of a message is compared.
    #[must_use]
    pub fn needs_content(&self) -> bool {
        self.texts
            .iter()
            .any(|condition| condition.part != SearchedPart::Subject)
    }
}

impl MailEntry {
    /// About how many bytes of memory it needs.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let Addressing {
            from,
            to,
            cc,
            bcc,
            reply_to,
            message_id,
        } = &self.addressing;
        let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        let mailboxes = [from, to, cc, bcc, reply_to].into_iter().flatten();
        let addresses: usize = mailboxes
            .map(|one| 64 + text(&one.name) + text(&one.address))
            .sum();
        512 + addresses
            + message_id.len()
            + self.subject.len()
            + self.text.len()
            + self.inboxes.len() * 128
    }
}
