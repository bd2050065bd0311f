//! The time until a response must start. After that, the handler is dropped and the client gets 503.

use std::time::Duration;

use axum::extract::Request;

use super::body;
use super::query::{Query, timeout};
use super::sending;
use crate::jobs;
use crate::service::MAX_WAIT;

/// For a request without a body.
const HANDLER: Duration = Duration::from_secs(30);
/// How long a wait may take in addition to its timeout: for other requests of the key, and for the
/// key, the inbox, the slot and the last read.
const BESIDE_WAIT: Duration = jobs::TIMEOUT.saturating_add(Duration::from_secs(4));

/// The deadline of a request.
pub(super) fn of(request: &Request) -> Duration {
    if request.uri().path() == crate::mcp::PATH {
        // It may be a wait.
        return MAX_WAIT + BESIDE_WAIT + body::ARRIVAL;
    }
    if sending::is_request(request.method(), request.uri().path()) {
        // A fault may delay its answer.
        return sending::MAX_TIME;
    }
    if request.uri().path().ends_with("/messages/wait") {
        return timeout(
            &Query::of(request.uri())
                .first("timeout")
                .unwrap_or_default(),
        ) + BESIDE_WAIT;
    }
    if request.method().is_safe() {
        HANDLER
    } else {
        HANDLER + body::ARRIVAL
    }
}
