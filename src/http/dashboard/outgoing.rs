//! What a project has sent, with every attempt's outcome; an item is tried again or taken out of the queue here.

use std::sync::Arc;

use askama::Template;
use axum::Extension;
use axum::extract::State;
use axum::response::Response;

use super::failure::Failure;
use super::guard::Visit;
use super::inboxes::path_segment;
use super::page::{Shell, html, see};
use super::when::When;
use crate::http::App;
use crate::http::error::Error;
use crate::model::{Attempt, Outgoing, OutgoingId, OutgoingStatus, Timestamp};
use crate::store::{OutgoingFilter, Watched};

/// Items on the page.
const SHOWN: u32 = 200;

#[derive(Template)]
#[template(path = "outgoing.html")]
struct OutgoingPage {
    shell: Shell,
    base: String,
    rows: Vec<Row>,
}

struct Row {
    id: String,
    inbox: String,
    inbox_path: String,
    recipient: String,
    subject: String,
    status: &'static str,
    /// Those that an attempt's worker told the end of.
    attempts: Vec<AttemptRow>,
    /// All that were begun.
    begun: u32,
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

pub(super) async fn list(
    State(app): State<Arc<App>>,
    Extension(visit): Extension<Arc<Visit>>,
) -> Result<Response, Failure> {
    let project = visit.project()?;
    // Before the list is read, so that what comes in between is told once more and never missed.
    let seen = app.service.mark(&Watched::Outgoing(project.id)).await?;
    let filter = OutgoingFilter { project: Some(project.id), ..OutgoingFilter::default() };
    let now = app.service.clock().now();
    let outbox = app.service.outbox();
    let mut attempts = outbox.attempts(project.id, SHOWN).await?;
    let items = outbox.list(&filter, SHOWN).await?.into_iter();
    let rows = items.map(|item| row(attempts.remove(&item.id).unwrap_or_default(), item, now)).collect();
    let base = format!("/projects/{}", project.id);
    let shell = Shell::new(&visit, "Outgoing mail", "outgoing").live(format!("{base}/outgoing/events"), seen);
    Ok(html(&OutgoingPage { shell, base, rows })?)
}

pub(super) async fn retry(
    State(app): State<Arc<App>>,
    Extension(visit): Extension<Arc<Visit>>,
) -> Result<Response, Failure> {
    app.service.outbox().retry(own_item(&app, &visit).await?).await?;
    Ok(see(&format!("/projects/{}/outgoing", visit.project()?.id)))
}

pub(super) async fn cancel(
    State(app): State<Arc<App>>,
    Extension(visit): Extension<Arc<Visit>>,
) -> Result<Response, Failure> {
    app.service.outbox().cancel(own_item(&app, &visit).await?).await?;
    Ok(see(&format!("/projects/{}/outgoing", visit.project()?.id)))
}

/// The item of the path, which the project of the path has sent.
async fn own_item(app: &App, visit: &Visit) -> Result<OutgoingId, Error> {
    let id = OutgoingId::parse(visit.param("item")).map_err(|_| Error::NotFound)?;
    let item = app.service.outbox().find(id).await?;
    if item.project == visit.project()?.id { Ok(id) } else { Err(Error::NotFound) }
}

fn row(attempts: Vec<Attempt>, item: Outgoing, now: Timestamp) -> Row {
    let waits = item.status == OutgoingStatus::Queued;
    Row {
        id: item.id.to_string(),
        inbox_path: path_segment(item.inbox.as_str()),
        inbox: item.inbox.to_string(),
        recipient: item.recipient,
        subject: item.subject,
        status: item.status.as_str(),
        attempts: attempts.into_iter().map(|attempt| attempt_row(attempt, now)).collect(),
        begun: item.attempts,
        created: When::new(item.created_at, now),
        due: item.due_at.filter(|_| waits).map(|due_at| When::new(due_at, now)),
        can_retry: item.status != OutgoingStatus::Sent,
        can_cancel: waits,
    }
}

fn attempt_row(attempt: Attempt, now: Timestamp) -> AttemptRow {
    let when = attempt.attempted_at.map(|attempted_at| When::new(attempted_at, now));
    AttemptRow { number: attempt.number, when, reply: attempt.reply }
}
