//! Messages: one by its id in several forms, and the list of an inbox.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;

use super::stream;
use crate::http::app::App;
use crate::http::auth::{Authenticated, OwnedInbox, PathId};
use crate::http::download;
use crate::http::error::Error;
use crate::http::frame;
use crate::http::query::Query;
use crate::http::request_id::RequestId;
use crate::service::ListFilter;

pub(super) async fn show(
    State(app): State<Arc<App>>,
    request_id: RequestId,
    Authenticated(caller): Authenticated,
    id: PathId,
) -> Result<Response, Error> {
    let message = app.service.open_message(&caller, &id.0).await?;
    stream::message(message, app.service.mail_domain(), request_id).await
}

pub(super) async fn list(
    State(app): State<Arc<App>>,
    request_id: RequestId,
    owned: OwnedInbox,
    query: Query,
) -> Result<Response, Error> {
    let filter =
        ListFilter { matching: query.message_filter()?, before: query.first("before"), limit: query.limit("limit")? };
    let pages = app.service.list(&owned.caller, &owned.inbox, &filter).await?;
    stream::list(pages, app.service.mail_domain(), request_id).await
}

pub(super) async fn raw(
    State(app): State<Arc<App>>,
    request_id: RequestId,
    Authenticated(caller): Authenticated,
    id: PathId,
) -> Result<Response, Error> {
    let pieces = app.service.raw_message(&caller, &id.0).await?;
    download::eml(&id.0, pieces, request_id)
}

pub(super) async fn page(
    State(app): State<Arc<App>>,
    Authenticated(caller): Authenticated,
    id: PathId,
) -> Result<Response, Error> {
    frame::page(&app, &caller, &id.0, frame::Images::Own, "raw").await
}

pub(super) async fn remove(
    State(app): State<Arc<App>>,
    Authenticated(caller): Authenticated,
    id: PathId,
) -> Result<StatusCode, Error> {
    app.service.delete_message(&caller, &id.0).await?;
    Ok(StatusCode::NO_CONTENT)
}
