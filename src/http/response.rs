//! JSON responses.

use axum::body::Body;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use http_body_util::BodyExt;
use serde::Serialize;

/// The media type of every API response.
pub(super) const JSON: &str = "application/json";

/// `value` as a JSON response.
///
/// # Errors
/// If it cannot be serialized as JSON.
pub(super) fn json(status: StatusCode, value: &impl Serialize) -> serde_json::Result<Response> {
    let body = serde_json::to_vec(value)?;
    Ok((status, [(CONTENT_TYPE, JSON)], body).into_response())
}

/// The body, which keeps something until it is sent.
pub(super) fn keeping(kept: impl Send + 'static, body: Body) -> Body {
    Body::new(body.map_err(move |error| {
        let _kept = &kept;
        error
    }))
}

/// Writes a part of a string as JSON. A character may be split.
pub(super) fn escape(text: &[u8], json: &mut Vec<u8>) {
    let is_special = |byte: &u8| *byte < b' ' || matches!(byte, b'"' | b'\\');
    for run in text.split_inclusive(is_special) {
        let Some((special, plain)) = run.split_last().filter(|(last, _)| is_special(last)) else {
            json.extend_from_slice(run);
            continue;
        };
        json.extend_from_slice(plain);
        let letter = match special {
            b'"' | b'\\' => *special,
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            0x08 => b'b',
            0x0c => b'f',
            _ => {
                json.extend_from_slice(format!("\\u{special:04x}").as_bytes());
                continue;
            }
        };
        json.extend_from_slice(&[b'\\', letter]);
    }
}
