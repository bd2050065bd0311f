//! Health: the service is healthy if its database answers.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Serialize;

use crate::http::app::App;
use crate::http::error::Error;
use crate::http::response::json;

#[derive(Serialize)]
struct HealthView {
    status: &'static str,
}

pub(super) async fn health(State(app): State<Arc<App>>) -> Result<Response, Error> {
    app.service.check_health().await?;
    Ok(json(StatusCode::OK, &HealthView { status: "ok" })?)
}
