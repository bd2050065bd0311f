//! All details of a message, for tests that check them: every header field, all addresses, where
//! each link and the code were found, and the attachments.

use mail_parser::parsers::MessageStream;
use mail_parser::{Address, HeaderValue};
use restante_api::{Header, Link, LinkSource, ListUnsubscribe, Mailbox};

use crate::body::{self, Body};
use crate::budget::HEADER_SECTION_BYTES;
use crate::header::{self, Field, Section};
use crate::links::{self, Origin};
use crate::otp::{self, Codes};
use crate::structure::{Kind, Part, Structure};
use crate::threading::ids;
use crate::{charset, encoded_word};

/// Maximum number of addresses of one kind that are read.
const ADDRESSES: usize = 1_000;
/// Maximum number of characters of a link's text.
const WORDS_CHARACTERS: usize = 1_000;

/// The details that [`crate::parse`] leaves out. All of it is untrusted text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Details {
    /// The fields of the header, decoded, each on one line.
    pub headers: Vec<Header>,
    /// The senders.
    pub from: Vec<Mailbox>,
    /// The recipients in the header.
    pub to: Vec<Mailbox>,
    /// The recipients of copies in the header.
    pub cc: Vec<Mailbox>,
    /// The addresses for replies.
    pub reply_to: Vec<Mailbox>,
    /// The Message-ID, in angle brackets.
    pub message_id: Option<String>,
    /// The message to which this one replies, in angle brackets.
    pub in_reply_to: Option<String>,
    /// The Date field in the form of RFC 3339.
    pub date: Option<String>,
    /// The codes and how they were recognised.
    pub codes: Codes,
    /// The links, in the order of [`crate::ParsedMessage::links`].
    pub links: Vec<Link>,
    /// The parts that are not the text or the HTML of the message.
    pub attachments: Vec<Attachment>,
    /// How to unsubscribe (RFC 2369, RFC 8058).
    pub list_unsubscribe: Option<ListUnsubscribe>,
}

/// An attachment without its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachment {
    /// Its index in [`crate::anatomy::Anatomy::parts`].
    pub part: usize,
    /// The decoded file name of the part's header; never use it as a path.
    pub file_name: Option<String>,
    /// For example `image/png`, in lower case; empty if it has no type.
    pub content_type: String,
    /// Bytes of the decoded content.
    pub size: usize,
    /// The Content-ID without angle brackets.
    pub content_id: Option<String>,
    /// Whether it is shown within the text, for example as an image of the HTML.
    pub is_inline: bool,
}

/// Reads the details of a message. Never fails.
#[must_use]
pub fn details(raw: &[u8]) -> Details {
    let structure = Structure::read(raw);
    let headers = structure.fields.iter().map(header_line).collect();
    Details {
        headers,
        ..of(&structure, &body::choose(&structure))
    }
}

/// The details without the header fields.
pub(crate) fn of(structure: &Structure<'_>, body: &Body) -> Details {
    let field = |name: &str| {
        structure
            .fields
            .iter()
            .find(|field| field.is(name))
            .copied()
    };
    let first_id = |name: &str| field(name).and_then(|field| ids(field).into_iter().next());
    let subject = field("subject")
        .map(|field| header::text(field.bounded_value()))
        .unwrap_or_default();
    let (own_text, page_text) = texts(body);
    Details {
        headers: Vec::new(),
        from: all_mailboxes(&structure.fields, "from"),
        to: all_mailboxes(&structure.fields, "to"),
        cc: all_mailboxes(&structure.fields, "cc"),
        reply_to: all_mailboxes(&structure.fields, "reply-to"),
        message_id: first_id("message-id"),
        in_reply_to: first_id("in-reply-to"),
        date: field("date").and_then(date),
        codes: otp::recognise(&subject, own_text, page_text, &body.page),
        links: all_links(body, own_text, page_text),
        attachments: all_attachments(structure),
        list_unsubscribe: list_unsubscribe(
            field("list-unsubscribe"),
            field("list-unsubscribe-post"),
        ),
    }
}

/// The attachment at `index` of [`Details::attachments`], and its decoded content.
#[must_use]
pub fn attachment_content(raw: &[u8], index: usize) -> Option<(Attachment, Vec<u8>)> {
    let structure = Structure::read(raw);
    let (place, part) = attached(&structure).nth(index)?;
    let content = part.encoding.decode(part.body).into_owned();
    Some((attachment(place, part, content.len()), content))
}

/// [`Details::attachments`] alone.
#[must_use]
pub fn attachments(raw: &[u8]) -> Vec<Attachment> {
    all_attachments(&Structure::read(raw))
}

/// What `read` returns for each attachment: it gets the attachment, its number in the tree of parts
/// (`2`, or `1.3` in a multipart that is the first part; `0` if it is the whole message), and its
/// decoded content.
pub fn each_attachment<T>(
    raw: &[u8],
    mut read: impl FnMut(Attachment, String, &[u8]) -> T,
) -> Vec<T> {
    let structure = Structure::read(raw);
    let numbers = numbers(&structure);
    let attached = attached(&structure).map(|(place, part)| {
        let content = part.encoding.decode(part.body);
        read(
            attachment(place, part, content.len()),
            numbers[place].clone(),
            &content,
        )
    });
    attached.collect()
}

/// The number of each part in the tree of parts.
fn numbers(structure: &Structure<'_>) -> Vec<String> {
    let mut numbers = vec!["0".to_owned(); structure.parts.len()];
    for (place, part) in structure.parts.iter().enumerate() {
        let parent = if place == 0 {
            String::new()
        } else {
            format!("{}.", numbers[place])
        };
        for (child, number) in part.children.iter().zip(1..) {
            numbers[*child] = format!("{parent}{number}");
        }
    }
    numbers
}

/// The decoded values of the header fields with one of these names, in lower case, each on one
/// line. `raw` is a message or the start of one.
pub fn header_values(raw: &[u8], names: &[&str]) -> impl Iterator<Item = String> {
    let section = Section::read(raw, HEADER_SECTION_BYTES, |_| false);
    let fields = section
        .fields
        .into_iter()
        .filter(|field| names.iter().any(|name| field.is(name)));
    fields.map(|field| header::text(field.bounded_value()))
}

/// The text of the message and the visible text of its HTML.
pub(crate) fn texts(body: &Body) -> (&str, &str) {
    if body.text_is_from_html {
        ("", &body.text)
    } else {
        (&body.text, &body.page.text)
    }
}

fn header_line(field: &Field<'_>) -> Header {
    Header {
        name: charset::decode_unlabelled(field.name).into_owned(),
        value: header::text(field.bounded_value()),
    }
}

/// The addresses in all fields with this name.
pub(crate) fn all_mailboxes(fields: &[Field<'_>], name: &str) -> Vec<Mailbox> {
    let fields = fields.iter().filter(|field| field.is(name));
    fields
        .flat_map(|field| field_mailboxes(field.bounded_value()))
        .take(ADDRESSES)
        .collect()
}

pub(crate) fn field_mailboxes(value: &[u8]) -> Vec<Mailbox> {
    let mut line = value.trim_ascii().to_vec();
    line.push(b'\n');
    let HeaderValue::Address(parsed) = MessageStream::new(&line).parse_address() else {
        return Vec::new();
    };
    let addresses: Vec<_> = match parsed {
        Address::List(list) => list,
        Address::Group(groups) => groups
            .into_iter()
            .flat_map(|group| group.addresses)
            .collect(),
    };
    let clean = |text: Option<std::borrow::Cow<'_, str>>| {
        let text: String = text?
            .chars()
            .map(|character| {
                if character.is_control() {
                    ' '
                } else {
                    character
                }
            })
            .collect();
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    };
    let mailboxes = addresses.into_iter().map(|one| Mailbox {
        name: clean(one.name),
        address: clean(one.address),
    });
    mailboxes
        .filter(|mailbox| mailbox.name.is_some() || mailbox.address.is_some())
        .collect()
}

fn date(field: Field<'_>) -> Option<String> {
    let mut line = field.bounded_value().trim_ascii().to_vec();
    line.push(b'\n');
    let HeaderValue::DateTime(date) = MessageStream::new(&line).parse_date() else {
        return None;
    };
    let is_valid =
        date.is_valid() && date.year <= 9_999 && date.tz_hour < 24 && date.tz_minute < 60;
    is_valid.then(|| date.to_rfc3339())
}

fn all_links(body: &Body, own_text: &str, page_text: &str) -> Vec<Link> {
    let found = links::find_all(&body.page, page_text, own_text);
    let link = |(url, origin): (String, Origin)| {
        let source = match origin {
            Origin::Link(_) | Origin::PageText => LinkSource::Html,
            Origin::Text => LinkSource::Text,
        };
        let words = match origin {
            Origin::Link(words) => page_text.get(words).unwrap_or_default(),
            Origin::PageText | Origin::Text => "",
        };
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        let text: String = words.chars().take(WORDS_CHARACTERS).collect();
        Link {
            url,
            text: Some(text).filter(|text| !text.is_empty()),
            source,
        }
    };
    found.into_iter().map(link).collect()
}

/// The parts that the body does not use.
fn attached<'s, 'a>(structure: &'s Structure<'a>) -> impl Iterator<Item = (usize, &'s Part<'a>)> {
    structure
        .parts
        .iter()
        .enumerate()
        .filter(|(_, part)| match part.kind {
            Kind::Plain | Kind::Html => part.attachment || part.file_name.is_some(),
            Kind::Opaque => true,
            Kind::Alternative | Kind::Related(_) | Kind::Multipart => false,
        })
}

/// The number of attachments that are not shown within the text.
pub(crate) fn count_attachments(structure: &Structure<'_>) -> usize {
    attached(structure)
        .filter(|(_, part)| !is_inline(part))
        .count()
}

/// Whether the part is shown within the text, as an image of the HTML is.
fn is_inline(part: &Part<'_>) -> bool {
    !part.attachment && (part.inline || content_id(part).is_some())
}

fn content_id(part: &Part<'_>) -> Option<String> {
    Some(header::text(part.content_id?)).filter(|id| !id.is_empty())
}

fn all_attachments(structure: &Structure<'_>) -> Vec<Attachment> {
    let size = |part: &Part<'_>| part.encoding.decode(part.body).len();
    attached(structure)
        .map(|(place, part)| attachment(place, part, size(part)))
        .collect()
}

/// An attachment whose decoded content has `size` bytes.
fn attachment(place: usize, part: &Part<'_>, size: usize) -> Attachment {
    let file_name = part
        .file_name
        .as_deref()
        .map(|name| encoded_word::decode(name).replace('\0', "\u{fffd}"));
    Attachment {
        part: place,
        file_name: file_name.filter(|name| !name.trim().is_empty()),
        content_type: part.content_type.value.clone(),
        size,
        is_inline: is_inline(part),
        content_id: content_id(part),
    }
}

pub(crate) fn list_unsubscribe(
    field: Option<Field<'_>>,
    post: Option<Field<'_>>,
) -> Option<ListUnsubscribe> {
    let value = header::text(field?.bounded_value());
    let pieces = value
        .split('<')
        .skip(1)
        .filter_map(|piece| piece.split_once('>'));
    let urls: Vec<String> = pieces
        .map(|(url, _)| url.split_whitespace().collect())
        .collect();
    let post = post
        .map(|field| header::text(field.bounded_value()))
        .unwrap_or_default();
    let one_click = post
        .trim()
        .eq_ignore_ascii_case("List-Unsubscribe=One-Click");
    (!urls.is_empty()).then_some(ListUnsubscribe { urls, one_click })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MESSAGE: &[u8] = b"From: =?utf-8?q?Caf=C3=A9?= <shop@app.example>\r\nTo: a@x.example, Bob <b@x.example>\r\n\
        Cc: Team: c@x.example, d@x.example;\r\nMessage-ID: <1@app.example>\r\nIn-Reply-To: <0@app.example>\r\n\
        Date: Fri, 20 Nov 2026 10:30:00 +0100\r\nSubject: Confirm\r\n\
        List-Unsubscribe: <mailto:out@app.example>, <https://app.example/out>\r\n\
        List-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n\
        Content-Type: multipart/mixed; boundary=b\r\n\r\n\
        --b\r\nContent-Type: text/html\r\n\r\n<p>Your code is 482913.</p>\
        <p><a href='https://app.example/confirm'>Confirm <b>your</b> account</a> or https://app.example/help</p>\r\n\
        --b\r\nContent-Type: text/plain; name=notes.txt\r\n\r\nnotes\r\n\
        --b\r\nContent-Type: image/png\r\nContent-ID: <logo@app>\r\n\
        Content-Transfer-Encoding: base64\r\n\r\niVBORw==\r\n\
        --b\r\nContent-Type: application/pdf\r\n\
        Content-Disposition: attachment; filename=\"invoice.pdf\"\r\n\r\n%PDF\r\n\
        --b--\r\n";

    fn mailbox(name: Option<&str>, address: &str) -> Mailbox {
        Mailbox {
            name: name.map(str::to_owned),
            address: Some(address.to_owned()),
        }
    }

    #[test]
    fn addresses_ids_and_the_date_are_read() {
        let details = details(MESSAGE);
        assert_eq!(
            (&*details.headers[0].name, &*details.headers[0].value),
            ("From", "Café <shop@app.example>")
        );
        assert_eq!(details.from, [mailbox(Some("Café"), "shop@app.example")]);
        assert_eq!(
            details.to,
            [
                mailbox(None, "a@x.example"),
                mailbox(Some("Bob"), "b@x.example")
            ]
        );
        assert_eq!(
            details.cc,
            [mailbox(None, "c@x.example"), mailbox(None, "d@x.example")]
        );
        assert_eq!(details.reply_to, []);
        assert_eq!(details.message_id.as_deref(), Some("<1@app.example>"));
        assert_eq!(details.in_reply_to.as_deref(), Some("<0@app.example>"));
        assert_eq!(details.date.as_deref(), Some("2026-11-20T10:30:00+01:00"));
        let unsubscribe = details.list_unsubscribe.unwrap();
        assert_eq!(
            unsubscribe.urls,
            ["mailto:out@app.example", "https://app.example/out"]
        );
        assert!(unsubscribe.one_click);
    }

    #[test]
    fn links_have_their_words_and_the_code_its_line() {
        let details = details(MESSAGE);
        let links: Vec<_> = details
            .links
            .iter()
            .map(|link| (link.url.as_str(), link.text.as_deref()))
            .collect();
        let expected = [
            ("https://app.example/confirm", Some("Confirm your account")),
            ("https://app.example/help", None),
        ];
        assert_eq!(links, expected);
        assert!(
            details
                .links
                .iter()
                .all(|link| link.source == LinkSource::Html)
        );
        assert_eq!(details.codes.labelled[0].line, "Your code is 482913.");
    }

    #[test]
    fn every_part_except_the_body_is_an_attachment() {
        let details = details(MESSAGE);
        let attachments: Vec<_> = details
            .attachments
            .iter()
            .map(|one| (one.content_type.as_str(), one.size))
            .collect();
        assert_eq!(
            attachments,
            [("text/plain", 5), ("image/png", 4), ("application/pdf", 4)]
        );
        let image = &details.attachments[1];
        assert_eq!(
            (
                image.content_id.as_deref(),
                image.is_inline,
                &image.file_name
            ),
            (Some("logo@app"), true, &None)
        );
        assert!(!details.attachments[2].is_inline);
        let (pdf, content) = attachment_content(MESSAGE, 2).unwrap();
        assert_eq!(
            (pdf.file_name.as_deref(), content.as_slice()),
            (Some("invoice.pdf"), &b"%PDF"[..])
        );
        assert_eq!(attachment_content(MESSAGE, 3), None);
        let numbered = each_attachment(MESSAGE, |one, number, content| {
            (number, one.size == content.len())
        });
        assert_eq!(
            numbered,
            [
                ("2".to_owned(), true),
                ("3".to_owned(), true),
                ("4".to_owned(), true)
            ]
        );
    }

    #[test]
    fn an_empty_content_id_is_none_wherever_attachments_are_counted() {
        let raw = b"Content-Type: image/png\r\nContent-ID: <>\r\n\r\nx";
        assert_eq!(crate::parse(raw).attachments, 1);
        assert!(
            matches!(details(raw).attachments.as_slice(), [one] if !one.is_inline && one.content_id.is_none())
        );
    }

    #[test]
    fn a_broken_message_has_empty_details() {
        for raw in [
            &b""[..],
            b"Date: yesterday\r\nFrom: \xff<>\r\nList-Unsubscribe: none\r\n\r\n",
            &[b'<'; 5_000],
        ] {
            let details = details(raw);
            assert_eq!(
                (details.date, details.list_unsubscribe, details.message_id),
                (None, None, None)
            );
        }
    }
}
