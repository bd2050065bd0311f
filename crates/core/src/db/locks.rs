//! Named locks. Only one holder among all nodes of an installation can have a lock, and it is freed
//! when its holder or its node ends.
//!
//! Within this process, a set of names decides. If other nodes may share the database, the engine
//! must grant the lock too.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::DatabaseError;
use super::postgres::NodeSession;

/// The locks of an installation. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Locks {
    held: Arc<Mutex<HashSet<i64>>>,
    session: Option<NodeSession>,
    /// How many locks this process may have.
    most: usize,
}

/// A lock; dropping it frees it.
#[derive(Debug)]
pub struct Lock {
    locks: Locks,
    /// `None` after it was freed.
    name: Option<i64>,
    /// Whether the control connection of this node may have the lock.
    shared: bool,
}

impl Locks {
    /// Locks of this process only.
    #[must_use]
    pub fn within_process() -> Self {
        Self {
            held: Arc::default(),
            session: None,
            most: usize::MAX,
        }
    }

    pub(super) fn among_nodes(session: NodeSession) -> Self {
        Self {
            held: Arc::default(),
            most: session.max_locks(),
            session: Some(session),
        }
    }

    /// Takes the lock; `None` if it is already taken.
    ///
    /// # Errors
    /// [`DatabaseError::TooManyLocks`]; [`DatabaseError::Silent`] or [`DatabaseError::SessionLost`]
    /// if the engine is needed and does not answer.
    pub async fn try_lock(&self, name: i64) -> Result<Option<Lock>, DatabaseError> {
        if !self.hold(name)? {
            return Ok(None);
        }
        let mut lock = Lock {
            locks: self.clone(),
            name: Some(name),
            shared: false,
        };
        let Some(session) = &self.session else {
            return Ok(Some(lock));
        };
        // The server may grant it even if this call is dropped before the answer arrives.
        lock.shared = true;
        let answer = session.lock(name).await;
        lock.shared = matches!(answer, Ok(true) | Err(DatabaseError::Silent));
        Ok(answer?.then_some(lock))
    }

    fn hold(&self, name: i64) -> Result<bool, DatabaseError> {
        let mut held = self.held();
        if held.len() >= self.most && !held.contains(&name) {
            return Err(DatabaseError::TooManyLocks(self.most));
        }
        Ok(held.insert(name))
    }

    fn held(&self) -> MutexGuard<'_, HashSet<i64>> {
        // The mutex is not poisoned: no code panics while it is locked.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lock {
    /// Frees the lock. Returns once every node can take it, or the engine does not answer.
    pub async fn release(mut self) {
        if let Some(freed) = self.free() {
            freed.await;
        }
    }

    fn free(&mut self) -> Option<impl Future<Output = ()> + use<>> {
        let name = self.name.take()?;
        // Queue the unlock first, so that later requests are ordered after it.
        let freed = self
            .locks
            .session
            .as_ref()
            .filter(|_| self.shared)
            .map(|session| session.unlock(name));
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

    #[tokio::test]
    async fn a_node_holds_no_more_locks_than_it_may() {
        let locks = Locks {
            most: 1,
            ..Locks::within_process()
        };
        let held = locks.try_lock(1).await.unwrap().unwrap();
        assert!(matches!(
            locks.try_lock(2).await,
            Err(DatabaseError::TooManyLocks(1))
        ));
        assert!(locks.try_lock(1).await.unwrap().is_none());
        drop(held);
        assert!(locks.try_lock(2).await.unwrap().is_some());
    }
}
