//! Messages: one by its id, and the list of an inbox, which is streamed a page at a time.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use futures_util::stream::{self, Stream};
use futures_util::{StreamExt, TryStreamExt};
use serde::Serialize;

use crate::http::App;
use crate::http::auth::{Authenticated, OwnedInbox, PathId};
use crate::http::error::Error;
use crate::http::query::Query;
use crate::http::request_id::RequestId;
use crate::http::response::{JSON, json};
use crate::model::{Domain, InboxId, Message, Timestamp};
use crate::service::{ListFilter, MessagePages};

/// A message as the API shows it.
#[derive(Serialize)]
pub(super) struct MessageView<'a> {
    id: String,
    inbox_id: &'a InboxId,
    from: &'a str,
    to: String,
    subject: &'a str,
    text: &'a str,
    html: &'a str,
    links: &'a [String],
    otp: &'a str,
    received_at: Timestamp,
}

impl<'a> MessageView<'a> {
    pub(super) fn new(message: &'a Message, mail_domain: &Domain) -> Self {
        Self {
            id: message.id.to_string(),
            inbox_id: &message.inbox_id,
            from: &message.from,
            to: format!("{}@{mail_domain}", message.inbox_id),
            subject: &message.subject,
            text: &message.text,
            html: &message.html,
            links: &message.links,
            otp: &message.otp,
            received_at: message.received_at,
        }
    }
}

pub(super) async fn show(
    State(app): State<Arc<App>>,
    Authenticated(caller): Authenticated,
    id: PathId,
) -> Result<Response, Error> {
    let message = app.service.message(&caller, &id.0).await?;
    json(StatusCode::OK, &MessageView::new(&message, app.service.mail_domain()))
}

pub(super) async fn list(
    State(app): State<Arc<App>>,
    request_id: RequestId,
    owned: OwnedInbox,
    query: Query,
) -> Result<Response, Error> {
    let filter =
        ListFilter { matching: query.message_filter(), before: query.first("before"), limit: query.limit("limit")? };
    let mut pages = app.service.list(&owned.inbox, &filter).await?;
    // The first page decides the status: behind it, a failure can only break the answer off.
    let first = pages.next_page().await?.unwrap_or_default();
    let body = list_body(&first, pages, app.service.mail_domain().clone())?
        .inspect_err(move |error| request_id.log_failure(error));
    Ok(([(CONTENT_TYPE, JSON)], Body::from_stream(body)).into_response())
}

/// A MessageList as a stream of octets, in memory bounded by one page.
fn list_body(
    first: &[Message],
    pages: MessagePages,
    mail_domain: Domain,
) -> Result<impl Stream<Item = Result<Bytes, Error>> + use<>, Error> {
    let mut opening = b"{\"messages\":[".to_vec();
    write_page(&mut opening, first, &mail_domain)?;
    // Pages are never empty, so an empty first one was the last.
    let pages = (!first.is_empty()).then_some(pages);
    let rest = stream::try_unfold(pages, move |pages| next_chunk(pages, mail_domain.clone()));
    let closing = Bytes::from_static(b"]}");
    Ok(stream::iter([Ok(opening.into())]).chain(rest).chain(stream::iter([Ok(closing)])))
}

async fn next_chunk(
    pages: Option<MessagePages>,
    mail_domain: Domain,
) -> Result<Option<(Bytes, Option<MessagePages>)>, Error> {
    let Some(mut pages) = pages else { return Ok(None) };
    let Some(page) = pages.next_page().await? else { return Ok(None) };
    let mut chunk = b",".to_vec();
    write_page(&mut chunk, &page, &mail_domain)?;
    Ok(Some((chunk.into(), Some(pages))))
}

/// Writes messages as JSON with commas between.
fn write_page(output: &mut Vec<u8>, page: &[Message], mail_domain: &Domain) -> Result<(), Error> {
    for (position, message) in page.iter().enumerate() {
        if position > 0 {
            output.push(b',');
        }
        serde_json::to_writer(&mut *output, &MessageView::new(message, mail_domain)).map_err(Error::internal)?;
    }
    Ok(())
}
