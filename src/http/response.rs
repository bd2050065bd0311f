//! JSON answers.

use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use super::error::Error;

/// The media type of every answer of the API.
pub(super) const JSON: &str = "application/json";

/// `value` as a JSON answer.
///
/// # Errors
/// [`Error::Internal`] where it cannot be written as JSON.
pub(super) fn json(status: StatusCode, value: &impl Serialize) -> Result<Response, Error> {
    let body = serde_json::to_vec(value).map_err(Error::internal)?;
    Ok((status, [(CONTENT_TYPE, JSON)], body).into_response())
}
