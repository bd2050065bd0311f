//! Wakes waits when their inbox has changed. It passes no messages; the waiter reads them from the store.
//!
//! A wait registers before it reads the store, so that no message is missed. An entry is removed with its last waiter.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{broadcast, watch};

use crate::model::InboxId;
use crate::store::Change;

type Entries = HashMap<InboxId, Entry>;

/// Changes that are kept for a slow listener to all inboxes. After more than that, it is notified once that it missed
/// some.
const KEPT: usize = 16;

/// The waits by inbox, and the listeners to all changes. Clones share it.
#[derive(Clone, Debug)]
pub(super) struct Hub {
    entries: Arc<Mutex<Entries>>,
    all: broadcast::Sender<()>,
}

impl Default for Hub {
    fn default() -> Self {
        Self { entries: Arc::default(), all: broadcast::Sender::new(KEPT) }
    }
}

#[derive(Debug)]
struct Entry {
    changes: watch::Sender<()>,
    waiters: usize,
}

/// A waiter's registration for one inbox.
#[derive(Debug)]
pub(super) struct Interest {
    hub: Hub,
    inbox: InboxId,
    changes: watch::Receiver<()>,
}

impl Hub {
    /// Changes of `inbox` from now on wake the holder of the registration.
    pub(super) fn register(&self, inbox: &InboxId) -> Interest {
        let mut entries = self.entries();
        let entry =
            entries.entry(inbox.clone()).or_insert_with(|| Entry { changes: watch::Sender::new(()), waiters: 0 });
        entry.waiters += 1;
        Interest { hub: self.clone(), inbox: inbox.clone(), changes: entry.changes.subscribe() }
    }

    /// All changes from now on.
    pub(super) fn register_all(&self) -> broadcast::Receiver<()> {
        self.all.subscribe()
    }

    /// Wakes the waits that these changes concern.
    pub(super) fn announce(&self, changes: &[Change]) {
        // An error means that nobody listens to all changes.
        let _ = self.all.send(());
        let entries = self.entries();
        for change in changes {
            match change {
                Change::Inbox(inbox) => entries.get(inbox).into_iter().for_each(wake),
                Change::Unknown => entries.values().for_each(wake),
                _ => {}
            }
        }
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        // Nothing panics while the lock is held.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn wake(entry: &Entry) {
    entry.changes.send_replace(());
}

impl Interest {
    /// Returns once the inbox has changed since the registration or the last return.
    pub(super) async fn changed(&mut self) {
        if self.changes.changed().await.is_err() {
            // Cannot happen: this registration keeps the entry alive.
            std::future::pending::<()>().await;
        }
    }
}

impl Drop for Interest {
    fn drop(&mut self) {
        let mut entries = self.hub.entries();
        let Some(entry) = entries.get_mut(&self.inbox) else { return };
        entry.waiters -= 1;
        if entry.waiters == 0 {
            entries.remove(&self.inbox);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn entries_vanish_with_the_last_waiter() {
        let hub = Hub::default();
        let inbox = InboxId::parse("a").unwrap();
        let (one, other) = (hub.register(&inbox), hub.register(&inbox));
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
}
