//! The visible content of HTML: its text, and the positions of its links in that text.
//!
//! The tokenizer is html5gum; no tree is built. One counter per kind of element tracks which
//! elements are open, so that memory and time do not grow with the nesting.

mod elements;
mod hidden;
mod quotes;
mod reader;
mod writer;

pub(crate) use hidden::Style;

use std::ops::Range;

use html5gum::{DefaultEmitter, Token, Tokenizer};
use indexmap::IndexMap;

/// The visible content of an HTML document.
#[derive(Debug, Default)]
pub(super) struct Page {
    /// The visible text: paragraphs are separated, list items have a bullet or number, table cells
    /// are separated by a tab.
    pub(super) text: String,
    /// The `href` of every visible `a` and `area`, in order, with entities decoded and without
    /// duplicates.
    pub(super) references: IndexMap<String, Reference>,
    /// The `href` of the first `base`.
    pub(super) base: Option<String>,
    /// The byte ranges of `text` that are the text of a link and contain a URL.
    pub(super) linked: Vec<(usize, usize)>,
    /// The start of the hidden text: what mail programs show beside the subject.
    pub(super) preheader: String,
    /// The byte ranges of `text` that quote an older message, in order. Each starts where the text
    /// before it ends.
    pub(super) quotes: Vec<Range<usize>>,
}

/// The position of a link in the visible text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Reference {
    /// The number of bytes of text before it.
    pub(super) position: usize,
    /// The byte range of its text; empty for an image or an `area`.
    pub(super) words: Range<usize>,
}

/// Reads a document.
pub(super) fn read(html: &str) -> Page {
    read_with(html, false)
}

/// The visible text of a document, with the address of each link after its text: `Go (
/// https://a.example/ )`.
pub(super) fn linked_text(html: &str) -> String {
    read_with(html, true).text
}

/// The tokens of a document, each with its place. The content of a script or a style sheet is one
/// text.
pub(super) fn tokens(html: &str) -> impl Iterator<Item = Token<usize>> {
    let mut emitter = DefaultEmitter::<usize>::new_with_span();
    emitter.naively_switch_states(true);
    Tokenizer::new_with_emitter(html, emitter).map(|Ok(token)| token)
}

fn read_with(html: &str, shows_addresses: bool) -> Page {
    let mut page = Page::default();
    if !html.is_empty() {
        let reader = reader::Reader::new(&mut page, html.len(), shows_addresses);
        let Ok(()) = Tokenizer::new_with_emitter(html, reader).finish();
    }
    page
}

/// The charset that a document declares near its start.
pub(super) fn declared_charset(bytes: &[u8]) -> Option<String> {
    let start = String::from_utf8_lossy(&bytes[..bytes.len().min(1024)]).to_ascii_lowercase();
    let (_, declared) = start.split_once("charset=")?;
    let name = declared.trim_start_matches(['"', '\'', ' ']);
    let end = name
        .find(|character: char| !character.is_ascii_alphanumeric() && !"-_:.".contains(character));
    Some(name[..end.unwrap_or(name.len())].to_owned())
        .filter(|name| !name.is_empty() && !name.starts_with("utf-16"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(html: &str) -> String {
        read(html).text
    }

    #[test]
    fn text_follows_the_layout() {
        for (html, expected) in [
            (
                "<p>One\n two</p><p>Three<br>four</p>",
                "One two\n\nThree\nfour",
            ),
            ("<div>a</div><div>b<div>c</div></div>", "a\nb\nc"),
            (
                "<ul><li>x<li>y</ul><ol start=3><li>p</li><li>q</li></ol>",
                "- x\n- y\n\n3. p\n4. q",
            ),
            (
                "<table><tr><td>a<td>b</tr><tr><td>c</td><td></td><td>d</td></tr></table>",
                "a\tb\nc\td",
            ),
            ("<pre>a\n  b</pre>c", "a\n  b\n\nc"),
            ("a<b>b</b>c <i> d </i> e", "abc d e"),
            (
                "<h1>T</h1>x&nbsp;&nbsp;y &amp; &lt;z&gt; &euro;",
                "T\n\nx y & <z> €",
            ),
            (
                "<span style='display:block'>a</span><span style=\"Display: BLOCK\">b</span>c",
                "a\nb\nc",
            ),
            (
                "<div style='display:inline-block'>1</div><div style='display:inline-block'>2</div>",
                "1 2",
            ),
            ("<div style='white-space: pre-wrap'>a\n b</div>", "a\n b"),
            ("one<hr>two", "one\n\ntwo"),
        ] {
            assert_eq!(text(html), expected, "{html}");
        }
    }

    #[test]
    fn a_link_may_have_its_address_after_its_text() {
        for (html, expected) in [
            (
                "<p><a href=' https://a.example/?a=1&amp;b=2 '>Go</a>.</p>",
                "Go ( https://a.example/?a=1&b=2 ) .",
            ),
            (
                "<a href=https://a.example/>\n https://a.example/ </a> now",
                "https://a.example/ now",
            ),
            (
                "<table><tr><td><a href=/x><img alt=x></a></td><td><a href=''>y</a></td></tr></table>",
                "( /x )\ty",
            ),
            (
                "<a href=b>a<a href=d>c<p hidden><a href=e>f</a>",
                "a ( b ) c\n\n( d )",
            ),
        ] {
            assert_eq!(linked_text(html), expected, "{html}");
        }
    }

    #[test]
    fn hidden_text_is_left_out() {
        for html in [
            "<head><title>no</title><style>no{}</style></head>yes",
            "<script>if (a<b) no()</script>yes<!-- no -->",
            "<div style='display:none'>no<div>no</div>no</div>yes",
            "<span style='visibility : hidden'>no</span>yes<span hidden>no</span>",
            "<div style='max-height:0;overflow:hidden'>no</div>yes",
            "<div style='opacity:0'>no</div>yes<div style='display:none!important'>no</div>",
            "<!--[if mso]>no<a href=https://no.example>no</a><![endif]-->yes",
            "<!--[if !mso]><!-->yes<!--<![endif]-->",
            "<![if !mso]>yes<![endif]>",
            "<p hidden>no<p>yes",
            "<table><tr><td style=display:none>no<td>yes</table>",
            "<div><p style=display:none>no</div>yes",
            "yes<img style='display:none' src=x><input hidden>",
            "<template>no</template>yes<style>no",
        ] {
            assert_eq!(text(html), "yes", "{html}");
            assert!(read(html).references.is_empty(), "{html}");
        }
    }

    #[test]
    fn text_that_only_seems_hidden_is_kept() {
        for (html, expected) in [
            ("<div style='opacity:0.9;max-height:0'>a</div>", "a"),
            (
                "<td style='font-size:0'><div style='font-size:14px'>a</div></td>",
                "a",
            ),
            ("<br style='display:none'>a</br>", "a"),
            ("<div style='display:none'></span>no</div>a", "a"),
            ("<noscript>a</noscript>", "a"),
        ] {
            assert_eq!(text(html), expected, "{html}");
        }
    }

    #[test]
    fn references_have_their_positions() {
        let page = read(
            "x <a href=' https://a.example/?a=1&amp;b=2 '>y</a><map><area href=/z></map><base href=https://b.example>",
        );
        let found: Vec<_> = page
            .references
            .iter()
            .map(|(href, found)| (found.position, href.as_str()))
            .collect();
        assert_eq!(page.references[0].words, 1..3);
        assert_eq!(found, [(1, " https://a.example/?a=1&b=2 "), (3, "/z")]);
        assert_eq!(page.base.as_deref(), Some("https://b.example"));
    }

    #[test]
    fn a_charset_is_found_in_either_meta() {
        assert_eq!(
            declared_charset(b"<meta charset='KOI8-R'>").as_deref(),
            Some("koi8-r")
        );
        assert_eq!(
            declared_charset(b"content=\"text/html; charset=big5\"").as_deref(),
            Some("big5")
        );
        assert_eq!(declared_charset(b"<p>"), None);
    }
}
