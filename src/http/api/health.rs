//! Health: the service is healthy if its database answers.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Serialize;
use tokio::time::timeout;

use crate::http::app::App;
use crate::http::error::Error;
use crate::http::response::json;
use crate::service::Service;

#[derive(Serialize)]
struct HealthView {
    status: &'static str,
}

/// How long the database may take to answer.
const PATIENCE: Duration = Duration::from_millis(1_500);

pub(super) async fn health(State(app): State<Arc<App>>) -> Result<Response, Error> {
    check(&app.service).await?;
    Ok(json(StatusCode::OK, &HealthView { status: "ok" })?)
}

/// Fails if the database does not answer in time.
pub(in crate::http) async fn check(service: &Service) -> Result<(), Error> {
    let answered = timeout(PATIENCE, service.check_health()).await.map_err(Error::internal)?;
    answered.map_err(Error::internal)
}
