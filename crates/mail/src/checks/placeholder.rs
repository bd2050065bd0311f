//! What a template engine should have filled: `{{name}}`, `undefined`, and others.

use restante_api::{CheckName, Severity, SourcePart};

use super::Mail;
use super::decoded::Decoded;
use super::problems::{Problems, quoted};
use crate::header;
use crate::links;

/// Maximum number of bytes between the two ends of a placeholder.
const INNER_BYTES: usize = 100;
/// Placeholders with two ends.
const PAIRS: [(&str, &str); 8] = [
    ("{{", "}}"),
    ("{%", "%}"),
    ("${", "}"),
    ("#{", "}"),
    ("<%", "%>"),
    ("[[", "]]"),
    ("*|", "|*"),
    ("__(", ")"),
];
/// Words before a name. An empty value after them is a mistake.
const GREETINGS: [&str; 14] = [
    "hi", "hello", "hey", "dear", "welcome", "hallo", "bonjour", "hola", "ciao", "olá", "liebe",
    "lieber", "cher", "thanks",
];

pub(super) fn check(mail: &Mail<'_>, problems: &mut Problems<'_>) {
    problems.start(CheckName::Placeholder);
    if let Some(field) = mail
        .structure
        .fields
        .iter()
        .find(|field| field.is("subject"))
    {
        let at = mail.offset(field.name);
        let subject = header::text(field.bounded_value());
        for Found {
            shown, severity, ..
        } in find(&subject)
        {
            problems.at(
                severity,
                SourcePart::Header,
                at,
                format!("The subject contains {shown}."),
            );
        }
    }
    for Found {
        offset,
        shown,
        severity,
    } in find(mail.text)
    {
        problems.at(
            severity,
            SourcePart::Text,
            offset,
            format!("The text contains {shown}."),
        );
    }
    for text in &mail.page.texts {
        let source = mail.html.get(text.place.clone()).unwrap_or_default();
        let mut decoded = Decoded::new(source, &text.text);
        for Found {
            offset,
            shown,
            severity,
        } in find(&text.text)
        {
            // A mail to developers may show a template, and a hidden text may be for one client
            // only.
            let severity = if text.is_aside {
                Severity::Warning
            } else {
                severity
            };
            let at = text.place.start + decoded.in_source(offset);
            problems.at(
                severity,
                SourcePart::Html,
                at,
                format!("The HTML contains {shown}."),
            );
        }
    }
    for link in &mail.page.links {
        if let Some((severity, found)) = in_link(&link.href) {
            let detail = format!("The link {} contains {found}.", quoted(&link.href));
            problems.at(severity, SourcePart::Html, link.offset, detail);
        }
    }
    for image in &mail.page.images {
        if let Some((severity, found)) = in_link(&image.source) {
            let detail = format!(
                "The address of the image {} contains {found}.",
                quoted(&image.source)
            );
            problems.at(severity, SourcePart::Html, image.offset, detail);
        }
    }
    for range in links::urls(mail.text) {
        let url = &mail.text[range.clone()];
        if let Some((severity, word)) = empty_value(url) {
            let detail = format!("The link {} contains {word}.", quoted(url));
            problems.at(severity, SourcePart::Text, range.start, detail);
        }
    }
}

/// A placeholder.
struct Found {
    offset: usize,
    /// As the detail shows it.
    shown: String,
    severity: Severity,
}

fn find(text: &str) -> Vec<Found> {
    let mut found = Vec::new();
    for (start, end) in PAIRS {
        // Each search goes on after the last, so the time is linear.
        let mut from = 0;
        while let Some(position) = text[from..].find(start) {
            let at = from + position;
            from = at + start.len();
            let limit = text.floor_char_boundary(from + INNER_BYTES);
            let Some(length) = text[from..limit].find(end) else {
                continue;
            };
            let inner = &text[from..from + length];
            if is_expression(start, inner) {
                let whole = &text[at..from + length + end.len()];
                found.push(Found {
                    offset: at,
                    shown: quoted(whole),
                    severity: Severity::Error,
                });
                from += length + end.len();
            }
        }
    }
    merge_tags(text, &mut found);
    single_braces(text, &mut found);
    words(text, &mut found);
    found.sort_by_key(|found| found.offset);
    found
}

/// Whether a placeholder has this between its ends.
fn is_expression(start: &str, inner: &str) -> bool {
    let trimmed = inner.trim();
    let has_letter = trimmed.chars().any(char::is_alphabetic);
    let is_name = |text: &str| {
        text.chars()
            .all(|one| one.is_alphanumeric() || "_.-: ".contains(one))
    };
    match start {
        "[[" | "*|" | "${" | "#{" => has_letter && is_name(trimmed) && !inner.contains('\n'),
        "__(" => trimmed.starts_with(['\'', '"']),
        _ => has_letter,
    }
}

/// `%NAME%` and `%recipient.name%`, but no percentages and no encoded bytes.
fn merge_tags(text: &str, found: &mut Vec<Found>) {
    let mut previous: Option<usize> = None;
    for (at, _) in text.match_indices('%') {
        let Some(start) = previous.replace(at) else {
            continue;
        };
        let inner = &text[start + 1..at];
        let is_tag = (3..=40).contains(&inner.len())
            && inner
                .bytes()
                .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
            && inner
                .bytes()
                .next()
                .is_some_and(|byte| byte.is_ascii_uppercase())
            || inner.starts_with("recipient.") && inner.len() < 40 && !inner.contains(' ');
        let follows_word = text[..start]
            .chars()
            .next_back()
            .is_some_and(char::is_alphanumeric);
        if is_tag && !follows_word {
            found.push(Found {
                offset: start,
                shown: quoted(&text[start..=at]),
                severity: Severity::Error,
            });
            previous = None;
        }
    }
}

/// `{name}`: of Python and of many translations, but also of other things.
fn single_braces(text: &str, found: &mut Vec<Found>) {
    for (at, _) in text.match_indices('{') {
        let before = text[..at].chars().next_back();
        if matches!(before, Some('{' | '$' | '#')) {
            continue;
        }
        let rest = &text[at + 1..text.floor_char_boundary(at + 40)];
        let Some(length) = rest.find('}') else {
            continue;
        };
        let inner = &rest[..length];
        let is_name = inner.chars().next().is_some_and(char::is_alphabetic)
            && inner
                .chars()
                .all(|one| one.is_ascii_alphanumeric() || matches!(one, '_' | '.'));
        if is_name && !rest[length..].starts_with("}}") {
            let shown = quoted(&text[at..at + length + 2]);
            found.push(Found {
                offset: at,
                shown,
                severity: Severity::Warning,
            });
        }
    }
}

/// Values that programs print when there is none.
fn words(text: &str, found: &mut Vec<Found>) {
    for word in [
        "undefined",
        "[object Object]",
        "NaN",
        "None",
        "null",
        "nil",
        "(null)",
    ] {
        for (at, _) in text.match_indices(word) {
            let before = &text[..at];
            let after = &text[at + word.len()..];
            let joins = |one: Option<char>| {
                one.is_some_and(|one| one.is_alphanumeric() || one == '_' || one == '-')
            };
            if joins(before.chars().next_back()) || joins(after.chars().next()) {
                continue;
            }
            let is_certain = word == "[object Object]";
            if is_certain || stands_for_value(before, after) {
                found.push(Found {
                    offset: at,
                    shown: quoted(word),
                    severity: Severity::Error,
                });
            } else if word == "undefined" || word == "NaN" {
                found.push(Found {
                    offset: at,
                    shown: quoted(word),
                    severity: Severity::Warning,
                });
            }
        }
    }
}

/// Whether a word stands where a value should: after a greeting, a colon or a currency, and not
/// within a sentence.
fn stands_for_value(before: &str, after: &str) -> bool {
    // A line may be as long as the message.
    let before = &before[before.floor_char_boundary(before.len().saturating_sub(INNER_BYTES))..];
    let after = &after[..after.floor_char_boundary(INNER_BYTES)];
    let line = before.rsplit('\n').next().unwrap_or_default().trim_end();
    let rest = after.split('\n').next().unwrap_or_default();
    let ends =
        rest.trim_start().is_empty() || rest.starts_with([',', '.', '!', '?', ';', ')', '"', '\'']);
    let last_word = line
        .rsplit(char::is_whitespace)
        .next()
        .unwrap_or_default()
        .to_lowercase();
    let is_greeted =
        GREETINGS.contains(&last_word.trim_matches(|one: char| !one.is_alphanumeric()));
    let is_labelled = line.ends_with([':', '=', '#', '$', '€', '£']);
    ends && (is_greeted || is_labelled)
}

/// What a link contains that should have been filled.
fn in_link(href: &str) -> Option<(Severity, String)> {
    let decoded = decoded(href);
    for (start, end) in PAIRS {
        if let Some(at) = decoded.find(start)
            && let Some(length) = decoded[at + start.len()..].find(end)
            && is_expression(start, &decoded[at + start.len()..][..length])
        {
            let whole = &decoded[at..at + start.len() + length + end.len()];
            return Some((Severity::Error, quoted(whole)));
        }
    }
    empty_value(href).map(|(severity, word)| (severity, word.to_owned()))
}

/// What programs print when there is no value, as a value in the query. In the path, a good link
/// may have it: a page of a manual about `null`. In the fragment, it is a name on that page.
fn empty_value(url: &str) -> Option<(Severity, &'static str)> {
    let decoded = decoded(url);
    if decoded.contains("[object Object]") {
        return Some((Severity::Error, "`[object Object]`"));
    }
    let (_, rest) = decoded.split_once("://").unwrap_or(("", &decoded));
    let (rest, _) = rest.split_once('#').unwrap_or((rest, ""));
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    let values = query
        .split('&')
        .filter_map(|pair| Some(pair.split_once('=')?.1));
    let in_query = values
        .filter_map(printed_for_none)
        .map(|word| (Severity::Error, word))
        .next();
    in_query.or_else(|| {
        path.split('/')
            .skip(1)
            .find_map(printed_for_none)
            .map(|word| (Severity::Warning, word))
    })
}

fn printed_for_none(part: &str) -> Option<&'static str> {
    match part {
        "undefined" => Some("`undefined`"),
        "null" => Some("`null`"),
        "NaN" => Some("`NaN`"),
        "None" => Some("`None`"),
        _ => None,
    }
}

/// The characters of placeholders, decoded.
fn decoded(url: &str) -> String {
    if !url.contains('%') {
        return url.to_owned();
    }
    let mut text = url.to_owned();
    for (code, character) in [
        ("%7B", "{"),
        ("%7b", "{"),
        ("%7D", "}"),
        ("%7d", "}"),
        ("%20", " "),
        ("%5B", "["),
        ("%5b", "["),
        ("%5D", "]"),
        ("%5d", "]"),
    ] {
        text = text.replace(code, character);
    }
    text
}
