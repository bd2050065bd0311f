//! The guide at `/llm` and `/llms.txt`: `docs/guide.md` with this installation's addresses and limits filled in.

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::IntoResponse;
use axum::routing::get;

use super::app::App;

const GUIDE: &str = include_str!("../../docs/guide.md");
const MARKDOWN: &str = "text/markdown; charset=utf-8";

pub(super) fn router(app: &App) -> Router<Arc<App>> {
    let guide = app.filled_in(GUIDE);
    let guide = guide.replace("{base_url}", &app.base_url).replace("{mail_domain}", app.service.mail_domain().as_str());
    let guide = Bytes::from(guide);
    let answer = move || {
        let guide = guide.clone();
        async move { ([(CONTENT_TYPE, MARKDOWN), (CACHE_CONTROL, "no-cache")], guide).into_response() }
    };
    Router::new().route("/llm", get(answer.clone())).route("/llms.txt", get(answer))
}
