//! The shares of a queue: how many of its items each owner may have, so that the items of one displace none of another.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Counts the items of each owner in a queue. Clones share the same state.
#[derive(Clone, Debug)]
pub(super) struct Shares<K> {
    counts: Arc<Mutex<HashMap<K, usize>>>,
    /// Maximum number of items of an owner.
    max: usize,
}

impl<K: Clone + Eq + Hash> Shares<K> {
    pub(super) fn of(max: usize) -> Self {
        Self { counts: Arc::default(), max }
    }

    /// Counts one more item of an owner. Returns whether there is room for it.
    pub(super) fn take(&self, owner: &K) -> bool {
        let mut counts = self.lock();
        let has_room = counts.get(owner).is_none_or(|count| *count < self.max);
        if has_room {
            *counts.entry(owner.clone()).or_default() += 1;
        }
        has_room
    }

    /// An item of an owner has left the queue.
    pub(super) fn give_back(&self, owner: &K) {
        let mut counts = self.lock();
        let left = counts.remove(owner).unwrap_or(0).saturating_sub(1);
        if left > 0 {
            counts.insert(owner.clone(), left);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<K, usize>> {
        // The mutex is not poisoned: no code panics while it is locked.
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
