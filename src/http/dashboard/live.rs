//! Live updates as server-sent events. Each event signals that the page has changed. Its id is the
//! mark, a version of the page's content, so that a browser that reconnects does not miss a change.
//!
//! An event has no content: the browser loads the page again, and its guard checks again. The
//! service ends a stream whose session is no longer valid, and limits the streams of a session.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{FromRequestParts, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use futures_util::stream;

use super::failure::PageError;
use super::visit::{InboxPage, ProjectPage, SignedIn};
use crate::http::App;
use crate::http::query::Query;
use crate::model::Watched;
use crate::service::{Follower, News, Session};

/// How long a browser waits before it reconnects. Sent at once, so that the browser knows the
/// stream is open.
const OPENING: &str = "retry: 1000\n\n";

/// The mark that the browser has: from an earlier connection of this stream, or from the page.
pub(super) struct Seen(Option<String>);

impl<S: Sync> FromRequestParts<S> for Seen {
    type Rejection = PageError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, PageError> {
        let last = parts
            .headers
            .get("last-event-id")
            .and_then(|id| id.to_str().ok())
            .map(str::to_owned);
        Ok(Self(last.or(
            Query::from_request_parts(parts, state).await?.first("seen"),
        )))
    }
}

pub(super) async fn project(
    State(app): State<Arc<App>>,
    page: ProjectPage,
    query: Query,
    seen: Seen,
) -> Result<Response, PageError> {
    let project = page.project.id;
    let watched = match query.first("of").as_deref() {
        Some("failures") => Watched::Failures(project),
        Some("outgoing") => Watched::Outgoing(project),
        Some("refused") => Watched::Refused(Some(project)),
        Some("inboxes") => Watched::Inboxes(project),
        _ => Watched::Mail(project),
    };
    events(&app, page.session, watched, seen)
}

pub(super) async fn inbox(
    State(app): State<Arc<App>>,
    page: InboxPage,
    seen: Seen,
) -> Result<Response, PageError> {
    let watched = Watched::Inbox(page.inbox.project, page.inbox.id);
    events(&app, page.of.session, watched, seen)
}

pub(super) async fn all_refused(
    State(app): State<Arc<App>>,
    SignedIn(session): SignedIn,
    seen: Seen,
) -> Result<Response, PageError> {
    events(&app, session, Watched::Refused(None), seen)
}

fn events(
    app: &App,
    session: Session,
    watched: Watched,
    Seen(seen): Seen,
) -> Result<Response, PageError> {
    let follower = app.service.follow(session, watched, seen)?;
    let news = stream::unfold((follower, true), |(mut follower, is_first)| async move {
        let event = if is_first {
            OPENING.to_owned()
        } else {
            next_event(&mut follower).await?
        };
        Some((Ok::<_, Infallible>(Bytes::from(event)), (follower, false)))
    });
    let headers = [
        (CONTENT_TYPE, "text/event-stream"),
        (CACHE_CONTROL, "no-store"),
    ];
    Ok((headers, Body::from_stream(news)).into_response())
}

/// The next event; `None` ends the stream, and the browser reconnects automatically.
async fn next_event(follower: &mut Follower) -> Option<String> {
    match follower.next().await {
        Ok(Some(News::Changed(mark))) => Some(format!("id: {mark}\ndata: changed\n\n")),
        Ok(Some(News::Heartbeat)) => Some(": heartbeat\n\n".to_owned()),
        Ok(None) => None,
        Err(error) => {
            tracing::warn!(%error, "live updates were interrupted");
            None
        }
    }
}
