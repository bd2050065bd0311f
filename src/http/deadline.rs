//! How long a request may take until its answer begins. Past it the handler is dropped, and the client gets 503.

use std::time::Duration;

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tokio::time::timeout;

use super::body;
use super::error::Error;
use super::query::Query;

/// For a request without a body.
const HANDLER: Duration = Duration::from_secs(30);
/// What a wait may take beyond its timeout: the key, the inbox, the slot and the last look.
const BESIDE_WAIT: Duration = Duration::from_secs(4);

/// The deadline of every request but a wait.
pub(super) async fn of_request(request: Request, next: Next) -> Response {
    let may_have_body = !request.method().is_safe();
    let allowed = if may_have_body { HANDLER + body::ARRIVAL } else { HANDLER };
    answer_within(allowed, request, next).await
}

/// The deadline of a wait.
pub(super) async fn of_wait(request: Request, next: Next) -> Response {
    let allowed = Query::of(request.uri()).timeout() + BESIDE_WAIT;
    answer_within(allowed, request, next).await
}

async fn answer_within(allowed: Duration, request: Request, next: Next) -> Response {
    let answered = timeout(allowed, next.run(request)).await;
    answered.unwrap_or_else(|_| Error::Deadline.into_response())
}
