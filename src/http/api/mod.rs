//! The API under `/v1`: which handler answers which path.

pub(super) mod health;
mod inboxes;
mod messages;
mod outgoing;
mod wait;

use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn;
use axum::routing::get;

use super::app::App;
use super::deadline;

/// Everything below the version prefix.
pub(super) fn router() -> Router<Arc<App>> {
    let waits = Router::new().route("/inboxes/{id}/messages/wait", get(wait::wait));
    Router::new()
        .route("/inboxes", get(inboxes::find).post(inboxes::create))
        .route("/inboxes/{id}", get(inboxes::show).delete(inboxes::remove))
        .route("/inboxes/{id}/messages", get(messages::list).post(outgoing::send))
        .route("/messages/{id}", get(messages::show))
        .layer(from_fn(deadline::of_request))
        .merge(waits.layer(from_fn(deadline::of_wait)))
        .merge(health_alias())
}

/// `/health`, which also stands without a prefix.
pub(super) fn health_alias() -> Router<Arc<App>> {
    Router::new().route("/health", get(health::health))
}
