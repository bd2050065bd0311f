//! The API under `/v1`: the handler of each path.

mod details;
mod explain;
mod faults;
mod health;
mod inboxes;
mod messages;
mod outgoing;
mod stream;
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
        .route("/inboxes/{id}/explain", get(explain::explain))
        .route("/inboxes/{id}/faults", get(faults::show).put(faults::replace).delete(faults::clear))
        .route("/messages/{id}", get(messages::show).delete(messages::remove))
        .route("/messages/{id}/raw", get(messages::raw))
        .route("/messages/{id}/details", get(details::show))
        .route("/messages/{id}/attachments/{index}", get(details::download))
        .route("/messages/{id}/page", get(messages::page))
        .route("/outgoing/{id}", get(outgoing::show))
}

/// `/health`, which also exists without the prefix.
pub(super) fn health_alias() -> Router<Arc<App>> {
    Router::new().route("/health", get(health::health))
}
