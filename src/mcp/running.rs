//! The calls that are running, so that a client can cancel one with a message.
//!
//! Since protocol 2026-07-28 a client cancels a call by closing its request. Before, it sends a notification that names
//! the call. The endpoint has no sessions; the session id that it hands out is only a random number under which a
//! client's calls are found while they run.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::RequestId;
use tokio_util::sync::CancellationToken;

use crate::model::KeyHash;

/// One call of one client.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct CallId {
    pub(super) key: KeyHash,
    pub(super) session: String,
    pub(super) request: RequestId,
}

type Calls = Arc<Mutex<HashMap<CallId, CancellationToken>>>;

/// The calls that are running.
#[derive(Clone, Debug, Default)]
pub(super) struct Running(Calls);

/// A call that is running; it is forgotten when this is dropped.
pub(super) struct RunningCall {
    calls: Calls,
    id: CallId,
    cancelled: CancellationToken,
}

impl Running {
    pub(super) fn start(&self, id: CallId) -> RunningCall {
        let cancelled = CancellationToken::new();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(id.clone(), cancelled.clone());
        RunningCall { calls: Arc::clone(&self.0), id, cancelled }
    }

    pub(super) fn cancel(&self, id: &CallId) {
        if let Some(call) = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(id) {
            call.cancel();
        }
    }
}

impl RunningCall {
    /// The work's result; `None` if the call was cancelled, and the work dropped.
    pub(super) async fn run<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        self.cancelled.run_until_cancelled(work).await
    }
}

impl Drop for RunningCall {
    fn drop(&mut self) {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.id);
    }
}
