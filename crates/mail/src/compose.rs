//! Composes a message (RFC 5322): text, HTML, or both as alternatives. [`letter`] adds names,
//! copies, further header fields and attachments.

pub mod letter;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lettre::Address;
use lettre::message::header::{HeaderName, HeaderValue};
use lettre::message::{Mailbox, Message, MultiPart, SinglePart};

use crate::address::EmailAddress;
use crate::submission::with_crlf;
use crate::threading::{self, Threading};

/// Bytes of text in one encoded word. With this length, its base64 and the field name fit on a line
/// of 76 characters.
const ENCODED_WORD_BYTES: usize = 39;

/// Bytes of the longest name of a person or a file.
const NAME_BYTES: usize = 512;

/// Bytes of a word that fit on a line with any field name (RFC 5322, section 2.1.1).
const WORD_BYTES: usize = 900;

/// A message to be written.
#[derive(Clone, Copy, Debug)]
pub struct Draft<'a> {
    /// The sender's bare address.
    pub from: &'a str,
    /// The recipient's bare address.
    pub to: &'a str,
    /// The subject; any Unicode without control characters.
    pub subject: &'a str,
    /// The plain text; left out if it is empty, unless there is no HTML either.
    pub text: &'a str,
    /// The HTML; left out if it is empty.
    pub html: &'a str,
    /// When it is sent, in the date format of RFC 5322: `Fri, 20 Nov 2026 09:30:00 +0000`.
    pub date: &'a str,
    /// Its own id, with angle brackets.
    pub message_id: &'a str,
    /// The message to which it replies.
    pub in_reply_to: Option<&'a Threading>,
}

/// Why a message cannot be composed.
#[derive(Debug, thiserror::Error)]
pub enum ComposeError {
    /// An address cannot be used in a message.
    #[error("not a mail address: {0}")]
    Address(String),
    /// The subject or the date contains a control character.
    #[error("a control character in a header")]
    ControlCharacter,
    /// A name that no header field can have, or that only the composer may write.
    #[error("not a header field that can be set: {0}")]
    HeaderName(String),
    /// The text is not a media type.
    #[error("not a content type: {0}")]
    ContentType(String),
    /// The text is not a Content-ID.
    #[error("not a content id: {0}")]
    ContentId(String),
    /// A name, for example of a file, is too long.
    #[error("a name of more than {NAME_BYTES} bytes")]
    LongName,
    /// The message id is not printable ASCII between angle brackets.
    #[error("not a message id")]
    MessageId,
    /// The library rejected the message.
    #[error("the message cannot be built")]
    Build(#[from] lettre::error::Error),
}

/// Composes a message. Its lines end with CR LF and have at most 998 bytes.
///
/// # Errors
/// [`ComposeError`] if an address is invalid, or a header contains a control character. The latter
/// ensures that a draft cannot add header fields.
pub fn compose(draft: &Draft<'_>) -> Result<Vec<u8>, ComposeError> {
    if [draft.subject, draft.date]
        .iter()
        .any(|value| value.contains(char::is_control))
    {
        return Err(ComposeError::ControlCharacter);
    }
    if !threading::is_bracketed_id(draft.message_id) {
        return Err(ComposeError::MessageId);
    }
    let mut builder = Message::builder()
        .from(mailbox(draft.from)?)
        .to(mailbox(draft.to)?)
        .raw_header(header("Date", draft.date.to_owned()))
        .raw_header(header("Message-ID", draft.message_id.to_owned()))
        .raw_header(text_header(
            HeaderName::new_from_ascii_str("Subject"),
            draft.subject,
        ));
    if let Some(parent) = draft.in_reply_to {
        for (name, ids) in [
            ("In-Reply-To", parent_id(parent)),
            ("References", thread(parent)),
        ] {
            if !ids.is_empty() {
                builder = builder.raw_header(header(name, ids.join("\r\n ")));
            }
        }
    }
    let plain = || SinglePart::plain(crlf(draft.text));
    let html = || SinglePart::html(crlf(draft.html));
    let message = match (draft.text.is_empty(), draft.html.is_empty()) {
        (_, true) => builder.singlepart(plain()),
        (true, false) => builder.singlepart(html()),
        (false, false) => builder.multipart(
            MultiPart::alternative()
                .singlepart(plain())
                .singlepart(html()),
        ),
    }?;
    Ok(message.formatted())
}

fn mailbox(address: &str) -> Result<Mailbox, ComposeError> {
    let refused = || ComposeError::Address(address.escape_debug().to_string());
    let parsed = EmailAddress::parse(address).map_err(|_| refused())?;
    let address =
        Address::new(parsed.local_part(), parsed.domain().as_str()).map_err(|_| refused())?;
    Ok(Mailbox::new(None, address))
}

/// A header whose value is ASCII without control characters and may be folded.
fn header(name: &'static str, value: String) -> HeaderValue {
    HeaderValue::dangerous_new_pre_encoded(
        HeaderName::new_from_ascii_str(name),
        value.clone(),
        value,
    )
}

/// The text with CR LF at the end of each line but the last. The library would do it, but in
/// quadratic time.
fn crlf(text: &str) -> String {
    let mut lines = with_crlf(text.as_bytes());
    if !text.ends_with(['\r', '\n']) {
        lines.truncate(lines.len().saturating_sub(2));
    }
    // Only line ends were replaced.
    String::from_utf8(lines).unwrap_or_default()
}

/// A header with this text, which has no control characters.
fn text_header(name: HeaderName, text: &str) -> HeaderValue {
    // A long word cannot be folded, but as encoded words it can.
    let is_foldable = text.split(' ').all(|word| word.len() <= WORD_BYTES);
    if is_foldable && !text.contains("=?") {
        return HeaderValue::new(name, text.to_owned());
    }
    HeaderValue::dangerous_new_pre_encoded(name, text.to_owned(), encoded_words(text))
}

/// Writes the text as encoded words (RFC 2047), so that text that looks like an encoded word is not
/// decoded.
fn encoded_words(text: &str) -> String {
    let mut words: Vec<String> = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (word, after) = rest.split_at(rest.floor_char_boundary(ENCODED_WORD_BYTES));
        words.push(format!("=?utf-8?B?{}?=", STANDARD.encode(word)));
        rest = after;
    }
    words.join("\r\n ")
}

fn parent_id(parent: &Threading) -> Vec<String> {
    parent
        .message_id
        .iter()
        .filter(|id| threading::is_bracketed_id(id))
        .cloned()
        .collect()
}

/// The ids of the parent's thread; the last one is the parent.
fn thread(parent: &Threading) -> Vec<String> {
    let references = parent.references.iter().chain(&parent.message_id);
    threading::bounded(
        references
            .filter(|id| threading::is_bracketed_id(id))
            .cloned()
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_that_looks_encoded_arrives_as_it_was_written() {
        let long = format!("=?UTF-8?Q?x?= {}", "ü = 🐌 ".repeat(40));
        for subject in [
            "=?UTF-8?Q?x?=",
            "a =?utf-8?b?eA==?= b",
            "ü =?UTF-8?Q?x?= ü",
            "=?",
            "1 =? 2 ?=",
            long.trim_end(),
        ] {
            let draft = Draft {
                from: "a@shop.example",
                to: "b@restante.example.com",
                subject,
                text: "Hello",
                html: "",
                date: "Thu, 01 Jan 1970 00:00:00 +0000",
                message_id: "<1@restante.example.com>",
                in_reply_to: None,
            };
            let message = compose(&draft).unwrap();
            assert!(
                message
                    .split(|byte| *byte == b'\n')
                    .all(|line| line.len() <= 77),
                "{}",
                message.escape_ascii()
            );
            assert_eq!(crate::parse(&message).subject, subject);
        }
    }
}
