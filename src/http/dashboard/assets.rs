//! The script, the style sheet and the icons. The names of the first two change with their content,
//! so that browsers can cache them without limit. The icons keep their names, and are cached for a
//! day.

use std::sync::LazyLock;

use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::IntoResponse;
use sha2::{Digest, Sha256};

use super::page::Answer;
use super::visit::Visit;
use crate::http::error::Error;

const STYLE_SHEET: &str = include_str!("../../../static/dashboard.css");
const SCRIPT: &str = include_str!("../../../static/dashboard.js");
const ICON: &str = include_str!("../../../static/icon.svg");
/// The icon while there is unread mail.
const ICON_NEW: &str = include_str!("../../../static/icon-new.svg");

const FOREVER: &str = "public, max-age=31536000, immutable";
const FOR_A_DAY: &str = "public, max-age=86400";

static STYLE_SHEET_NAME: LazyLock<String> = LazyLock::new(|| name(STYLE_SHEET, "css"));
static SCRIPT_NAME: LazyLock<String> = LazyLock::new(|| name(SCRIPT, "js"));

pub(super) fn style_sheet_url() -> String {
    format!("/static/{}", *STYLE_SHEET_NAME)
}

pub(super) fn script_url() -> String {
    format!("/static/{}", *SCRIPT_NAME)
}

pub(super) async fn serve(visit: Visit) -> Answer {
    let (kind, cached, body) = match visit.parameter("file")? {
        file if file == *STYLE_SHEET_NAME => ("text/css; charset=utf-8", FOREVER, STYLE_SHEET),
        file if file == *SCRIPT_NAME => ("text/javascript; charset=utf-8", FOREVER, SCRIPT),
        "icon.svg" => ("image/svg+xml", FOR_A_DAY, ICON),
        "icon-new.svg" => ("image/svg+xml", FOR_A_DAY, ICON_NEW),
        _ => return Err(Error::NotFound.into()),
    };
    let headers = [(CONTENT_TYPE, kind), (CACHE_CONTROL, cached)];
    Ok((headers, body).into_response())
}

fn name(content: &str, extension: &str) -> String {
    let digest = Sha256::digest(content.as_bytes());
    let start = digest.iter().take(8);
    let fingerprint: String = start.map(|byte| format!("{byte:02x}")).collect();
    format!("{fingerprint}.{extension}")
}
