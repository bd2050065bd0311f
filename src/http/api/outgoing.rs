//! Outgoing messages: sending from an inbox.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Serialize;

use crate::http::app::App;
use crate::http::auth::OwnedInbox;
use crate::http::body::{Fields, read};
use crate::http::error::Error;
use crate::http::response::json;
use crate::model::{EmailAddress, OutgoingStatus};
use crate::service::Draft;

const FIELDS: &[&str] = &["to", "subject", "text", "html", "in_reply_to"];

/// The answer for a message that was accepted.
#[derive(Serialize)]
struct AcceptedView {
    id: String,
    status: &'static str,
}

pub(super) async fn send(State(app): State<Arc<App>>, owned: OwnedInbox, body: Body) -> Result<Response, Error> {
    // Taken before the body is read, so that a key has no more bodies in memory than it may send at once.
    let place = app.service.begin_send(&owned.caller).await?;
    let (body, _room) = read(body, app.limits.send_body, app.service.budget()).await?;
    let draft = read_draft(&body)?;
    let id = app.service.send(place, &owned.caller, &owned.inbox, draft).await?;
    // Also for a local recipient, whose message has already arrived: the contract has no other answer.
    let accepted = AcceptedView { id: id.to_string(), status: OutgoingStatus::Queued.as_str() };
    Ok(json(StatusCode::ACCEPTED, &accepted)?)
}

fn read_draft(body: &[u8]) -> Result<Draft, Error> {
    let fields = Fields::parse(body, FIELDS)?;
    let to = fields.required("to")?;
    let subject = fields.required("subject")?;
    // A line break would start another header field, and other control characters are not allowed (RFC 5322, section
    // 2.2).
    if subject.contains(char::is_control) {
        return Err(Error::InvalidField("subject"));
    }
    Ok(Draft {
        to: EmailAddress::parse(&to).map_err(|_| Error::InvalidField("to"))?,
        subject,
        text: fields.optional("text")?.unwrap_or_default(),
        html: fields.optional("html")?.unwrap_or_default(),
        in_reply_to: fields.optional("in_reply_to")?,
    })
}
