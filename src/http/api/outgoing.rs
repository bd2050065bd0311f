//! Outgoing messages: sending from an inbox, and the results.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use restante_api::{
    ForwardBody, MessagePath, Outgoing, OutgoingPath, SendAccepted, SendMessageBody,
};

use crate::http::app::App;
use crate::http::auth::{Authenticated, OwnedInbox, PathOf};
use crate::http::body::{parse, read};
use crate::http::describe::{Operation, STOPPING};
use crate::http::error::Error;
use crate::http::response::json;
use crate::model::{EmailAddress, FieldError, OutgoingId, OutgoingStatus};
use crate::service::Draft;
use crate::wire;

pub(super) async fn send(
    State(app): State<Arc<App>>,
    owned: OwnedInbox,
    body: Body,
) -> Result<Response, Error> {
    // Taken before the body is read, so that the number of a key's bodies in memory is limited like
    // its sends.
    let place = app.service.begin_send(&owned.caller).await?;
    let mut job = app.service.jobs().job(owned.caller.key.0);
    let body = read(body, app.limits.send_body, &mut job).await?;
    let (draft, _job) = job
        .run(move || read_draft(&body))
        .await
        .map_err(Error::internal)?;
    let draft = draft?;
    let id = app
        .service
        .send(place, &owned.caller, &owned.inbox, draft)
        .await?;
    // The same for a local recipient, whose message has already arrived, because the contract has
    // no other response.
    let accepted = SendAccepted {
        id: id.to_string(),
        status: OutgoingStatus::Queued.to_string(),
    };
    Ok(json(StatusCode::ACCEPTED, &accepted)?)
}

pub(super) fn describe_send(operation: Operation<'_>) -> Operation<'_> {
    let description = "The sender is always the address of the inbox. A message to an address on the mail domain of \
                       the service is stored in that inbox immediately; the inbox must exist. A message to any other \
                       domain is sent over SMTP.";
    let unknown =
        "The inbox, the recipient on the mail domain, or the message of `in_reply_to` is unknown.";
    let too_many = "{sends_per_key} sends of this key are running, or the recipient's inbox has reached the message \
                    limit.";
    operation
        .named(
            "sendMessage",
            "messages",
            "Send a message from an inbox",
            description,
        )
        .body::<SendMessageBody>(true, "The body is not a JSON object of this shape.")
        .returns::<SendAccepted>(StatusCode::ACCEPTED, "The message is accepted.")
        .refuses(
            unknown,
            &[
                Error::InboxNotFound,
                Error::RecipientNotFound,
                Error::MessageNotFound,
            ],
        )
        .refuses(too_many, &[Error::TooManySends, Error::RecipientFull])
        .refuses_as(&STOPPING)
}

pub(super) async fn forward(
    State(app): State<Arc<App>>,
    Authenticated(caller): Authenticated,
    PathOf(path): PathOf<MessagePath>,
    body: Body,
) -> Result<Response, Error> {
    let place = app.service.begin_send(&caller).await?;
    let mut job = app.service.jobs().job(caller.key.0);
    let body = read(body, app.limits.body, &mut job).await?;
    let ForwardBody { to } = parse(&body)?;
    // Forwarding takes a place of its own.
    drop((body, job));
    let to = EmailAddress::parse(&to).map_err(|_| FieldError::Invalid("to"))?;
    let id = app.service.forward(place, &caller, &path.id, to).await?;
    let accepted = SendAccepted {
        id: id.to_string(),
        status: OutgoingStatus::Queued.to_string(),
    };
    Ok(json(StatusCode::ACCEPTED, &accepted)?)
}

pub(super) fn describe_forward(operation: Operation<'_>) -> Operation<'_> {
    let description = "Extension. The message as received, from its inbox, with Resent fields in front (RFC 5322). A \
                       DKIM signature of the original stays valid.";
    let too_many = "{sends_per_key} sends of this key are running, or the recipient's inbox has reached the message \
                    limit.";
    operation
        .named(
            "forwardMessage",
            "messages",
            "Forward a message",
            description,
        )
        .extension()
        .body::<ForwardBody>(true, "The body is not a JSON object of this shape.")
        .returns::<SendAccepted>(StatusCode::ACCEPTED, "The message is accepted.")
        .refuses(
            "The message or the local recipient is unknown.",
            &[Error::MessageNotFound, Error::RecipientNotFound],
        )
        .refuses(too_many, &[Error::TooManySends, Error::RecipientFull])
        .refuses_as(&STOPPING)
}

fn read_draft(body: &[u8]) -> Result<Draft, Error> {
    let SendMessageBody {
        to,
        subject,
        text,
        html,
        in_reply_to,
    } = parse(body)?;
    Ok(Draft::new(
        &to,
        subject,
        text.unwrap_or_default(),
        html.unwrap_or_default(),
        in_reply_to,
    )?)
}

pub(super) async fn show(
    State(app): State<Arc<App>>,
    Authenticated(caller): Authenticated,
    PathOf(path): PathOf<OutgoingPath>,
) -> Result<Response, Error> {
    let id = OutgoingId::parse(&path.id).map_err(|_| Error::OutgoingNotFound)?;
    let found = app.service.outbox().own(caller.project, id).await?;
    let (item, attempts) = found.ok_or(Error::OutgoingNotFound)?;
    Ok(json(StatusCode::OK, &wire::outgoing(item, attempts))?)
}

pub(super) fn describe_show(operation: Operation<'_>) -> Operation<'_> {
    let description = "Extension. The status of an outgoing message and every attempt to send it. A message to a \
                       local inbox is `sent` without an attempt.";
    operation
        .named(
            "getOutgoing",
            "messages",
            "Status of a sent message",
            description,
        )
        .extension()
        .returns::<Outgoing>(StatusCode::OK, "The outgoing message.")
        .refuses(
            "There is no such outgoing message of this key.",
            &[Error::OutgoingNotFound],
        )
}
