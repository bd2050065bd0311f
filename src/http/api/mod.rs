//! The API under `/v1`: which handler answers which path.

pub(super) mod health;
mod inboxes;
mod messages;
mod outgoing;
mod wait;

use std::sync::Arc;

use axum::Router;
use axum::routing::get;

use super::app::App;

/// All paths below the version prefix.
pub(super) fn router() -> Router<Arc<App>> {
    health_alias()
        .route("/inboxes", get(inboxes::find).post(inboxes::create))
        .route("/inboxes/{id}", get(inboxes::show).delete(inboxes::remove))
        .route("/inboxes/{id}/messages", get(messages::list).post(outgoing::send))
        .route("/inboxes/{id}/messages/wait", get(wait::wait))
        .route("/messages/{id}", get(messages::show))
}

/// `/health`, which also exists without the prefix.
pub(super) fn health_alias() -> Router<Arc<App>> {
    Router::new().route("/health", get(health::health))
}
