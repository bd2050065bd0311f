//! Locks by name that one holder has among all nodes of an installation, free when the holder or its node ends.
//!
//! Within this process a set of names decides; only where the engine has several nodes is it asked, too.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use super::DatabaseError;
use super::postgres::Session;

/// The locks of an installation. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Locks {
    held: Arc<Mutex<HashSet<i64>>>,
    session: Option<Session>,
}

/// A held lock; dropping it frees it.
#[derive(Debug)]
pub struct Lock {
    locks: Locks,
    /// `None` once it is free.
    name: Option<i64>,
    /// Whether other nodes may know of it.
    shared: bool,
}

impl Locks {
    /// Locks of this process alone.
    #[must_use]
    pub fn within_process() -> Self {
        Self { held: Arc::default(), session: None }
    }

    pub(super) fn among_nodes(session: Session) -> Self {
        Self { held: Arc::default(), session: Some(session) }
    }

    /// Takes the lock; `None` where somebody has it.
    ///
    /// # Errors
    /// Where the engine has to be asked and gives no answer.
    pub async fn try_lock(&self, name: i64) -> Result<Option<Lock>, DatabaseError> {
        if !self.held().insert(name) {
            return Ok(None);
        }
        let mut lock = Lock { locks: self.clone(), name: Some(name), shared: false };
        let Some(session) = &self.session else { return Ok(Some(lock)) };
        // The server may grant it even where this call is dropped before the answer has come.
        lock.shared = true;
        let answer = session.lock(name).await;
        lock.shared = matches!(answer, Ok(true));
        Ok(answer?.then_some(lock))
    }

    fn held(&self) -> MutexGuard<'_, HashSet<i64>> {
        // Nothing panics while the lock is held; were it so, the set is whole all the same.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lock {
    /// Frees the lock and returns once it is free for every node.
    pub async fn release(mut self) {
        if let Some(freed) = self.free() {
            // An error means that the session has ended, and the lock with it.
            let _ = freed.await;
        }
    }

    fn free(&mut self) -> Option<oneshot::Receiver<()>> {
        let name = self.name.take()?;
        // First there: whoever finds the name free in this process asks behind this.
        let freed = self.locks.session.as_ref().filter(|_| self.shared).map(|session| session.unlock(name));
        self.locks.held().remove(&name);
        freed
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        drop(self.free());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_lock_has_one_holder_until_it_is_freed() {
        let locks = Locks::within_process();
        let held = locks.try_lock(1).await.unwrap().unwrap();
        assert!(locks.try_lock(1).await.unwrap().is_none());
        held.release().await;
        let held = locks.try_lock(1).await.unwrap();
        assert!(held.is_some() && locks.try_lock(2).await.unwrap().is_some());
        drop(held);
        assert!(locks.held().is_empty());
    }
}
