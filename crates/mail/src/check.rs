//! Finds which HTML and CSS features a message uses, and how many mail clients support each. The table is derived from
//! caniemail.com.
//!
//! Features are recognised only by the names of elements, attributes, properties, at-rules, units and functions. The
//! table lists the names of each feature.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use html5gum::{DefaultEmitter, HtmlString, StartTag, Token, Tokenizer};

use crate::css;

const TABLE: &str = include_str!("../data/caniemail.txt");
/// Bytes of HTML that are checked.
const MAX_BYTES: usize = 1024 * 1024;

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

/// The result of checking the HTML of a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Check {
    /// The features that some clients do not support, the least supported first.
    pub features: Vec<Used>,
    /// The number of features that every client supports.
    pub supported: usize,
    /// The number of images.
    pub images: usize,
    /// The number of images without an `alt`.
    pub without_alt: usize,
    /// Whether the `html` element has a `lang`.
    pub has_language: bool,
    /// Whether there is a `title` that is not empty.
    pub has_title: bool,
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
                    table.features.push(Feature { slug, title: slug, support });
                }
                "title" => table.features.last_mut().into_iter().for_each(|feature| feature.title = rest),
                "by" => {
                    let last = table.features.len().saturating_sub(1);
                    table.by_name.extend(rest.split(' ').map(|name| (name, last)));
                }
                _ => {}
            }
        }
        table
    }

    fn used(&self, index: usize) -> Used {
        let Feature { slug, title, support } = self.features[index];
        let of = |letter: u8| support.bytes().filter(move |one| *one == letter).count();
        let clients = self.clients.iter().zip(support.bytes());
        let no = clients.filter(|(_, letter)| *letter == b'n').map(|(client, _)| *client).collect();
        Used { slug, title, yes: of(b'y'), partly: of(b'a'), no }
    }
}

/// Checks the HTML of a message.
#[must_use]
pub fn check(html: &str) -> Check {
    let html = &html[..html.floor_char_boundary(MAX_BYTES)];
    let mut found = Found::default();
    let mut emitter = DefaultEmitter::default();
    emitter.naively_switch_states(true);
    for Ok(token) in Tokenizer::new_with_emitter(html, emitter) {
        found.token(&token);
    }
    found.check.with_features(found.features.into_iter().map(|index| FEATURES.used(index)).collect())
}

impl Check {
    fn with_features(mut self, used: Vec<Used>) -> Self {
        let (mut partly, all): (Vec<Used>, Vec<Used>) =
            used.into_iter().partition(|feature| feature.partly > 0 || !feature.no.is_empty());
        partly.sort_by_key(|feature| (std::cmp::Reverse(feature.no.len()), feature.yes, feature.slug));
        self.supported = all.len();
        self.features = partly;
        self
    }
}

#[derive(Default)]
struct Found {
    check: Check,
    features: HashSet<usize>,
    /// The element whose text is being read, if its text is needed.
    inside: Option<HtmlString>,
}

impl Found {
    fn name(&mut self, name: &str) {
        self.features.extend(FEATURES.by_name.get(name));
    }

    fn token(&mut self, token: &Token) {
        match token {
            Token::StartTag(tag) => self.tag(tag),
            Token::EndTag(_) => self.inside = None,
            Token::String(text) => {
                let text = String::from_utf8_lossy(text);
                match self.inside.as_ref().map(|name| name.as_slice()) {
                    Some(b"style") => {
                        css::names_of_sheet(&text, &mut |name| self.features.extend(FEATURES.by_name.get(name)));
                    }
                    Some(b"title") => self.check.has_title |= !text.trim().is_empty(),
                    _ => {}
                }
            }
            Token::Doctype(_) => self.name("doctype"),
            Token::Comment(_) => self.name("comment"),
            Token::Error(_) => {}
        }
    }

    fn tag(&mut self, tag: &StartTag<()>) {
        let element = String::from_utf8_lossy(&tag.name).into_owned();
        self.name(&format!("el:{element}"));
        let kept = matches!(element.as_str(), "style" | "title");
        self.inside = kept.then(|| tag.name.clone());
        let attribute = |wanted: &str| {
            let found = tag.attributes.iter().find(|(name, _)| name.as_slice() == wanted.as_bytes());
            found.map(|(_, value)| String::from_utf8_lossy(value).trim().to_ascii_lowercase())
        };
        if element == "img" {
            self.check.images += 1;
            self.check.without_alt += usize::from(attribute("alt").is_none());
            self.image(&attribute("src").unwrap_or_default());
        }
        self.check.has_language |= element == "html" && attribute("lang").is_some_and(|lang| !lang.is_empty());
        if let Some(kind) = attribute("type").filter(|_| matches!(element.as_str(), "input" | "button")) {
            self.name(&format!("el:{element}[{kind}]"));
        }
        if element == "meta" && attribute("name").is_some_and(|name| name.contains("color-scheme")) {
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
                css::names_of_declarations(&value, &mut |name| self.features.extend(FEATURES.by_name.get(name)));
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
        let mut slugs: Vec<_> = check(html).features.iter().map(|feature| feature.slug).collect();
        slugs.sort_unstable();
        slugs
    }

    #[test]
    fn the_table_is_whole() {
        assert!(FEATURES.features.len() > 280, "{}", FEATURES.features.len());
        for feature in &FEATURES.features {
            assert_eq!(feature.support.len(), FEATURES.clients.len(), "{}", feature.slug);
            assert_ne!(feature.title, "");
        }
        assert!(FEATURES.by_name.values().all(|index| *index < FEATURES.features.len()));
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
        assert!(!found.contains(&"css-display-grid") && !found.contains(&"html-audio"), "{found:?}");
    }

    #[test]
    fn the_least_supported_comes_first() {
        let check = check("<div style='display:flex;box-shadow:none;clip-path:none'></div>");
        let no: Vec<usize> = check.features.iter().map(|feature| feature.no.len()).collect();
        assert!(no.len() == 3 && no.is_sorted_by(|one, next| one >= next), "{no:?}");
        assert!(check.features[0].no.iter().any(|client| client.starts_with("Outlook")));
    }

    #[test]
    fn what_readers_need_is_counted() {
        let whole = check("<html lang=en><title>Hi</title><img alt=''><img><img alt=x>");
        assert_eq!((whole.images, whole.without_alt, whole.has_language, whole.has_title), (3, 1, true, true));
        let bare = check("<html lang=''><title> </title>");
        assert!(!bare.has_language && !bare.has_title);
    }
}
