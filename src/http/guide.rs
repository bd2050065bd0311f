//! The guide at `/llm` and `/llms.txt`: `docs/guide.md` with this installation's addresses and limits filled in.

use std::sync::Arc;

use aide::axum::ApiRouter;
use aide::axum::routing::get_with;
use aide::transform::TransformOperation;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};

use super::app::App;
use super::describe::Describe;
use super::error::Error;

const GUIDE: &str = include_str!("../../docs/guide.md");
const MARKDOWN: &str = "text/markdown; charset=utf-8";

pub(super) fn router() -> ApiRouter<Arc<App>> {
    ApiRouter::new().api_route("/llm", get_with(show, describe)).api_route("/llms.txt", get_with(show, describe_alias))
}

async fn show(State(app): State<Arc<App>>, headers: HeaderMap) -> Result<Response, Error> {
    let guide = app.filled_in(GUIDE);
    let guide = guide.replace("{base_url}", &app.base_url).replace("{mail_domain}", app.service.mail_domain().as_str());
    let guide = guide.replace("{smtp_address}", &app.smtp(&headers).to_string());
    Ok(([(CONTENT_TYPE, MARKDOWN), (CACHE_CONTROL, "no-cache")], guide).into_response())
}

fn describe(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    let description = "How to write a test with this service, in Markdown.";
    markdown(operation.named("guide", "documents", "The guide", description))
}

fn describe_alias(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    markdown(operation.named("guideAlias", "documents", "The guide, under an alias", "The same Markdown as /llm."))
}

fn markdown(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation.public().returns_content("text/markdown", "The guide.", &[])
}
