//! Images that are not shown, have no description, or are large.

use restante_api::{CheckName, Severity, SourcePart};

use super::Mail;
use super::problems::{Problems, quoted};

/// Images within the message of more bytes make it slow.
const INLINE_BYTES: usize = 500 * 1024;

pub(super) fn check(mail: &Mail<'_>, problems: &mut Problems<'_>) {
    problems.start(CheckName::Image);
    for image in &mail.page.images {
        let source = image.source.trim();
        let at = image.offset;
        let shown = if source.is_empty() {
            String::new()
        } else {
            format!(": {}", quoted(source))
        };
        if !image.has_alt {
            let detail = format!("An image has no alt attribute{shown}.");
            problems.at(Severity::Warning, SourcePart::Html, at, detail);
        }
        if !image.has_size {
            let detail = format!("An image has no width or height{shown}.");
            problems.at(Severity::Warning, SourcePart::Html, at, detail);
        }
        if let Some((severity, wrong)) = wrong(mail, source) {
            problems.at(severity, SourcePart::Html, at, format!("{wrong}{shown}."));
        }
    }
    let images = mail
        .structure
        .parts
        .iter()
        .filter(|part| part.content_id.is_some());
    // Three bytes take four characters in base64.
    let cids: usize = images
        .filter(|part| part.content_type.value.starts_with("image/"))
        .map(|part| part.body.len())
        .sum();
    let data: usize = mail
        .page
        .images
        .iter()
        .filter(|image| image.source.starts_with("data:"))
        .map(|image| image.source.len())
        .sum();
    let bytes = (cids + data) / 4 * 3;
    if bytes > INLINE_BYTES {
        let detail = format!(
            "The images within the message have {} KiB together.",
            bytes / 1024
        );
        problems.missing(Severity::Warning, detail);
    }
}

/// Why an image is not shown.
fn wrong(mail: &Mail<'_>, source: &str) -> Option<(Severity, &'static str)> {
    let lower = source.to_ascii_lowercase();
    let has_placeholder = ["{{", "{%", "${", "<%", "*|", "%7b%7b"]
        .iter()
        .any(|start| lower.contains(start));
    if has_placeholder {
        return None;
    }
    if let Some(id) = lower.strip_prefix("cid:") {
        let named = |given: &[u8]| given.eq_ignore_ascii_case(id.as_bytes());
        let is_there = mail
            .structure
            .parts
            .iter()
            .filter_map(|part| part.content_id)
            .any(named);
        // The id may be written with percent signs.
        return (!is_there && !id.contains('%'))
            .then_some((Severity::Error, "An image is not in the message"));
    }
    if source.is_empty() {
        return Some((Severity::Error, "An image has no address"));
    }
    if lower.starts_with("data:") || lower.starts_with("http://") || lower.starts_with("https://") {
        return None;
    }
    if lower.starts_with("//") {
        return Some((Severity::Error, "The address of an image has no scheme"));
    }
    if mail.page.has_base {
        return None;
    }
    Some((
        Severity::Error,
        "The address of an image is relative, so it is not shown",
    ))
}
