//! The structure of a message, for display: its header fields, every part, and the images that the
//! HTML shows.

use std::collections::HashMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::budget::{BODY_BYTES, Budget};
use crate::header;
use crate::parameters::percent_decoded;
use crate::structure::{Part, Structure};
use crate::{charset, encoded_word};

/// The image type that may contain scripts.
const SVG: &str = "image/svg+xml";
/// Image types that are displayed, because they cannot contain scripts.
const SHOWN_IMAGES: [&str; 5] = [
    "image/png",
    "image/jpeg",
    "image/gif",
    "image/webp",
    "image/bmp",
];
/// How many bytes longer the HTML may become when references are replaced by images, also in
/// relation to the message.
const GROWTH: usize = BODY_BYTES;
const GROWTH_RATIO: usize = 16;
/// The maximum number of header fields that are displayed.
const FIELDS: usize = 1_000;

/// The structure of a message. All of it is untrusted text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Anatomy {
    /// The first 1,000 fields of the header, decoded, each on one line.
    pub fields: Vec<(String, String)>,
    /// How many more fields there are.
    pub more_fields: usize,
    /// The parts, each before its children.
    pub parts: Vec<PartSummary>,
    /// The limit at which reading stopped, if the message was read only in part.
    pub over_budget: Option<Budget>,
}

/// A part without its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartSummary {
    /// The number of parts that contain it.
    pub depth: usize,
    /// For example `text/plain`, in lower case; empty if the part has no type.
    pub content_type: String,
    /// The charset of the part's header.
    pub charset: Option<String>,
    /// The decoded file name of the part's header; it is not safe as a path.
    pub file_name: Option<String>,
    /// Whether the part's header marks it as an attachment.
    pub is_attachment: bool,
    /// Whether it consists of other parts.
    pub is_multipart: bool,
    /// Whether it is an image that can be displayed.
    pub is_image: bool,
    /// The size of its decoded content in bytes; 0 if it consists of other parts.
    pub bytes: usize,
}

/// A part with its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartContent {
    /// The type, if it is an image that can be displayed.
    pub image_type: Option<&'static str>,
    /// The decoded file name of the part's header; it is not safe as a path.
    pub file_name: Option<String>,
    /// The decoded content.
    pub bytes: Vec<u8>,
}

/// Reads the structure of a message. Never fails, like [`super::parse`].
#[must_use]
pub fn dissect(raw: &[u8]) -> Anatomy {
    of(&Structure::read(raw))
}

pub(crate) fn of(structure: &Structure<'_>) -> Anatomy {
    let fields = structure.fields.iter().take(FIELDS).map(|field| {
        let name = charset::decode_unlabelled(field.name).into_owned();
        (name, header::text(field.bounded_value()))
    });
    let depths = depths(structure);
    let parts = structure
        .parts
        .iter()
        .zip(depths)
        .map(|(part, depth)| PartSummary {
            depth,
            content_type: part.content_type.value.clone(),
            charset: part.content_type.parameter("charset").map(str::to_owned),
            file_name: file_name(part),
            is_attachment: part.attachment,
            is_multipart: !part.children.is_empty(),
            is_image: image_type(part).is_some(),
            bytes: if part.children.is_empty() {
                part.encoding.decode(part.body).len()
            } else {
                0
            },
        });
    Anatomy {
        fields: fields.collect(),
        more_fields: structure.fields.len().saturating_sub(FIELDS),
        parts: parts.collect(),
        over_budget: structure.over_budget,
    }
}

/// The part at `index` of [`Anatomy::parts`].
#[must_use]
pub fn part(raw: &[u8], index: usize) -> Option<PartContent> {
    let structure = Structure::read(raw);
    let part = structure.parts.get(index)?;
    let bytes = part.encoding.decode(part.body).into_owned();
    Some(PartContent {
        image_type: image_type(part),
        file_name: file_name(part),
        bytes,
    })
}

/// Appends `html` to `page`, with the `cid:` references to images of the message (RFC 2392)
/// replaced by the images themselves, as far as the page has space for them.
pub(crate) fn push_with_images(
    page: &mut String,
    raw: &[u8],
    structure: &Structure<'_>,
    html: &str,
) {
    let images: HashMap<&[u8], &Part<'_>> = structure
        .parts
        .iter()
        .filter(|part| embedded_type(part).is_some())
        .filter_map(|part| Some((part.content_id?, part)))
        .collect();
    let limit = page.len() + html.len() + GROWTH.min(GROWTH_RATIO * raw.len());
    let mut rest = html;
    while let Some(start) = find_scheme(rest).filter(|_| !images.is_empty()) {
        let (before, reference) = rest.split_at(start);
        page.push_str(before);
        let id = &reference[4..];
        let id = &id[..id
            .find(|character: char| " \t\r\n\"'<>)&".contains(character))
            .unwrap_or(id.len())];
        match images.get(percent_decoded(id.as_bytes()).as_slice()) {
            Some(part) if page.len() + reference.len() + data_url_bytes(part) <= limit => {
                push_data_url(page, part);
                rest = &reference[4 + id.len()..];
            }
            // The search goes on after the id, so that the time is linear.
            _ => {
                page.push_str(&reference[..4 + id.len()]);
                rest = &reference[4 + id.len()..];
            }
        }
    }
    page.push_str(rest);
}

/// The position of the next `cid:`.
fn find_scheme(html: &str) -> Option<usize> {
    html.as_bytes()
        .windows(4)
        .position(|window| window.eq_ignore_ascii_case(b"cid:"))
}

/// The maximum number of bytes that [`push_data_url`] appends.
fn data_url_bytes(part: &Part<'_>) -> usize {
    part.encoding.most_decoded(part.body).div_ceil(3) * 4
        + "data:;base64,".len()
        + part.content_type.value.len()
}

fn push_data_url(page: &mut String, part: &Part<'_>) {
    // Doubling the buffer would need far more memory than the page.
    page.reserve_exact(data_url_bytes(part));
    page.push_str("data:");
    page.push_str(embedded_type(part).unwrap_or_default());
    page.push_str(";base64,");
    STANDARD.encode_string(part.encoding.decode(part.body), page);
}

/// The type of an image within the HTML. There, a browser runs no scripts of an SVG and loads
/// nothing for it.
fn embedded_type(part: &Part<'_>) -> Option<&'static str> {
    let is_svg = part.content_type.value == SVG;
    image_type(part).or(is_svg.then_some(SVG))
}

fn image_type(part: &Part<'_>) -> Option<&'static str> {
    SHOWN_IMAGES
        .into_iter()
        .find(|shown| part.content_type.value == *shown)
}

fn file_name(part: &Part<'_>) -> Option<String> {
    part.file_name
        .as_deref()
        .map(|name| encoded_word::decode(name).into_owned())
        .filter(|name| !name.trim().is_empty())
}

/// The number of parts that contain each part. A part precedes its children.
fn depths(structure: &Structure<'_>) -> Vec<usize> {
    let mut depths = vec![0; structure.parts.len()];
    for (index, part) in structure.parts.iter().enumerate() {
        for &child in &part.children {
            depths[child] = depths[index] + 1;
        }
    }
    depths
}

#[cfg(test)]
mod tests {
    use super::*;

    const MESSAGE: &[u8] = b"Subject: =?utf-8?q?caf=C3=A9?=\r\nContent-Type: multipart/related; boundary=b\r\n\r\n\
        --b\r\nContent-Type: text/html; charset=utf-8\r\n\r\n<img src=cid:a@b>\r\n\
        --b\r\nContent-Type: image/png; name=\"../../x.png\"\r\nContent-ID: <a@b>\r\n\
        Content-Transfer-Encoding: base64\r\n\r\niVBORw==\r\n\
        --b\r\nContent-Type: image/svg+xml\r\nContent-ID: <s>\r\nContent-Disposition: attachment\r\n\r\n<svg/>\r\n\
        --b--\r\n";

    fn with_images(raw: &[u8], html: &str) -> String {
        let mut page = String::new();
        push_with_images(&mut page, raw, &Structure::read(raw), html);
        page
    }

    #[test]
    fn a_message_is_split_into_fields_and_parts() {
        let anatomy = dissect(MESSAGE);
        assert_eq!(anatomy.fields[0], ("Subject".to_owned(), "café".to_owned()));
        let parts: Vec<_> = anatomy
            .parts
            .iter()
            .map(|part| (part.depth, part.content_type.as_str(), part.bytes))
            .collect();
        assert_eq!(
            parts,
            [
                (0, "multipart/related", 0),
                (1, "text/html", 17),
                (1, "image/png", 4),
                (1, "image/svg+xml", 6)
            ]
        );
        assert_eq!(anatomy.parts[2].file_name.as_deref(), Some("../../x.png"));
        assert!(
            anatomy.parts[2].is_image
                && !anatomy.parts[3].is_image
                && anatomy.parts[3].is_attachment
        );
        assert_eq!(part(MESSAGE, 2).unwrap().bytes, b"\x89PNG");
        assert_eq!(part(MESSAGE, 4), None);
    }

    #[test]
    fn only_images_of_the_message_replace_references() {
        let shown = |html: &str| with_images(MESSAGE, html);
        assert_eq!(
            shown("<img src='cid:a@b'>"),
            "<img src='data:image/png;base64,iVBORw=='>"
        );
        assert_eq!(
            shown("url(CID:a%40b)"),
            "url(data:image/png;base64,iVBORw==)"
        );
        assert_eq!(
            shown("<img src=cid:s>"),
            "<img src=data:image/svg+xml;base64,PHN2Zy8+>"
        );
        assert_eq!(shown("cid:none cid: é"), "cid:none cid: é");
        let bare = b"Content-Type: image/gif\r\nContent-ID: logo\r\n\r\nGIF";
        assert_eq!(
            with_images(bare, "<img src=cid:logo>"),
            "<img src=data:image/gif;base64,R0lG>"
        );
    }

    #[test]
    fn replaced_references_cannot_grow_the_html_without_limit() {
        let image = "A".repeat(1024 * 1024);
        let raw = format!("Content-Type: image/png\r\nContent-ID: <i>\r\n\r\n{image}");
        let html = "cid:i ".repeat(1_000);
        let shown = with_images(raw.as_bytes(), &html);
        assert!(
            (GROWTH / 2..=GROWTH + html.len()).contains(&shown.len()),
            "{}",
            shown.len()
        );
    }
}
