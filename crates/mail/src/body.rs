//! The body as a mail client shows it: the visible parts, in order, as text and as HTML.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::budget::{BODY_BYTES, Budget};
use crate::charset;
use crate::flowed;
use crate::html::{self, Page};
use crate::structure::{Kind, Part, Structure, without_brackets};

/// More bytes of a part than this for each byte of its text are not decoded.
const ENCODED: usize = 8;
/// A larger part, in bytes, is not checked for being empty.
const BLANK_BYTES: usize = 4 * 1024;

/// The visible text and HTML.
#[derive(Default)]
pub(super) struct Body {
    /// Line ends are `\n`; the text does not end with one.
    pub(super) text: String,
    /// Whether `text` was generated only from HTML.
    pub(super) text_is_from_html: bool,
    /// The HTML as sent, with `\n` as line end and none at the end; empty if there is none.
    pub(super) html: String,
    /// What the HTML shows. Its text is moved to `text` if there is no other text.
    pub(super) page: Page,
    pub(super) over_budget: Option<Budget>,
}

/// Chooses the visible parts, and decodes them.
pub(super) fn choose(structure: &Structure<'_>) -> Body {
    let mut body = Body::default();
    let is = |kind: Kind| move |&part: &usize| structure.parts[part].kind == kind;
    let html_view = Chooser::new(structure, View::Html).shown_or_files();
    let text_view = Chooser::new(structure, View::Text).shown_or_files();
    body.html = joined(
        structure,
        html_view.into_iter().filter(is(Kind::Html)),
        BODY_BYTES,
    );
    body.page = html::read(&body.html);
    body.text = joined(
        structure,
        text_view.iter().copied().filter(is(Kind::Plain)),
        BODY_BYTES,
    );
    if body.text.trim().is_empty() && !body.html.is_empty() {
        body.text = std::mem::take(&mut body.page.text);
        body.text_is_from_html = true;
    } else if text_view.iter().any(is(Kind::Html)) {
        body.text = with_rendered(structure, &text_view, body.text);
    }
    if body.text.len() >= BODY_BYTES || body.html.len() >= BODY_BYTES {
        body.over_budget = Some(Budget::BodySize);
    }
    body
}

/// The text that a mail client shows, if the message has only HTML: unlike
/// [`ParsedMessage::text`](crate::ParsedMessage::text), with the address of each link after its
/// text, `Go ( https://a.example/ )`.
#[must_use]
pub fn linked_text(raw: &[u8]) -> Option<String> {
    let body = choose(&Structure::read(raw));
    body.text_is_from_html
        .then(|| html::linked_text(&body.html))
}

/// The start of the HTML and, if there is no HTML, of the text.
pub(super) struct Start {
    pub(super) html: String,
    pub(super) text: String,
    /// Whether there is more.
    pub(super) is_cut: bool,
}

/// The start of the body, at most `limit` bytes. The rest of a long body is not decoded.
pub(super) fn start(structure: &Structure<'_>, limit: usize) -> Start {
    let view = |view| Chooser::new(structure, view).shown_or_files();
    let is = |kind: Kind| move |&part: &usize| structure.parts[part].kind == kind;
    // One more character shows whether there is more.
    let cut_off = |parts: Vec<usize>, kind: Kind| {
        let mut text = joined(
            structure,
            parts.iter().copied().filter(is(kind)),
            limit + char::MAX_LEN_UTF8,
        );
        let is_undecoded =
            |&part: &usize| structure.parts[part].body.len() > limit.saturating_mul(ENCODED);
        let is_cut = text.len() > limit || parts.iter().any(is_undecoded);
        cut(&mut text, limit);
        (text, is_cut)
    };
    let (html, is_cut) = cut_off(view(View::Html), Kind::Html);
    if !html.is_empty() {
        return Start {
            html,
            text: String::new(),
            is_cut,
        };
    }
    let (text, is_cut) = cut_off(view(View::Text), Kind::Plain);
    Start { html, text, is_cut }
}

/// The text, with each HTML part rendered at its position. If an HTML part only repeats the text,
/// the result is `text`.
fn with_rendered(structure: &Structure<'_>, parts: &[usize], text: String) -> String {
    let squeezed: String = text.split_whitespace().collect();
    let repeats = |piece: &str| {
        piece
            .split_whitespace()
            .flat_map(str::bytes)
            .eq(squeezed.bytes())
    };
    let mut shown = String::new();
    for run in parts.chunk_by(|&one, &next| structure.parts[one].kind == structure.parts[next].kind)
    {
        let mut piece = joined(structure, run.iter().copied(), BODY_BYTES);
        if structure.parts[run[0]].kind == Kind::Html {
            piece = html::read(&piece).text;
            if repeats(&piece) {
                return text;
            }
        }
        if !shown.is_empty() && !piece.is_empty() {
            shown.push_str("\n\n");
        }
        shown.push_str(&piece);
    }
    cut(&mut shown, BODY_BYTES);
    shown
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum View {
    Text,
    Html,
}

/// Walks through the parts like a client that shows HTML, or one that does not.
struct Chooser<'a, 'b> {
    structure: &'b Structure<'a>,
    view: View,
    /// Whether parts with a file name are also shown.
    files: bool,
    /// The parts that were checked, and whether they are blank: an alternative in alternatives is
    /// asked for by each.
    blank: RefCell<BTreeMap<usize, bool>>,
}

impl<'a, 'b> Chooser<'a, 'b> {
    fn new(structure: &'b Structure<'a>, view: View) -> Self {
        Self {
            structure,
            view,
            files: false,
            blank: RefCell::default(),
        }
    }

    /// The visible parts, in order. Text with a file name counts as a file, unless there are no
    /// other parts.
    fn shown_or_files(mut self) -> Vec<usize> {
        let shown = self.shown(0, false);
        if !shown.is_empty() {
            return shown;
        }
        self.files = true;
        self.shown(0, false)
    }

    fn shown(&self, index: usize, is_alternative: bool) -> Vec<usize> {
        let part = &self.structure.parts[index];
        if part.attachment {
            return Vec::new();
        }
        match &part.kind {
            Kind::Plain | Kind::Html
                if part.file_name.is_some() && !is_alternative && !self.files =>
            {
                Vec::new()
            }
            Kind::Plain | Kind::Html => vec![index],
            Kind::Multipart => part
                .children
                .iter()
                .flat_map(|&child| self.shown(child, false))
                .collect(),
            Kind::Related(start) => self.shown_root(part, start.as_deref()),
            Kind::Alternative => self.best(part),
            Kind::Opaque => Vec::new(),
        }
    }

    /// The root of a multipart/related (RFC 2387), or, if the root cannot be shown, the next part
    /// that can.
    fn shown_root(&self, part: &Part<'_>, start: Option<&str>) -> Vec<usize> {
        let is_start = |&&child: &&usize| {
            start.is_some_and(|start| {
                self.structure.parts[child]
                    .content_id
                    .is_some_and(|id| id == without_brackets(start.as_bytes()))
            })
        };
        let root = part.children.iter().find(is_start);
        // Each once: a root that cannot be shown may be as deep as the message.
        let mut candidates = root
            .into_iter()
            .chain(part.children.iter().filter(|&child| Some(child) != root));
        let shown =
            |&child: &usize| Some(self.shown(child, true)).filter(|shown| !shown.is_empty());
        candidates.find_map(shown).unwrap_or_default()
    }

    /// The last alternative that the view can show (RFC 2046, section 5.1.4) and that is not empty;
    /// if there is none, the last one.
    fn best(&self, part: &Part<'_>) -> Vec<usize> {
        let alternatives = part
            .children
            .iter()
            .filter(|&&child| !self.is_beyond_us(child));
        let mut shown: Vec<_> = alternatives.map(|&child| self.shown(child, true)).collect();
        shown.retain(|shown| shown.iter().any(|&part| !self.is_blank(part)));
        let has_html = |shown: &[usize]| {
            shown
                .iter()
                .any(|&part| self.structure.parts[part].kind == Kind::Html)
        };
        let understood = |shown: &Vec<usize>| has_html(shown) == (self.view == View::Html);
        let best = shown
            .iter()
            .rposition(understood)
            .or(shown.len().checked_sub(1));
        best.map(|best| shown.swap_remove(best)).unwrap_or_default()
    }

    fn is_blank(&self, index: usize) -> bool {
        *self
            .blank
            .borrow_mut()
            .entry(index)
            .or_insert_with(|| is_blank(&self.structure.parts[index]))
    }

    /// Whether a multipart has rich text that is not supported, so that its other parts are not the
    /// whole text.
    fn is_beyond_us(&self, index: usize) -> bool {
        let is_unknown_text = |&child: &usize| {
            let part = &self.structure.parts[child];
            part.kind == Kind::Opaque && !part.attachment && is_rich_text(&part.content_type.value)
        };
        let part = &self.structure.parts[index];
        part.kind == Kind::Multipart && part.children.iter().any(is_unknown_text)
    }
}

fn is_rich_text(content_type: &str) -> bool {
    matches!(
        content_type,
        "text/richtext" | "text/enriched" | "text/rtf" | "application/rtf"
    )
}

/// Whether a part is empty. A large part is not checked.
fn is_blank(part: &Part<'_>) -> bool {
    part.body.trim_ascii().is_empty()
        || part.body.len() <= BLANK_BYTES && part.encoding.decode(part.body).trim_ascii().is_empty()
}

/// The decoded parts, joined, up to `limit` bytes.
fn joined(structure: &Structure<'_>, parts: impl Iterator<Item = usize>, limit: usize) -> String {
    let mut joined = String::new();
    for part in parts {
        let text = decoded(&structure.parts[part], limit);
        if joined.is_empty() {
            joined = text;
        } else if !text.is_empty() && joined.len() < limit {
            joined.push('\n');
            joined.push_str(&text);
        }
    }
    cut(&mut joined, limit);
    joined
}

/// The text of a part: decoded, with `
/// ` as line end and none at the end, without NUL.
fn decoded(part: &Part<'_>, limit: usize) -> String {
    let bytes = start_of(part, limit);
    let label = part.content_type.parameter("charset");
    let declared = if label.is_none() && part.kind == Kind::Html {
        html::declared_charset(&bytes)
    } else {
        None
    };
    let mut text = normalized(charset::decode(bytes, label.or(declared.as_deref())));
    let is = |name: &str, value: &str| {
        part.content_type
            .parameter(name)
            .is_some_and(|given| given.trim().eq_ignore_ascii_case(value))
    };
    if part.kind == Kind::Plain && is("format", "flowed") {
        text = flowed::unwrapped(&text, is("delsp", "yes"));
    }
    text.truncate(text.trim_end_matches('\n').len());
    text
}

/// The bytes of a part without its transfer encoding. If only the start of the text is needed, the
/// rest of a long part is not decoded.
fn start_of<'a>(part: &Part<'a>, limit: usize) -> Cow<'a, [u8]> {
    let encoded = &part.body[..part.body.len().min(limit.saturating_mul(ENCODED))];
    let mut bytes = part.encoding.decode(encoded);
    if encoded.len() < part.body.len()
        && let Err(error) = std::str::from_utf8(&bytes)
        && error.error_len().is_none()
    {
        // Half a character at the end would make the text look as if it were not UTF-8.
        bytes.to_mut().truncate(error.valid_up_to());
    }
    bytes
}

/// Converts line ends to `
/// `, and NUL, which databases do not store, to a replacement character.
fn normalized(text: String) -> String {
    let text = if text.contains('\0') {
        without_nul(&text)
    } else {
        text
    };
    let Some(first) = text.find('\r') else {
        return text;
    };
    let mut bytes = text.into_bytes();
    let mut read = first;
    let mut written = first;
    // Each round starts at a CR and copies the text up to the next CR.
    while read < bytes.len() {
        if bytes.get(read + 1) != Some(&b'\n') {
            bytes[written] = b'\n';
            written += 1;
        }
        read += 1;
        if bytes.get(read) == Some(&b'\r') {
            // Lines without text need no search.
            continue;
        }
        let run = memchr::memchr(b'\r', &bytes[read..]).unwrap_or(bytes.len() - read);
        bytes.copy_within(read..read + run, written);
        (read, written) = (read + run, written + run);
    }
    bytes.truncate(written);
    String::from_utf8(bytes).unwrap_or_default()
}

fn without_nul(text: &str) -> String {
    let grown = text.len() + text.bytes().filter(|&byte| byte == 0).count() * 2;
    let mut replaced = String::with_capacity(grown.min(BODY_BYTES));
    for (index, piece) in text.split('\0').enumerate() {
        if replaced.len() + piece.len() + char::len_utf8('\u{FFFD}') > BODY_BYTES {
            break;
        }
        if index > 0 {
            replaced.push('\u{FFFD}');
        }
        replaced.push_str(piece);
    }
    replaced
}

/// Shortens `text` to at most `limit` bytes.
pub(super) fn cut(text: &mut String, limit: usize) {
    text.truncate(text.floor_char_boundary(limit));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_endings_are_normalized() {
        assert_eq!(normalized("a\r\nb\rc\nd\r".to_owned()), "a\nb\nc\nd\n");
        assert_eq!(
            normalized("\r\r\n\r\rä\r\n\r\n\r".to_owned()),
            "\n\n\n\nä\n\n\n"
        );
        assert_eq!(normalized("a\0b".to_owned()), "a\u{FFFD}b");
    }
}
