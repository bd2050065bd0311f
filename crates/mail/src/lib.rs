//! Parses messages: from the bytes of a message to its text, HTML, links and one-time code. Also
//! composes messages.
//!
//! Find the code in this message:
//!
//! ```
//! let mail = b"Subject: Sign in\r\n\r\nYour code is 481 516.\r\nhttps://shop.example/in?token=f3b1c\r\n";
//! let read = restante_mail::parse(mail);
//! assert_eq!(read.otp, "481516");
//! assert_eq!(read.links, ["https://shop.example/in?token=f3b1c"]);
//! ```
//!
//! This crate is pure: it depends only on its input. [`parse`] never fails and never panics. For
//! any message, its time grows linearly with the size of the message: see [`Budget`].
//!
//! A message is parsed in these steps: [`structure`] finds the parts. [`body`] chooses the parts
//! that a mail client would show, and decodes them ([`transfer`], [`charset`], [`flowed`]).
//! [`html`] extracts the visible text of the HTML. [`links`] and [`otp`] search that text.

#![warn(missing_docs)]

mod accepted;
mod address;
mod addressing;
pub mod anatomy;
mod body;
mod budget;
mod charset;
pub mod checks;
pub mod compose;
mod css;
pub mod details;
pub mod display;
mod encoded_word;
mod flowed;
mod header;
mod html;
mod links;
mod otp;
mod parameters;
pub mod report;
mod sender;
mod structure;
mod submission;
mod threading;
mod transfer;
pub mod view;

pub use accepted::{AcceptedDomains, InvalidPattern};
pub use address::{Domain, EmailAddress, InvalidAddress, without_tag};
pub use addressing::{Addressing, addressing, sent_fields};
pub use body::linked_text;
pub use budget::Budget;
pub use details::header_values;
pub use otp::Codes;
pub use submission::{
    Submission, bounded_mailboxes, bounded_submission, submission, with_crlf, without_bcc,
};
pub use threading::{Threading, threading};

use structure::Structure;

/// The fields of a message that a test reads. No field contains a NUL character, because databases
/// do not store it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParsedMessage {
    /// The first address of the From header, if one parses.
    pub from: Option<String>,
    /// The decoded subject, on one line; empty if there is none.
    pub subject: String,
    /// The text as a mail client shows it; generated from the HTML if there is no text. Lines end
    /// with `\n`; the last line has no line end.
    pub text: String,
    /// The HTML as sent, with line ends as in `text`; empty if there is none.
    pub html: String,
    /// Absolute URIs in the order of the message, without duplicates: first those of the HTML, then
    /// those that are only in the text. At most 10,000, together at most 4 MiB.
    pub links: Vec<String>,
    /// The one-time code, 4 to 8 ASCII digits; empty if there is none. Only the first 256 KiB of
    /// the visible text are searched.
    pub otp: String,
    /// The code that a person would type: `otp` if it is labelled, or else a labelled code of
    /// another form, with letters or with 9 or 10 digits; empty if there is none.
    pub code: String,
    /// The number of attachments, without images that the HTML shows.
    pub attachments: usize,
    /// Whether it has a Message-ID that a reply can refer to.
    pub has_message_id: bool,
    /// The limit at which reading stopped, if the message was read only in part.
    pub over_budget: Option<Budget>,
}

/// Parses a message. Never fails: malformed parts are read as well as possible, and missing fields
/// are empty.
#[must_use]
pub fn parse(raw: &[u8]) -> ParsedMessage {
    let structure = Structure::read(raw);
    let fields_named =
        |name: &'static str| structure.fields.iter().filter(move |field| field.is(name));
    let from = fields_named("from").find_map(|field| sender::address(field.bounded_value()));
    let subject = fields_named("subject")
        .next()
        .map(|field| header::text(field.bounded_value()))
        .unwrap_or_default();
    let has_message_id = fields_named("message-id")
        .next()
        .is_some_and(|field| !threading::ids(*field).is_empty());
    let body = body::choose(&structure);
    let (own_text, page_text) = details::texts(&body);
    let links = links::collect(&body.page, page_text, own_text);
    let (otp, code) = otp::find(&subject, own_text, page_text, &body.page);
    let over_budget = structure.over_budget.or(body.over_budget);
    let attachments = details::count_attachments(&structure);
    let text = body.text;
    let html = body.html;
    ParsedMessage {
        from,
        subject,
        links,
        otp,
        code,
        text,
        html,
        attachments,
        has_message_id,
        over_budget,
    }
}
