//! The shares of a queue: how many of its items each owner may have, so that the items of one displace none of another.
//! An item can have several owners, for example its recipient and its client.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Counts the items of each owner in a queue. Clones share the same state.
#[derive(Clone, Debug)]
pub(super) struct Shares<K>(Arc<Mutex<HashMap<K, usize>>>);

/// An owner, and the maximum number of its items.
pub(super) type Share<K> = (K, usize);

impl<K: Clone + Eq + Hash> Shares<K> {
    pub(super) fn new() -> Self {
        Self(Arc::default())
    }

    /// Counts one more item of these owners. Returns whether there is room for it in the share of each.
    pub(super) fn take(&self, shares: &[Share<K>]) -> bool {
        let mut counts = self.lock();
        let has_room = shares.iter().all(|(owner, max)| counts.get(owner).is_none_or(|count| count < max));
        if has_room {
            shares.iter().for_each(|(owner, _)| *counts.entry(owner.clone()).or_default() += 1);
        }
        has_room
    }

    /// An item of these owners has left the queue.
    pub(super) fn give_back(&self, shares: &[Share<K>]) {
        let mut counts = self.lock();
        for (owner, _) in shares {
            let left = counts.remove(owner).unwrap_or(0).saturating_sub(1);
            if left > 0 {
                counts.insert(owner.clone(), left);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<K, usize>> {
        // The mutex is not poisoned: no code panics while it is locked.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
