//! The parts of a message and its raw octets as downloads. Their names come from the mail: they become neither paths nor
//! headers of its choice, and nothing of them is ever shown as anything but an image.

use std::sync::Arc;

use axum::Extension;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::HeaderValue;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use restante_mail::anatomy::{self, PartContent, PartSummary};

use super::failure::Failure;
use super::guard::Visit;
use super::inboxes::path_segment;
use super::when::size;
use crate::http::App;
use crate::http::error::Error;
use crate::memory::Room;
use crate::store::Source;

/// Even if a browser took a download for a page, it would run and load nothing.
const POLICY: &str = "default-src 'none'; sandbox";
const NAME_CHARACTERS: usize = 100;

/// A part as the list shows it.
pub(super) struct PartRow {
    pub(super) depth: usize,
    pub(super) content_type: String,
    pub(super) charset: String,
    pub(super) name: String,
    pub(super) size: String,
    pub(super) is_attachment: bool,
    /// Where it is downloaded; empty where it consists of other parts.
    pub(super) url: String,
    /// Where it is shown; empty where it is no image.
    pub(super) image_url: String,
}

pub(super) fn part_rows(parts: &[PartSummary], base: &str) -> Vec<PartRow> {
    /// Deeper parts are shown no further in.
    const DEEPEST: usize = 6;
    let rows = parts.iter().enumerate().map(|(index, part)| PartRow {
        depth: part.depth.min(DEEPEST),
        content_type: if part.content_type.is_empty() { "text/plain".to_owned() } else { part.content_type.clone() },
        charset: part.charset.clone().unwrap_or_default(),
        name: part.file_name.as_deref().map(safe_name).unwrap_or_default(),
        size: size(part.bytes as u64),
        is_attachment: part.is_attachment,
        url: if part.is_multipart { String::new() } else { format!("{base}/parts/{index}") },
        image_url: if part.is_image { format!("{base}/images/{index}") } else { String::new() },
    });
    rows.collect()
}

pub(super) async fn eml(
    State(app): State<Arc<App>>,
    Extension(visit): Extension<Arc<Visit>>,
) -> Result<Response, Failure> {
    let source = app.service.message_source(&visit.caller()?, visit.param("message")).await?;
    let name = format!("{}.eml", visit.param("message").to_ascii_lowercase());
    Ok(attachment("message/rfc822", &name, source.room.hold(source.raw))?)
}

pub(super) async fn download(
    State(app): State<Arc<App>>,
    Extension(visit): Extension<Arc<Visit>>,
) -> Result<Response, Failure> {
    let (part, room) = find(&app, &visit).await?;
    let name = part.file_name.as_deref().map(safe_name).filter(|name| !name.is_empty());
    let name = name.unwrap_or_else(|| format!("part-{}", visit.param("part")));
    Ok(attachment("application/octet-stream", &name, room.hold(part.bytes))?)
}

pub(super) async fn image(
    State(app): State<Arc<App>>,
    Extension(visit): Extension<Arc<Visit>>,
) -> Result<Response, Failure> {
    let (part, room) = find(&app, &visit).await?;
    let content_type = part.image_type.ok_or(Error::NotFound)?;
    let headers = [(CONTENT_TYPE, content_type), (CONTENT_SECURITY_POLICY, POLICY)];
    Ok((headers, room.hold(part.bytes)).into_response())
}

async fn find(app: &App, visit: &Visit) -> Result<(PartContent, Room), Error> {
    let index = visit.param("part").parse().map_err(|_| Error::NotFound)?;
    let Source { raw, room, .. } = app.service.message_source(&visit.caller()?, visit.param("message")).await?;
    let reading = tokio::task::spawn_blocking(move || anatomy::part(&raw, index));
    Ok((reading.await.map_err(Error::internal)?.ok_or(Error::NotFound)?, room))
}

fn attachment(content_type: &'static str, name: &str, octets: Bytes) -> Result<Response, Error> {
    let mut response = octets.into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(CONTENT_DISPOSITION, HeaderValue::try_from(disposition(name)).map_err(Error::internal)?);
    Ok(response)
}

/// The name for old clients, and in full (RFC 6266, section 4.3).
fn disposition(name: &str) -> String {
    let ascii: String = name.chars().map(|character| if is_plain(character) { character } else { '_' }).collect();
    format!("attachment; filename=\"{ascii}\"; filename*=UTF-8''{}", path_segment(name))
}

fn is_plain(character: char) -> bool {
    character.is_ascii_alphanumeric() || " ._-()".contains(character)
}

/// A file name from a mail, fit to be shown and saved: its last segment, without what a shell, a file system or the
/// direction of writing could make something else of.
pub(super) fn safe_name(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let harmless = |character: &char| {
        !character.is_control()
            && !"\"*:<>?|".contains(*character)
            && !matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    let name: String = last.chars().filter(harmless).take(NAME_CHARACTERS).collect();
    name.trim_matches([' ', '.']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_no_paths_and_hide_nothing() {
        for (name, safe) in [
            ("../../etc/passwd", "passwd"),
            ("C:\\x\\report.pdf", "report.pdf"),
            ("\u{202e}gpj.exe", "gpj.exe"),
            ("a\r\nSet-Cookie: b.txt", "aSet-Cookie b.txt"),
            (".htaccess", "htaccess"),
            ("<svg onload=alert(1)>.png", "svg onload=alert(1).png"),
            ("..", ""),
            ("Grüße.txt", "Grüße.txt"),
        ] {
            assert_eq!(safe_name(name), safe, "{name}");
        }
        assert_eq!(safe_name(&"a".repeat(500)).len(), NAME_CHARACTERS);
    }

    #[test]
    fn a_name_cannot_end_its_header() {
        assert_eq!(
            disposition("a\"; b é.txt"),
            "attachment; filename=\"a__ b _.txt\"; filename*=UTF-8''a%22%3B%20b%20%C3%A9.txt"
        );
    }
}
