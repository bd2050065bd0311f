//! Limits what one API key may do at once on all nodes: a few numbered slots per key. Dropping a
//! guard frees its slot.
//!
//! A slot is a lock of the installation, so that it becomes free if its node dies.

use super::ServiceError;
use crate::db::{Lock, Locks};
use crate::model::KeyHash;

/// The slots of every key. Free slots take no memory.
#[derive(Debug)]
pub(super) struct Slots {
    locks: Locks,
    purpose: Purpose,
    most: u8,
}

/// What the slots limit. Each purpose has its own slots.
#[derive(Clone, Copy, Debug)]
pub(super) enum Purpose {
    Wait = 0,
    Send = 1,
}

/// A slot in use; dropping it frees it.
#[derive(Debug)]
pub(super) struct Slot(Lock);

impl Slots {
    /// Creates `most` slots for each key, at most 128.
    pub(super) fn new(locks: Locks, purpose: Purpose, most: u8) -> Self {
        Self {
            locks,
            purpose,
            most,
        }
    }

    /// Takes a slot; `None` if all slots of the key are in use.
    ///
    /// # Errors
    /// [`ServiceError::Unavailable`] if this node has too many slots open, or the database does not
    /// answer.
    pub(super) async fn take(&self, key: &KeyHash) -> Result<Option<Slot>, ServiceError> {
        for number in 0..self.most {
            match self.locks.try_lock(self.name(key, number)).await {
                Ok(Some(lock)) => return Ok(Some(Slot(lock))),
                Ok(None) => {}
                Err(error) if error.is_unavailable() => {
                    tracing::warn!(%error, "cannot take a slot");
                    return Err(ServiceError::Unavailable);
                }
                Err(error) => return Err(ServiceError::Store(error.into())),
            }
        }
        Ok(None)
    }

    /// The lock of a slot: 56 bits of the key's hash, the purpose, and the slot's number.
    fn name(&self, key: &KeyHash, number: u8) -> i64 {
        let [a, b, c, d, e, f, g, ..] = key.0;
        i64::from_be_bytes([a, b, c, d, e, f, g, (self.purpose as u8) << 7 | number])
    }
}

impl Slot {
    /// Frees the slot and returns once it is free on every node.
    pub(super) async fn release(self) {
        self.0.release().await;
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use restante_schedules::{Schedule, orders, pause};

    use super::*;

    #[tokio::test]
    async fn each_key_and_purpose_has_its_own_slots_and_gets_them_back() {
        let locks = Locks::within_process();
        let slots = Slots::new(locks.clone(), Purpose::Wait, 2);
        let sends = Slots::new(locks, Purpose::Send, 2);
        let one = KeyHash([1; 32]);
        let other = KeyHash([2; 32]);
        let taken = (
            slots.take(&one).await.unwrap(),
            slots.take(&one).await.unwrap(),
        );
        assert!(taken.0.is_some() && taken.1.is_some());
        assert!(slots.take(&one).await.unwrap().is_none());
        assert!(slots.take(&other).await.unwrap().is_some());
        assert!(sends.take(&one).await.unwrap().is_some());
        drop(taken);
        assert!(slots.take(&one).await.unwrap().is_some());
    }

    #[test]
    fn no_order_of_requests_takes_more_slots_or_loses_one() {
        let key = KeyHash([1; 32]);
        for seed in orders() {
            let slots = Slots::new(Locks::within_process(), Purpose::Wait, 2);
            let used = Cell::new(0);
            let mut schedule = Schedule::new(seed);
            for number in 0..3 {
                schedule.add("request", use_slot(&slots, &key, &used, number == 0));
                schedule.add_cancellable(
                    "cancelled request",
                    use_slot(&slots, &key, &used, number == 0),
                );
            }
            assert_eq!(schedule.run(), [""; 0], "seed {seed}");
            let mut after = Schedule::new(seed);
            after.add("both slots", async {
                let taken = (
                    slots.take(&key).await.unwrap(),
                    slots.take(&key).await.unwrap(),
                );
                assert!(taken.0.is_some() && taken.1.is_some(), "seed {seed}");
            });
            assert_eq!(after.run(), [""; 0], "seed {seed}");
        }
    }

    /// Takes a slot as soon as there is one, and frees it: in order, or by dropping it.
    async fn use_slot(slots: &Slots, key: &KeyHash, used: &Cell<u8>, in_order: bool) {
        let slot = loop {
            match slots.take(key).await.unwrap() {
                Some(slot) => break slot,
                None => pause().await,
            }
        };
        let using = Using::new(used);
        pause().await;
        drop(using);
        if in_order {
            slot.release().await;
        } else {
            drop(slot);
        }
    }

    /// Counts the slots in use.
    struct Using<'a>(&'a Cell<u8>);

    impl<'a> Using<'a> {
        fn new(used: &'a Cell<u8>) -> Self {
            used.set(used.get() + 1);
            assert!(used.get() <= 2);
            Self(used)
        }
    }

    impl Drop for Using<'_> {
        fn drop(&mut self) {
            self.0.set(self.0.get() - 1);
        }
    }
}
