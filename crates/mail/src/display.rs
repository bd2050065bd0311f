//! Prepares the HTML of a message for the frame that shows it.
//!
//! The content security policy of the response makes the frame harmless. But browsers open
//! connections in advance, for frames, links and hints that the policy then blocks. Such a
//! connection reveals to the sender that the message is being read. This module therefore removes
//! content that cannot be shown anyway, and replaces each link by one to a page that shows where
//! the link leads.

use std::collections::HashSet;

use html5gum::{Doctype, EndTag, HtmlString, StartTag, Token};

use crate::html::tokens;

/// Elements that are removed together with their content.
const LEFT_OUT: [&[u8]; 9] = [
    b"script",
    b"iframe",
    b"noembed",
    b"noframes",
    b"title",
    b"portal",
    b"fencedframe",
    b"noscript",
    b"plaintext",
];
/// Elements of which only the tags are removed.
/// The animations are removed because they could give a link another target.
const TAGS_LEFT_OUT: [&[u8]; 14] = [
    b"frame",
    b"frameset",
    b"object",
    b"embed",
    b"applet",
    b"link",
    b"base",
    b"param",
    b"source",
    b"track",
    b"set",
    b"animate",
    b"animatemotion",
    b"animatetransform",
];
/// Names of `meta` elements that control how a page is shown.
const KEPT_META: [&[u8]; 3] = [b"color-scheme", b"supported-color-schemes", b"viewport"];
/// Attributes with a URL that a browser might load or open.
const LEADING: [&[u8]; 6] = [
    b"href",
    b"xlink:href",
    b"ping",
    b"action",
    b"formaction",
    b"target",
];

/// What a link of a message does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Links {
    /// It only shows its target.
    Shown,
    /// It opens this URL, followed by the encoded target, in a new tab.
    Through(String),
    /// It leads to its target, if that is an absolute URL with an authority, as for
    /// [`ParsedMessage::links`](crate::ParsedMessage::links).
    AsSent,
}

/// Returns `html` without content that a frame without network access cannot show.
#[must_use]
pub fn displayed(html: &str, links: &Links) -> String {
    let mut display = Display {
        html: String::with_capacity(html.len()),
        links,
        left_out: None,
        in_style: false,
    };
    for token in tokens(html) {
        display.token(&token);
    }
    display.html
}

/// The number of different images that `html` would load from other hosts: of elements, and of
/// style sheets.
#[must_use]
pub fn remote_images(html: &str) -> usize {
    let mut found = HashSet::new();
    let mut in_style = false;
    for token in tokens(html) {
        match token {
            Token::StartTag(tag) => {
                in_style = tag.name.as_slice() == b"style";
                for (name, value) in &tag.attributes {
                    images_of(&tag.name, name, &String::from_utf8_lossy(value), &mut found);
                }
            }
            Token::EndTag(_) => in_style = false,
            Token::String(text) if in_style => {
                images_of_style(&String::from_utf8_lossy(&text), &mut found);
            }
            _ => {}
        }
    }
    found.len()
}

/// Adds the remote images of an attribute.
fn images_of(element: &[u8], name: &[u8], value: &str, found: &mut HashSet<String>) {
    let is_image = matches!(element, b"img" | b"image" | b"input");
    match name {
        b"style" => images_of_style(value, found),
        // A browser loads one of the candidates.
        b"srcset" if is_image => {
            found.extend(remote(
                value
                    .split([',', ' '])
                    .find(|url| !url.is_empty())
                    .unwrap_or(""),
            ));
        }
        b"src" | b"href" | b"xlink:href" if is_image => found.extend(remote(value)),
        b"background" => found.extend(remote(value)),
        b"poster" if element == b"video" => found.extend(remote(value)),
        _ => {}
    }
}

/// Adds the remote images of a style sheet. Fonts and imported style sheets are never loaded.
fn images_of_style(style: &str, found: &mut HashSet<String>) {
    let lower = style.to_ascii_lowercase();
    // Each search begins where the last one ended: a style sheet of `url(` without an end would
    // take quadratic time.
    let mut position = 0;
    let mut is_font = false;
    while let Some(start) = lower[position..]
        .find("url(")
        .map(|length| position + length)
    {
        if let Some(brace) = lower[position..start].rfind(['{', '}']) {
            is_font = lower[..position + brace].trim_end().ends_with("@font-face");
        }
        let is_import = lower[..start].trim_end().ends_with("@import");
        let value = start + "url(".len();
        position = lower[value..]
            .find(')')
            .map_or(lower.len(), |length| value + length);
        if !is_font && !is_import {
            found.extend(remote(
                style[value..position].trim().trim_matches(['"', '\'']),
            ));
        }
    }
}

/// The URL, if it leads to another host.
fn remote(url: &str) -> Option<String> {
    let url = url.trim();
    let has = |scheme: &&str| {
        url.get(..scheme.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    };
    ["http://", "https://", "//"]
        .iter()
        .any(has)
        .then(|| url.to_owned())
}

/// Whether a URL has an authority. `javascript:`, `data:` and the like have none.
fn opens_elsewhere(url: &str) -> bool {
    url.split_once("://").is_some_and(|(scheme, _)| {
        let mut bytes = scheme.bytes();
        bytes
            .next()
            .is_some_and(|first| first.is_ascii_alphabetic())
            && bytes.all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
            && !scheme.eq_ignore_ascii_case("javascript")
            && !scheme.eq_ignore_ascii_case("data")
    })
}

struct Display<'l> {
    html: String,
    links: &'l Links,
    /// The element that is being removed.
    left_out: Option<HtmlString>,
    in_style: bool,
}

impl Display<'_> {
    fn token(&mut self, token: &Token<usize>) {
        match token {
            Token::EndTag(tag) if self.left_out.as_ref() == Some(&tag.name) => self.left_out = None,
            _ if self.left_out.is_some() => {}
            Token::StartTag(tag) => self.start(tag),
            Token::EndTag(tag) => self.end(tag),
            Token::String(text) => self.text(&String::from_utf8_lossy(text)),
            Token::Doctype(doctype) => self.doctype(doctype),
            Token::Comment(_) | Token::Error(_) => {}
        }
    }

    fn start(&mut self, tag: &StartTag<usize>) {
        let name: &[u8] = &tag.name;
        if LEFT_OUT.contains(&name) {
            // The rest of the document is the content of this element.
            self.left_out = Some(tag.name.clone());
            return;
        }
        if is_tag_left_out(name) || name == b"meta" && !is_kept_meta(tag) {
            return;
        }
        self.in_style = name == b"style";
        self.html.push('<');
        self.html
            .push_str(shown_name(&String::from_utf8_lossy(name)));
        for (name, value) in &tag.attributes {
            self.attribute(&tag.name, name, &String::from_utf8_lossy(value));
        }
        self.html
            .push_str(if tag.self_closing { "/>" } else { ">" });
    }

    fn attribute(&mut self, element: &[u8], name: &[u8], value: &str) {
        let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_:.".contains(byte);
        if !name.iter().all(plain) || name.starts_with(b"on") {
            return;
        }
        let is_link = matches!(element, b"a" | b"area");
        match name {
            b"href" | b"xlink:href" if is_link => {
                self.link(value);
            }
            // Other elements with a link: MathML. A reference within the document and the source of
            // an image stay.
            b"href" | b"xlink:href" if element != b"image" && !value.starts_with('#') => {}
            _ if LEADING.contains(&name)
                && (is_link || matches!(element, b"form" | b"button" | b"input")) => {}
            b"title" if is_link => {}
            _ => self.write_attribute(&String::from_utf8_lossy(name), value),
        }
    }

    fn link(&mut self, target: &str) {
        match self.links {
            Links::Through(start) if !target.starts_with('#') => {
                let url = format!("{start}{}", encoded(target.trim()));
                self.write_attribute("href", &url);
                self.write_attribute("target", "_blank");
                self.write_attribute("rel", "noopener noreferrer");
            }
            Links::AsSent if opens_elsewhere(target.trim()) => {
                self.write_attribute("href", target.trim());
                self.write_attribute("rel", "noopener noreferrer");
                return;
            }
            _ => self.write_attribute("href", "#"),
        }
        self.write_attribute("title", target);
    }

    fn write_attribute(&mut self, name: &str, value: &str) {
        self.html.push(' ');
        self.html.push_str(name);
        self.html.push_str("=\"");
        self.escape(value);
        self.html.push('"');
    }

    fn end(&mut self, tag: &EndTag<usize>) {
        self.in_style = false;
        if is_tag_left_out(&tag.name) || LEFT_OUT.contains(&tag.name.as_slice()) {
            return;
        }
        self.html.push_str("</");
        self.html
            .push_str(shown_name(&String::from_utf8_lossy(&tag.name)));
        self.html.push('>');
    }

    fn text(&mut self, text: &str) {
        if !self.in_style {
            return self.escape(text);
        }
        // Browsers parse a style sheet inside an SVG for tags, and a valid style sheet contains
        // nothing that looks like a tag.
        let mut characters = text.chars().peekable();
        while let Some(character) = characters.next() {
            let opens = character == '<'
                && characters
                    .peek()
                    .is_some_and(|next| !next.is_ascii_whitespace());
            if !opens {
                self.html.push(character);
            }
        }
    }

    fn doctype(&mut self, doctype: &Doctype<usize>) {
        let identifier = |text: &Option<HtmlString>| {
            let text = text
                .as_ref()
                .map(|text| String::from_utf8_lossy(text).into_owned());
            text.filter(|text| !text.contains(['"', '<', '>']))
        };
        self.html.push_str("<!DOCTYPE html");
        if let Some(public) = identifier(&doctype.public_identifier) {
            self.html.push_str(&format!(" PUBLIC \"{public}\""));
            if let Some(system) = identifier(&doctype.system_identifier) {
                self.html.push_str(&format!(" \"{system}\""));
            }
        }
        self.html.push('>');
    }

    fn escape(&mut self, text: &str) {
        for character in text.chars() {
            match character {
                '&' => self.html.push_str("&amp;"),
                '<' => self.html.push_str("&lt;"),
                '>' => self.html.push_str("&gt;"),
                '"' => self.html.push_str("&quot;"),
                _ => self.html.push(character),
            }
        }
    }
}

/// A text as the value of a query's parameter.
fn encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

fn is_tag_left_out(name: &[u8]) -> bool {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-:".contains(byte);
    TAGS_LEFT_OUT.contains(&name) || !name.iter().all(plain)
}

fn is_kept_meta(tag: &StartTag<usize>) -> bool {
    let name = tag
        .attributes
        .iter()
        .find(|(name, _)| name.as_slice() == b"name");
    let kept =
        name.is_some_and(|(_, value)| KEPT_META.contains(&value.to_ascii_lowercase().as_slice()));
    kept && !tag
        .attributes
        .keys()
        .any(|name| name.as_slice() == b"http-equiv")
}

/// Replaces old elements whose content is read as text by the element that succeeded them.
fn shown_name(name: &str) -> &str {
    if matches!(name, "xmp" | "listing") {
        "pre"
    } else {
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn visible_content_of_a_message_is_unchanged() {
        for html in [
            "<!DOCTYPE html><html><head><style>a > b{color:red}@media (width < 9px){}</style></head>\
             <body>Hi</body></html>",
            "<table cellpadding=\"0\" width=\"600\"><tr><td style=\"color:red\">1 &lt; 2 &amp; 3</td></tr></table>",
            "<img alt=\"a &quot;b&quot;\" src=\"cid:logo\"/>",
            "<meta content=\"light dark\" name=\"color-scheme\">",
            "<svg viewBox=\"0 0 9 9\"/>",
        ] {
            assert_eq!(
                displayed(html, &Links::Shown).to_lowercase(),
                html.to_lowercase()
            );
        }
    }

    #[test]
    fn links_say_where_they_lead_and_do_not_lead_there() {
        assert_eq!(
            displayed(
                "<a href='https://x.example/?a&amp;b' target=_top ping=//y>Go</a>",
                &Links::Shown
            ),
            "<a href=\"#\" title=\"https://x.example/?a&amp;b\">Go</a>"
        );
        assert_eq!(
            displayed(
                "<form action=//x method=post><button formaction=//y>",
                &Links::Shown
            ),
            "<form method=\"post\"><button>"
        );
    }

    #[test]
    fn a_link_opens_the_page_that_shows_its_target() {
        let links = Links::Through("/link?to=".to_owned());
        let shown = |html| displayed(html, &links);
        let opens = |url: &str, title: &str| {
            format!(
                "<a href=\"/link?to={url}\" target=\"_blank\" rel=\"noopener noreferrer\" title=\"{title}\">"
            )
        };
        assert_eq!(
            shown("<a target=_self href='https://x.example/?a=ä'>"),
            opens(
                "https%3A%2F%2Fx.example%2F%3Fa%3D%C3%A4",
                "https://x.example/?a=ä"
            )
        );
        assert_eq!(
            shown("<a href=' javascript:x'>"),
            opens("javascript%3Ax", " javascript:x")
        );
        assert_eq!(shown("<a href='#top'>"), "<a href=\"#\" title=\"#top\">");
        assert_eq!(
            shown("<svg><a><animate attributeName=href to=//x></a>"),
            "<svg><a></a>"
        );
        assert_eq!(
            shown("<math href=//x><mtext xlink:href=//x>"),
            "<math><mtext>"
        );
    }

    #[test]
    fn a_link_as_it_was_sent_leads_there_and_runs_nothing() {
        let shown = |html: &str| displayed(html, &Links::AsSent);
        assert_eq!(
            shown("<a href=' https://x.example/?a&amp;b' target=_top ping=//y>Go</a>"),
            "<a href=\"https://x.example/?a&amp;b\" rel=\"noopener noreferrer\">Go</a>"
        );
        assert!(shown("<a href=myapp://confirm/1>").contains("href=\"myapp://confirm/1\""));
        for target in [
            "javascript:x",
            "JavaScript://%0aalert(1)",
            "data://text/html,x",
            "java&#10;script://%0ax",
            "/relative",
            "#top",
        ] {
            let link = shown(&format!("<a href='{target}'>"));
            assert!(link.starts_with("<a href=\"#\""), "{link}");
        }
    }

    #[test]
    fn elements_that_open_a_connection_are_removed() {
        for html in [
            "<link rel=preconnect href=//x>",
            "<iframe src=//x>text</iframe>",
            "<frameset><frame src=//x></frameset>",
            "<base href=//x>",
            "<meta http-equiv=refresh content='0;url=//x'>",
            "<object data=//x></object><embed src=//x>",
            "<script>//x</script>",
            "<noscript><link rel=preconnect href=//x></noscript>",
            "<!-- <link rel=preconnect href=//x> -->",
            "<plaintext><link rel=preconnect href=//x>",
        ] {
            assert_eq!(displayed(html, &Links::Shown), "", "{html}");
        }
    }

    #[test]
    fn remote_images_are_counted() {
        for (html, count) in [
            ("", 0),
            (
                "<img src=cid:a><img src='data:image/png,x'><img alt='https://x'>",
                0,
            ),
            (
                "<img src='https://a/b.png'><IMG SRC=' HTTP://a'><td background=//a/b>",
                3,
            ),
            ("<!-- <img src=https://a> --><a href=https://a>x</a>", 0),
            (
                "<img src=//a/1><td style=\"background:url('https://a/2')\"><style>p{background:URL(http://a/3)}",
                3,
            ),
            (
                "<img src=https://a/1 srcset='https://a/1 1x, https://a/2 2x'><img src=https://a/1>",
                1,
            ),
            (
                "<style>@import url(https://a/x.css);@font-face{src:url(https://a/f.woff)}</style>url(https://a)",
                0,
            ),
        ] {
            assert_eq!(remote_images(html), count, "{html}");
        }
    }

    /// In quadratic time, this takes minutes.
    #[test]
    fn a_long_style_sheet_is_read_once() {
        let urls = |unit: &str| format!("<style>{}", unit.repeat(1024 * 1024 / unit.len()));
        assert_eq!(remote_images(&urls("url(//")), 1);
        assert_eq!(remote_images(&urls("url(//a)")), 1);
        assert_eq!(remote_images(&urls("@import url(//a)")), 0);
    }

    #[test]
    fn text_never_becomes_a_tag() {
        assert_eq!(
            displayed("<svg><style><iframe src=//x></style>", &Links::Shown),
            "<svg><style>iframe src=//x></style>"
        );
        assert_eq!(
            displayed("<xmp><link></xmp>", &Links::Shown),
            "<pre>&lt;link&gt;</pre>"
        );
        assert_eq!(
            displayed("<textarea><link></textarea>", &Links::Shown),
            "<textarea>&lt;link&gt;</textarea>"
        );
        assert_eq!(displayed("<a\"<iframe src=//x>", &Links::Shown), "");
        assert_eq!(displayed("<p a<iframe=1 onclick=x>", &Links::Shown), "<p>");
    }
}
