//! Fault injection: errors of the mail server that a test requests for its inbox.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use restante_api::{FaultList, MAX_FAULTS, SetFaultsBody};
use serde_json::value::RawValue;

use crate::http::app::App;
use crate::http::auth::OwnedInbox;
use crate::http::body::{parse, read};
use crate::http::describe::{BUSY, Operation};
use crate::http::error::Error;
use crate::http::response::json;
use crate::model::Fault;
use crate::wire;

pub(super) async fn show(
    State(app): State<Arc<App>>,
    owned: OwnedInbox,
) -> Result<Response, Error> {
    Ok(json(
        StatusCode::OK,
        &wire::faults(&app.service.faults(&owned.inbox).await?),
    )?)
}

pub(super) fn describe_show(operation: Operation<'_>) -> Operation<'_> {
    let description = "Extension. The faults of the inbox, each with the number and the times of its uses. Empty for \
                       an inbox without faults.";
    operation
        .named(
            "getFaults",
            "inboxes",
            "Show the faults of an inbox",
            description,
        )
        .extension()
        .returns::<FaultList>(
            StatusCode::OK,
            "The faults in their order, with their uses.",
        )
}

pub(super) async fn replace(
    State(app): State<Arc<App>>,
    owned: OwnedInbox,
    body: Body,
) -> Result<Response, Error> {
    let mut job = app.service.jobs().job(owned.caller.key.0);
    let body = read(body, app.limits.body, &mut job).await?;
    let faults = read_faults(&body)?;
    Ok(json(
        StatusCode::OK,
        &wire::faults(&app.service.set_faults(&owned.inbox, &faults).await?),
    )?)
}

pub(super) fn describe_replace(operation: Operation<'_>) -> Operation<'_> {
    let description = "Extension. Replaces the faults of the inbox; other inboxes are not affected. Only the first \
                       fault with uses left is active; the next one becomes active when it is used up. After the \
                       last one, mail is accepted.";
    let refused =
        "The body is not valid JSON, or has a field that is missing, unknown or not valid.";
    operation
        .named(
            "setFaults",
            "inboxes",
            "Make the mail server misbehave for an inbox",
            description,
        )
        .extension()
        .body::<SetFaultsBody>(true, refused)
        .returns::<FaultList>(
            StatusCode::OK,
            "The faults in their order, with their uses.",
        )
        .refuses_as(&BUSY)
}

pub(super) async fn clear(
    State(app): State<Arc<App>>,
    owned: OwnedInbox,
) -> Result<StatusCode, Error> {
    app.service.set_faults(&owned.inbox, &[]).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) fn describe_clear(operation: Operation<'_>) -> Operation<'_> {
    operation
        .named(
            "clearFaults",
            "inboxes",
            "Clear the faults of an inbox",
            "Extension. From now on, mail is accepted as usual.",
        )
        .extension()
        .returns_nothing("The inbox has no faults.")
}

fn read_faults(body: &[u8]) -> Result<Vec<Fault>, Error> {
    let SetFaultsBody::<&RawValue> { faults } = parse(body)?;
    if faults.len() > MAX_FAULTS {
        return Err(Error::InvalidField("faults"));
    }
    faults.into_iter().map(read_fault).collect()
}

fn read_fault(json: &RawValue) -> Result<Fault, Error> {
    let fields = parse(json.get().as_bytes()).map_err(|error| match error {
        Error::InvalidJson => Error::InvalidField("faults"),
        error => error,
    })?;
    Ok(Fault::requested(&fields)?)
}
