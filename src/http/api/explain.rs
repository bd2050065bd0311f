//! Explains why a message did not arrive.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use restante_api::{Explanation, InboxNamePath, MessageQuery};

use crate::http::app::App;
use crate::http::auth::{Authenticated, PathOf};
use crate::http::describe::{INBOX_NOT_FOUND, Operation};
use crate::http::error::Error;
use crate::http::label::{compared_by_client, name_of_wait};
use crate::http::query::{Parameters, message_filter};
use crate::http::response::json;
use crate::wire;

pub(super) async fn explain(
    State(app): State<Arc<App>>,
    Authenticated(caller): Authenticated,
    headers: HeaderMap,
    PathOf(path): PathOf<InboxNamePath>,
    Parameters(query): Parameters<MessageQuery>,
) -> Result<Response, Error> {
    let filter = compared_by_client(message_filter(query)?, &headers);
    let explanation = app
        .service
        .explain(
            &caller,
            &path.id,
            (name_of_wait(&headers)?, &filter),
            &app.smtp(&headers).to_string(),
        )
        .await?;
    Ok(json(
        StatusCode::OK,
        &wire::explanation(explanation, app.service.mail_domain()),
    )?)
}

pub(super) fn describe(operation: Operation<'_>) -> Operation<'_> {
    let description = "Extension. Accepts the filters of the wait that failed. For an inbox that expired or was \
                       deleted in the last 30 days, `inbox` is null and `ended` is set. `smtp` covers all nodes of \
                       the installation.";
    operation
        .named(
            "explainInbox",
            "inboxes",
            "Why a message did not arrive",
            description,
        )
        .extension()
        .returns::<Explanation>(StatusCode::OK, "The explanation.")
        .refuses_filters()
        .refuses_as(&INBOX_NOT_FOUND)
}
