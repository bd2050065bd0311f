//! The message of an application, which every provider's request is parsed into.

use std::collections::HashSet;
use std::mem::take;
use std::sync::Arc;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use restante_api::Mailbox;
use restante_mail::compose::{Attachment, Letter};
use restante_mail::{bounded_mailboxes, bounded_submission, threading, with_crlf, without_bcc};

use super::failure::Failure;
use crate::model::{EmailAddress, Refusal};

/// The type of a file for which the request has none, and whose name has no known ending.
const UNKNOWN_TYPE: &str = "application/octet-stream";
/// About the memory of an address, a header field or a file, in addition to its texts.
const ENTRY: usize = 64;
/// Maximum number of characters of a field that an error shows.
const SHOWN_CHARACTERS: usize = 400;

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
    /// Fields, and the rest, which several messages may share.
    Letter(Box<Letter>, Parts),
    Raw(Vec<u8>),
}

/// The large parts of a message; a copy shares them.
#[derive(Clone, Debug, Default)]
pub(super) struct Parts {
    pub(super) text: Arc<String>,
    pub(super) html: Arc<String>,
    pub(super) attachments: Arc<Vec<Attachment>>,
}

pub(super) struct Composed {
    /// The value of its Message-ID.
    pub(super) message_id: String,
    pub(super) raw: Vec<u8>,
    /// Whether the application sent it as a whole.
    pub(super) is_raw: bool,
}

/// Metadata of a message as a header field, in which any name and any text have a place: the name
/// is percent-encoded where a header field cannot have it, and a text with line breaks is a JSON
/// string.
pub(super) fn metadata(prefix: &str, name: &str, value: &str) -> (String, String) {
    const SAFE: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.');
    let value = if value.contains(char::is_control) {
        serde_json::Value::from(value).to_string()
    } else {
        value.into()
    };
    (
        format!("{prefix}{}", utf8_percent_encode(name, SAFE)),
        value,
    )
}

impl Parts {
    /// The texts of a letter, which then has none, and its attachments.
    pub(super) fn of(letter: &mut Letter, attachments: Arc<Vec<Attachment>>) -> Self {
        let text = Arc::new(take(&mut letter.text));
        let html = Arc::new(take(&mut letter.html));
        Self {
            text,
            html,
            attachments,
        }
    }
}

impl Outgoing {
    /// A message of fields.
    pub(super) fn new(mut letter: Letter, bcc: Vec<Mailbox>, attachments: Vec<Attachment>) -> Self {
        let parts = Parts::of(&mut letter, Arc::new(attachments));
        Self::sharing(letter, bcc, parts)
    }

    /// A message whose parts others share; the letter has only what is in a header.
    pub(super) fn sharing(letter: Letter, bcc: Vec<Mailbox>, parts: Parts) -> Self {
        Self {
            sender: None,
            bcc,
            content: Content::Letter(Box::new(letter), parts),
        }
    }

    /// About how many bytes the message has.
    pub(super) fn bytes(&self) -> usize {
        let (letter, parts) = match &self.content {
            Content::Letter(letter, parts) => (letter, parts),
            Content::Raw(raw) => return raw.len(),
        };
        let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        let lists = [
            &letter.from,
            &letter.to,
            &letter.cc,
            &letter.reply_to,
            &self.bcc,
        ];
        let mailboxes = lists
            .into_iter()
            .flatten()
            .map(|one| ENTRY + text(&one.name) + text(&one.address));
        let headers = letter
            .headers
            .iter()
            .map(|(name, value)| ENTRY + name.len() + value.len());
        let files = parts
            .attachments
            .iter()
            .map(|file| ENTRY + file.content.len());
        let texts = letter.subject.len() + parts.text.len() + parts.html.len();
        ENTRY + texts + mailboxes.chain(headers).chain(files).sum::<usize>()
    }

    /// A whole message, for these recipients or, if there are none, those of its header. Bcc is
    /// removed.
    ///
    /// # Errors
    /// [`Failure`] for a header that is too long.
    pub(super) fn raw(
        message: &[u8],
        recipients: Vec<Mailbox>,
        addresses: Addresses,
    ) -> Result<Self, Failure> {
        let message = with_crlf(message);
        let header = bounded_submission(&message, addresses.most)
            .ok_or_else(|| Failure::invalid("the header of the message is too long"))?;
        let bcc = match recipients.is_empty() {
            true => header.recipients.into_iter().map(Mailbox::bare).collect(),
            false => recipients,
        };
        Ok(Self {
            sender: header.from,
            bcc,
            content: Content::Raw(without_bcc(&message)),
        })
    }

    /// The address for reports of failures.
    ///
    /// # Errors
    /// [`Failure`] if there is none, or it is not an address.
    pub(super) fn sender(&self) -> Result<EmailAddress, Failure> {
        let author = match &self.content {
            Content::Letter(letter, _) => {
                letter.from.first().and_then(|from| from.address.as_deref())
            }
            Content::Raw(_) => None,
        };
        let sender = self.sender.as_deref().or(author).unwrap_or_default();
        EmailAddress::parse(sender)
            .map_err(|_| Failure::refused(Refusal::BadSender).because(sender))
    }

    /// How many entries the largest list of addresses has: the recipients, or where replies go.
    pub(super) fn most_addresses(&self) -> usize {
        match &self.content {
            Content::Letter(letter, _) => {
                let recipients = letter.to.len() + letter.cc.len() + self.bcc.len();
                recipients.max(letter.reply_to.len()).max(letter.from.len())
            }
            Content::Raw(_) => self.bcc.len(),
        }
    }

    /// Every recipient as the application wrote it, each once.
    pub(super) fn recipients(&self) -> Vec<String> {
        let (to, cc) = match &self.content {
            Content::Letter(letter, _) => (letter.to.as_slice(), letter.cc.as_slice()),
            Content::Raw(_) => Default::default(),
        };
        let mut known = HashSet::new();
        let all = to.iter().chain(cc).chain(&self.bcc);
        let addresses = all.map(|one| {
            one.address
                .as_deref()
                .or(one.name.as_deref())
                .unwrap_or_default()
        });
        addresses
            .filter(|address| known.insert(*address))
            .map(str::to_owned)
            .collect()
    }

    /// The message as it is stored. `date` and `message_id` are for a message that has none.
    ///
    /// # Errors
    /// [`Failure`] for what no message can have.
    pub(super) fn compose(self, date: &str, message_id: &str) -> Result<Composed, Failure> {
        let is_raw = matches!(self.content, Content::Raw(_));
        let raw = match self.content {
            Content::Letter(
                letter,
                Parts {
                    text,
                    html,
                    attachments,
                },
            ) => {
                // Copied only if another message needs them, too.
                let text = Arc::unwrap_or_clone(text);
                let html = Arc::unwrap_or_clone(html);
                let mut attachments = Arc::unwrap_or_clone(attachments);
                for file in attachments
                    .iter_mut()
                    .filter(|file| file.content_type.is_empty())
                {
                    let guess = mime_guess::from_path(&file.name).first_raw();
                    guess
                        .unwrap_or(UNKNOWN_TYPE)
                        .clone_into(&mut file.content_type);
                }
                Letter {
                    text,
                    html,
                    attachments,
                    ..*letter
                }
                .compose(date, message_id)?
            }
            Content::Raw(mut message) => {
                if threading(&message).message_id.is_none() {
                    message.splice(0..0, format!("Message-ID: {message_id}\r\n").into_bytes());
                }
                message
            }
        };
        let message_id = threading(&raw)
            .message_id
            .unwrap_or_else(|| message_id.to_owned());
        Ok(Composed {
            message_id,
            raw,
            is_raw,
        })
    }
}

/// Reads fields of addresses, but not many more addresses than a message may have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Addresses {
    /// Maximum number of addresses of a field: one too many, so that it is noticed.
    most: usize,
}

impl Addresses {
    /// For messages with this many recipients at most.
    pub(super) fn up_to(recipients: usize) -> Self {
        Self {
            most: recipients.saturating_add(1),
        }
    }

    /// The mailboxes in a field.
    ///
    /// # Errors
    /// [`Failure`] for a control character, an entry without an address, or a field that is too
    /// long.
    pub(super) fn one(self, field: &str, text: &str) -> Result<Vec<Mailbox>, Failure> {
        if text.trim().is_empty() {
            return Ok(Vec::new());
        }
        let found = bounded_mailboxes(text.as_bytes(), self.most);
        let found = found
            .ok_or_else(|| Failure::invalid(format!("invalid `{field}` field: it is too long")))?;
        let is_invalid =
            found.is_empty() || found.iter().any(|one| one.address.is_none()) || has_group(text);
        if is_invalid || text.contains(char::is_control) {
            let shown: String = text.chars().take(SHOWN_CHARACTERS).collect();
            return Err(Failure::invalid(format!(
                "invalid `{field}` field: {shown} is not an address"
            )));
        }
        Ok(found)
    }

    /// The mailboxes in all texts of a field.
    ///
    /// # Errors
    /// As [`Addresses::one`].
    pub(super) fn all<T: AsRef<str>>(
        self,
        field: &str,
        texts: impl IntoIterator<Item = T>,
    ) -> Result<Vec<Mailbox>, Failure> {
        let mut all = Vec::new();
        for text in texts {
            all.extend(self.one(field, text.as_ref())?);
            if all.len() >= self.most {
                break;
            }
        }
        all.truncate(self.most);
        Ok(all)
    }
}

/// Whether the text has the name of a group, such as `To: ada@example.com`: a colon that is neither
/// quoted, nor in an address literal, nor in the name before an address in brackets.
fn has_group(text: &str) -> bool {
    let mut is_quoted = false;
    let mut in_literal = false;
    let has_colon = text.chars().any(|character| {
        match character {
            '"' => is_quoted = !is_quoted,
            '[' => in_literal = true,
            ']' => in_literal = false,
            _ => {}
        }
        character == ':' && !is_quoted && !in_literal
    });
    has_colon && !text.contains('<')
}
