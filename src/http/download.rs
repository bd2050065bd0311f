//! Content of a message as a download. Names from the message cannot inject paths or headers.

use axum::body::Body;
use axum::http::HeaderValue;
use axum::http::header::{
    CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::response::{IntoResponse, Response};
use futures_util::{TryStreamExt, stream};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::error::Error;
use super::request_id::RequestId;
use super::response::keeping;
use crate::service::{Caller, Service, StoreError};

/// If a browser displays a download as a page, the page runs no scripts and loads nothing.
pub(super) const POLICY: &str = "default-src 'none'; sandbox";
const NAME_CHARACTERS: usize = 100;
/// A longer media type is replaced.
const TYPE_BYTES: usize = 100;

/// A download with this name and type.
pub(super) fn attachment(
    content_type: &str,
    name: &str,
    content: impl Into<Body>,
) -> Result<Response, Error> {
    let content_type = HeaderValue::try_from(content_type).map_err(Error::internal)?;
    let disposition = HeaderValue::try_from(disposition(name)).map_err(Error::internal)?;
    let fixed = [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    let headers = [
        (CONTENT_TYPE, content_type),
        (CONTENT_DISPOSITION, disposition),
    ];
    Ok((fixed, headers, content.into()).into_response())
}

/// The message `id` as received, sent while it is read.
pub(super) async fn eml(
    service: &Service,
    caller: &Caller,
    id: &str,
    request_id: RequestId,
) -> Result<Response, Error> {
    let pieces = service.raw_message(caller, id).await?;
    let size = pieces.size();
    let job = service.sending(caller, pieces.is_large()).await?;
    let steps = stream::try_unfold(pieces, async |mut pieces| {
        Ok::<_, StoreError>(pieces.next().await?.map(|piece| (piece, pieces)))
    });
    let body = Body::from_stream(steps.inspect_err(move |error| request_id.log_failure(error)));
    let mut response = attachment(
        "message/rfc822",
        &format!("{}.eml", id.to_ascii_lowercase()),
        keeping(job, body),
    )?;
    response.headers_mut().insert(CONTENT_LENGTH, size.into());
    Ok(response)
}

/// The media type in a part's header, if it has the form of one.
pub(super) fn media_type(named: &str) -> &str {
    let token = |text: &str| {
        !text.is_empty()
            && text
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"!#$&^_.+-".contains(&byte))
    };
    let is_type = named.len() <= TYPE_BYTES
        && named
            .split_once('/')
            .is_some_and(|(kind, sub)| token(kind) && token(sub));
    if is_type {
        named
    } else {
        "application/octet-stream"
    }
}

/// A file name from a message, safe to display and to save: its last segment, without characters
/// that are special to a shell or a file system, or that change the direction of text. Empty if no
/// character is left.
pub(super) fn safe_name(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let harmless = |character: &char| {
        !character.is_control()
            && !"\"*:<>?|".contains(*character)
            && !matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
            && !matches!(character, '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    let name: String = last
        .chars()
        .filter(harmless)
        .take(NAME_CHARACTERS)
        .collect();
    name.trim_matches([' ', '.']).to_owned()
}

/// Percent-encodes all except the unreserved characters (RFC 3986, section 2.3).
pub(crate) fn path_segment(segment: &str) -> String {
    const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
        .remove(b'-')
        .remove(b'.')
        .remove(b'_')
        .remove(b'~');
    utf8_percent_encode(segment, ENCODED).to_string()
}

/// The name in ASCII for old clients, and in full (RFC 6266, section 4.3).
fn disposition(name: &str) -> String {
    let plain = |character: char| character.is_ascii_alphanumeric() || " ._-()".contains(character);
    if name.chars().all(plain) {
        return format!("attachment; filename=\"{name}\"");
    }
    let ascii: String = name
        .chars()
        .map(|character| if plain(character) { character } else { '_' })
        .collect();
    format!(
        "attachment; filename=\"{ascii}\"; filename*=UTF-8''{}",
        path_segment(name)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn safe_names_are_no_paths_and_hide_nothing() {
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
        assert_eq!(disposition("a 1.txt"), "attachment; filename=\"a 1.txt\"");
        assert_eq!(
            disposition("a\"; b é.txt"),
            "attachment; filename=\"a__ b _.txt\"; filename*=UTF-8''a%22%3B%20b%20%C3%A9.txt"
        );
    }

    #[test]
    fn an_invalid_type_is_not_repeated() {
        let types = [
            "image/svg+xml",
            "text/html; charset=x",
            "text",
            "a/b\r\nc: d",
            "/",
            "",
        ]
        .map(media_type);
        let other = "application/octet-stream";
        assert_eq!(types, ["image/svg+xml", other, other, other, other, other]);
    }

    #[test]
    fn every_id_is_one_segment() {
        assert_eq!(path_segment("sign-up.1_~"), "sign-up.1_~");
        assert_eq!(path_segment("a/b?c#d%é"), "a%2Fb%3Fc%23d%25%C3%A9");
    }
}
