//! Inboxes: create, find by address, show, delete.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use restante_api::{AddressPath, CreateInboxBody, FindInboxQuery, Inbox, InboxPath};

use crate::http::app::App;
use crate::http::auth::{Authenticated, OwnedInbox, PathOf};
use crate::http::body::{parse, read};
use crate::http::describe::{INBOX_NOT_FOUND, Operation};
use crate::http::error::Error;
use crate::http::label::LabelHeader;
use crate::http::query::{Parameters, given};
use crate::http::response::json;
use crate::service::Caller;
use crate::wire;

pub(super) async fn create(
    State(app): State<Arc<App>>,
    Authenticated(caller): Authenticated,
    LabelHeader(label): LabelHeader,
    body: Body,
) -> Result<Response, Error> {
    read_nothing(&app, &caller, body).await?;
    let inbox = app
        .service
        .create_labelled_inbox(&caller, label.as_deref())
        .await?;
    Ok(json(
        StatusCode::CREATED,
        &wire::inbox(&inbox, app.service.mail_domain()),
    )?)
}

/// The body is absent or an empty object.
async fn read_nothing(app: &App, caller: &Caller, body: Body) -> Result<(), Error> {
    let mut job = app.service.jobs().job(caller.key.0);
    let body = read(body, app.limits.body, &mut job).await?;
    if !body.is_empty() {
        parse::<CreateInboxBody>(&body)?;
    }
    Ok(())
}

pub(super) fn describe_create(operation: Operation<'_>) -> Operation<'_> {
    let id = || ("id", "$response.body#/id".into());
    let description = "Creates a temporary inbox with a generated address. The body is optional and must be an empty \
                       JSON object; `PUT /v1/inboxes/{id}` creates an inbox with an address of your choice. Extension: \
                       the header X-Restante-Label, percent-encoded UTF-8, is a label that the dashboard shows, such \
                       as the title of a test.";
    operation
        .named("createInbox", "inboxes", "Create an inbox", description)
        .body::<CreateInboxBody>(false, "The body is not an empty JSON object.")
        .returns::<Inbox>(StatusCode::CREATED, "The new inbox.")
        .link("getInbox", "getInbox", "The inbox itself.", &[id()])
        .link(
            "findInbox",
            "findInbox",
            "The inbox by its address.",
            &[("address", "$response.body#/address".into())],
        )
        .link(
            "listMessages",
            "listMessages",
            "The messages of the inbox.",
            &[id()],
        )
        .link(
            "waitForMessage",
            "waitForMessage",
            "The next message of the inbox, if it has arrived.",
            &[id(), ("timeout", 0.into())],
        )
        .link(
            "sendMessage",
            "sendMessage",
            "Sending from the inbox.",
            &[id()],
        )
        .link("deleteInbox", "deleteInbox", "Deletes the inbox.", &[id()])
        .link(
            "setFaults",
            "setFaults",
            "The faults of the inbox.",
            &[id()],
        )
}

pub(super) async fn ensure(
    State(app): State<Arc<App>>,
    Authenticated(caller): Authenticated,
    PathOf(path): PathOf<AddressPath>,
    LabelHeader(label): LabelHeader,
    body: Body,
) -> Result<Response, Error> {
    read_nothing(&app, &caller, body).await?;
    let (inbox, is_new) = app
        .service
        .ensure_inbox(&caller, &path.id, label.as_deref())
        .await?;
    let status = if is_new {
        StatusCode::CREATED
    } else {
        StatusCode::OK
    };
    Ok(json(
        status,
        &wire::inbox(&inbox, app.service.mail_domain()),
    )?)
}

pub(super) fn describe_ensure(operation: Operation<'_>) -> Operation<'_> {
    let description = "Afterwards the project has the inbox with this address, on the mail domain or on a domain that \
                       the server accepts (`--accept-domains`). If it was there and is temporary, it lives for one \
                       more full lifetime from now; a permanent inbox stays as it is. On a domain other than the mail \
                       domain, each project can have its own inbox with the same address. The header \
                       X-Restante-Label is a label as for `POST /v1/inboxes`; it replaces an earlier one.";
    operation
        .named("ensureInbox", "inboxes", "Create an inbox with an address of your choice", description)
        .extension()
        .body::<CreateInboxBody>(false, "The body is not an empty JSON object.")
        .returns::<Inbox>(StatusCode::CREATED, "The new inbox.")
        .returns::<Inbox>(StatusCode::OK, "The inbox, which was there.")
        .refuses(
            "The address is not valid, mail for its domain is not accepted, or the body is not an empty JSON object.",
            &[
                Error::InvalidParameter("address"),
                Error::DomainNotAccepted,
                Error::InvalidJson,
                Error::UnknownField(String::new()),
            ],
        )
        .refuses(
            "The address is on the mail domain, and is an inbox of another project or reserved for one.",
            &[Error::AddressTaken],
        )
}

pub(super) async fn find(
    State(app): State<Arc<App>>,
    Authenticated(caller): Authenticated,
    Parameters(query): Parameters<FindInboxQuery>,
) -> Result<Response, Error> {
    let address = given(query.address).ok_or(Error::AddressRequired)?;
    let inbox = app.service.inbox_by_address(&caller, &address).await?;
    Ok(json(
        StatusCode::OK,
        &wire::inbox(&inbox, app.service.mail_domain()),
    )?)
}

pub(super) fn describe_find(operation: Operation<'_>) -> Operation<'_> {
    let description = "The full recipient address, compared case-insensitively. A `+` in an address must be written \
                       %2B in a query.";
    operation
        .named(
            "findInbox",
            "inboxes",
            "Find an inbox by its address",
            description,
        )
        .returns::<Inbox>(StatusCode::OK, "The inbox with this address.")
        .refuses(
            "The address is missing or empty.",
            &[Error::AddressRequired],
        )
        .refuses_as(&INBOX_NOT_FOUND)
}

pub(super) async fn show(
    State(app): State<Arc<App>>,
    owned: OwnedInbox,
) -> Result<Response, Error> {
    Ok(json(
        StatusCode::OK,
        &wire::inbox(&owned.inbox, app.service.mail_domain()),
    )?)
}

pub(super) fn describe_show(operation: Operation<'_>) -> Operation<'_> {
    operation
        .named(
            "getInbox",
            "inboxes",
            "Show an inbox",
            "An inbox of the calling key that has not expired.",
        )
        .returns::<Inbox>(StatusCode::OK, "The inbox.")
}

pub(super) async fn remove(
    State(app): State<Arc<App>>,
    Authenticated(caller): Authenticated,
    PathOf(path): PathOf<InboxPath>,
) -> Result<StatusCode, Error> {
    app.service.delete_inbox(&caller, &path.id).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) fn describe_remove(operation: Operation<'_>) -> Operation<'_> {
    let description = "Deletes the inbox and its messages; open waits on it end with 404.";
    operation
        .named("deleteInbox", "inboxes", "Delete an inbox", description)
        .returns_nothing("The inbox and its messages are deleted.")
        .refuses("The inbox is permanent.", &[Error::PermanentInbox])
        .refuses_as(&INBOX_NOT_FOUND)
}
