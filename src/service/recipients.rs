//! Remembers which recipients may have to be refused, so that most need no database query.
//!
//! Almost every recipient is accepted at RCPT TO, and the delivery's transaction checks again. The exceptions are full
//! inboxes and addresses of deleted projects. Only if one of these is possible is the database read.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::model::InboxId;
use crate::store::Change;

/// The most full inboxes that are remembered. Beyond that all are forgotten, and a delivery to one is refused after
/// DATA.
const REMEMBERED: usize = 10_000;

/// The recipients that may have to be refused.
#[derive(Debug)]
pub(super) struct Exceptions {
    full: Mutex<HashSet<InboxId>>,
    /// Whether a deleted project may still have addresses reserved.
    deleted_projects: AtomicBool,
}

impl Exceptions {
    /// Nothing is full; `deleted_projects` says whether a project was deleted whose addresses are still reserved.
    pub(super) fn new(deleted_projects: bool) -> Self {
        Self { full: Mutex::default(), deleted_projects: deleted_projects.into() }
    }

    /// Updates the full inboxes after commits.
    pub(super) fn follow(&self, changes: &[Change]) {
        for change in changes {
            match change {
                Change::InboxFull(id) => self.inbox_is_full(id),
                Change::Projects | Change::Unknown => self.set_deleted_projects(true),
                _ => {}
            }
        }
    }

    pub(super) fn set_deleted_projects(&self, exist: bool) {
        self.deleted_projects.store(exist, Ordering::Relaxed);
    }

    pub(super) fn inbox_is_full(&self, id: &InboxId) {
        let mut full = self.full();
        if full.len() >= REMEMBERED {
            full.clear();
        }
        full.insert(id.clone());
    }

    pub(super) fn inbox_has_room(&self, id: &InboxId) {
        self.full().remove(id);
    }

    /// Whether the database must be read for this recipient.
    pub(super) fn may_concern(&self, id: &InboxId) -> bool {
        self.deleted_projects.load(Ordering::Relaxed) || self.full().contains(id)
    }

    fn full(&self) -> MutexGuard<'_, HashSet<InboxId>> {
        // Nothing panics while the lock is held.
        self.full.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_exceptions_are_looked_up() {
        let exceptions = Exceptions::new(false);
        let (full, other) = (InboxId::parse("full").unwrap(), InboxId::parse("other").unwrap());
        exceptions.follow(&[Change::InboxFull(full.clone()), Change::Inbox(other.clone())]);
        assert!(exceptions.may_concern(&full) && !exceptions.may_concern(&other));
        exceptions.inbox_has_room(&full);
        assert!(!exceptions.may_concern(&full));
        exceptions.follow(&[Change::Projects]);
        assert!(exceptions.may_concern(&other));
    }
}
