//! The wait: one open request instead of polling.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;

use super::messages::message_answer;
use crate::http::App;
use crate::http::auth::OwnedInbox;
use crate::http::error::Error;
use crate::http::query::Query;
use crate::http::server::Parking;

pub(super) async fn wait(
    State(app): State<Arc<App>>,
    owned: OwnedInbox,
    query: Query,
    parking: Option<Extension<Parking>>,
) -> Result<Response, Error> {
    if let Some(Extension(parking)) = parking {
        parking.allow();
    }
    let filter = query.message_filter();
    let message = app.service.wait(&owned.caller, &owned.inbox, &filter, query.timeout()).await?;
    message_answer(&message, app.service.mail_domain())
}
