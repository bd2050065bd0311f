//! Whether a message is good.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use restante_api::{CheckQuery, MessageChecks, MessagePath};

use crate::http::app::App;
use crate::http::auth::{Authenticated, PathOf};
use crate::http::describe::{BUSY, MESSAGE_NOT_FOUND, Operation};
use crate::http::error::Error;
use crate::http::query::Parameters;
use crate::http::response::json;

pub(super) async fn show(
    State(app): State<Arc<App>>,
    Authenticated(caller): Authenticated,
    PathOf(path): PathOf<MessagePath>,
    Parameters(query): Parameters<CheckQuery>,
) -> Result<Response, Error> {
    let dns = match query.dns.as_str() {
        "" | "false" => false,
        "true" => true,
        _ => return Err(Error::InvalidParameter("dns")),
    };
    let checks = app.service.checks(&caller, &path.id, dns).await?;
    Ok(json(StatusCode::OK, &checks)?)
}

pub(super) fn describe(operation: Operation<'_>) -> Operation<'_> {
    let description = "Extension. What is wrong with the message: placeholders that were not filled, links that lead \
                       nowhere, a missing text part, images, header fields, and HTML that mail clients do not show. \
                       Each problem has its line. A good message has no problem of severity `error`. With \
                       `dns=true`, also the results of SPF, DKIM and DMARC; receiving mail causes no query to the \
                       DNS. The queries take at most five seconds.";
    operation
        .named(
            "checkMessage",
            "messages",
            "Whether a message is good",
            description,
        )
        .extension()
        .returns::<MessageChecks>(StatusCode::OK, "The problems.")
        .refuses_as(&MESSAGE_NOT_FOUND)
        .refuses_as(&BUSY)
}
