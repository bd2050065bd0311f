//! The shares of a queue: how many of its items each owner may have, so that the items of one
//! displace none of another. An item can have several owners, for example its recipient and its
//! client.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Counts the items of each owner in a queue. Clones share the same state.
#[derive(Clone, Debug)]
pub(super) struct Quotas<K>(Arc<Mutex<Counts<K>>>);

#[derive(Debug)]
struct Counts<K> {
    owners: HashMap<K, Count>,
    /// How many items have left.
    left: u64,
}

/// The items of one owner, which leave in the order in which they came.
#[derive(Clone, Copy, Debug)]
struct Count {
    items: usize,
    /// Grows with each that leaves.
    left: u64,
}

/// The last item of an owner at one time.
#[derive(Clone, Debug)]
pub(super) struct Mark<K>(K, u64);

/// An owner, and the maximum number of its items.
pub(super) type Quota<K> = (K, usize);

impl<K: Clone + Eq + Hash> Quotas<K> {
    pub(super) fn new() -> Self {
        Self(Arc::new(Mutex::new(Counts {
            owners: HashMap::new(),
            left: 0,
        })))
    }

    /// Counts one more item of these owners. Returns whether there is room for it in the share of
    /// each.
    pub(super) fn take(&self, quotas: &[Quota<K>]) -> bool {
        let mut counts = self.lock();
        let has_room = |(owner, max): &Quota<K>| {
            counts
                .owners
                .get(owner)
                .is_none_or(|count| count.items < *max)
        };
        if !quotas.iter().all(has_room) {
            return false;
        }
        // A new count goes on where any earlier one has ended.
        let none = Count {
            items: 0,
            left: counts.left,
        };
        quotas
            .iter()
            .for_each(|(owner, _)| counts.owners.entry(owner.clone()).or_insert(none).items += 1);
        true
    }

    /// An item of these owners has left the queue, after all before it.
    pub(super) fn give_back(&self, quotas: &[Quota<K>]) {
        self.remove(quotas, 1);
    }

    /// An item of these owners has not entered the queue, because that is full.
    pub(super) fn withdraw(&self, quotas: &[Quota<K>]) {
        self.remove(quotas, 0);
    }

    fn remove(&self, quotas: &[Quota<K>], left: u64) {
        let mut counts = self.lock();
        for (owner, _) in quotas {
            let Some(count) = counts.owners.get_mut(owner) else {
                continue;
            };
            (count.items, count.left) = (count.items - 1, count.left + left);
            if count.items == 0 {
                counts.owners.remove(owner);
            }
            counts.left += left;
        }
    }

    /// The last item of each of these owners.
    pub(super) fn marks(&self, is_wanted: impl Fn(&K) -> bool) -> Vec<Mark<K>> {
        let counts = self.lock();
        let wanted = counts.owners.iter().filter(|(owner, _)| is_wanted(owner));
        wanted
            .map(|(owner, count)| Mark(owner.clone(), count.left + count.items as u64))
            .collect()
    }

    /// Whether these items have left the queue.
    pub(super) fn have_left(&self, marks: &[Mark<K>]) -> bool {
        let counts = self.lock();
        marks.iter().all(|Mark(owner, last)| {
            counts
                .owners
                .get(owner)
                .is_none_or(|count| count.left >= *last)
        })
    }

    fn lock(&self) -> MutexGuard<'_, Counts<K>> {
        // The mutex is not poisoned: no code panics while it is locked.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The items in turns of their owners: the first of each, then the second of each. Those of one
/// keep their order.
pub fn in_turns<T, K: Eq + Hash>(items: &mut [T], owner: impl Fn(&T) -> K) {
    let mut taken: HashMap<K, usize> = HashMap::new();
    // Each owner is asked for once and in order, so its items get their turns in order.
    items.sort_by_cached_key(|item| {
        let turn = taken.entry(owner(item)).or_default();
        *turn += 1;
        *turn
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_take_turns_and_keep_their_order() {
        let mut items = ["a1", "a2", "a3", "b1", "c1", "b2"];
        in_turns(&mut items, |item| item.as_bytes()[0]);
        assert_eq!(items, ["a1", "b1", "c1", "a2", "b2", "a3"]);
    }

    #[test]
    fn a_mark_is_passed_when_the_items_before_it_have_left() {
        let quotas = Quotas::new();
        let a = [("a", 2)];
        let b = [("b", 2)];
        assert!(quotas.take(&a) && quotas.take(&b) && quotas.take(&a) && !quotas.take(&a));
        let [of_a, of_c] = ["a", "c"].map(|wanted| quotas.marks(|owner| *owner == wanted));
        let of_all = quotas.marks(|_| true);
        assert!(quotas.have_left(&of_c));
        quotas.give_back(&a);
        assert!(!quotas.have_left(&of_a) && quotas.take(&a));
        quotas.withdraw(&a);
        assert!(
            !quotas.have_left(&of_a) && quotas.take(&a),
            "what was never in the queue has not left it"
        );
        quotas.give_back(&a);
        assert!(quotas.have_left(&of_a) && !quotas.have_left(&of_all));
        quotas.give_back(&b);
        assert!(quotas.have_left(&of_all));
        quotas.give_back(&a);
        assert!(
            quotas.take(&a) && quotas.have_left(&of_a),
            "a new count is after the old ones"
        );
    }
}
