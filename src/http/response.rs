//! JSON responses.

use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
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
