//! Finds which HTML and CSS features a message uses, and how many mail clients support each. The
//! table is derived from caniemail.com.
//!
//! Features are recognised only by the names of elements, attributes, properties, at-rules, units
//! and functions. The table lists the names of each feature.

use std::collections::HashMap;
use std::sync::LazyLock;

use html5gum::{DefaultEmitter, HtmlString, StartTag, Token, Tokenizer};

use super::problems::{CheckName, PartName, Problems, Severity};
use crate::css;

const TABLE: &str = include_str!("../../data/caniemail.txt");
/// Maximum number of clients that are named in a problem.
const MAX_NAMED: usize = 4;
/// Features whose lack a reader does not see. They are listed, but are no problem: nearly all good
/// mail uses the first two. Clients open links outside the message in any case; the shape of the
/// pointer and whether text can be selected are not seen on a telephone; an image that is not
/// loaded late is loaded.
const UNSEEN: [&str; 4] = [
    "html-target",
    "css-cursor",
    "css-user-select",
    "html-loading-attribute",
];

static FEATURES: LazyLock<Table> = LazyLock::new(|| Table::read(TABLE));

/// The table: the clients, the features, and the feature of each name.
#[derive(Default)]
struct Table {
    clients: Vec<&'static str>,
    features: Vec<Feature>,
    by_name: HashMap<&'static str, usize>,
}

struct Feature {
    slug: &'static str,
    title: &'static str,
    /// One letter per client.
    support: &'static str,
}

/// The features of the HTML of a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HtmlSupport {
    /// The features that some clients do not support, the least supported first.
    pub features: Vec<Used>,
    /// The number of features that every client supports.
    pub supported: usize,
}

/// A feature that a message uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Used {
    /// Its name at caniemail.com: `https://www.caniemail.com/features/{slug}/`.
    pub slug: &'static str,
    /// Its title.
    pub title: &'static str,
    /// How many clients support it.
    pub yes: usize,
    /// How many clients support it partially.
    pub partly: usize,
    /// The clients that do not support it.
    pub no: Vec<&'static str>,
    /// Where it is used first: a byte offset in the HTML, and the number of the line.
    pub offset: usize,
    /// The number of that line, from 1.
    pub line: usize,
}

impl Table {
    fn read(text: &'static str) -> Self {
        let mut table = Self::default();
        for line in text.lines() {
            let (kind, rest) = line.split_once(' ').unwrap_or_default();
            match kind {
                "client" => table.clients.push(rest),
                "feature" => {
                    let (slug, support) = rest.split_once(' ').unwrap_or((rest, ""));
                    table.features.push(Feature {
                        slug,
                        title: slug,
                        support,
                    });
                }
                "title" => table
                    .features
                    .last_mut()
                    .into_iter()
                    .for_each(|feature| feature.title = rest),
                "by" => {
                    let last = table.features.len().saturating_sub(1);
                    table
                        .by_name
                        .extend(rest.split(' ').map(|name| (name, last)));
                }
                _ => {}
            }
        }
        table
    }

    fn used(&self, index: usize, offset: usize, line: usize) -> Used {
        let Feature {
            slug,
            title,
            support,
        } = self.features[index];
        let of = |letter: u8| support.bytes().filter(move |one| *one == letter).count();
        let clients = self.clients.iter().zip(support.bytes());
        let no = clients
            .filter(|(_, letter)| *letter == b'n')
            .map(|(client, _)| *client)
            .collect();
        Used {
            slug,
            title,
            yes: of(b'y'),
            partly: of(b'a'),
            no,
            offset,
            line,
        }
    }
}

/// Finds the features that a page uses.
pub(super) fn check(html: &str) -> HtmlSupport {
    let mut found = Found::default();
    let mut emitter = DefaultEmitter::<usize>::new_with_span();
    emitter.naively_switch_states(true);
    for Ok(token) in Tokenizer::new_with_emitter(html, emitter) {
        found.token(&token);
    }
    let mut places: Vec<(usize, usize)> = found
        .features
        .into_iter()
        .map(|(index, offset)| (offset, index))
        .collect();
    places.sort_unstable();
    let mut line = 1;
    let mut counted = 0;
    let used = places.into_iter().map(|(offset, index)| {
        let offset = offset.min(html.len());
        line += memchr::memchr_iter(b'\n', &html.as_bytes()[counted..offset]).count();
        counted = offset;
        FEATURES.used(index, offset, line)
    });
    HtmlSupport::of(used.collect())
}

/// Warns of the features that most clients do not support, if the reader sees it.
pub(super) fn warn(support: &HtmlSupport, problems: &mut Problems<'_>) {
    problems.start(CheckName::HtmlSupport);
    let is_missed =
        |used: &&Used| used.no.len() > used.yes + used.partly && !UNSEEN.contains(&used.slug);
    for used in support.features.iter().filter(is_missed) {
        let named = used
            .no
            .iter()
            .take(MAX_NAMED)
            .copied()
            .collect::<Vec<_>>()
            .join(", ");
        let count = used.no.len();
        let more = if count > MAX_NAMED { " and others" } else { "" };
        let detail = format!(
            "{} is not supported by {count} of {} clients: {named}{more}.",
            used.title,
            used.clients()
        );
        problems.at(Severity::Warning, PartName::Html, used.offset, detail);
    }
}

impl HtmlSupport {
    fn of(used: Vec<Used>) -> Self {
        let (mut features, all): (Vec<Used>, Vec<Used>) = used
            .into_iter()
            .partition(|feature| feature.partly > 0 || !feature.no.is_empty());
        features.sort_by_key(|feature| {
            (
                std::cmp::Reverse(feature.no.len()),
                feature.yes,
                feature.slug,
            )
        });
        Self {
            features,
            supported: all.len(),
        }
    }

    /// The average over all features: how many percent of the clients support one.
    #[must_use]
    pub fn percent(&self) -> u8 {
        let count = self.features.len() + self.supported;
        let part = |used: &Used| (200 * used.yes + 100 * used.partly) / (2 * used.clients()).max(1);
        let total = self.features.iter().map(part).sum::<usize>() + 100 * self.supported;
        u8::try_from(total.checked_div(count).unwrap_or(100)).unwrap_or(100)
    }
}

impl Used {
    /// How many clients were tested.
    #[must_use]
    pub fn clients(&self) -> usize {
        self.yes + self.partly + self.no.len()
    }
}

#[derive(Default)]
struct Found {
    /// The features, with the offset of the first use.
    features: HashMap<usize, usize>,
    /// The offset of the current token.
    offset: usize,
    /// Whether the content of a `style` element is being read.
    in_style: bool,
}

impl Found {
    fn name(&mut self, name: &str) {
        if let Some(feature) = FEATURES.by_name.get(name) {
            self.features.entry(*feature).or_insert(self.offset);
        }
    }

    fn token(&mut self, token: &Token<usize>) {
        match token {
            Token::StartTag(tag) => {
                self.offset = tag.span.start;
                self.tag(tag);
            }
            Token::EndTag(_) => self.in_style = false,
            Token::String(text) if self.in_style => {
                self.offset = text.span.start;
                css::names_of_sheet(&String::from_utf8_lossy(text), &mut |name| self.name(name));
            }
            Token::Doctype(doctype) => {
                self.offset = doctype.span.start;
                self.name("doctype");
            }
            Token::Comment(comment) => {
                self.offset = comment.span.start;
                self.name("comment");
            }
            Token::String(_) | Token::Error(_) => {}
        }
    }

    fn tag(&mut self, tag: &StartTag<usize>) {
        let element = String::from_utf8_lossy(&tag.name).into_owned();
        self.name(&format!("el:{element}"));
        self.in_style = element == "style";
        let attribute = |wanted: &str| {
            let found = tag
                .attributes
                .get(&HtmlString::from(wanted.as_bytes().to_vec()));
            found.map(|value| String::from_utf8_lossy(value).trim().to_ascii_lowercase())
        };
        if element == "img" {
            self.image(&attribute("src").unwrap_or_default());
        }
        if let Some(kind) =
            attribute("type").filter(|_| matches!(element.as_str(), "input" | "button"))
        {
            self.name(&format!("el:{element}[{kind}]"));
        }
        if element == "meta" && attribute("name").is_some_and(|name| name.contains("color-scheme"))
        {
            self.name("meta:color-scheme");
        }
        match attribute("href").unwrap_or_default() {
            href if href.starts_with('#') => self.name("href:#"),
            href if href.starts_with("mailto:") => self.name("href:mailto"),
            _ => {}
        }
        for (name, value) in &tag.attributes {
            self.name(&format!("attr:{}", String::from_utf8_lossy(name)));
            if name.as_slice() == b"style" {
                let value = String::from_utf8_lossy(value);
                css::names_of_declarations(&value, &mut |name| self.name(name));
            }
        }
    }

    fn image(&mut self, source: &str) {
        if let Some(data) = source.strip_prefix("data:image/") {
            self.name("img:data");
            let kind = data.split([';', ',', '+']).next().unwrap_or_default();
            self.name(&format!("img:{kind}"));
            return;
        }
        let path = source.split(['?', '#']).next().unwrap_or_default();
        if let Some((_, extension)) = path.rsplit_once('.') {
            self.name(&format!("img:{extension}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slugs(html: &str) -> Vec<&'static str> {
        let mut slugs: Vec<_> = check(html)
            .features
            .iter()
            .map(|feature| feature.slug)
            .collect();
        slugs.sort_unstable();
        slugs
    }

    #[test]
    fn the_table_is_complete() {
        assert!(FEATURES.features.len() > 280, "{}", FEATURES.features.len());
        for feature in &FEATURES.features {
            assert_eq!(
                feature.support.len(),
                FEATURES.clients.len(),
                "{}",
                feature.slug
            );
            assert_ne!(feature.title, "");
        }
        assert!(UNSEEN.iter().all(|slug| {
            FEATURES
                .features
                .iter()
                .any(|feature| feature.slug == *slug)
        }));
        assert!(
            FEATURES
                .by_name
                .values()
                .all(|index| *index < FEATURES.features.len())
        );
    }

    #[test]
    fn features_are_found_in_styles_attributes_and_elements() {
        let html = "<!doctype html><style>@media (prefers-color-scheme: dark) { .a:hover { color: var(--x) } }\
                    .b > p { width: calc(1rem + 2vw); box-shadow: 0 0 1px #000 }</style>\
                    <div style='display: flex; border-radius: 3px'><video></video>\
                    <img src='a.webp?x' loading=lazy></div>";
        let found = slugs(html);
        for slug in [
            "css-at-media",
            "css-at-media-prefers-color-scheme",
            "css-pseudo-class-hover",
            "css-variables",
            "css-unit-calc",
            "css-unit-rem",
            "css-unit-vw",
            "css-box-shadow",
            "css-selector-child",
            "css-display-flex",
            "css-border-radius",
            "html-video",
            "html-loading-attribute",
            "image-webp",
        ] {
            assert!(found.contains(&slug), "{slug}: {found:?}");
        }
        assert!(
            !found.contains(&"css-display-grid") && !found.contains(&"html-audio"),
            "{found:?}"
        );
    }

    #[test]
    fn the_least_supported_comes_first() {
        let check = check("<div style='display:flex;box-shadow:none;clip-path:none'></div>");
        let no: Vec<usize> = check
            .features
            .iter()
            .map(|feature| feature.no.len())
            .collect();
        assert!(
            no.len() == 3 && no.is_sorted_by(|one, next| one >= next),
            "{no:?}"
        );
        assert!(
            check.features[0]
                .no
                .iter()
                .any(|client| client.starts_with("Outlook"))
        );
    }

    #[test]
    fn a_feature_has_its_first_line_and_the_page_a_percentage() {
        let support = check(
            "<p>
<div style='display:flex'></div>
<div style='display:flex'></div>",
        );
        let flex = support
            .features
            .iter()
            .find(|feature| feature.slug == "css-display-flex")
            .unwrap();
        assert_eq!((flex.line, flex.offset), (2, 4));
        assert!(
            (50..100).contains(&support.percent()),
            "{}",
            support.percent()
        );
        assert_eq!(HtmlSupport::default().percent(), 100);
    }
}
