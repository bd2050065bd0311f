//! Finds which HTML and CSS features a message uses, and how many mail clients support each. The
//! table is derived from caniemail.com.
//!
//! Features are recognised only by the names of elements, attributes, properties, at-rules, units
//! and functions. The table lists the names of each feature.

use std::collections::HashMap;
use std::sync::LazyLock;

use html5gum::{HtmlString, StartTag, Token};
use restante_api::{CheckName, HtmlFeature, HtmlSupport, Severity, SourcePart};

use super::problems::Problems;
use crate::css;
use crate::html::tokens;

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

    fn used(&self, index: usize, line: usize) -> HtmlFeature {
        let Feature {
            slug,
            title,
            support,
        } = self.features[index];
        let of = |letter: u8| support.bytes().filter(move |one| *one == letter).count();
        let clients = self.clients.iter().zip(support.bytes());
        let no = clients.filter(|(_, letter)| *letter == b'n');
        HtmlFeature {
            slug: slug.to_owned(),
            title: title.to_owned(),
            yes: of(b'y'),
            partly: of(b'a'),
            no: no.map(|(client, _)| (*client).to_owned()).collect(),
            line,
        }
    }
}

/// Finds the features that a page uses, and warns of those that most clients do not support, if the
/// reader sees it.
pub(super) fn check(html: &str, problems: &mut Problems<'_>) -> HtmlSupport {
    problems.start(CheckName::HtmlSupport);
    let mut used = used(html);
    let percent = |(feature, _): &(HtmlFeature, usize)| {
        let HtmlFeature { yes, partly, .. } = feature;
        (200 * yes + 100 * partly) / (2 * feature.clients()).max(1)
    };
    let total: usize = used.iter().map(percent).sum();
    let average = total.checked_div(used.len()).unwrap_or(100);
    used.retain(|(feature, _)| feature.partly > 0 || !feature.no.is_empty());
    used.sort_by(|(one, _), (other, _)| {
        let order = |one: &HtmlFeature| (std::cmp::Reverse(one.no.len()), one.yes);
        order(one)
            .cmp(&order(other))
            .then_with(|| one.slug.cmp(&other.slug))
    });
    for (feature, offset) in &used {
        if feature.no.len() > feature.yes + feature.partly && !UNSEEN.contains(&&*feature.slug) {
            warn(feature, *offset, problems);
        }
    }
    HtmlSupport {
        support_percent: u8::try_from(average).expect("an average of percentages is one"),
        features: used.into_iter().map(|(feature, _)| feature).collect(),
    }
}

/// The features that a page uses, each with the offset of its first use.
fn used(html: &str) -> Vec<(HtmlFeature, usize)> {
    let mut found = Found::default();
    for token in tokens(html) {
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
        (FEATURES.used(index, line), offset)
    });
    used.collect()
}

fn warn(feature: &HtmlFeature, offset: usize, problems: &mut Problems<'_>) {
    let count = feature.no.len();
    let named = feature.no[..count.min(MAX_NAMED)].join(", ");
    let more = if count > MAX_NAMED { " and others" } else { "" };
    let detail = format!(
        "{} is not supported by {count} of {} clients: {named}{more}.",
        feature.title,
        feature.clients()
    );
    problems.at(Severity::Warning, SourcePart::Html, offset, detail);
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

    fn support(html: &str) -> HtmlSupport {
        check(html, &mut Problems::new(b"", "", html))
    }

    fn slugs(html: &str) -> Vec<String> {
        let features = support(html).features;
        let mut slugs: Vec<_> = features.into_iter().map(|feature| feature.slug).collect();
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
            assert!(found.iter().any(|one| one == slug), "{slug}: {found:?}");
        }
        assert!(
            !found
                .iter()
                .any(|one| one == "css-display-grid" || one == "html-audio"),
            "{found:?}"
        );
    }

    #[test]
    fn the_least_supported_comes_first() {
        let check = support("<div style='display:flex;box-shadow:none;clip-path:none'></div>");
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
        let checked = support(
            "<p>
<div style='display:flex'></div>
<div style='display:flex'></div>",
        );
        let flex = checked
            .features
            .iter()
            .find(|feature| feature.slug == "css-display-flex")
            .unwrap();
        assert_eq!(flex.line, 2);
        let percent = checked.support_percent;
        assert!((50..100).contains(&percent), "{percent}");
        assert_eq!(support("").support_percent, 100);
    }
}
