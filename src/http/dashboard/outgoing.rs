//! The messages that a project has sent, with the result of every attempt, and buttons to retry or
//! cancel.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;

use super::failure::PageError;
use super::page::{Shell, html, see, subject};
use super::plain::shown;
use super::visit::{Params, ProjectPage};
use super::when::When;
use crate::http::App;
use crate::http::download::path_segment;
use crate::http::error::Error;
use crate::model::{
    Attempt, Outgoing, OutgoingFilter, OutgoingId, OutgoingStatus, Timestamp, Watched,
};

/// Items on the page.
const MAX_ITEMS_SHOWN: u32 = 200;

#[derive(Template)]
#[template(path = "outgoing.html")]
struct OutgoingPage {
    shell: Shell,
    base: String,
    rows: Vec<OutgoingRow>,
}

struct OutgoingRow {
    id: String,
    inbox: String,
    inbox_path: String,
    recipient: String,
    subject: String,
    status: &'static str,
    attempts: Vec<AttemptRow>,
    /// The number of attempts that were started.
    started: u32,
    created: When,
    due: Option<When>,
    can_retry: bool,
    can_cancel: bool,
}

struct AttemptRow {
    number: u32,
    when: Option<When>,
    reply: String,
}

/// The item of a path.
#[derive(Deserialize)]
pub(super) struct ItemPath {
    item: String,
}

pub(super) async fn list(
    State(app): State<Arc<App>>,
    page: ProjectPage,
) -> Result<Response, PageError> {
    let project = page.project.id;
    // Read before the list, so that a change in between is announced and not missed.
    let seen = app.service.mark(&Watched::Outgoing(project)).await?;
    let filter = OutgoingFilter {
        project: Some(project),
        ..OutgoingFilter::default()
    };
    let now = app.service.clock().now();
    let outbox = app.service.outbox();
    let mut attempts = outbox.attempts(project, MAX_ITEMS_SHOWN).await?;
    let items = outbox.list(&filter, MAX_ITEMS_SHOWN).await?.into_iter();
    let rows = items
        .map(|item| row(&attempts.remove(&item.id).unwrap_or_default(), &item, now))
        .collect();
    let shell = page
        .shell("Outgoing mail", "outgoing")
        .live(page.path("/events?of=outgoing"), seen);
    Ok(html(&OutgoingPage {
        shell,
        base: page.path(""),
        rows,
    })?)
}

pub(super) async fn retry(
    State(app): State<Arc<App>>,
    page: ProjectPage,
    Params(path): Params<ItemPath>,
) -> Result<Response, PageError> {
    app.service
        .outbox()
        .retry(own_item(&app, &page, &path).await?)
        .await?;
    Ok(see(&page.path("/outgoing")))
}

pub(super) async fn cancel(
    State(app): State<Arc<App>>,
    page: ProjectPage,
    Params(path): Params<ItemPath>,
) -> Result<Response, PageError> {
    app.service
        .outbox()
        .cancel(own_item(&app, &page, &path).await?)
        .await?;
    Ok(see(&page.path("/outgoing")))
}

/// The item of the path, if the project of the path has sent it.
async fn own_item(app: &App, page: &ProjectPage, path: &ItemPath) -> Result<OutgoingId, Error> {
    let id = OutgoingId::parse(&path.item).map_err(|_| Error::NotFound)?;
    app.service
        .outbox()
        .own(page.project.id, id)
        .await?
        .map(|_| id)
        .ok_or(Error::NotFound)
}

fn row(attempts: &[Attempt], item: &Outgoing, now: Timestamp) -> OutgoingRow {
    let is_queued = item.status == OutgoingStatus::Queued;
    OutgoingRow {
        id: item.id.to_string(),
        inbox_path: path_segment(item.inbox.as_str()),
        inbox: item
            .shared
            .as_ref()
            .map_or_else(|| item.inbox.to_string(), ToString::to_string),
        recipient: shown(&item.recipient),
        subject: subject(&item.subject),
        status: item.status.as_str(),
        attempts: attempts
            .iter()
            .map(|attempt| attempt_row(attempt, now))
            .collect(),
        started: item.attempts,
        created: When::new(item.created_at, now),
        due: item
            .due_at
            .filter(|_| is_queued)
            .map(|due_at| When::new(due_at, now)),
        can_retry: item.status != OutgoingStatus::Sent,
        can_cancel: is_queued,
    }
}

fn attempt_row(attempt: &Attempt, now: Timestamp) -> AttemptRow {
    let when = attempt
        .attempted_at
        .map(|attempted_at| When::new(attempted_at, now));
    AttemptRow {
        number: attempt.number,
        when,
        reply: shown(&attempt.reply),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reply_of_a_remote_server_cannot_turn_the_text_around() {
        let attempt = Attempt {
            number: 1,
            attempted_at: None,
            server: None,
            reply: "no \u{202e}mailbox".to_owned(),
        };
        assert_eq!(
            attempt_row(&attempt, Timestamp::from_millis(0)).reply,
            "no ‹U+202E›mailbox"
        );
    }
}
