//! What one API key may do at once: a count a key, and a guard that gives its slot back however it ends.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::model::KeyHash;

/// The slots of every key. Keys without a taken slot take no memory.
#[derive(Clone, Debug)]
pub(super) struct Slots {
    most: usize,
    taken: Arc<Mutex<HashMap<KeyHash, usize>>>,
}

/// A taken slot; dropping it frees it.
#[derive(Debug)]
pub(super) struct Slot {
    slots: Slots,
    key: KeyHash,
}

impl Slots {
    /// `most` slots for each key.
    pub(super) fn new(most: usize) -> Self {
        Self { most, taken: Arc::default() }
    }

    /// Takes a slot; `None` where the key has taken all of its own.
    pub(super) fn take(&self, key: KeyHash) -> Option<Slot> {
        let mut taken = self.taken();
        let count = taken.entry(key).or_default();
        if *count >= self.most {
            return None;
        }
        *count += 1;
        Some(Slot { slots: self.clone(), key })
    }

    fn taken(&self) -> MutexGuard<'_, HashMap<KeyHash, usize>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut taken = self.slots.taken();
        if let Some(count) = taken.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                taken.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_has_its_own_slots_and_gets_them_back() {
        let slots = Slots::new(2);
        let (one, other) = (KeyHash([1; 32]), KeyHash([2; 32]));
        let taken = (slots.take(one), slots.take(one));
        assert!(slots.take(one).is_none());
        assert!(slots.take(other).is_some());
        drop(taken);
        assert!(slots.taken().is_empty());
        assert!(slots.take(one).is_some());
    }
}
