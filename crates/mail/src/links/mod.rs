//! The links of a message: absolute URIs with an authority, in the order in which they are visible,
//! without duplicates.
//!
//! The links of the HTML come first: the targets of its visible links and the URLs in its visible
//! text. They are followed by the links that are only in the text. Links in hidden elements are
//! left out.

mod find;
mod uri;

pub(super) use find::{is_unspaced, urls};

use std::ops::Range;

use indexmap::IndexMap;
use indexmap::map::Entry;

use super::budget::{ALL_LINKS_BYTES, LINK_BYTES, LINKS};
use super::html::Page;

/// Maximum length of the base of a page in bytes. A longer one is ignored.
const BASE_BYTES: usize = 2 * 1024;

/// Where a link was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// A link of the HTML, with the byte range of its text in the visible text.
    Link(Range<usize>),
    /// A URL in the visible text of the HTML.
    PageText,
    /// Only in the text.
    Text,
}

/// Collects the links of a page and of a text. `page_text` is the page's visible text.
pub(super) fn collect(page: &Page, page_text: &str, text: &str) -> Vec<String> {
    find_all(page, page_text, text).into_keys().collect()
}

/// The same links, each with the place where it was first found.
pub(super) fn find_all(page: &Page, page_text: &str, text: &str) -> IndexMap<String, Origin> {
    let mut links = Links::default();
    // Each reference is resolved with the base, so a long one would take quadratic time.
    let base = page
        .base
        .as_deref()
        .filter(|base| base.len() <= BASE_BYTES)
        .and_then(uri::normalized);
    let mut references = page.references.iter().peekable();
    let mut linked = page.linked.iter().peekable();
    for found in urls(page_text) {
        while let Some((href, reference)) =
            references.next_if(|(_, reference)| reference.position <= found.start)
        {
            links.add(
                uri::resolved(href, base.as_deref()),
                Origin::Link(reference.words.clone()),
            );
        }
        while linked.next_if(|&&(_, end)| end <= found.start).is_some() {}
        let in_link = linked
            .peek()
            .is_some_and(|&&(start, _)| start <= found.start);
        // The text of a link is often a shortened form of its URL.
        if !(in_link && is_cut_short(&page_text[found.end..])) {
            links.add(written(&page_text[found]), Origin::PageText);
        }
    }
    for (href, reference) in references {
        links.add(
            uri::resolved(href, base.as_deref()),
            Origin::Link(reference.words.clone()),
        );
    }
    for found in urls(text) {
        links.add(written(&text[found]), Origin::Text);
    }
    links.found
}

/// The URI of `url`, which was found in a text.
fn written(url: &str) -> Option<String> {
    if url.len() > LINK_BYTES {
        None
    } else {
        uri::normalized(url)
    }
}

fn is_cut_short(after: &str) -> bool {
    after.starts_with('…') || after.starts_with("...")
}

#[derive(Default)]
struct Links {
    found: IndexMap<String, Origin>,
    bytes: usize,
}

impl Links {
    fn add(&mut self, link: Option<String>, origin: Origin) {
        let Some(link) = link else { return };
        let length = link.len();
        let within = self.found.len() < LINKS && self.bytes + length <= ALL_LINKS_BYTES;
        if within && let Entry::Vacant(place) = self.found.entry(link) {
            place.insert(origin);
            self.bytes += length;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html;

    fn of_html(html: &str) -> Vec<String> {
        let page = html::read(html);
        collect(&page, &page.text, "")
    }

    #[test]
    fn html_comes_first_and_each_link_once() {
        let page = html::read(
            "see https://b.example <a href='https://a.example/?x=1&amp;y=2'>https://b.example</a>",
        );
        let text = "https://c.example then https://a.example/?x=1&y=2";
        let links = collect(&page, &page.text, text);
        assert_eq!(
            links,
            [
                "https://b.example",
                "https://a.example/?x=1&y=2",
                "https://c.example"
            ]
        );
    }

    #[test]
    fn references_are_resolved_and_filtered() {
        let html = "<base href='https://b.example/x/y'><a href='z?q'>1</a><a href='/w'>2</a><a href='//c.example'>3</a>\
            <a href=#top>4</a><a href=mailto:a@b.example>5</a><a href='javascript://x.example/%0aalert()'>6</a>\
            <a href='tel:123'>7</a><a href='myapp://open/1'>8</a><a href='HTTPS://D.example'>9</a>";
        let expected = [
            "https://b.example/x/z?q",
            "https://b.example/w",
            "https://c.example",
            "myapp://open/1",
            "HTTPS://D.example",
        ];
        assert_eq!(of_html(html), expected);
        assert!(of_html("<a href='/w'>relative</a>").is_empty());
    }

    #[test]
    fn a_shortened_url_as_link_text_is_not_a_second_link() {
        let html = "<a href='https://a.example/long/path'>https://a.example/lo…</a> and https://b.example...";
        assert_eq!(
            of_html(html),
            ["https://a.example/long/path", "https://b.example"]
        );
    }

    #[test]
    fn links_are_limited_in_length_in_number_and_together() {
        let page = html::read("");
        let of_text = |text: &str| collect(&page, "", text);
        let link = |number: usize, length: usize| {
            format!("https://a.example/{number}{}", "x".repeat(length))[..length].to_owned()
        };
        assert_eq!(of_text(&link(1, LINK_BYTES)).len(), 1);
        assert!(of_text(&link(1, LINK_BYTES + 1)).is_empty());
        let many: Vec<String> = (0..=LINKS).map(|number| link(number, 23)).collect();
        assert_eq!(of_text(&many.join(" ")), many[..LINKS]);
        let large: Vec<String> = (0..=ALL_LINKS_BYTES / LINK_BYTES)
            .map(|number| link(number, LINK_BYTES))
            .collect();
        assert_eq!(
            of_text(&large.join(" ")),
            large[..ALL_LINKS_BYTES / LINK_BYTES]
        );
    }
}
