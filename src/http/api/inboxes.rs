//! Inboxes: create, find by address, show, delete.

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
use crate::http::query::Query;
use crate::http::response::json;
use crate::model::{Domain, Inbox, InboxId, InboxKind, Timestamp};

/// An inbox as the API returns it.
#[derive(Serialize)]
pub(super) struct InboxView<'a> {
    id: &'a InboxId,
    address: String,
    kind: InboxKind,
    created_at: Timestamp,
    expires_at: Option<Timestamp>,
}

impl<'a> InboxView<'a> {
    pub(super) fn new(inbox: &'a Inbox, mail_domain: &Domain) -> Self {
        Self {
            id: &inbox.id,
            address: inbox.address(mail_domain),
            kind: inbox.kind,
            created_at: inbox.created_at,
            expires_at: inbox.expires_at,
        }
    }
}

pub(super) async fn create(
    State(app): State<Arc<App>>,
    Authenticated(caller): Authenticated,
    body: Body,
) -> Result<Response, Error> {
    let (body, _room) = read(body, app.limits.body, app.service.budget(), caller.key.0).await?;
    if !body.is_empty() {
        Fields::parse(&body, &[])?;
    }
    let inbox = app.service.create_inbox(&caller).await?;
    Ok(json(StatusCode::CREATED, &InboxView::new(&inbox, app.service.mail_domain()))?)
}

pub(super) async fn find(
    State(app): State<Arc<App>>,
    Authenticated(caller): Authenticated,
    query: Query,
) -> Result<Response, Error> {
    let address = query.first("address").ok_or(Error::AddressRequired)?;
    let inbox = app.service.inbox_by_address(&caller, &address).await?;
    Ok(json(StatusCode::OK, &InboxView::new(&inbox, app.service.mail_domain()))?)
}

pub(super) async fn show(State(app): State<Arc<App>>, owned: OwnedInbox) -> Result<Response, Error> {
    Ok(json(StatusCode::OK, &InboxView::new(&owned.inbox, app.service.mail_domain()))?)
}

pub(super) async fn remove(
    State(app): State<Arc<App>>,
    Authenticated(caller): Authenticated,
    id: PathId,
) -> Result<StatusCode, Error> {
    app.service.delete_inbox(&caller, &id.0).await?;
    Ok(StatusCode::NO_CONTENT)
}
