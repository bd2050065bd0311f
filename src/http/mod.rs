//! HTTP: [`router`] builds the application without a socket, and [`server`] serves it on one.
//!
//! A handler checks the key first ([`auth`]), then the inbox, then query or body. A send takes its
//! slot before it reads the body. Every error response is an [`error::Error`], which defines the
//! status code.

mod api;
mod app;
mod auth;
mod base64;
mod base_url;
mod body;
mod client;
mod compression;
mod credential;
pub mod dashboard;
mod deadline;
mod describe;
mod download;
mod error;
mod frame;
mod guide;
mod host;
mod label;
mod mailpit;
mod mcp;
mod message_json;
pub mod metrics;
mod openapi;
mod query;
mod request_id;
mod response;
mod search_words;
mod send;
mod sending;
pub mod server;

use std::sync::Arc;

use axum::Router;
use axum::middleware;

pub use app::App;
pub use base_url::BaseUrl;
pub(crate) use download::path_segment;
pub use host::for_browsers;
pub use mailpit::at_root as mailpit_at_root;
pub use openapi::document;

use error::Error;

/// Builds the router with all routes.
pub fn router(app: App) -> Router {
    let mcp = mcp::router(&app);
    let app = Arc::new(app);
    Router::new()
        .merge(openapi::routes())
        .merge(mcp)
        .merge(send::router(&app))
        .merge(mailpit::router(&app))
        .merge(compression::compressed(dashboard::router(&app)))
        .fallback(dashboard::unknown)
        .method_not_allowed_fallback(|| async { Error::MethodNotAllowed })
        .layer(middleware::from_fn_with_state(
            Arc::clone(&app),
            auth::admit,
        ))
        .layer(middleware::from_fn(request_id::stamp))
        .with_state(app)
}
