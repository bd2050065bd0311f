//! Messages: one by its id in several forms, and the list of an inbox.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use restante_api::{ListMessagesQuery, Message, MessageList, MessagePath};
use restante_mail::display::Links;

use super::stream;
use crate::http::app::App;
use crate::http::auth::{Authenticated, OwnedInbox, PathOf};
use crate::http::describe::{ATTACHED, BUSY, MESSAGE_NOT_FOUND, NOSNIFF, Operation};
use crate::http::download;
use crate::http::error::Error;
use crate::http::frame;
use crate::http::query::{Parameters, given, limit, message_filter};
use crate::http::request_id::RequestId;
use crate::service::ListFilter;

pub(super) async fn show(
    State(app): State<Arc<App>>,
    request_id: RequestId,
    Authenticated(caller): Authenticated,
    PathOf(path): PathOf<MessagePath>,
) -> Result<Response, Error> {
    let message = app.service.open_message(&caller, &path.id).await?;
    stream::message(&app.service, &caller, message, request_id).await
}

pub(super) fn describe_show(operation: Operation<'_>) -> Operation<'_> {
    operation
        .named(
            "getMessage",
            "messages",
            "Show a message",
            "A message in an inbox of the calling key.",
        )
        .returns::<Message>(StatusCode::OK, "The message.")
        .refuses_as(&MESSAGE_NOT_FOUND)
        .refuses_as(&BUSY)
}

pub(super) async fn list(
    State(app): State<Arc<App>>,
    request_id: RequestId,
    owned: OwnedInbox,
    Parameters(query): Parameters<ListMessagesQuery>,
) -> Result<Response, Error> {
    let matching = message_filter(query.matching)?;
    let filter = ListFilter {
        matching,
        before: given(query.before),
        limit: limit(query.limit)?,
    };
    let pages = app.service.list(&owned.inbox, &filter).await?;
    stream::list(&app.service, &owned.caller, pages, request_id).await
}

pub(super) fn describe_list(operation: Operation<'_>) -> Operation<'_> {
    let description = "Newest first. There is no default page size: the response is streamed. `limit` and `before` \
                       are extensions.";
    let refused = "A parameter is invalid. `invalid after` and `invalid before`: the value is not the id of a message \
                   in this inbox. `invalid limit`: the value is not an integer of at least 1. `invalid has`: a word \
                   is not `otp`, `code` or `link`. `invalid header`: the value is not `Name:substring`. `invalid \
                   subject`, `invalid from`, `invalid to`, `invalid text`: the value is longer than 998 bytes.";
    let parameters = [
        "after", "before", "limit", "has", "header", "subject", "from", "to", "text",
    ];
    operation
        .named(
            "listMessages",
            "messages",
            "List the messages of an inbox",
            description,
        )
        .returns::<MessageList>(StatusCode::OK, "The messages, newest first.")
        .link(
            "getMessage",
            "getMessage",
            "Only the newest message.",
            &[("id", "$response.body#/messages/0/id".into())],
        )
        .refuses(refused, &parameters.map(Error::InvalidParameter))
        .refuses_as(&BUSY)
}

pub(super) async fn raw(
    State(app): State<Arc<App>>,
    request_id: RequestId,
    Authenticated(caller): Authenticated,
    PathOf(path): PathOf<MessagePath>,
) -> Result<Response, Error> {
    download::eml(&app.service, &caller, &path.id, request_id).await
}

pub(super) fn describe_raw(operation: Operation<'_>) -> Operation<'_> {
    let description = "Extension. The bytes exactly as they were received.";
    operation
        .named(
            "getRawMessage",
            "messages",
            "The bytes of a message",
            description,
        )
        .extension()
        .returns_content("message/rfc822", "The message.", &[ATTACHED])
        .refuses_as(&MESSAGE_NOT_FOUND)
        .refuses_as(&BUSY)
}

pub(super) async fn page(
    State(app): State<Arc<App>>,
    Authenticated(caller): Authenticated,
    PathOf(path): PathOf<MessagePath>,
) -> Result<Response, Error> {
    frame::page(
        &app,
        &caller,
        &path.id,
        frame::Images::Own,
        "raw",
        Links::Shown,
    )
    .await
}

pub(super) fn describe_page(operation: Operation<'_>) -> Operation<'_> {
    let description = "Extension. The HTML with its images inlined and without remote content, or the text as a \
                       simple page.";
    let policy = (
        "Content-Security-Policy",
        "Forbids scripts, forms and remote content.",
        None,
    );
    operation
        .named(
            "getMessagePage",
            "messages",
            "A message as an HTML page",
            description,
        )
        .extension()
        .returns_content("text/html", "The page.", &[policy, NOSNIFF])
        .refuses_as(&MESSAGE_NOT_FOUND)
        .refuses_as(&BUSY)
}

pub(super) async fn remove(
    State(app): State<Arc<App>>,
    Authenticated(caller): Authenticated,
    PathOf(path): PathOf<MessagePath>,
) -> Result<StatusCode, Error> {
    app.service.delete_message(&caller, &path.id).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) fn describe_remove(operation: Operation<'_>) -> Operation<'_> {
    let description = "Extension. Its id stays a valid `after` cursor until the inbox ends.";
    operation
        .named("deleteMessage", "messages", "Delete a message", description)
        .extension()
        .returns_nothing("The message is deleted.")
        .refuses_as(&MESSAGE_NOT_FOUND)
}
