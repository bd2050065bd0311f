//! The routes for monitoring, on a separate listener.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use super::error::Error;
use crate::metrics::Metrics;
use crate::service::Service;

const TEXT_FORMAT: &str = "text/plain; version=0.0.4; charset=utf-8";

struct Monitored {
    service: Service,
    metrics: Metrics,
}

/// `/metrics` and `/health`.
pub fn router(service: Service, metrics: Metrics) -> Router {
    Router::new()
        .route("/metrics", get(show))
        .route("/health", get(health))
        .fallback(|| async { Error::NotFound })
        .with_state(Arc::new(Monitored { service, metrics }))
}

async fn show(State(monitored): State<Arc<Monitored>>) -> Result<Response, Error> {
    let queued = monitored.service.queued_outgoing().await?;
    let rendering = tokio::task::spawn_blocking(move || monitored.metrics.render(queued));
    Ok((
        [(CONTENT_TYPE, TEXT_FORMAT)],
        rendering.await.map_err(Error::internal)?,
    )
        .into_response())
}

async fn health(State(monitored): State<Arc<Monitored>>) -> Result<&'static str, Error> {
    monitored.service.check_health().await?;
    Ok("ok\n")
}
