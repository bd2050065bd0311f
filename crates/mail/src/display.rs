//! Prepares the HTML of a message for the frame that shows it.
//!
//! The content security policy of the response makes the frame harmless. But browsers open connections in advance, for
//! frames, links and hints that the policy then blocks. Such a connection reveals to the sender that the message is
//! being read. This module therefore removes content that cannot be shown anyway, and replaces links by text with their
//! target.

use html5gum::{DefaultEmitter, Doctype, EndTag, HtmlString, StartTag, Token, Tokenizer};

/// Elements that are removed together with their content.
const LEFT_OUT: [&[u8]; 9] =
    [b"script", b"iframe", b"noembed", b"noframes", b"title", b"portal", b"fencedframe", b"noscript", b"plaintext"];
/// Elements of which only the tags are removed.
const TAGS_LEFT_OUT: [&[u8]; 10] =
    [b"frame", b"frameset", b"object", b"embed", b"applet", b"link", b"base", b"param", b"source", b"track"];
/// Names of `meta` elements that control how a page is shown.
const KEPT_META: [&[u8]; 3] = [b"color-scheme", b"supported-color-schemes", b"viewport"];
/// Attributes with a URL that a browser might load or open.
const LEADING: [&[u8]; 6] = [b"href", b"xlink:href", b"ping", b"action", b"formaction", b"target"];

/// Returns `html` without content that a frame without network access cannot show.
#[must_use]
pub fn displayed(html: &str) -> String {
    let mut emitter = DefaultEmitter::default();
    emitter.naively_switch_states(true);
    let mut display = Display { html: String::with_capacity(html.len()), left_out: None, in_style: false };
    for Ok(token) in Tokenizer::new_with_emitter(html, emitter) {
        display.token(&token);
    }
    display.html
}

/// The images that `html` would load from another host.
#[must_use]
pub fn remote_images(html: &str) -> usize {
    let mut emitter = DefaultEmitter::default();
    emitter.naively_switch_states(true);
    let is_remote = |value: &[u8]| {
        let value = value.trim_ascii_start().to_ascii_lowercase();
        [&b"http://"[..], b"https://", b"//"].iter().any(|scheme| value.starts_with(scheme))
    };
    let mut count = 0;
    for Ok(token) in Tokenizer::new_with_emitter(html, emitter) {
        let Token::StartTag(tag) = token else { continue };
        let is_image = matches!(tag.name.as_slice(), b"img" | b"image" | b"input");
        let loads = |name: &[u8]| match name {
            b"src" | b"srcset" | b"xlink:href" => is_image,
            b"background" => true,
            _ => false,
        };
        count += usize::from(tag.attributes.iter().any(|(name, value)| loads(name) && is_remote(value)));
    }
    count
}

struct Display {
    html: String,
    /// The element that is being removed.
    left_out: Option<HtmlString>,
    in_style: bool,
}

impl Display {
    fn token(&mut self, token: &Token) {
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

    fn start(&mut self, tag: &StartTag<()>) {
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
        self.html.push_str(shown_name(&String::from_utf8_lossy(name)));
        for (name, value) in &tag.attributes {
            self.attribute(&tag.name, name, &String::from_utf8_lossy(value));
        }
        self.html.push_str(if tag.self_closing { "/>" } else { ">" });
    }

    fn attribute(&mut self, element: &[u8], name: &[u8], value: &str) {
        let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_:.".contains(byte);
        if !name.iter().all(plain) || name.starts_with(b"on") {
            return;
        }
        let is_link = matches!(element, b"a" | b"area");
        match name {
            b"href" | b"xlink:href" if is_link => {
                self.write_attribute("href", "#");
                self.write_attribute("title", value);
            }
            _ if LEADING.contains(&name) && (is_link || matches!(element, b"form" | b"button" | b"input")) => {}
            b"title" if is_link => {}
            _ => self.write_attribute(&String::from_utf8_lossy(name), value),
        }
    }

    fn write_attribute(&mut self, name: &str, value: &str) {
        self.html.push(' ');
        self.html.push_str(name);
        self.html.push_str("=\"");
        self.escape(value);
        self.html.push('"');
    }

    fn end(&mut self, tag: &EndTag<()>) {
        self.in_style = false;
        if is_tag_left_out(&tag.name) || LEFT_OUT.contains(&tag.name.as_slice()) {
            return;
        }
        self.html.push_str("</");
        self.html.push_str(shown_name(&String::from_utf8_lossy(&tag.name)));
        self.html.push('>');
    }

    fn text(&mut self, text: &str) {
        if !self.in_style {
            return self.escape(text);
        }
        // Browsers parse a style sheet inside an SVG for tags, and a valid style sheet contains nothing that looks like
        // a tag.
        let mut characters = text.chars().peekable();
        while let Some(character) = characters.next() {
            let opens = character == '<' && characters.peek().is_some_and(|next| !next.is_ascii_whitespace());
            if !opens {
                self.html.push(character);
            }
        }
    }

    fn doctype(&mut self, doctype: &Doctype<()>) {
        let identifier = |text: &Option<HtmlString>| {
            let text = text.as_ref().map(|text| String::from_utf8_lossy(text).into_owned());
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

fn is_tag_left_out(name: &[u8]) -> bool {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-:".contains(byte);
    TAGS_LEFT_OUT.contains(&name) || !name.iter().all(plain)
}

fn is_kept_meta(tag: &StartTag<()>) -> bool {
    let name = tag.attributes.iter().find(|(name, _)| name.as_slice() == b"name");
    let kept = name.is_some_and(|(_, value)| KEPT_META.contains(&value.to_ascii_lowercase().as_slice()));
    kept && !tag.attributes.keys().any(|name| name.as_slice() == b"http-equiv")
}

/// Replaces old elements whose content is read as text by the element that succeeded them.
fn shown_name(name: &str) -> &str {
    if matches!(name, "xmp" | "listing") { "pre" } else { name }
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
            assert_eq!(displayed(html).to_lowercase(), html.to_lowercase());
        }
    }

    #[test]
    fn links_say_where_they_lead_and_do_not_lead_there() {
        assert_eq!(
            displayed("<a href='https://x.example/?a&amp;b' target=_top ping=//y>Go</a>"),
            "<a href=\"#\" title=\"https://x.example/?a&amp;b\">Go</a>"
        );
        assert_eq!(displayed("<form action=//x method=post><button formaction=//y>"), "<form method=\"post\"><button>");
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
            assert_eq!(displayed(html), "", "{html}");
        }
    }

    #[test]
    fn remote_images_are_counted() {
        for (html, count) in [
            ("", 0),
            ("<img src=cid:a><img src='data:image/png,x'><img alt='https://x'>", 0),
            ("<img src='https://a/b.png'><IMG SRC=' HTTP://a'><td background=//a/b>", 3),
            ("<!-- <img src=https://a> --><a href=https://a>x</a>", 0),
        ] {
            assert_eq!(remote_images(html), count, "{html}");
        }
    }

    #[test]
    fn nothing_becomes_a_tag_that_was_none() {
        assert_eq!(displayed("<svg><style><iframe src=//x></style>"), "<svg><style>iframe src=//x></style>");
        assert_eq!(displayed("<xmp><link></xmp>"), "<pre>&lt;link&gt;</pre>");
        assert_eq!(displayed("<textarea><link></textarea>"), "<textarea>&lt;link&gt;</textarea>");
        assert_eq!(displayed("<a\"<iframe src=//x>"), "");
        assert_eq!(displayed("<p a<iframe=1 onclick=x>"), "<p>");
    }
}
