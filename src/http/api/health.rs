//! Health: whether the service can store mail.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use restante_api::Health;

use crate::http::app::App;
use crate::http::describe::Operation;
use crate::http::error::Error;
use crate::http::response::json;

pub(super) async fn health(State(app): State<Arc<App>>) -> Result<Response, Error> {
    app.service.check_health().await?;
    Ok(json(
        StatusCode::OK,
        &Health {
            status: "ok".to_owned(),
        },
    )?)
}

pub(super) fn describe(operation: Operation<'_>) -> Operation<'_> {
    let description = "Checks that the service and its database work. Public; also at /health and /api/v1/health.";
    healthy(operation.named("health", "health", "Health", description))
}

pub(super) fn describe_alias(operation: Operation<'_>) -> Operation<'_> {
    healthy(operation.named(
        "healthAlias",
        "health",
        "Health",
        "An alias of /v1/health. Public.",
    ))
}

fn healthy(operation: Operation<'_>) -> Operation<'_> {
    let failed =
        "The service is not healthy; the text says why. Send mail elsewhere, and look at its log.";
    let operation = operation
        .public()
        .returns::<Health>(StatusCode::OK, "The service is healthy.");
    operation.refuses(failed, &[Error::Unhealthy(String::new())])
}
