//! The one script and the one style sheet, under names that change with their content, so that browsers keep them.

use std::sync::{Arc, LazyLock};

use axum::Extension;
use axum::http::HeaderValue;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use sha2::{Digest, Sha256};

use super::failure::Failure;
use super::guard::Visit;
use crate::http::error::Error;

const STYLE_SHEET: &str = include_str!("../../../static/dashboard.css");
const SCRIPT: &str = include_str!("../../../static/dashboard.js");
const ICON: &str = include_str!("../../../static/icon.svg");

static STYLE_SHEET_URL: LazyLock<String> = LazyLock::new(|| url(STYLE_SHEET, "css"));
static SCRIPT_URL: LazyLock<String> = LazyLock::new(|| url(SCRIPT, "js"));

pub(super) fn style_sheet_url() -> &'static str {
    &STYLE_SHEET_URL
}

pub(super) fn script_url() -> &'static str {
    &SCRIPT_URL
}

pub(super) async fn serve(Extension(visit): Extension<Arc<Visit>>) -> Result<Response, Failure> {
    let (content_type, body) = match visit.target.as_str() {
        target if target == style_sheet_url() => ("text/css; charset=utf-8", STYLE_SHEET),
        target if target == script_url() => ("text/javascript; charset=utf-8", SCRIPT),
        "/static/icon.svg" => ("image/svg+xml", ICON),
        _ => return Err(Error::NotFound.into()),
    };
    let kept = HeaderValue::from_static("public, max-age=31536000, immutable");
    Ok(([(CONTENT_TYPE, HeaderValue::from_static(content_type)), (CACHE_CONTROL, kept)], body).into_response())
}

fn url(content: &str, extension: &str) -> String {
    let digest = Sha256::digest(content.as_bytes());
    let fingerprint: String = digest.iter().take(8).map(|octet| format!("{octet:02x}")).collect();
    format!("/static/{fingerprint}.{extension}")
}
