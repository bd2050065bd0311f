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

use crate::http::app::App;
use crate::http::auth::{Authenticated, OwnedInbox, PathId};
use crate::http::error::Error;
use crate::http::query::Query;
use crate::http::request_id::RequestId;
use crate::http::response::JSON;
use crate::model::{Domain, InboxId, Message};
use crate::service::{ListFilter, MessagePages};

/// The fields of a message in the API, before its parts.
#[derive(Serialize)]
struct Envelope<'a> {
    id: String,
    inbox_id: &'a InboxId,
    from: &'a str,
    to: String,
    subject: &'a str,
}

/// The answer with one message.
pub(super) fn message_answer(message: &Message, mail_domain: &Domain) -> Result<Response, Error> {
    let mut body = Vec::with_capacity(message.parts.members().len() + 512);
    write_message(&mut body, message, mail_domain)?;
    let body = message.parts.room().clone().hold(body);
    Ok((StatusCode::OK, [(CONTENT_TYPE, JSON)], body).into_response())
}

/// Writes a message as the API shows it. Its parts are copied as they are stored.
fn write_message(output: &mut Vec<u8>, message: &Message, mail_domain: &Domain) -> Result<(), Error> {
    let envelope = Envelope {
        id: message.id.to_string(),
        inbox_id: &message.inbox_id,
        from: &message.from,
        to: format!("{}@{mail_domain}", message.inbox_id),
        subject: &message.subject,
    };
    serde_json::to_writer(&mut *output, &envelope).map_err(Error::internal)?;
    // The members that follow belong to the same object.
    output.pop();
    output.push(b',');
    output.extend_from_slice(message.parts.members());
    output.extend_from_slice(b",\"received_at\":");
    serde_json::to_writer(&mut *output, &message.received_at).map_err(Error::internal)?;
    output.push(b'}');
    Ok(())
}

/// Ends a MessageList.
const CLOSING: &[u8] = b"]}";

pub(super) async fn show(
    State(app): State<Arc<App>>,
    Authenticated(caller): Authenticated,
    id: PathId,
) -> Result<Response, Error> {
    let message = app.service.message(&caller, &id.0).await?;
    message_answer(&message, app.service.mail_domain())
}

pub(super) async fn list(
    State(app): State<Arc<App>>,
    request_id: RequestId,
    owned: OwnedInbox,
    query: Query,
) -> Result<Response, Error> {
    let filter =
        ListFilter { matching: query.message_filter()?, before: query.first("before"), limit: query.limit("limit")? };
    let mut pages = app.service.list(&owned.inbox, &filter).await?;
    // The first page decides the status: after it, a failure can only cut off the answer.
    let first = pages.next_page().await?.unwrap_or_default();
    let mut opening = b"{\"messages\":[".to_vec();
    write_page(&mut opening, &first, app.service.mail_domain())?;
    if pages.are_over() {
        opening.extend_from_slice(CLOSING);
        return Ok(([(CONTENT_TYPE, JSON)], held(opening, &first)).into_response());
    }
    let rest = rest_of_list(held(opening, &first), pages, app.service.mail_domain().clone());
    let body = Body::from_stream(rest.inspect_err(move |error| request_id.log_failure(error)));
    Ok(([(CONTENT_TYPE, JSON)], body).into_response())
}

/// A part of the answer, with the memory budget of its messages.
fn held(chunk: Vec<u8>, page: &[Message]) -> Bytes {
    let room = page.first().map(|message| message.parts.room().clone());
    room.unwrap_or_default().hold(chunk)
}

/// The rest of a MessageList, as a stream of chunks: one page is in memory at a time.
fn rest_of_list(opening: Bytes, pages: MessagePages, mail_domain: Domain) -> impl Stream<Item = Result<Bytes, Error>> {
    let rest = stream::try_unfold(pages, move |pages| next_chunk(pages, mail_domain.clone()));
    stream::iter([Ok(opening)]).chain(rest).chain(stream::iter([Ok(Bytes::from_static(CLOSING))]))
}

async fn next_chunk(mut pages: MessagePages, mail_domain: Domain) -> Result<Option<(Bytes, MessagePages)>, Error> {
    let Some(page) = pages.next_page().await? else { return Ok(None) };
    let mut chunk = b",".to_vec();
    write_page(&mut chunk, &page, &mail_domain)?;
    Ok(Some((held(chunk, &page), pages)))
}

/// Writes messages as JSON with commas between.
fn write_page(output: &mut Vec<u8>, page: &[Message], mail_domain: &Domain) -> Result<(), Error> {
    for (position, message) in page.iter().enumerate() {
        if position > 0 {
            output.push(b',');
        }
        write_message(output, message, mail_domain)?;
    }
    Ok(())
}
