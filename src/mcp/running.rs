//! The running calls, so that a client can cancel one with a message.
//!
//! Since protocol 2026-07-28 a client cancels a call by closing its request. Before, it sends a
//! notification that contains the id of the call. The endpoint has no sessions; the session id that
//! it issues is only a random number, under which a client's calls are found while they run.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

use super::message::RequestId;
use crate::model::KeyHash;

/// One call of one client.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct CallId {
    /// Whose it is, unless there is only one client.
    pub(super) client: Option<(KeyHash, String)>,
    pub(super) request: RequestId,
}

impl From<RequestId> for CallId {
    fn from(request: RequestId) -> Self {
        Self {
            client: None,
            request,
        }
    }
}

type Calls = HashMap<CallId, Arc<CancellationToken>>;

#[derive(Clone, Debug, Default)]
pub(super) struct Running(Arc<Mutex<Calls>>);

/// A running call. Dropping this removes it.
pub(super) struct RunningCall {
    running: Running,
    id: CallId,
    cancelled: Arc<CancellationToken>,
}

impl Running {
    pub(super) fn start(&self, id: CallId) -> RunningCall {
        let cancelled = Arc::new(CancellationToken::new());
        self.calls().insert(id.clone(), Arc::clone(&cancelled));
        RunningCall {
            running: self.clone(),
            id,
            cancelled,
        }
    }

    pub(super) fn cancel(&self, id: &CallId) {
        if let Some(call) = self.calls().get(id) {
            call.cancel();
        }
    }

    fn calls(&self) -> MutexGuard<'_, Calls> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RunningCall {
    /// The result of `work`; `None` if the call was cancelled. Then `work` is dropped.
    pub(super) async fn run<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        self.cancelled.run_until_cancelled(work).await
    }
}

impl Drop for RunningCall {
    fn drop(&mut self) {
        let mut calls = self.running.calls();
        let current = calls.get(&self.id);
        // A later call of the same id may have taken its place.
        if current.is_some_and(|call| Arc::ptr_eq(call, &self.cancelled)) {
            calls.remove(&self.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_call_outlives_an_earlier_one_of_the_same_id() {
        let running = Running::default();
        let id = CallId::from(RequestId::Number(1));
        let earlier = running.start(id.clone());
        let call = running.start(id.clone());
        drop(earlier);
        running.cancel(&id);
        assert_eq!(call.run(std::future::pending::<()>()).await, None);
        drop(call);
        assert!(running.calls().is_empty());
    }
}
