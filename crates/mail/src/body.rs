//! The body as a mail client shows it: which parts, in which order, as text and as HTML.

use crate::budget::{BODY_BYTES, Budget};
use crate::charset;
use crate::flowed;
use crate::html::{self, Page};
use crate::structure::{Kind, Part, Structure};

/// What a person would see.
#[derive(Default)]
pub(super) struct Body {
    /// Line ends are `\n`, none at the end.
    pub(super) text: String,
    /// Whether `text` was made from HTML alone.
    pub(super) text_is_from_html: bool,
    /// The HTML as it was sent, line ends `\n`, none at the end; empty where there is none.
    pub(super) html: String,
    /// What the HTML shows; its text is moved to `text` where that has no other.
    pub(super) page: Page,
    pub(super) over_budget: Option<Budget>,
}

/// Chooses the parts to show and decodes them.
pub(super) fn choose(structure: &Structure<'_>) -> Body {
    let mut body = Body::default();
    let html_view = Chooser { structure, view: View::Html, files: false }.shown_or_files();
    let text_view = Chooser { structure, view: View::Text, files: false }.shown_or_files();
    body.html = joined(structure, html_view.into_iter().filter(|&part| structure.parts[part].kind == Kind::Html));
    body.page = html::read(&body.html);
    body.text = joined(structure, text_view.iter().copied().filter(|&part| structure.parts[part].kind == Kind::Plain));
    let html_in_text: Vec<usize> =
        text_view.into_iter().filter(|&part| structure.parts[part].kind == Kind::Html).collect();
    if body.text.trim().is_empty() && !body.html.is_empty() {
        body.text = std::mem::take(&mut body.page.text);
        body.text_is_from_html = true;
    } else if !html_in_text.is_empty() {
        append_rendered(&mut body.text, structure, html_in_text);
    }
    if body.text.len() >= BODY_BYTES || body.html.len() >= BODY_BYTES {
        body.over_budget = Some(Budget::BodySize);
    }
    body
}

/// HTML that stands beside the text, not as its alternative, is shown after it, unless it only says the same again.
fn append_rendered(text: &mut String, structure: &Structure<'_>, parts: Vec<usize>) {
    let rendered = html::read(&joined(structure, parts.into_iter())).text;
    let squeezed = |text: &str| text.split_whitespace().collect::<String>();
    if !rendered.is_empty() && squeezed(&rendered) != squeezed(text) {
        text.push_str("\n\n");
        text.push_str(&rendered);
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum View {
    Text,
    Html,
}

/// Walks the parts as a client with or without HTML would.
struct Chooser<'a, 'b> {
    structure: &'b Structure<'a>,
    view: View,
    /// Whether parts with a file name are shown too.
    files: bool,
}

impl Chooser<'_, '_> {
    /// The parts to show, in order. Text with a file name is a file, unless there is nothing else.
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
        let children = || part.children.iter().map(|&child| self.shown(child, part.kind == Kind::Alternative));
        match &part.kind {
            Kind::Plain | Kind::Html if part.file_name.is_some() && !is_alternative && !self.files => Vec::new(),
            Kind::Plain | Kind::Html => vec![index],
            Kind::Multipart => children().flatten().collect(),
            Kind::Related(start) => self.shown_root(part, start.as_deref()),
            Kind::Alternative => self.best(children().filter(|shown| !shown.is_empty()).collect()),
            Kind::Opaque => Vec::new(),
        }
    }

    /// The root of a multipart/related (RFC 2387); the next part that can be shown where the root cannot.
    fn shown_root(&self, part: &Part<'_>, start: Option<&str>) -> Vec<usize> {
        let is_start = |&&child: &&usize| {
            start.is_some_and(|start| self.structure.parts[child].content_id.is_some_and(|id| id == start.as_bytes()))
        };
        let root = part.children.iter().find(is_start);
        let mut candidates = root.into_iter().chain(&part.children);
        let shown = |&child: &usize| Some(self.shown(child, true)).filter(|shown| !shown.is_empty());
        candidates.find_map(shown).unwrap_or_default()
    }

    /// The last alternative that the view understands (RFC 2046, section 5.1.4), else the last one.
    fn best(&self, mut alternatives: Vec<Vec<usize>>) -> Vec<usize> {
        let has_html = |shown: &[usize]| shown.iter().any(|&part| self.structure.parts[part].kind == Kind::Html);
        let understood = |shown: &Vec<usize>| has_html(shown) == (self.view == View::Html);
        let best = alternatives.iter().rposition(understood).or(alternatives.len().checked_sub(1));
        best.map(|best| alternatives.swap_remove(best)).unwrap_or_default()
    }
}

/// The decoded parts, one below the other.
fn joined(structure: &Structure<'_>, parts: impl Iterator<Item = usize>) -> String {
    let mut joined = String::new();
    for part in parts {
        let text = decoded(&structure.parts[part]);
        if joined.is_empty() {
            joined = text;
        } else if !text.is_empty() && joined.len() < BODY_BYTES {
            joined.push('\n');
            joined.push_str(&text);
        }
    }
    cut(&mut joined, BODY_BYTES);
    joined
}

/// The text of a part: decoded, line ends `\n`, none at the end, no NUL.
fn decoded(part: &Part<'_>) -> String {
    let bytes = part.encoding.decode(part.body);
    let label = part.content_type.parameter("charset").map(str::to_owned);
    let label = label.or_else(|| (part.kind == Kind::Html).then(|| html::declared_charset(&bytes)).flatten());
    let mut text = normalized(charset::decode(bytes, label.as_deref()));
    let is = |name: &str, value: &str| {
        part.content_type.parameter(name).is_some_and(|given| given.trim().eq_ignore_ascii_case(value))
    };
    if part.kind == Kind::Plain && is("format", "flowed") {
        text = flowed::unwrapped(&text, is("delsp", "yes"));
    }
    text.truncate(text.trim_end_matches('\n').len());
    text
}

/// Turns line ends into `\n` and NUL, which databases do not store, into a replacement character.
fn normalized(text: String) -> String {
    let text = if text.contains('\0') { without_nul(&text) } else { text };
    let Some(first) = text.find('\r') else { return text };
    let mut bytes = text.into_bytes();
    let (mut read, mut written) = (first, first);
    // Each round begins at a CR and takes over what stands up to the next.
    while read < bytes.len() {
        if bytes.get(read + 1) != Some(&b'\n') {
            bytes[written] = b'\n';
            written += 1;
        }
        read += 1;
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
    fn line_ends_become_one_kind() {
        assert_eq!(normalized("a\r\nb\rc\nd\r".to_owned()), "a\nb\nc\nd\n");
        assert_eq!(normalized("a\0b".to_owned()), "a\u{FFFD}b");
    }
}
