//! Wakes waits when their inbox has changed. It only signals changes; waits read messages from the
//! store.
//!
//! A wait registers before it reads the store, so that no message is missed. The entry of an inbox
//! is removed when its last waiter is dropped.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{broadcast, watch};

use crate::model::InboxId;
use crate::store::Change;

type Entries = HashMap<InboxId, Entry>;

/// Capacity of the channel for listeners to all inboxes. A listener that is too slow gets one
/// `Lagged` error.
const QUEUED_CHANGES: usize = 16;

/// The registered waits per inbox, and the listeners to all changes. Clones share the same state.
#[derive(Clone, Debug)]
pub(super) struct Hub {
    entries: Arc<Mutex<Entries>>,
    all: broadcast::Sender<()>,
}

impl Default for Hub {
    fn default() -> Self {
        Self {
            entries: Arc::default(),
            all: broadcast::Sender::new(QUEUED_CHANGES),
        }
    }
}

#[derive(Debug)]
struct Entry {
    /// Changes of the inbox, with the number of times that changes may have been missed.
    changes: watch::Sender<u64>,
    waiters: usize,
}

/// A waiter's registration for one inbox.
#[derive(Debug)]
pub(super) struct Interest {
    hub: Hub,
    inbox: InboxId,
    changes: watch::Receiver<u64>,
    missed: u64,
}

impl Hub {
    /// Registers interest in `inbox`: each later change wakes the holder.
    pub(super) fn register(&self, inbox: &InboxId) -> Interest {
        let mut entries = self.entries();
        let entry = entries.entry(inbox.clone()).or_insert_with(|| Entry {
            changes: watch::Sender::new(0),
            waiters: 0,
        });
        entry.waiters += 1;
        let changes = entry.changes.subscribe();
        let missed = *changes.borrow();
        Interest {
            hub: self.clone(),
            inbox: inbox.clone(),
            changes,
            missed,
        }
    }

    /// Subscribes to the changes of all inboxes.
    pub(super) fn register_all(&self) -> broadcast::Receiver<()> {
        self.all.subscribe()
    }

    /// Wakes the waits on the changed inboxes, and notifies the listeners to all changes.
    pub(super) fn announce(&self, changes: &[Change]) {
        if changes
            .iter()
            .all(|change| matches!(change, Change::FaultsKnown { .. }))
        {
            return;
        }
        // An error means that there are no listeners to all changes.
        let _ = self.all.send(());
        let entries = self.entries();
        for change in changes {
            match change {
                Change::Inbox(inbox) => entries
                    .get(inbox)
                    .into_iter()
                    .for_each(|entry| wake(entry, 0)),
                Change::Unknown => entries.values().for_each(|entry| wake(entry, 1)),
                _ => {}
            }
        }
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        // The mutex is not poisoned: no code panics while it is locked.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn wake(entry: &Entry, missed: u64) {
    entry.changes.send_modify(|total| *total += missed);
}

impl Interest {
    /// Returns once the inbox has changed since the registration or the last return.
    pub(super) async fn changed(&mut self) {
        if self.changes.changed().await.is_err() {
            // Cannot happen: this registration keeps the entry alive.
            std::future::pending::<()>().await;
        }
    }

    /// Whether changes may have been missed since the registration or the last call. Then what was
    /// read before may be another message now, as after a failover.
    pub(super) fn missed(&mut self) -> bool {
        let before = std::mem::replace(&mut self.missed, *self.changes.borrow());
        before != self.missed
    }
}

impl Drop for Interest {
    fn drop(&mut self) {
        let mut entries = self.hub.entries();
        let Some(entry) = entries.get_mut(&self.inbox) else {
            return;
        };
        entry.waiters -= 1;
        if entry.waiters == 0 {
            entries.remove(&self.inbox);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use futures_util::FutureExt;
    use restante_schedules::{Schedule, orders, pause};

    use super::*;

    #[tokio::test]
    async fn entries_vanish_with_the_last_waiter() {
        let hub = Hub::default();
        let inbox = InboxId::parse("a").unwrap();
        let one = hub.register(&inbox);
        let other = hub.register(&inbox);
        drop(one);
        assert_eq!(hub.entries().len(), 1);
        drop(other);
        assert_eq!(hub.entries().len(), 0);
    }

    #[test]
    fn waiters_that_end_at_once_leave_no_entry() {
        let hub = Hub::default();
        let inbox = InboxId::parse("a").unwrap();
        for _ in 0..2_000 {
            let interests = [(); 4].map(|()| hub.register(&inbox));
            std::thread::scope(|scope| {
                for interest in interests {
                    scope.spawn(move || drop(interest));
                }
            });
            assert_eq!(hub.entries().len(), 0);
        }
    }

    /// Announces one change, and tells which of the two waits it wakes, and which of them have to
    /// read again what they have read.
    #[test]
    fn a_change_wakes_the_waits_that_it_concerns() {
        let hub = Hub::default();
        let a = InboxId::parse("a").unwrap();
        let mut waits = [
            hub.register(&a),
            hub.register(&InboxId::parse("b").unwrap()),
        ];
        let mut woken = |change| {
            hub.announce(&[change]);
            waits
                .each_mut()
                .map(|wait| (wait.changed().now_or_never().is_some(), wait.missed()))
        };
        let asleep = (false, false);
        let wakes = (true, false);
        let reads_again = (true, true);
        assert_eq!(woken(Change::Inbox(a.clone())), [wakes, asleep]);
        assert_eq!(woken(Change::Unknown), [reads_again, reads_again]);
        assert_eq!(
            woken(Change::Inbox(a)),
            [wakes, asleep],
            "it has read everything again"
        );
        assert_eq!(woken(Change::Queue), [asleep, asleep]);
    }

    #[test]
    fn a_wait_that_registers_first_misses_no_message_in_any_order() {
        let inbox = InboxId::parse("a").unwrap();
        for seed in orders() {
            let hub = Hub::default();
            let stored = Cell::new(0);
            let mut schedule = Schedule::new(seed);
            for _ in 0..2 {
                schedule.add("wait", wait_for(&hub, &inbox, &stored, 3));
                schedule.add_cancellable("cancelled wait", wait_for(&hub, &inbox, &stored, 3));
            }
            for _ in 0..3 {
                schedule.add("delivery", async {
                    stored.set(stored.get() + 1);
                    pause().await;
                    hub.announce(&[Change::Inbox(inbox.clone())]);
                });
            }
            assert_eq!(schedule.run(), [""; 0], "seed {seed}");
            assert_eq!(hub.entries().len(), 0, "seed {seed}");
        }
    }

    /// What a wait does: it registers, reads, and sleeps until there is something new.
    async fn wait_for(hub: &Hub, inbox: &InboxId, stored: &Cell<u32>, wanted: u32) {
        pause().await;
        let mut interest = hub.register(inbox);
        pause().await;
        while stored.get() < wanted {
            interest.changed().await;
            pause().await;
        }
    }
}
