//! Checks whether a message is good: what a template engine has left, links that lead nowhere,
//! missing parts and header fields, and HTML that mail clients do not show. One file for each
//! check.
//!
//! All of it is read from one pass over the header, the text and the HTML, at most
//! [`CHECKED_BYTES`] of each. A problem is an error if no good mail has it; anything that a good
//! mail may have is a warning.

mod accessibility;
mod decoded;
mod headers;
mod html_support;
mod image;
mod link;
mod page;
mod placeholder;
mod problems;
mod size;
mod text_part;
mod unsubscribe;

use restante_api::MessageChecks;

use crate::body::{self, Body};
use crate::details;
use crate::structure::{Kind, Structure};

use page::Page;
use problems::Problems;

/// Bytes of the text and of the HTML that are checked.
pub const CHECKED_BYTES: usize = 1024 * 1024;

/// What the checks look at.
struct Mail<'a> {
    raw: &'a [u8],
    structure: &'a Structure<'a>,
    body: &'a Body,
    /// The own text of the message; empty if there is only HTML.
    text: &'a str,
    html: &'a str,
    page: &'a Page,
    /// When it was received, in seconds since 1970.
    received_at: i64,
}

/// Checks a message that was received at `received_at`, in seconds since 1970, without the DNS.
/// Never fails.
#[must_use]
pub fn checks(raw: &[u8], received_at: i64) -> MessageChecks {
    let structure = Structure::read(raw);
    let body = body::choose(&structure);
    let start = |text: &'_ str| text.floor_char_boundary(CHECKED_BYTES);
    let (text, _) = details::texts(&body);
    let html = &body.html[..start(&body.html)];
    let page = page::read(html);
    let text = &text[..start(text)];
    let mail = Mail {
        raw,
        structure: &structure,
        body: &body,
        text,
        html,
        page: &page,
        received_at,
    };
    let mut problems = Problems::new(raw, text, html);
    placeholder::check(&mail, &mut problems);
    link::check(&mail, &mut problems);
    text_part::check(&mail, &mut problems);
    image::check(&mail, &mut problems);
    size::check(&mail, &mut problems);
    headers::check(&mail, &mut problems);
    unsubscribe::check(&mail, &mut problems);
    let support = (!html.is_empty()).then(|| html_support::check(html, &mut problems));
    accessibility::check(&mail, &mut problems);
    MessageChecks {
        problems: problems.sorted(),
        html: support,
        authentication: None,
    }
}

impl Mail<'_> {
    /// The byte offset of a part of the header in the message.
    fn offset(&self, part: &[u8]) -> usize {
        part.as_ptr() as usize - self.raw.as_ptr() as usize
    }

    /// Whether the message has a part with plain text, also an empty one.
    fn has_text_part(&self) -> bool {
        self.structure
            .parts
            .iter()
            .any(|part| part.kind == Kind::Plain && !part.attachment)
    }
}
