//! Outgoing messages: sending from an inbox, and the results.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Serialize;

use crate::http::app::App;
use crate::http::auth::{Authenticated, OwnedInbox, PathId};
use crate::http::body::{Fields, read};
use crate::http::error::Error;
use crate::http::response::json;
use crate::model::{Attempt, InboxId, Outgoing, OutgoingId, OutgoingStatus, Timestamp};
use crate::service::Draft;

const FIELDS: &[&str] = &["to", "subject", "text", "html", "in_reply_to"];

/// The response for a message that was accepted.
#[derive(Serialize)]
struct AcceptedView {
    id: String,
    status: &'static str,
}

pub(super) async fn send(State(app): State<Arc<App>>, owned: OwnedInbox, body: Body) -> Result<Response, Error> {
    // Taken before the body is read, so that the number of a key's bodies in memory is limited like its sends.
    let place = app.service.begin_send(&owned.caller).await?;
    let (body, _room) = read(body, app.limits.send_body, app.service.budget(), owned.caller.key.0).await?;
    let draft = read_draft(&body)?;
    drop(body);
    let id = app.service.send(place, &owned.caller, &owned.inbox, draft).await?;
    // The same for a local recipient, whose message has already arrived, because the contract has no other response.
    let accepted = AcceptedView { id: id.to_string(), status: OutgoingStatus::Queued.as_str() };
    Ok(json(StatusCode::ACCEPTED, &accepted)?)
}

fn read_draft(body: &[u8]) -> Result<Draft, Error> {
    let fields = Fields::parse(body, FIELDS)?;
    let to: String = fields.required("to")?;
    let subject = fields.required("subject")?;
    let text = fields.optional("text")?.unwrap_or_default();
    let html = fields.optional("html")?.unwrap_or_default();
    Ok(Draft::new(&to, subject, text, html, fields.optional("in_reply_to")?)?)
}

/// The result of a send.
#[derive(Serialize)]
struct OutgoingView<'a> {
    id: String,
    inbox_id: &'a InboxId,
    to: &'a str,
    subject: &'a str,
    status: &'static str,
    attempts: Vec<AttemptView<'a>>,
    next_attempt_at: Option<Timestamp>,
    created_at: Timestamp,
}

#[derive(Serialize)]
struct AttemptView<'a> {
    at: Option<Timestamp>,
    server: Option<&'a str>,
    reply: &'a str,
}

impl<'a> OutgoingView<'a> {
    fn new(item: &'a Outgoing, attempts: &'a [Attempt]) -> Self {
        let attempt = |attempt: &'a Attempt| AttemptView {
            at: attempt.attempted_at,
            server: attempt.server.as_deref(),
            reply: &attempt.reply,
        };
        Self {
            id: item.id.to_string(),
            inbox_id: &item.inbox,
            to: &item.recipient,
            subject: &item.subject,
            status: item.status.as_str(),
            attempts: attempts.iter().map(attempt).collect(),
            next_attempt_at: item.due_at.filter(|_| item.status == OutgoingStatus::Queued),
            created_at: item.created_at,
        }
    }
}

pub(super) async fn show(
    State(app): State<Arc<App>>,
    Authenticated(caller): Authenticated,
    id: PathId,
) -> Result<Response, Error> {
    let id = OutgoingId::parse(&id.0).map_err(|_| Error::OutgoingNotFound)?;
    let found = app.service.outbox().own(caller.project, id).await?;
    let (item, attempts) = found.ok_or(Error::OutgoingNotFound)?;
    Ok(json(StatusCode::OK, &OutgoingView::new(&item, &attempts))?)
}
