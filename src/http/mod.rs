//! HTTP: [`router`] is the application without a socket, and [`server`] serves it on one.
//!
//! The arguments of a handler are checked in order: the key ([`auth`]), then the inbox, then query or body. Every error
//! is an [`error::Error`], the only place that has status codes.

mod api;
mod app;
mod auth;
mod body;
pub mod dashboard;
mod deadline;
mod download;
mod error;
mod frame;
mod guide;
mod host;
mod mcp;
pub mod metrics;
mod openapi;
mod query;
mod request_id;
mod response;
pub mod server;

use std::sync::Arc;

use axum::Router;
use axum::middleware;

pub use app::App;
pub(crate) use download::path_segment;

use error::Error;

/// The whole application.
pub fn router(app: App) -> Router {
    let documents = guide::router(&app).merge(openapi::router(&app));
    let mcp = mcp::router(&app);
    let app = Arc::new(app);
    Router::new()
        .nest("/v1", api::router())
        .nest("/api/v1", api::router())
        .merge(api::health_alias())
        .merge(documents)
        .merge(mcp)
        .merge(dashboard::router(&app))
        .fallback(dashboard::unknown)
        .method_not_allowed_fallback(|| async { Error::MethodNotAllowed })
        .layer(middleware::from_fn(request_id::stamp))
        .with_state(app)
}
