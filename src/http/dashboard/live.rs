//! Live updates as server-sent events. Each event signals that the page has changed. Its id is the
//! mark, a version of the page's content, so that a browser that reconnects does not miss a change.
//!
//! An event has no content: the browser loads the page again, and its guard checks again. The
//! service ends a stream whose session is no longer valid, and limits the streams of a session.

use std::convert::Infallible;

use axum::body::{Body, Bytes};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::IntoResponse;
use futures_util::stream;

use super::page::Answer;
use super::visit::{InboxPage, ProjectPage, Visit};
use crate::http::query::Query;
use crate::model::Watched;
use crate::service::{Follower, News};

/// How long a browser waits before it reconnects. Sent at once, so that the browser knows the
/// stream is open.
const OPENING: &str = "retry: 1000\n\n";

pub(super) async fn project(page: ProjectPage, query: Query) -> Answer {
    let project = page.project.id;
    let watched = match query.first("of").as_deref() {
        Some("failures") => Watched::Failures(project),
        Some("outgoing") => Watched::Outgoing(project),
        Some("inboxes") => Watched::Inboxes(project),
        _ => Watched::Mail(project),
    };
    events(&page, watched, &query)
}

pub(super) async fn inbox(page: InboxPage, query: Query) -> Answer {
    let watched = Watched::Inbox(page.inbox.project, page.inbox.id.clone());
    events(&page, watched, &query)
}

pub(super) async fn all_refused(visit: Visit, query: Query) -> Answer {
    events(&visit, Watched::Refused(None), &query)
}

fn events(visit: &Visit, watched: Watched, query: &Query) -> Answer {
    // What the browser has seen: on an earlier connection of this stream, or on the page.
    let last = visit.headers.get("last-event-id");
    let last = last.and_then(|id| id.to_str().ok()).map(str::to_owned);
    let seen = last.or_else(|| query.first("seen"));
    let session = visit.session()?.clone();
    let follower = visit.service().follow(session, watched, seen)?;
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
