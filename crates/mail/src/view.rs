//! What the pages of a dashboard show of a message: the start of its text, HTML and source, its
//! structure and details.
//!
//! A page shows at most [`SHOWN_BYTES`] of each text, so that its size does not depend on what the
//! text consists of.

use crate::anatomy::{self, Anatomy};
use crate::body;
use crate::details::{self, Details};
use crate::display::{Links, displayed};
use crate::structure::Structure;

/// Bytes of a text that a page shows.
pub const SHOWN_BYTES: usize = 1024 * 1024;

/// A message as a page shows it. All of it is untrusted text.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// Its header fields and parts.
    pub anatomy: Anatomy,
    /// Its details without the header fields.
    pub details: Details,
    /// Its text.
    pub text: Shown,
    /// Its HTML as sent.
    pub html: Shown,
    /// Its bytes as received.
    pub source: Shown,
}

/// The start of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// At most [`SHOWN_BYTES`].
    pub start: String,
    /// The size of the whole text in bytes.
    pub bytes: usize,
}

impl Shown {
    fn new(text: &str) -> Self {
        Self {
            start: text[..text.floor_char_boundary(SHOWN_BYTES)].to_owned(),
            bytes: text.len(),
        }
    }

    /// Whether the text is longer.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.bytes > SHOWN_BYTES
    }
}

/// Reads what a page shows of a message. Never fails.
#[must_use]
pub fn view(raw: &[u8]) -> View {
    let structure = Structure::read(raw);
    let body = body::choose(&structure);
    let source = String::from_utf8_lossy(&raw[..raw.len().min(SHOWN_BYTES)]);
    View {
        anatomy: anatomy::of(&structure),
        details: details::of(&structure, &body),
        text: Shown::new(&body.text),
        html: Shown::new(&body.html),
        source: Shown {
            bytes: raw.len(),
            ..Shown::new(&source)
        },
    }
}

/// The message as one HTML page for a frame without network access: the start of its HTML with its
/// own images, or of its text if it has no HTML. A page that is cut off says so, with a link to the
/// whole message at `download`.
#[must_use]
pub fn page(raw: &[u8], download: &str, links: &Links) -> String {
    let structure = Structure::read(raw);
    let body::Start { html, text, is_cut } = body::start(&structure, SHOWN_BYTES);
    let mut page = String::new();
    if html.is_empty() || is_cut {
        page.push_str("<!DOCTYPE html><meta charset=\"utf-8\">");
    }
    if is_cut {
        page.push_str("<p>Only the first MiB of this message is shown. <a href=\"");
        push_escaped(&mut page, download);
        page.push_str("\">The download</a> is complete.</p>");
    }
    if html.is_empty() {
        page.push_str("<pre style=\"white-space:pre-wrap\">");
        push_escaped(&mut page, &text);
        page.push_str("</pre>");
    } else {
        anatomy::push_with_images(&mut page, raw, &structure, &displayed(&html, links));
    }
    page
}

/// Appends text so that it contains no tag and no entity.
fn push_escaped(page: &mut String, text: &str) {
    let escaped: usize = text
        .bytes()
        .map(|byte| if matches!(byte, b'&' | b'<') { 5 } else { 1 })
        .sum();
    page.reserve_exact(escaped + 1024);
    for character in text.chars() {
        match character {
            '&' => page.push_str("&amp;"),
            '<' => page.push_str("&lt;"),
            _ => page.push(character),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_shows_the_first_mebibyte_and_says_so() {
        for head in ["", "Content-Type: text/html\r\n"] {
            let raw = format!("{head}Subject: long\r\n\r\n{}", "&é".repeat(SHOWN_BYTES));
            let page = page(raw.as_bytes(), "raw", &Links::Shown);
            assert!(page.contains("<a href=\"raw\">The download</a> is complete."));
            assert!(
                (3 * SHOWN_BYTES / 2..5 * SHOWN_BYTES).contains(&page.len()),
                "{}",
                page.len()
            );
            assert!(!page.contains('\u{FFFD}') && page.contains("&amp;é&amp;é"));
        }
    }

    #[test]
    fn a_short_page_is_whole() {
        assert_eq!(
            page(b"\r\n1 < 2 & 3", "raw", &Links::Shown),
            "<!DOCTYPE html><meta charset=\"utf-8\"><pre style=\"white-space:pre-wrap\">1 &lt; 2 &amp; 3</pre>"
        );
        assert_eq!(
            page(
                b"Content-Type: text/html\r\n\r\n<p onclick=x>Hi",
                "raw",
                &Links::Shown
            ),
            "<p>Hi"
        );
    }

    #[test]
    fn the_start_of_a_long_text_is_decoded_as_the_whole_text_would_be() {
        for encoding in ["base64", "quoted-printable", "8bit"] {
            let text = "é".repeat(10 * SHOWN_BYTES);
            let body = if encoding == "base64" {
                "w6k=".repeat(10 * SHOWN_BYTES)
            } else {
                text
            };
            let raw = format!("Content-Transfer-Encoding: {encoding}\r\n\r\n{body}");
            let page = page(raw.as_bytes(), "raw", &Links::Shown);
            let shown = page.split_once("pre-wrap\">").unwrap().1;
            assert!(
                shown.starts_with("éé") && !shown.contains('Ã'),
                "{encoding}"
            );
        }
    }

    #[test]
    fn a_view_is_cut_at_a_character() {
        let raw = format!("Subject: s\r\n\r\na{}", "é".repeat(SHOWN_BYTES));
        let view = view(raw.as_bytes());
        assert_eq!(
            (view.text.start.len(), view.text.bytes),
            (SHOWN_BYTES - 1, 2 * SHOWN_BYTES + 1)
        );
        assert!(view.text.is_cut() && view.source.is_cut() && view.html == Shown::default());
        assert_eq!(view.details.headers, []);
        assert_eq!(view.anatomy.fields.len(), 1);
    }
}
