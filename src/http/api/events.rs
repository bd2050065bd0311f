//! The timeline of an inbox.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use restante_api::{EventList, EventsQuery, InboxPath};

use crate::http::app::App;
use crate::http::auth::{Authenticated, PathOf};
use crate::http::describe::{INBOX_NOT_FOUND, Operation};
use crate::http::error::Error;
use crate::http::query::Parameters;
use crate::http::response::json;
use crate::service::EventCursor;

pub(super) async fn list(
    State(app): State<Arc<App>>,
    Authenticated(caller): Authenticated,
    headers: HeaderMap,
    PathOf(path): PathOf<InboxPath>,
    Parameters(query): Parameters<EventsQuery>,
) -> Result<Response, Error> {
    let after = match query.after.as_str() {
        "" => None,
        text => Some(EventCursor::parse(text).ok_or(Error::InvalidParameter("after"))?),
    };
    let (mut events, next) = app
        .service
        .timeline(&caller, &path.id, after.as_ref())
        .await?;
    let pages = app.base_url.for_pages(&headers);
    for event in &mut events {
        event.failure = event
            .failure
            .take()
            .map(|id| format!("{pages}/failures/{id}"));
    }
    Ok(json(
        StatusCode::OK,
        &EventList {
            events,
            next: next.to_string(),
        },
    )?)
}

pub(super) fn describe(operation: Operation<'_>) -> Operation<'_> {
    let description = "Extension. What happened to the inbox, oldest first: the latest 100 of each kind. Also for an \
                       inbox that expired or was deleted in the last 30 days. Waits and SMTP sessions are recorded in \
                       the background, and a limited number is kept until a restart.";
    operation
        .named(
            "listEvents",
            "inboxes",
            "The timeline of an inbox",
            description,
        )
        .extension()
        .returns::<EventList>(StatusCode::OK, "The events.")
        .refuses(
            "`after` is not a cursor.",
            &[Error::InvalidParameter("after")],
        )
        .refuses_as(&INBOX_NOT_FOUND)
}
