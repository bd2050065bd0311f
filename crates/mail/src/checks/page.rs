//! What the checks need of the HTML, from one pass over its tokens: texts, links, images and
//! tables, each with its byte offset in the source.
//!
//! No tree is built. A stack has the open elements, with the styles that their text inherits.

use std::collections::HashMap;
use std::ops::Range;

use html5gum::{HtmlString, Span, StartTag, Token};

use crate::html::{Style, tokens};

/// Maximum number of open elements whose styles are kept.
const DEPTH: usize = 1_000;
/// Bytes of a link's text and of a style attribute that are read.
const WORDS_BYTES: usize = 200;
const STYLE_BYTES: usize = 4 * 1024;
/// Text of this size or smaller, in pixels, is hidden.
const HIDDEN_PIXELS: f32 = 1.0;

/// The page.
#[derive(Debug, Default)]
pub(super) struct Page {
    pub(super) texts: Vec<Text>,
    pub(super) links: Vec<Link>,
    pub(super) images: Vec<Image>,
    /// Where a table for the layout starts that does not say so.
    pub(super) unmarked_tables: Vec<usize>,
    /// Where the `html` element starts, and whether it has a language.
    pub(super) html: Option<(usize, bool)>,
    pub(super) has_title: bool,
    pub(super) has_base: bool,
}

/// A text that is shown.
#[derive(Debug)]
pub(super) struct Text {
    /// Its place in the source, where character references are not decoded.
    pub(super) place: Range<usize>,
    pub(super) text: String,
    /// Whether it is shown as code, or not at all.
    pub(super) is_aside: bool,
}

/// A link.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) offset: usize,
    pub(super) href: String,
    /// The start of its text, with the descriptions of its images.
    pub(super) words: String,
}

/// An image.
#[derive(Debug)]
pub(super) struct Image {
    pub(super) offset: usize,
    pub(super) source: String,
    pub(super) has_alt: bool,
    pub(super) has_size: bool,
}

/// An open element.
#[derive(Clone, Default)]
struct Open {
    name: HtmlString,
    /// Whether its content is no text.
    is_data: bool,
    is_hidden: bool,
    is_code: bool,
    /// The size of its text in pixels, if it is known.
    pixels: Option<f32>,
}

/// Reads a page.
pub(super) fn read(html: &str) -> Page {
    let mut reader = Reader::default();
    for token in tokens(html) {
        match token {
            Token::StartTag(tag) => reader.start_tag(&tag),
            Token::EndTag(tag) => reader.end_tag(&tag.name),
            Token::String(text) => reader.text(&String::from_utf8_lossy(&text), text.span),
            Token::Comment(_) | Token::Doctype(_) | Token::Error(_) => {}
        }
    }
    reader.page
}

#[derive(Default)]
struct Reader {
    page: Page,
    open: Vec<Open>,
    /// How many elements of each name are open.
    counts: HashMap<HtmlString, usize>,
    /// The index of the open link.
    link: Option<usize>,
}

impl Reader {
    fn start_tag(&mut self, tag: &StartTag<usize>) {
        self.close_implied(&tag.name);
        let element = self.styled(tag);
        let attributes = Attributes(tag);
        let offset = tag.span.start;
        match tag.name.as_slice() {
            b"html" => {
                let has_language = attributes
                    .get("lang")
                    .is_some_and(|lang| !lang.trim().is_empty());
                self.page.html.get_or_insert((offset, has_language));
            }
            b"base" => self.page.has_base = true,
            b"a" | b"area" if !element.is_hidden => {
                self.start_link(&attributes, offset, tag.name.as_slice());
            }
            b"img" if !element.is_hidden => self.image(&attributes, offset),
            b"table" if !element.is_hidden => self.table(&attributes, offset),
            _ => {}
        }
        if !is_void(&tag.name) && self.open.len() < DEPTH {
            *self.counts.entry(tag.name.clone()).or_default() += 1;
            self.open.push(element);
        }
    }

    /// The element with the styles that it inherits.
    fn styled(&self, tag: &StartTag<usize>) -> Open {
        let mut element = self.open.last().cloned().unwrap_or_default();
        let attributes = Attributes(tag);
        element.name = tag.name.clone();
        element.is_data |= matches!(
            tag.name.as_slice(),
            b"script" | b"style" | b"title" | b"template" | b"head"
        );
        element.is_hidden |= element.is_data || attributes.get("hidden").is_some();
        element.is_code |= matches!(tag.name.as_slice(), b"code" | b"pre" | b"kbd" | b"samp");
        if let Some(style) = attributes.get("style") {
            let style = &style[..style.floor_char_boundary(STYLE_BYTES)];
            element.is_hidden |= Style::parse(style).hides;
            element.apply(style);
        }
        element
    }

    /// Ends an element whose end tag may be omitted.
    fn close_implied(&mut self, name: &HtmlString) {
        let is_cell = |name: &HtmlString| matches!(name.as_slice(), b"td" | b"th");
        let Some(top) = self.open.last() else { return };
        let same = matches!(
            name.as_slice(),
            b"p" | b"li" | b"tr" | b"option" | b"dt" | b"dd"
        ) && top.name == *name;
        let cell = is_cell(&top.name) && (is_cell(name) || name.as_slice() == b"tr");
        if same || cell {
            self.pop();
        }
    }

    fn end_tag(&mut self, name: &HtmlString) {
        if matches!(name.as_slice(), b"a") {
            self.link = None;
        }
        if self.counts.get(name).is_none_or(|count| *count == 0) {
            return;
        }
        while let Some(closed) = self.pop() {
            if closed == *name {
                break;
            }
        }
    }

    fn pop(&mut self) -> Option<HtmlString> {
        let closed = self.open.pop()?;
        if let Some(count) = self.counts.get_mut(&closed.name) {
            *count -= 1;
        }
        Some(closed.name)
    }

    fn text(&mut self, text: &str, span: Span<usize>) {
        let top = self.open.last().cloned().unwrap_or_default();
        if top.name.as_slice() == b"title" {
            self.page.has_title |= !text.trim().is_empty();
        }
        if top.is_data || text.trim().is_empty() {
            return;
        }
        // A hidden text is the preview in the list of many clients.
        let is_hidden = top.is_hidden || top.pixels.is_some_and(|pixels| pixels <= HIDDEN_PIXELS);
        self.page.texts.push(Text {
            place: span.start..span.end,
            text: text.to_owned(),
            is_aside: is_hidden || top.is_code,
        });
        if let Some(link) = self.link.filter(|_| !is_hidden) {
            push_words(&mut self.page.links[link].words, text);
        }
    }

    fn start_link(&mut self, attributes: &Attributes<'_>, offset: usize, name: &[u8]) {
        // Without `href` it is a target and no link.
        let Some(href) = attributes.get("href") else {
            return;
        };
        let words = match name {
            b"area" => attributes.get("alt").unwrap_or_default(),
            _ => attributes
                .get("aria-label")
                .or_else(|| attributes.get("title"))
                .unwrap_or_default(),
        };
        let mut link = Link {
            offset,
            href,
            words: String::new(),
        };
        push_words(&mut link.words, &words);
        if name == b"a" {
            self.link = Some(self.page.links.len());
        }
        self.page.links.push(link);
    }

    fn image(&mut self, attributes: &Attributes<'_>, offset: usize) {
        let alt = attributes.get("alt");
        if let Some(link) = self.link {
            // An image is something to click on, even without a description; the check of images
            // reports that.
            let words = alt
                .clone()
                .filter(|alt| !alt.trim().is_empty())
                .unwrap_or_else(|| "image".to_owned());
            push_words(&mut self.page.links[link].words, &words);
        }
        let style = attributes
            .get("style")
            .unwrap_or_default()
            .to_ascii_lowercase();
        let sized = |name: &str| {
            attributes
                .get(name)
                .is_some_and(|value| !value.trim().is_empty())
        };
        let has_size = sized("width")
            || sized("height")
            || style.contains("width")
            || style.contains("height");
        let source = attributes.get("src").unwrap_or_default();
        let has_alt = alt.is_some();
        self.page.images.push(Image {
            offset,
            source,
            has_alt,
            has_size,
        });
    }

    /// A screen reader announces the rows and columns of a table unless it has the role
    /// `presentation` or `none`. A table with a border or a caption is one of data.
    fn table(&mut self, attributes: &Attributes<'_>, offset: usize) {
        let role = attributes
            .get("role")
            .unwrap_or_default()
            .to_ascii_lowercase();
        let is_marked = matches!(role.as_str(), "presentation" | "none" | "table" | "grid");
        let is_layout =
            attributes.get("cellpadding").is_some() || attributes.get("cellspacing").is_some();
        if is_layout && !is_marked {
            self.page.unmarked_tables.push(offset);
        }
    }
}

impl Open {
    fn apply(&mut self, style: &str) {
        for declaration in style.split(';') {
            let Some((property, value)) = declaration.split_once(':') else {
                continue;
            };
            let value = value.split('!').next().unwrap_or_default().trim();
            match property.trim().to_ascii_lowercase().as_str() {
                "color" => self.is_hidden |= value.eq_ignore_ascii_case("transparent"),
                "font-size" => self.pixels = pixels(value),
                "mso-hide" => self.is_hidden |= value.eq_ignore_ascii_case("all"),
                _ => {}
            }
        }
    }
}

/// A length in pixels, if it does not depend on others.
fn pixels(value: &str) -> Option<f32> {
    let value = value.to_ascii_lowercase();
    let number = |unit: &str| value.strip_suffix(unit)?.trim().parse::<f32>().ok();
    if value == "0" {
        Some(0.0)
    } else {
        number("px").or_else(|| Some(number("pt")? * 4.0 / 3.0))
    }
}

/// Adds the words of a text to those of a link, up to a limit.
fn push_words(words: &mut String, text: &str) {
    for word in text.split_whitespace() {
        if words.len() + word.len() > WORDS_BYTES {
            return;
        }
        if !words.is_empty() {
            words.push(' ');
        }
        words.push_str(word);
    }
}

fn is_void(name: &HtmlString) -> bool {
    matches!(
        name.as_slice(),
        b"area"
            | b"base"
            | b"br"
            | b"col"
            | b"embed"
            | b"hr"
            | b"img"
            | b"input"
            | b"link"
            | b"meta"
            | b"param"
            | b"source"
            | b"track"
            | b"wbr"
    )
}

/// The attributes of a tag.
struct Attributes<'a>(&'a StartTag<usize>);

impl Attributes<'_> {
    fn get(&self, name: &str) -> Option<String> {
        let name = HtmlString::from(name.as_bytes().to_vec());
        self.0
            .attributes
            .get(&name)
            .map(|value| String::from_utf8_lossy(value).into_owned())
    }
}
