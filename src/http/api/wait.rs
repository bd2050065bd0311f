//! The wait: one open request instead of polling.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use restante_api::{Message, WaitQuery};

use super::stream;
use crate::http::app::App;
use crate::http::auth::OwnedInbox;
use crate::http::describe::{Operation, STOPPING};
use crate::http::error::Error;
use crate::http::label::{compared_by_client, name_of_wait};
use crate::http::query::{Parameters, message_filter, timeout};
use crate::http::request_id::RequestId;
use crate::service::{Asked, ServiceError};

pub(super) async fn wait(
    State(app): State<Arc<App>>,
    request_id: RequestId,
    headers: HeaderMap,
    owned: OwnedInbox,
    Parameters(query): Parameters<WaitQuery>,
) -> Result<Response, Error> {
    let filter = compared_by_client(message_filter(query.matching)?, &headers);
    let expects_none = headers
        .get("x-restante-expects")
        .is_some_and(|expected| expected == "none");
    let name = name_of_wait(&headers)?.map(str::to_owned);
    let pages = app.base_url.for_pages(&headers);
    // They keep the whole buffer of the request, which the wait does not need.
    drop(headers);
    let asked = Asked {
        name: name.as_deref(),
        filter: &filter,
        timeout: timeout(&query.timeout),
        expects_none,
    };
    let waited = app.service.wait(&owned.caller, &owned.inbox, asked);
    let message = waited.await;
    let message = message.map_err(|error| match error {
        ServiceError::Timeout { story } => {
            Error::Timeout(story.map(|id| format!("{pages}/failures/{id}")))
        }
        error => error.into(),
    })?;
    stream::message(&app.service, &owned.caller, message, request_id).await
}

pub(super) fn describe(operation: Operation<'_>) -> Operation<'_> {
    let description = "Returns the oldest message that satisfies the filters: at once if it has already arrived; \
                       otherwise the request stays open until it arrives or the timeout has passed. At most \
                       {waits_per_key} waits of a key stay open at once; a wait that returns immediately does not \
                       count. Extension: three headers tell the service what it shows if the wait fails. \
                       X-Restante-Wait is the same in all requests of a wait, such as a random id; \
                       X-Restante-Filters is what only the client compares, percent-encoded UTF-8; \
                       `X-Restante-Expects: none` says that no message should come.";
    let unknown = "The inbox is unknown, or expired or was deleted while the wait was open. `no matching message`: \
                   the timeout is 0 and nothing matches.";
    let next = [
        ("id", "$response.body#/inbox_id".into()),
        ("after", "$response.body#/id".into()),
        ("timeout", 0.into()),
    ];
    operation
        .named(
            "waitForMessage",
            "messages",
            "Wait for a message",
            description,
        )
        .returns::<Message>(StatusCode::OK, "The oldest matching message.")
        .link(
            "getMessage",
            "getMessage",
            "The message again.",
            &[("id", "$response.body#/id".into())],
        )
        .link(
            "waitForNextMessage",
            "waitForMessage",
            "The next message, if it has arrived.",
            &next,
        )
        .refuses_filters()
        .refuses(unknown, &[Error::NoMatchingMessage, Error::InboxNotFound])
        .refuses(
            "No match arrived within the timeout.",
            &[Error::Timeout(Some(String::new()))],
        )
        .refuses(
            "{waits_per_key} waits of this key are open.",
            &[Error::TooManyWaits],
        )
        .refuses_as(&STOPPING)
}
