//! The wait: one open request instead of polling.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;

use super::stream;
use crate::http::app::App;
use crate::http::auth::OwnedInbox;
use crate::http::error::Error;
use crate::http::query::Query;
use crate::http::request_id::RequestId;

pub(super) async fn wait(
    State(app): State<Arc<App>>,
    request_id: RequestId,
    owned: OwnedInbox,
    query: Query,
) -> Result<Response, Error> {
    let filter = query.message_filter()?;
    let message = app.service.wait(&owned.caller, &owned.inbox, &filter, query.timeout()).await?;
    let message = app.service.with_memory(&owned.caller, message).await?;
    stream::message(message, app.service.mail_domain(), request_id).await
}
