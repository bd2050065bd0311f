//! Health: whether the service can store mail.

use std::sync::Arc;

use aide::transform::TransformOperation;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use restante_api::Health;

use crate::http::app::App;
use crate::http::describe::Describe;
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

pub(super) fn describe(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    let description = "Checks that the service and its database work. Public; also at /health and /api/v1/health.";
    healthy(operation.named("health", "health", "Health", description))
}

pub(super) fn describe_alias(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    healthy(operation.named(
        "healthAlias",
        "health",
        "Health",
        "An alias of /v1/health. Public.",
    ))
}

fn healthy(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    let failed =
        "The service is not healthy; the text says why. Send mail elsewhere, and look at its log.";
    let operation = operation
        .public()
        .returns::<Health>(StatusCode::OK, "The service is healthy.");
    operation.refuses(failed, &[Error::Unhealthy(String::new())])
}
