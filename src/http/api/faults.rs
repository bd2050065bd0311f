//! Faults on request: errors of the mail server that a test requests for its inbox.

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
use crate::model::{Fault, FaultAction, FaultPoint, FaultState, RequestedReply, Timestamp};

/// The most faults of an inbox.
const MOST_FAULTS: usize = 20;
/// The most times that a fault applies.
const MOST_TIMES: u32 = 1_000;
/// The longest delay.
const MOST_SECONDS: u16 = 300;

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
    let (body, _room) = read(body, app.limits.body, app.service.budget()).await?;
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
    let at: String = fields.required("at")?;
    let at = FaultPoint::of_word(&at).ok_or(Error::InvalidField("at"))?;
    let times = fields.optional("times")?.unwrap_or(1);
    if !(1..=MOST_TIMES).contains(&times) {
        return Err(Error::InvalidField("times"));
    }
    let word: String = fields.required("do")?;
    let action = parse_action(&word, at, &fields)?;
    let takes = |name| match name {
        "reply" => matches!(action, FaultAction::Defer { .. } | FaultAction::Reject { .. }),
        "seconds" => matches!(action, FaultAction::Delay { .. }),
        _ => at == FaultPoint::Data && matches!(action, FaultAction::Disconnect { .. }),
    };
    match ["reply", "seconds", "store"].into_iter().find(|name| fields.has(name) && !takes(name)) {
        Some(name) => Err(Error::InvalidField(name)),
        None => Ok(Fault { at, action, times }),
    }
}

fn parse_action(word: &str, at: FaultPoint, fields: &Fields<'_>) -> Result<FaultAction, Error> {
    match word {
        "defer" => Ok(FaultAction::Defer { reply: parse_reply(fields, false)? }),
        "reject" => Ok(FaultAction::Reject { reply: parse_reply(fields, true)? }),
        "disconnect" => Ok(FaultAction::Disconnect { store: fields.optional("store")? }),
        "delay" => {
            let seconds = fields.required("seconds")?;
            let is_valid = (1..=MOST_SECONDS).contains(&seconds);
            if is_valid { Ok(FaultAction::Delay { seconds }) } else { Err(Error::InvalidField("seconds")) }
        }
        "bounce" | "duplicate" if at != FaultPoint::Data => Err(Error::InvalidField("at")),
        "bounce" => Ok(FaultAction::Bounce),
        "duplicate" => Ok(FaultAction::Duplicate),
        _ => Err(Error::InvalidField("do")),
    }
}

fn parse_reply(fields: &Fields<'_>, is_permanent: bool) -> Result<Option<RequestedReply>, Error> {
    let Some(text) = fields.optional::<String>("reply")? else { return Ok(None) };
    let reply = RequestedReply::parse(&text).filter(|reply| reply.is_permanent() == is_permanent);
    reply.map(Some).ok_or(Error::InvalidField("reply"))
}
