//! `/openapi.json`: the published contract, `docs/openapi.json`, with this installation's address and limits filled in.

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::IntoResponse;
use axum::routing::get;

use super::app::App;
use super::response::JSON;

const DOCUMENT: &str = include_str!("../../docs/openapi.json");

pub(super) fn router(app: &App) -> Router<Arc<App>> {
    let quoted = serde_json::Value::from(app.base_url.as_str()).to_string();
    let document = app.filled_in(DOCUMENT).replace("{base_url}", quoted.trim_matches('"'));
    let document = Bytes::from(document);
    let answer = move || {
        let document = document.clone();
        async move { ([(CONTENT_TYPE, JSON), (CACHE_CONTROL, "no-cache")], document).into_response() }
    };
    Router::new().route("/openapi.json", get(answer))
}
