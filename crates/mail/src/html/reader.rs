//! Handles the tokens: tags change the layout or hide their content, text is written, links are
//! recorded.

use std::borrow::Cow;
use std::convert::Infallible;

use html5gum::{Emitter, Error, State};

use super::elements::{self, COUNT, ElementId, Layout};
use super::hidden::{Region, Style};
use super::quotes::{self, Quotes};
use super::writer::{Gap, Writer};
use super::{Page, Reference};
use crate::budget::{LINK_BYTES, LINKS, NESTED_LAYOUTS};

/// Bytes of a tag or attribute name that are kept; known names are shorter.
const NAME_BYTES: usize = 32;
/// Bytes of a `style` attribute that are read.
const STYLE_BYTES: usize = 4 * 1024;
/// Bytes of a `class` or `id` that are read.
const CLASS_BYTES: usize = 256;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Attribute {
    Href,
    Style,
    Hidden,
    Start,
    Class,
    Id,
    #[default]
    Other,
}

/// The tag that is being read. Its memory is reused for the next tag.
#[derive(Debug, Default)]
struct Tag {
    name: Vec<u8>,
    is_end: bool,
    attribute_name: Vec<u8>,
    attribute: Option<Attribute>,
    href: Value,
    style: Value,
    start: Value,
    class: Value,
    id: Value,
    hidden: bool,
}

impl Tag {
    /// Starts a new tag.
    fn clear(&mut self, is_end: bool) {
        self.is_end = is_end;
        self.attribute = None;
        self.hidden = false;
        for text in [&mut self.name, &mut self.attribute_name] {
            text.clear();
        }
        for value in [
            &mut self.href,
            &mut self.style,
            &mut self.start,
            &mut self.class,
            &mut self.id,
        ] {
            value.is_given = false;
            value.text.clear();
        }
    }

    /// Whether an older message is quoted from this start tag on.
    fn begins_quote(&self) -> bool {
        self.name == b"blockquote"
            || quotes::is_mark(&self.class.text)
            || quotes::is_mark(&self.id.text)
            || self.name == b"div" && quotes::is_rule(&self.style.text)
    }
}

/// The value of an attribute.
#[derive(Debug, Default)]
struct Value {
    text: Vec<u8>,
    is_given: bool,
}

impl Value {
    fn push(&mut self, text: &[u8], limit: usize) {
        self.is_given = true;
        push_bounded(&mut self.text, text, limit);
    }

    fn get(&self) -> Option<Cow<'_, str>> {
        self.is_given.then(|| String::from_utf8_lossy(&self.text))
    }
}

/// An element whose style changes its layout. It ends when as many elements of its kind are open as
/// before it.
#[derive(Debug)]
struct Restyled {
    element: ElementId,
    open: u32,
    layout: Layout,
    preformatted: bool,
}

/// Bytes of the hidden text that are kept, twice at most.
const PREHEADER_BYTES: usize = 200;

/// The state of reading a page.
pub(super) struct Reader<'p> {
    page: &'p mut Page,
    writer: Writer,
    tag: Tag,
    last_start_tag: Vec<u8>,
    /// The first bytes of a character that the tokenizer has split.
    cut_character: Vec<u8>,
    open: [u32; COUNT],
    restyled: Vec<Restyled>,
    hidden: Option<Region>,
    /// Whether the hidden element could be shown, unlike a style sheet.
    hides_text: bool,
    /// The next number of each open numbered list; `None` for lists without numbers.
    lists: Vec<Option<u32>>,
    /// The number of additional open lists, whose numbers are not kept.
    deeper_lists: usize,
    quotes: Quotes,
    /// Where the text of the open link starts.
    link_start: Option<usize>,
    /// The index of the open link in the references.
    open_reference: Option<usize>,
    /// Whether the address of a link is written after its text.
    shows_addresses: bool,
    /// The address of the open link.
    address: Option<String>,
}

impl<'p> Reader<'p> {
    pub(super) fn new(page: &'p mut Page, bytes: usize, shows_addresses: bool) -> Self {
        Self {
            page,
            writer: Writer::for_document(bytes),
            tag: Tag::default(),
            last_start_tag: Vec::new(),
            cut_character: Vec::new(),
            open: [0; COUNT],
            restyled: Vec::new(),
            hidden: None,
            hides_text: false,
            lists: Vec::new(),
            deeper_lists: 0,
            quotes: Quotes::default(),
            link_start: None,
            open_reference: None,
            shows_addresses,
            address: None,
        }
    }

    fn start_tag(&mut self) {
        let id = elements::by_name(&self.tag.name);
        if let Some(region) = &mut self.hidden {
            if !region.open(&self.tag.name, id) {
                return;
            }
            self.leave_hidden();
        }
        let style = self
            .tag
            .style
            .get()
            .map(|style| Style::parse(&style))
            .unwrap_or_default();
        let layout = id.map_or(Layout::Inline, elements::layout);
        if layout.has_content() && (layout == Layout::Never || style.hides || self.tag.hidden) {
            self.hidden = Some(Region::new(&self.tag.name));
            self.hides_text = layout != Layout::Never;
            return self.gap_for(layout);
        }
        if let Some(id) = id.filter(|_| layout.has_content()) {
            self.open[id] = self.open[id].saturating_add(1);
            self.restyle(id, layout, style);
        }
        if !(style.hides || self.tag.hidden) {
            self.follow_link();
        }
        if self.tag.begins_quote() {
            self.quotes.begin(self.writer.position());
        }
        self.begin(
            style
                .layout
                .filter(|_| layout.has_content() && layout != Layout::Cell)
                .unwrap_or(layout),
        );
    }

    /// Records an element whose layout is not that of its kind.
    fn restyle(&mut self, id: ElementId, layout: Layout, style: Style) {
        let changed = style.layout.filter(|&styled| styled != layout);
        if changed.is_none() && !style.keeps_white_space || self.restyled.len() >= NESTED_LAYOUTS {
            return;
        }
        let preformatted = style.keeps_white_space;
        self.writer.preformatted += usize::from(preformatted);
        self.restyled.push(Restyled {
            element: id,
            open: self.open[id],
            layout: changed.unwrap_or(layout),
            preformatted,
        });
    }

    fn begin(&mut self, layout: Layout) {
        match layout {
            Layout::Preformatted => {
                self.writer.gap(Gap::Paragraph);
                self.writer.preformatted += 1;
            }
            Layout::List | Layout::NumberedList => {
                let number = self
                    .tag
                    .start
                    .get()
                    .and_then(|start| start.trim().parse().ok());
                if self.lists.len() < NESTED_LAYOUTS {
                    self.lists
                        .push((layout == Layout::NumberedList).then_some(number.unwrap_or(1)));
                } else {
                    self.deeper_lists += 1;
                }
                self.writer.gap(if self.lists.len() > 1 {
                    Gap::Line
                } else {
                    Gap::Paragraph
                });
            }
            Layout::Item => self.begin_item(),
            Layout::Break => self.writer.line_break(),
            _ => self.gap_for(layout),
        }
    }

    fn begin_item(&mut self) {
        let indent = self.lists.len().clamp(1, 8) - 1;
        let number = self.lists.last_mut().and_then(Option::as_mut).map(|next| {
            let number = *next;
            *next = number.saturating_add(1);
            number
        });
        self.writer.mark(indent, number);
    }

    fn gap_for(&mut self, layout: Layout) {
        self.writer.gap(match layout {
            Layout::Block | Layout::Item => Gap::Line,
            Layout::Paragraph | Layout::Preformatted | Layout::Rule => Gap::Paragraph,
            Layout::List | Layout::NumberedList if self.lists.is_empty() => Gap::Paragraph,
            Layout::List | Layout::NumberedList => Gap::Line,
            Layout::Cell => Gap::Cell,
            Layout::Inline | Layout::Break | Layout::Never | Layout::Void => Gap::None,
        });
    }

    fn end_tag(&mut self) {
        let id = elements::by_name(&self.tag.name);
        if let Some(region) = &mut self.hidden {
            let is_open_outside = id.is_some_and(|id| self.open[id] > 0);
            let (ends, goes_on) = region.close(&self.tag.name, id, is_open_outside);
            if ends {
                self.leave_hidden();
            }
            if !goes_on {
                return;
            }
        }
        let Some(id) = id else { return };
        let mut layout = elements::layout(id);
        if let Some(restyled) = self.restyled_end(id) {
            self.writer.preformatted -= usize::from(restyled.preformatted);
            layout = if layout == Layout::Preformatted {
                layout
            } else {
                restyled.layout
            };
        }
        let was_open = self.open[id] > 0;
        self.open[id] = self.open[id].saturating_sub(1);
        if self.tag.name == b"blockquote" && was_open && self.open[id] == 0 {
            self.quotes.end(self.writer.position());
        }
        match layout {
            Layout::Preformatted if was_open => self.writer.preformatted -= 1,
            Layout::List | Layout::NumberedList if was_open && self.deeper_lists > 0 => {
                self.deeper_lists -= 1;
            }
            Layout::List | Layout::NumberedList if was_open => drop(self.lists.pop()),
            Layout::Inline if self.tag.name == b"a" => self.end_link(),
            Layout::Inline if elements::layout(id) != Layout::Inline => self.writer.gap(Gap::Space),
            _ => {}
        }
        self.gap_for(layout);
    }

    /// The style of the element that ends, if its layout was changed.
    fn restyled_end(&mut self, id: ElementId) -> Option<Restyled> {
        // If an element ends, unclosed elements within it are dropped.
        while let Some(top) = self.restyled.last() {
            let is_stale = self.open[top.element] < top.open;
            if !(is_stale || top.element == id && top.open == self.open[id]) {
                return None;
            }
            let top = self.restyled.pop()?;
            if !is_stale {
                return Some(top);
            }
            self.writer.preformatted -= usize::from(top.preformatted);
        }
        None
    }

    fn leave_hidden(&mut self) {
        self.hidden = None;
    }

    fn follow_link(&mut self) {
        let Some(href) = self.tag.href.get().map(Cow::into_owned) else {
            return;
        };
        match self.tag.name.as_slice() {
            b"base" => {
                self.page.base.get_or_insert(href);
            }
            b"a" => {
                self.end_link();
                self.link_start = Some(self.writer.position());
                self.address = self.shows_addresses.then(|| href.clone());
                self.open_reference = self.note(href);
            }
            b"area" => {
                self.note(href);
            }
            _ => {}
        }
    }

    /// Adds a reference; returns its index.
    fn note(&mut self, href: String) -> Option<usize> {
        let can_lead_elsewhere = !href.trim_start().starts_with('#') && href.len() <= LINK_BYTES;
        if !can_lead_elsewhere || self.page.references.len() >= LINKS {
            return None;
        }
        let position = self.writer.position();
        let entry = self.page.references.entry(href);
        let index = entry.index();
        entry.or_insert(Reference {
            position,
            words: 0..0,
        });
        Some(index)
    }

    fn end_link(&mut self) {
        let Some(start) = self.link_start.take() else {
            return;
        };
        let reference = self
            .open_reference
            .take()
            .and_then(|index| self.page.references.get_index_mut(index));
        if let Some((_, reference)) = reference
            && reference.words.is_empty()
        {
            reference.words = start..self.writer.position();
        }
        if self
            .writer
            .since(start)
            .as_bytes()
            .windows(3)
            .any(|bytes| bytes == b"://")
        {
            self.page.linked.push((start, self.writer.position()));
        }
        let address = self.address.take().unwrap_or_default();
        let address = address.trim();
        if !address.is_empty() && self.writer.since(start).trim() != address {
            self.writer.gap(Gap::Space);
            self.writer.write(&format!("( {address} )"));
            self.writer.gap(Gap::Space);
        }
    }

    fn write(&mut self, bytes: &[u8]) {
        if self.hidden.is_some() {
            if self.hides_text && self.page.preheader.len() < PREHEADER_BYTES {
                let start = &bytes[..bytes.len().min(PREHEADER_BYTES)];
                self.page
                    .preheader
                    .push_str(&String::from_utf8_lossy(start));
            }
            return;
        }
        if self.cut_character.is_empty()
            && let Ok(text) = std::str::from_utf8(bytes)
        {
            return self.writer.write(text);
        }
        self.cut_character.extend_from_slice(bytes);
        match std::str::from_utf8(&self.cut_character) {
            Err(error) if error.error_len().is_none() && self.cut_character.len() < 4 => {}
            _ => {
                let whole = std::mem::take(&mut self.cut_character);
                self.writer.write(&String::from_utf8_lossy(&whole));
            }
        }
    }

    fn begin_attribute(&mut self) {
        self.tag.attribute = None;
        self.tag.attribute_name.clear();
    }

    /// The attribute that is being read. If a name occurs several times, only the first counts
    /// (HTML, section 13.2.5.33).
    fn attribute(&mut self) -> Attribute {
        let attribute = match self.tag.attribute_name.as_slice() {
            b"href" if !self.tag.href.is_given => Attribute::Href,
            b"style" if !self.tag.style.is_given => Attribute::Style,
            b"start" if !self.tag.start.is_given => Attribute::Start,
            b"class" if !self.tag.class.is_given => Attribute::Class,
            b"id" if !self.tag.id.is_given => Attribute::Id,
            b"hidden" => Attribute::Hidden,
            _ => Attribute::Other,
        };
        *self.tag.attribute.get_or_insert(attribute)
    }

    /// Records an attribute when its name is complete, because some have no value.
    fn end_attribute(&mut self) {
        if self.attribute() == Attribute::Hidden {
            self.tag.hidden = true;
        }
        self.begin_attribute();
    }
}

impl Emitter for Reader<'_> {
    type Token = Infallible;

    fn emit_string(&mut self, text: &[u8]) {
        self.write(text);
    }

    fn init_start_tag(&mut self) {
        self.tag.clear(false);
    }

    fn init_end_tag(&mut self) {
        self.tag.clear(true);
    }

    fn push_tag_name(&mut self, text: &[u8]) {
        push_bounded(&mut self.tag.name, text, NAME_BYTES);
    }

    fn init_attribute(&mut self) {
        self.end_attribute();
    }

    fn push_attribute_name(&mut self, text: &[u8]) {
        push_bounded(&mut self.tag.attribute_name, text, NAME_BYTES);
    }

    fn push_attribute_value(&mut self, text: &[u8]) {
        match self.attribute() {
            Attribute::Href => self.tag.href.push(text, LINK_BYTES + 1),
            Attribute::Style => self.tag.style.push(text, STYLE_BYTES),
            Attribute::Start => self.tag.start.push(text, NAME_BYTES),
            Attribute::Class => self.tag.class.push(text, CLASS_BYTES),
            Attribute::Id => self.tag.id.push(text, CLASS_BYTES),
            Attribute::Hidden | Attribute::Other => {}
        }
    }

    fn emit_current_tag(&mut self) -> Option<State> {
        self.end_attribute();
        if self.tag.is_end {
            self.last_start_tag.clear();
            self.end_tag();
            return None;
        }
        self.last_start_tag.clone_from(&self.tag.name);
        self.start_tag();
        text_state(&self.last_start_tag)
    }

    fn current_is_appropriate_end_tag_token(&mut self) -> bool {
        self.tag.is_end && !self.last_start_tag.is_empty() && self.tag.name == self.last_start_tag
    }

    fn set_last_start_tag(&mut self, name: Option<&[u8]>) {
        self.last_start_tag = name.unwrap_or_default().to_vec();
    }

    fn emit_eof(&mut self) {
        self.end_link();
        self.page.quotes = std::mem::take(&mut self.quotes).finish(self.writer.position());
        self.page.text = std::mem::take(&mut self.writer).finish();
    }

    fn should_emit_errors(&mut self) -> bool {
        false
    }

    fn pop_token(&mut self) -> Option<Infallible> {
        None
    }

    fn emit_error(&mut self, _: Error) {}
    fn init_comment(&mut self) {}
    fn push_comment(&mut self, _: &[u8]) {}
    fn emit_current_comment(&mut self) {}
    fn init_doctype(&mut self) {}
    fn push_doctype_name(&mut self, _: &[u8]) {}
    fn emit_current_doctype(&mut self) {}
    fn set_self_closing(&mut self) {}
    fn set_force_quirks(&mut self) {}
    fn set_doctype_public_identifier(&mut self, _: &[u8]) {}
    fn set_doctype_system_identifier(&mut self, _: &[u8]) {}
    fn push_doctype_public_identifier(&mut self, _: &[u8]) {}
    fn push_doctype_system_identifier(&mut self, _: &[u8]) {}
}

/// The tokenizer's state for the content of an element. Mail clients do not run scripts, so the
/// content of `noscript` is ordinary.
fn text_state(name: &[u8]) -> Option<State> {
    match name {
        b"textarea" | b"title" => Some(State::RcData),
        b"plaintext" => Some(State::PlainText),
        b"script" => Some(State::ScriptData),
        b"style" | b"iframe" | b"xmp" | b"noembed" | b"noframes" => Some(State::RawText),
        _ => None,
    }
}

fn push_bounded(buffer: &mut Vec<u8>, text: &[u8], limit: usize) {
    let room = limit.saturating_sub(buffer.len());
    buffer.extend_from_slice(&text[..text.len().min(room)]);
}
