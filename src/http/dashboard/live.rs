//! Live updates as server-sent events: "it has changed", with a mark by which a browser that was away catches up.
//!
//! A stream says nothing of what has changed: the page is asked for again, and comes through its guard again.

use std::convert::Infallible;
use std::sync::Arc;

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use futures_util::stream;

use super::failure::Failure;
use super::guard::Visit;
use crate::http::App;
use crate::service::{Follower, News};
use crate::store::Watched;

/// How long a browser waits before it comes back, and that it has been heard.
const OPENING: &str = "retry: 1000\n\n";

pub(super) async fn inboxes(
    State(app): State<Arc<App>>,
    Extension(visit): Extension<Arc<Visit>>,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let watched = Watched::Inboxes(visit.project()?.id);
    Ok(events(&app, &visit, &headers, watched))
}

pub(super) async fn inbox(
    State(app): State<Arc<App>>,
    Extension(visit): Extension<Arc<Visit>>,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let inbox = app.service.inbox(&visit.caller()?, visit.param("inbox")).await?;
    Ok(events(&app, &visit, &headers, Watched::Inbox(inbox.project, inbox.id)))
}

pub(super) async fn outgoing(
    State(app): State<Arc<App>>,
    Extension(visit): Extension<Arc<Visit>>,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let watched = Watched::Outgoing(visit.project()?.id);
    Ok(events(&app, &visit, &headers, watched))
}

pub(super) async fn refused(
    State(app): State<Arc<App>>,
    Extension(visit): Extension<Arc<Visit>>,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let watched = Watched::Refused(Some(visit.project()?.id));
    Ok(events(&app, &visit, &headers, watched))
}

pub(super) async fn all_refused(
    State(app): State<Arc<App>>,
    Extension(visit): Extension<Arc<Visit>>,
    headers: HeaderMap,
) -> Response {
    events(&app, &visit, &headers, Watched::Refused(None))
}

/// A stream from what the browser saw last: in this stream's former life, or on the page.
fn events(app: &App, visit: &Visit, headers: &HeaderMap, watched: Watched) -> Response {
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok());
    let seen = last.unwrap_or(visit.query("seen")).to_owned();
    let follower = app.service.follow(watched, seen);
    let news = stream::unfold((follower, true), |(mut follower, is_first)| async move {
        let event = if is_first { OPENING.to_owned() } else { next_event(&mut follower).await? };
        Some((Ok::<_, Infallible>(Bytes::from(event)), (follower, false)))
    });
    let headers = [(CONTENT_TYPE, "text/event-stream"), (CACHE_CONTROL, "no-store")];
    (headers, Body::from_stream(news)).into_response()
}

/// The next event; `None` ends the stream, and the browser comes back by itself.
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
