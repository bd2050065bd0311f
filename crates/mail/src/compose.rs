//! Composes a message (RFC 5322): names, copies, text and HTML as alternatives, header fields of its
//! own, attachments and inline images.
//!
//! Every text is untrusted. Nothing in it can start another header field: a control character in a
//! header is an error.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lettre::Address;
use lettre::address::Envelope;
use lettre::message::header::{
    Cc, ContentTransferEncoding, ContentType, From, HeaderName, HeaderValue, Headers, ReplyTo, To,
};
use lettre::message::{
    Attachment as AttachedPart, Body, Mailbox as NamedAddress, Mailboxes, Message, MultiPart,
    SinglePart,
};
use restante_api::Mailbox;

use crate::address::EmailAddress;
use crate::details::field_mailboxes;
use crate::submission::with_crlf;
use crate::threading::{self, Threading, is_bracketed_id};

/// Bytes of text in one encoded word. With this length, its base64 and the field name fit on a line
/// of 76 characters.
const ENCODED_WORD_BYTES: usize = 39;

/// Bytes of the longest name of a person or a file.
const NAME_BYTES: usize = 512;

/// Bytes of a word that fit on a line with any field name (RFC 5322, section 2.1.1).
const WORD_BYTES: usize = 900;

/// The fields that the composer writes itself. In an application's own fields they are errors,
/// because they would contradict the message.
const STRUCTURAL: [&str; 7] = [
    "from",
    "to",
    "cc",
    "subject",
    "mime-version",
    "content-type",
    "content-transfer-encoding",
];

/// The fields that the composer writes, with an application's value if it is valid, or leaves out.
const COMPOSED: [&str; 3] = ["date", "message-id", "bcc"];

/// Why a message cannot be composed.
#[derive(Debug, thiserror::Error)]
pub enum ComposeError {
    /// An address cannot be used in a message.
    #[error("not a mail address: {0}")]
    Address(String),
    /// A text for a header contains a control character.
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
    /// The library rejected the message.
    #[error("the message cannot be built")]
    Build(#[from] lettre::error::Error),
}

/// A message to be written.
#[derive(Clone, Debug, Default)]
pub struct Letter {
    /// The authors; at least one.
    pub from: Vec<Mailbox>,
    /// The recipients.
    pub to: Vec<Mailbox>,
    /// The recipients of copies.
    pub cc: Vec<Mailbox>,
    /// Where replies go.
    pub reply_to: Vec<Mailbox>,
    /// The subject; any Unicode without control characters.
    pub subject: String,
    /// The plain text; left out if it is empty, unless there is no HTML either.
    pub text: String,
    /// The HTML; left out if it is empty.
    pub html: String,
    /// The message to which it replies.
    pub in_reply_to: Option<Threading>,
    /// The files; those with a content id belong to the HTML.
    pub attachments: Vec<Attachment>,
    /// Further header fields. `Date` and `Message-ID` replace those of the composer, if they are
    /// valid; `Bcc` is left out.
    pub headers: Vec<(String, String)>,
}

/// A file in a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachment {
    /// Its name; empty if it has none.
    pub name: String,
    /// Its media type.
    pub content_type: String,
    /// Its bytes.
    pub content: Vec<u8>,
    /// The id by which the HTML refers to it, without angle brackets.
    pub content_id: Option<String>,
}

/// The addresses in a text such as `Ada <ada@shop.example>, bob@shop.example`. A malformed entry
/// has no address.
#[must_use]
pub fn mailboxes(text: &str) -> Vec<Mailbox> {
    field_mailboxes(text.as_bytes())
}

impl Letter {
    /// Composes the message. Its lines end with CR LF and have at most 998 bytes. `date` is when it
    /// is sent, in the form of RFC 5322: `Fri, 20 Nov 2026 09:30:00 +0000`. `message_id` has angle
    /// brackets.
    ///
    /// # Errors
    /// [`ComposeError`] for the first field that no message can have.
    pub fn compose(self, date: &str, message_id: &str) -> Result<Vec<u8>, ComposeError> {
        let own_id = self
            .own("message-id")
            .filter(|id| is_bracketed_id(id))
            .map(str::to_owned);
        let own_date = self
            .own("date")
            .filter(|date| is_printable(date))
            .map(str::to_owned);
        let fields = self.fields()?;
        let mut builder = Message::builder()
            .mailbox(From::from(addresses(&self.from)?))
            .raw_header(header(
                "Message-ID",
                own_id.unwrap_or_else(|| message_id.to_owned()),
            ))
            .raw_header(text_header(
                HeaderName::new_from_ascii_str("Subject"),
                checked(&self.subject)?,
            ));
        if let Some(parent) = &self.in_reply_to {
            for (name, ids) in [
                ("In-Reply-To", parent_id(parent)),
                ("References", thread(parent)),
            ] {
                if !ids.is_empty() {
                    builder = builder.raw_header(header(name, ids.join("\r\n ")));
                }
            }
        }
        // All of a field at once: the library would write the field again for each address.
        if !self.to.is_empty() {
            builder = builder.mailbox(To::from(addresses(&self.to)?));
        }
        if !self.cc.is_empty() {
            builder = builder.mailbox(Cc::from(addresses(&self.cc)?));
        }
        if !self.reply_to.is_empty() {
            builder = builder.mailbox(ReplyTo::from(addresses(&self.reply_to)?));
        }
        // The library wants a recipient, but a message may have only blind copies.
        let sender = addresses(&self.from)?
            .into_iter()
            .next()
            .map(|from| from.email);
        builder = builder.envelope(Envelope::new(None, sender.into_iter().collect())?);
        let mut message = match self.into_content()? {
            Content::Single(part) => builder.singlepart(part),
            Content::Multi(part) => builder.multipart(part),
        }?;
        // The library replaces a date with another zone than UTC.
        message
            .headers_mut()
            .insert_raw(header("Date", own_date.unwrap_or_else(|| date.to_owned())));
        let mut message = message.formatted();
        message.splice(0..0, fields.into_bytes());
        Ok(message)
    }

    /// The application's own fields as they are sent. The library would keep only one of each name.
    fn fields(&self) -> Result<String, ComposeError> {
        let mut fields = String::new();
        for (name, value) in &self.headers {
            let is = |known: &str| name.eq_ignore_ascii_case(known);
            let name = header_name(name)?;
            let value = checked(value)?;
            if COMPOSED.iter().any(|known| is(known)) || is("reply-to") && !self.reply_to.is_empty()
            {
                continue;
            }
            let mut field = Headers::new();
            field.insert_raw(text_header(name, value));
            fields.push_str(&field.to_string());
        }
        Ok(fields)
    }

    /// The value of the application's own field with this name.
    fn own(&self, wanted: &str) -> Option<&str> {
        let found = self
            .headers
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(wanted))?;
        Some(found.1.trim())
    }

    /// The body: the alternatives, around them the images of the HTML, and around these the
    /// attachments.
    fn into_content(self) -> Result<Content, ComposeError> {
        let (inline, attached): (Vec<_>, Vec<_>) = self
            .attachments
            .into_iter()
            .partition(|attachment| attachment.content_id.is_some());
        let text = crlf(&self.text);
        let html = crlf(&self.html);
        let mut content = match (text.is_empty(), html.is_empty()) {
            (_, true) => Content::Single(SinglePart::plain(text)),
            (true, false) => Content::Single(SinglePart::html(html)),
            (false, false) => Content::Multi(MultiPart::alternative_plain_html(text, html)),
        };
        if !inline.is_empty() {
            content = content.with(MultiPart::related(), inline)?;
        }
        if !attached.is_empty() {
            content = content.with(MultiPart::mixed(), attached)?;
        }
        Ok(content)
    }
}

/// The body of a message.
enum Content {
    Single(SinglePart),
    Multi(MultiPart),
}

impl Content {
    /// The content followed by files, in one multipart.
    fn with(
        self,
        outer: lettre::message::MultiPartBuilder,
        files: Vec<Attachment>,
    ) -> Result<Self, ComposeError> {
        let mut multipart = match self {
            Self::Single(part) => outer.singlepart(part),
            Self::Multi(part) => outer.multipart(part),
        };
        for file in files {
            multipart = multipart.singlepart(file.into_part()?);
        }
        Ok(Self::Multi(multipart))
    }
}

impl Attachment {
    fn into_part(self) -> Result<SinglePart, ComposeError> {
        let name = bounded_name(&self.name)?.to_owned();
        let content_type = content_type(&self.content_type)?;
        let part = match self.content_id {
            None => AttachedPart::new(name),
            Some(id) => {
                let id = id.trim_start_matches('<').trim_end_matches('>').to_owned();
                if !is_bracketed_id(&format!("<{id}>")) {
                    return Err(ComposeError::ContentId(id.escape_debug().to_string()));
                }
                if name.is_empty() {
                    AttachedPart::new_inline(id)
                } else {
                    AttachedPart::new_inline_with_name(id, name)
                }
            }
        };
        // Every other encoding would change line ends.
        let body = Body::new_with_encoding(self.content, ContentTransferEncoding::Base64);
        let body = body.expect("base64 encodes any bytes");
        Ok(part.body(body, content_type))
    }
}

fn bare_address(address: &str) -> Result<Address, ComposeError> {
    let refused = || ComposeError::Address(address.escape_debug().to_string());
    let parsed = EmailAddress::parse(address).map_err(|_| refused())?;
    Address::new(parsed.local_part(), parsed.domain().as_str()).map_err(|_| refused())
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
    String::from_utf8(lines).expect("only line ends were replaced")
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
        .filter(|id| is_bracketed_id(id))
        .cloned()
        .collect()
}

/// The ids of the parent's thread; the last one is the parent.
fn thread(parent: &Threading) -> Vec<String> {
    let references = parent.references.iter().chain(&parent.message_id);
    threading::bounded(
        references
            .filter(|id| is_bracketed_id(id))
            .cloned()
            .collect(),
    )
}

/// An empty type is that of arbitrary bytes.
fn content_type(text: &str) -> Result<ContentType, ComposeError> {
    let text = if text.trim().is_empty() {
        "application/octet-stream"
    } else {
        text.trim()
    };
    let refused = || ComposeError::ContentType(text.escape_debug().to_string());
    if !is_printable(text) {
        return Err(refused());
    }
    ContentType::parse(text).map_err(|_| refused())
}

fn header_name(name: &str) -> Result<HeaderName, ComposeError> {
    let refused = || ComposeError::HeaderName(name.escape_debug().to_string());
    // RFC 5322, section 3.6.8.
    let is_name = name
        .bytes()
        .all(|byte| byte.is_ascii_graphic() && byte != b':');
    if !is_name
        || STRUCTURAL
            .iter()
            .any(|known| name.eq_ignore_ascii_case(known))
    {
        return Err(refused());
    }
    HeaderName::new_from_ascii(name.to_owned()).map_err(|_| refused())
}

fn addresses(mailboxes: &[Mailbox]) -> Result<Mailboxes, ComposeError> {
    let address = |one: &Mailbox| {
        let email = bare_address(one.address.as_deref().unwrap_or_default())?;
        let name = bounded_name(one.name.as_deref().unwrap_or_default())?.to_owned();
        Ok(NamedAddress::new(
            Some(name).filter(|name| !name.is_empty()),
            email,
        ))
    };
    mailboxes.iter().map(address).collect()
}

fn bounded_name(name: &str) -> Result<&str, ComposeError> {
    if name.len() > NAME_BYTES {
        Err(ComposeError::LongName)
    } else {
        checked(name)
    }
}

/// A text for a header.
fn checked(text: &str) -> Result<&str, ComposeError> {
    if text.contains(char::is_control) {
        Err(ComposeError::ControlCharacter)
    } else {
        Ok(text)
    }
}

/// Whether the text fits on a line without encoding.
fn is_printable(text: &str) -> bool {
    (1..=NAME_BYTES).contains(&text.len()) && text.bytes().all(|byte| (b' '..=b'~').contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::details::{attachment_content, details};

    const DATE: &str = "Thu, 01 Jan 1970 00:00:00 +0000";
    const ID: &str = "<1@restante.example.com>";

    fn letter() -> Letter {
        Letter {
            from: mailboxes("Zoë <zoe@shop.example>"),
            to: mailboxes("\"Ada, L.\" <ada@restante.example.com>, bob@restante.example.com"),
            subject: "Grüße 🐌".to_owned(),
            text: "Hello\nthere".to_owned(),
            ..Letter::default()
        }
    }

    fn file(name: &str, content_type: &str, content: &[u8], id: Option<&str>) -> Attachment {
        let content_id = id.map(str::to_owned);
        Attachment {
            name: name.to_owned(),
            content_type: content_type.to_owned(),
            content: content.to_vec(),
            content_id,
        }
    }

    #[test]
    fn everything_that_is_written_is_read_again() {
        let bytes: Vec<u8> = (0..=255).chain(*b"a\nb\r\nc\rd").collect();
        let written = Letter {
            cc: mailboxes("carol@restante.example.com"),
            reply_to: mailboxes("Hilfe <help@shop.example>"),
            html: "<img src=\"cid:logo\"><p>Grüße".to_owned(),
            attachments: vec![
                file("größe.bin", "", &bytes, None),
                file("logo.png", "image/png", b"PNG", Some("logo")),
                file("a.txt", "text/plain; charset=utf-8", b"a\nb", None),
            ],
            headers: [
                ("X-Tag", "one"),
                ("X-Tag", "zwölf"),
                ("Bcc", "secret@x.example"),
                ("reply-to", "no@x.example"),
            ]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .to_vec(),
            ..letter()
        };
        let raw = written.compose(DATE, ID).unwrap();
        let parsed = crate::parse(&raw);
        let read = details(&raw);
        assert_eq!(
            (parsed.subject.as_str(), parsed.text.as_str()),
            ("Grüße 🐌", "Hello\nthere")
        );
        assert_eq!(parsed.html, "<img src=\"cid:logo\"><p>Grüße");
        assert_eq!(read.from, mailboxes("Zoë <zoe@shop.example>"));
        assert_eq!(read.to[0].name.as_deref(), Some("Ada, L."));
        assert_eq!(
            (read.to.len(), read.cc.len(), read.reply_to.len()),
            (2, 1, 1)
        );
        assert_eq!(read.message_id.as_deref(), Some(ID));
        let tags: Vec<_> = read
            .headers
            .iter()
            .filter(|field| field.name == "X-Tag")
            .collect();
        assert_eq!(
            tags.iter()
                .map(|field| field.value.as_str())
                .collect::<Vec<_>>(),
            ["one", "zwölf"]
        );
        assert!(
            !read
                .headers
                .iter()
                .any(|field| field.name.eq_ignore_ascii_case("bcc"))
        );
        let files: Vec<_> = (0..3)
            .map(|index| attachment_content(&raw, index).unwrap())
            .collect();
        assert_eq!(
            (files[0].0.content_id.as_deref(), &*files[0].1),
            (Some("logo"), &b"PNG"[..])
        );
        assert_eq!(
            (files[1].0.file_name.as_deref(), &files[1].1),
            (Some("größe.bin"), &bytes)
        );
        assert_eq!(files[2].1, b"a\nb");
    }

    #[test]
    fn a_message_may_have_only_blind_copies_and_its_own_id() {
        let headers = [
            ("message-ID", " <own@shop.example> "),
            ("Date", "Fri, 20 Nov 2026 09:30:00 +0100"),
        ];
        let headers = headers
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .to_vec();
        let raw = Letter {
            to: Vec::new(),
            headers,
            ..letter()
        }
        .compose(DATE, ID)
        .unwrap();
        let read = details(&raw);
        assert_eq!(
            (read.to, read.message_id.as_deref()),
            (Vec::new(), Some("<own@shop.example>"))
        );
        assert_eq!(read.date.as_deref(), Some("2026-11-20T09:30:00+01:00"));
    }

    #[test]
    fn no_text_starts_another_header_field() {
        let hostile = "x\r\nBcc: evil@x.example\r\n\r\nbody";
        let name = |name: &str| Mailbox {
            name: Some(name.to_owned()),
            address: Some("a@shop.example".to_owned()),
        };
        let field = |name: &str, value: &str| vec![(name.to_owned(), value.to_owned())];
        for text in [hostile, "a\nb", "a\rb", "a\0b", "a\u{85}b"] {
            let address = Mailbox {
                name: None,
                address: Some(text.to_owned()),
            };
            for refused in [
                Letter {
                    subject: text.to_owned(),
                    ..letter()
                },
                Letter {
                    from: vec![name(text)],
                    ..letter()
                },
                Letter {
                    to: vec![name(text)],
                    ..letter()
                },
                Letter {
                    cc: vec![address.clone()],
                    ..letter()
                },
                Letter {
                    reply_to: vec![address],
                    ..letter()
                },
                Letter {
                    headers: field("X-A", text),
                    ..letter()
                },
                Letter {
                    headers: field(text, "a"),
                    ..letter()
                },
                Letter {
                    headers: field("Bcc", text),
                    ..letter()
                },
                Letter {
                    attachments: vec![file(text, "text/plain", b"", None)],
                    ..letter()
                },
                Letter {
                    attachments: vec![file("a", text, b"", None)],
                    ..letter()
                },
                Letter {
                    attachments: vec![file("a", "text/plain", b"", Some(text))],
                    ..letter()
                },
            ] {
                assert!(refused.clone().compose(DATE, ID).is_err(), "{refused:?}");
            }
        }
        for name in [
            "",
            "a b",
            "a:",
            "é",
            "Subject",
            "FROM",
            "content-type",
            "x\ty",
        ] {
            assert!(
                Letter {
                    headers: field(name, "a"),
                    ..letter()
                }
                .compose(DATE, ID)
                .is_err(),
                "{name}"
            );
        }
        // What a parser of addresses reads as another one is not an address of the text.
        assert!(
            mailboxes(hostile)
                .iter()
                .all(|one| one.address.as_deref() != Some("evil@x.example"))
        );
    }

    #[test]
    fn lines_are_short_and_end_with_cr_lf() {
        let long = "a".repeat(5_000);
        for text in [
            long.as_str(),
            "ü".repeat(2_000).as_str(),
            "a\rb\nc\r\nd",
            "=?utf-8?q?x?=",
            &"a b ".repeat(1_000),
        ] {
            let field = text.replace(char::is_control, " ");
            let written = Letter {
                text: text.to_owned(),
                html: text.to_owned(),
                subject: field.clone(),
                headers: vec![("X-Long".to_owned(), field.clone())],
                attachments: vec![file(&"n".repeat(500), "text/plain", text.as_bytes(), None)],
                ..letter()
            };
            let raw = written.compose(DATE, ID).unwrap();
            let ends = raw.iter().filter(|byte| b"\r\n".contains(byte)).count();
            assert_eq!(
                ends,
                2 * raw.windows(2).filter(|pair| *pair == b"\r\n").count(),
                "{text}"
            );
            assert!(
                raw.split(|byte| *byte == b'\n')
                    .all(|line| line.len() <= 999),
                "{}",
                raw.escape_ascii()
            );
            assert_eq!(crate::parse(&raw).subject, field.trim());
        }
    }

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
            let written = Letter {
                from: mailboxes("a@shop.example"),
                to: mailboxes("b@restante.example.com"),
                subject: subject.to_owned(),
                text: "Hello".to_owned(),
                ..Letter::default()
            };
            let message = written.compose(DATE, ID).unwrap();
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
