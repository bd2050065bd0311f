//! The message of an application, which every provider's request is parsed into.

use std::collections::HashSet;
use std::sync::Arc;

use restante_mail::compose::letter::{Attachment, Letter, mailboxes};
use restante_mail::details::Mailbox;
use restante_mail::{submission, threading, with_crlf, without_bcc};

use super::failure::Failure;
use crate::model::{EmailAddress, Refusal};

/// A message and its envelope.
#[derive(Clone, Debug)]
pub(super) struct Outgoing {
    /// Where failures are reported; by default the author.
    pub(super) sender: Option<String>,
    /// The recipients of blind copies; of a raw message all recipients.
    pub(super) bcc: Vec<Mailbox>,
    pub(super) content: Content,
}

/// What the application sends.
#[derive(Clone, Debug)]
pub(super) enum Content {
    /// Fields, without their attachments, which several messages may share.
    Letter(Box<Letter>, Arc<Vec<Attachment>>),
    /// A whole message.
    Raw(Vec<u8>),
}

/// A composed message.
pub(super) struct Composed {
    /// The value of its Message-ID.
    pub(super) message_id: String,
    pub(super) raw: Vec<u8>,
    /// Whether the application sent it as a whole.
    pub(super) is_raw: bool,
}

impl Outgoing {
    /// A message of fields.
    pub(super) fn new(letter: Letter, bcc: Vec<Mailbox>, attachments: Vec<Attachment>) -> Self {
        Self::sharing(letter, bcc, &Arc::new(attachments))
    }

    /// A message whose attachments others share.
    pub(super) fn sharing(letter: Letter, bcc: Vec<Mailbox>, attachments: &Arc<Vec<Attachment>>) -> Self {
        Self { sender: None, bcc, content: Content::Letter(Box::new(letter), Arc::clone(attachments)) }
    }

    /// A whole message, for these recipients or, if there are none, those of its header. Bcc is removed.
    pub(super) fn raw(message: &[u8], recipients: Vec<Mailbox>) -> Self {
        let message = with_crlf(message);
        let header = submission(&message);
        let addressed = |address: String| Mailbox { name: None, address: Some(address) };
        let bcc = match recipients.is_empty() {
            true => header.recipients.into_iter().map(addressed).collect(),
            false => recipients,
        };
        Self { sender: header.from, bcc, content: Content::Raw(without_bcc(&message)) }
    }

    /// The address for reports of failures.
    ///
    /// # Errors
    /// [`Failure`] if there is none, or it is not an address.
    pub(super) fn sender(&self) -> Result<EmailAddress, Failure> {
        let author = match &self.content {
            Content::Letter(letter, _) => letter.from.first().and_then(|from| from.address.as_deref()),
            Content::Raw(_) => None,
        };
        let sender = self.sender.as_deref().or(author).unwrap_or_default();
        EmailAddress::parse(sender).map_err(|_| Failure::refused(Refusal::BadSender).because(sender))
    }

    /// Every recipient as the application wrote it, each once.
    pub(super) fn recipients(&self) -> Vec<String> {
        let (to, cc) = match &self.content {
            Content::Letter(letter, _) => (letter.to.as_slice(), letter.cc.as_slice()),
            Content::Raw(_) => Default::default(),
        };
        let mut known = HashSet::new();
        let all = to.iter().chain(cc).chain(&self.bcc);
        let addresses = all.map(|one| one.address.as_deref().or(one.name.as_deref()).unwrap_or_default());
        addresses.filter(|address| known.insert(*address)).map(str::to_owned).collect()
    }

    /// Whether the header can be written; the attachments are not examined.
    ///
    /// # Errors
    /// [`Failure`] as of composing.
    pub(super) fn check(&self) -> Result<(), Failure> {
        let Content::Letter(letter, _) = &self.content else { return Ok(()) };
        Ok(letter.header().compose("", "<check@localhost>").map(drop)?)
    }

    /// The message as it is stored. `date` and `message_id` are for a message that has none.
    ///
    /// # Errors
    /// [`Failure`] for what no message can have.
    pub(super) fn compose(self, date: &str, message_id: &str) -> Result<Composed, Failure> {
        let is_raw = matches!(self.content, Content::Raw(_));
        let raw = match self.content {
            Content::Letter(letter, attachments) => {
                // Copied only if another message needs them, too.
                let attachments = Arc::try_unwrap(attachments).unwrap_or_else(|shared| (*shared).clone());
                Letter { attachments, ..*letter }.compose(date, message_id)?
            }
            Content::Raw(mut message) => {
                if threading(&message).message_id.is_none() {
                    message.splice(0..0, format!("Message-ID: {message_id}\r\n").into_bytes());
                }
                message
            }
        };
        let message_id = threading(&raw).message_id.unwrap_or_else(|| message_id.to_owned());
        Ok(Composed { message_id, raw, is_raw })
    }
}

/// The mailboxes in a field.
///
/// # Errors
/// [`Failure`] for a control character, or an entry without an address.
pub(super) fn addresses(field: &str, text: &str) -> Result<Vec<Mailbox>, Failure> {
    let invalid = || Failure::invalid(format!("invalid `{field}` field: {text} is not an address"));
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    if text.contains(char::is_control) {
        return Err(invalid());
    }
    let found = mailboxes(text);
    if found.is_empty() || found.iter().any(|one| one.address.is_none()) { Err(invalid()) } else { Ok(found) }
}

/// The mailboxes in all texts of a field.
///
/// # Errors
/// As [`addresses`].
pub(super) fn all_addresses<T: AsRef<str>>(
    field: &str,
    texts: impl IntoIterator<Item = T>,
) -> Result<Vec<Mailbox>, Failure> {
    let mut all = Vec::new();
    for text in texts {
        all.extend(addresses(field, text.as_ref())?);
    }
    Ok(all)
}

/// A mailbox from separate fields.
pub(super) fn named(address: String, name: Option<String>) -> Mailbox {
    Mailbox { name: name.filter(|name| !name.is_empty()), address: Some(address) }
}
