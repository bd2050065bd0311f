//! Fault injection: errors of the mail server that a test requests for its inbox.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::http::app::App;
use crate::http::auth::OwnedInbox;
use crate::http::body::{Fields, read};
use crate::http::error::Error;
use crate::http::response::json;
use crate::model::{Fault, FaultFields, FaultState, MOST_FAULTS, Timestamp};

#[derive(Serialize)]
struct FaultsView<'a> {
    faults: Vec<FaultView<'a>>,
}

#[derive(Serialize)]
struct FaultView<'a> {
    #[serde(flatten)]
    fault: &'a Fault,
    left: u32,
    used: u32,
    uses: &'a [Timestamp],
}

pub(super) async fn show(State(app): State<Arc<App>>, owned: OwnedInbox) -> Result<Response, Error> {
    view(&app.service.faults(&owned.inbox).await?)
}

pub(super) async fn replace(State(app): State<Arc<App>>, owned: OwnedInbox, body: Body) -> Result<Response, Error> {
    let (body, _room) = read(body, app.limits.body, app.service.budget(), owned.caller.key.0).await?;
    let faults = parse(&body)?;
    view(&app.service.set_faults(&owned.inbox, &faults).await?)
}

pub(super) async fn clear(State(app): State<Arc<App>>, owned: OwnedInbox) -> Result<StatusCode, Error> {
    app.service.set_faults(&owned.inbox, &[]).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn view<'a>(faults: &'a [FaultState]) -> Result<Response, Error> {
    let view = |state: &'a FaultState| {
        let FaultState { fault, uses } = state;
        FaultView { fault, left: state.left(), used: state.used(), uses }
    };
    Ok(json(StatusCode::OK, &FaultsView { faults: faults.iter().map(view).collect() })?)
}

fn parse(body: &[u8]) -> Result<Vec<Fault>, Error> {
    let list: Vec<&RawValue> = Fields::parse(body, &["faults"])?.required("faults")?;
    if list.len() > MOST_FAULTS {
        return Err(Error::InvalidField("faults"));
    }
    list.into_iter().map(parse_fault).collect()
}

fn parse_fault(json: &RawValue) -> Result<Fault, Error> {
    const FIELDS: &[&str] = &["at", "do", "times", "reply", "seconds", "store"];
    let fields = Fields::parse(json.get().as_bytes(), FIELDS).map_err(|error| match error {
        Error::InvalidJson => Error::InvalidField("faults"),
        error => error,
    })?;
    let fields = FaultFields {
        at: fields.optional("at")?,
        action: fields.optional("do")?,
        times: fields.optional("times")?,
        reply: fields.optional("reply")?,
        seconds: fields.optional("seconds")?,
        store: fields.optional("store")?,
    };
    Ok(fields.fault()?)
}
