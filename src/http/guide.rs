//! The guide at `/llm` and `/llms.txt`: `docs/guide.md` with this installation's addresses and
//! limits filled in.

use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};

use super::app::App;
use super::describe::{ApiRouter, Operation};
use super::error::Error;
use crate::config::{Limits, byte_size};
use crate::model::AcceptedDomains;

const GUIDE: &str = include_str!("../../docs/guide.md");
const MARKDOWN: &str = "text/markdown; charset=utf-8";

pub(super) fn router() -> ApiRouter {
    ApiRouter::default()
        .get("/llm", show, describe)
        .get("/llms.txt", show, describe_alias)
}

async fn show(State(app): State<Arc<App>>, headers: HeaderMap) -> Result<Response, Error> {
    let guide = filled_in(&app, &headers, app.filled_in(GUIDE));
    Ok((
        [(CONTENT_TYPE, MARKDOWN), (CACHE_CONTROL, "no-cache")],
        guide,
    )
        .into_response())
}

/// The guide with the addresses, the domains and the limits of this installation, for the client of
/// a request.
fn filled_in(app: &App, headers: &HeaderMap, guide: String) -> String {
    let smtp = app.smtp(headers);
    let Limits {
        inbox_lifetime,
        message_size,
        inbox_messages,
        body,
        send_body,
        ..
    } = app.limits;
    let bytes = |size: usize| byte_size(size.try_into().unwrap_or(u64::MAX));
    let values = [
        ("{base_url}", app.base_url.for_client(headers)),
        ("{mail_domain}", app.service.mail_domain().to_string()),
        ("{accepted_domains}", accepted(app.service.accepted())),
        ("{smtp_address}", smtp.to_string()),
        ("{smtp_host}", smtp.host.clone()),
        ("{smtp_port}", smtp.port.to_string()),
        (
            "{inbox_lifetime}",
            humantime::format_duration(inbox_lifetime).to_string(),
        ),
        ("{message_size}", byte_size(message_size)),
        ("{inbox_messages}", inbox_messages.to_string()),
        ("{body_size}", bytes(body)),
        ("{send_body_size}", bytes(send_body)),
    ];
    values
        .into_iter()
        .fold(guide, |guide, (name, value)| guide.replace(name, &value))
}

/// The sentence about further domains.
fn accepted(domains: &AcceptedDomains) -> String {
    if domains.is_empty() {
        "No other domain is accepted".to_owned()
    } else if domains.are_all() {
        "Every other domain is accepted too".to_owned()
    } else {
        format!("These domains are accepted too (`*` stands for any subdomain): `{domains}`")
    }
}

fn describe(operation: Operation<'_>) -> Operation<'_> {
    let description = "How to write a test with this service, in Markdown.";
    markdown(operation.named("guide", "documents", "The guide", description))
}

fn describe_alias(operation: Operation<'_>) -> Operation<'_> {
    markdown(operation.named(
        "guideAlias",
        "documents",
        "The guide, under an alias",
        "The same Markdown as /llm.",
    ))
}

fn markdown(operation: Operation<'_>) -> Operation<'_> {
    operation
        .public()
        .returns_content("text/markdown", "The guide.", &[])
}
