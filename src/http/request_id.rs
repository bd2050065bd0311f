//! Adds to every request an id for the log and a deadline, and to every response the common
//! headers. A panic becomes a response too: a connection that breaks off tells nobody what
//! happened.

use std::panic::AssertUnwindSafe;

use axum::extract::{FromRequestParts, Request};
use axum::http::header::{CACHE_CONTROL, X_CONTENT_TYPE_OPTIONS};
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use tokio::time::timeout;
use uuid::Uuid;

use super::deadline;
use super::describe::Input;
use super::error::{Cause, Error};
use crate::metrics;

const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Identifies one request. It is generated here, because an id from the caller could inject text
/// into the log.
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestId(Uuid);

impl RequestId {
    /// Logs why the request failed; the response does not contain it.
    pub(super) fn log_failure(self, error: &(dyn std::error::Error + 'static)) {
        tracing::error!(request_id = %self.0, error, "request failed");
    }
}

/// A handler panicked. The log has the message and the place.
#[derive(Debug, thiserror::Error)]
#[error("a panic in the program")]
struct Panicked;

/// Adds the id and the deadline to the request, and the headers to the response.
pub(super) async fn stamp(mut request: Request, next: Next) -> Response {
    let id = RequestId(Uuid::now_v7());
    request.extensions_mut().insert(id);
    let method = request.method().clone();
    let path = request.uri().path().to_owned();
    let deadline = deadline::of(&request);
    let answering = AssertUnwindSafe(next.run(request)).catch_unwind();
    let mut response = match timeout(deadline, answering).await {
        Ok(Ok(response)) => response,
        Ok(Err(_)) => Error::internal(Panicked).into_response(),
        Err(_) => Error::Deadline.into_response(),
    };
    match response.extensions().get() {
        Some(Cause::Bug(cause)) => id.log_failure(&**cause),
        Some(Cause::Unavailable(cause)) => {
            tracing::warn!(request_id = %id.0, error = %cause, "request refused: the database is unavailable");
        }
        None => {}
    }
    metrics::http_answered(response.status().as_u16());
    tracing::debug!(request_id = %id.0, %method, path, status = response.status().as_u16(), "request answered");
    let headers = response.headers_mut();
    if let Ok(value) = HeaderValue::try_from(id.0.to_string()) {
        headers.insert(X_REQUEST_ID, value);
    }
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers
        .entry(CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
    response
}

impl Input for RequestId {}

impl<S: Sync> FromRequestParts<S> for RequestId {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Error> {
        Ok(parts.extensions.get().copied().unwrap_or(Self(Uuid::nil())))
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use axum::Router;
    use axum::body::Body;
    use axum::middleware::from_fn;
    use tokio::time::Instant;
    use tower::ServiceExt;

    use super::*;

    #[tokio::test]
    async fn a_panic_of_a_handler_is_a_500() {
        let handler = || async {
            if true {
                panic!("a defect")
            } else {
                "no answer"
            }
        };
        let router = Router::new().fallback(handler).layer(from_fn(stamp));
        let response = router.oneshot(Request::new(Body::empty())).await.unwrap();
        assert_eq!(response.status(), 500);
        assert!(response.headers().contains_key("x-request-id"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_takes_too_long_gets_a_503() {
        let router = Router::new()
            .fallback(pending::<&'static str>)
            .layer(from_fn(stamp));
        for (method, path, seconds) in [
            ("GET", "/v1/inboxes/a", 30),
            ("POST", "/v1/inboxes", 90),
            ("GET", "/v1/inboxes/a/messages/wait?timeout=0", 14),
            ("GET", "/api/v1/inboxes/a/messages/wait?timeout=1000", 15),
            ("GET", "/v1/inboxes/a/messages/wait?timeout=999999", 134),
        ] {
            let start = Instant::now();
            let request = Request::builder()
                .method(method)
                .uri(path)
                .body(Body::empty())
                .unwrap();
            let response = router.clone().oneshot(request).await.unwrap();
            assert_eq!(
                (response.status().as_u16(), start.elapsed().as_secs()),
                (503, seconds),
                "{method} {path}"
            );
            assert_eq!(response.headers()["retry-after"], "1");
            assert!(response.headers().contains_key("x-request-id"));
        }
    }
}
