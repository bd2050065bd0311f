//! Keeps the recipients that may have to be rejected in memory, so that most recipients need no
//! database query.
//!
//! Almost every recipient is accepted at RCPT TO, and the delivery's transaction checks again. The
//! exceptions are full inboxes, addresses of deleted projects, and inboxes with faults. The
//! database is queried only if one of these is possible.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::model::InboxId;
use crate::store::Change;

/// Maximum number of full inboxes that are remembered. With more, all are forgotten, and mail to a
/// full inbox is rejected only after DATA.
const REMEMBERED: usize = 10_000;
/// Maximum number of inboxes with faults that are remembered. With more, the database is queried
/// for every recipient.
const REMEMBERED_FAULTS: usize = 100_000;
/// After this many new inboxes with faults, the list is read again from the database, because some
/// of them will have ended.
const NEW_FAULTS: usize = 1_000;

/// The recipients that may have to be rejected.
#[derive(Debug)]
pub(super) struct Exceptions {
    full: Mutex<HashSet<InboxId>>,
    /// Whether a deleted project may still have addresses reserved.
    deleted_projects: AtomicBool,
    faults: Mutex<Faults>,
}

/// The inboxes that may have faults.
#[derive(Debug, Default)]
struct Faults {
    /// Each inbox, with the number of changes when it was last known to have faults.
    inboxes: HashMap<InboxId, u64>,
    changes: u64,
    /// If set, any inbox may have faults. The value is the number of changes when that was noticed.
    everywhere: Option<u64>,
    /// The number of inboxes with faults when they were last read from the database.
    read: usize,
}

/// What was known of the faults at one moment. Later changes are not forgotten.
#[derive(Clone, Copy, Debug)]
pub(super) struct KnownFaults {
    changes: u64,
}

impl Exceptions {
    /// Starts with no full inboxes and no faults. `deleted_projects`: whether addresses of deleted
    /// projects are still reserved.
    pub(super) fn new(deleted_projects: bool) -> Self {
        Self {
            full: Mutex::default(),
            deleted_projects: deleted_projects.into(),
            faults: Mutex::default(),
        }
    }

    /// Updates the exceptions after commits.
    pub(super) fn follow(&self, changes: &[Change]) {
        for change in changes {
            match change {
                Change::InboxFull(id) => self.inbox_is_full(id),
                Change::Faults(id, _) => self.inbox_has_faults(id),
                Change::Projects => self.set_deleted_projects(true),
                Change::Unknown => {
                    self.set_deleted_projects(true);
                    self.faults().may_be_everywhere();
                }
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

    /// Whether the database must be queried for this recipient.
    pub(super) fn may_concern(&self, id: &InboxId) -> bool {
        self.deleted_projects.load(Ordering::Relaxed) || self.full().contains(id)
    }

    /// Records that the inbox may have faults.
    pub(super) fn inbox_has_faults(&self, id: &InboxId) {
        let mut faults = self.faults();
        if faults.inboxes.len() >= REMEMBERED_FAULTS {
            return faults.may_be_everywhere();
        }
        faults.changes += 1;
        let changes = faults.changes;
        faults.inboxes.insert(id.clone(), changes);
    }

    /// Returns what is known if mail to this recipient may go to an inbox with faults.
    pub(super) fn faults_of(&self, recipient: &InboxId) -> Option<KnownFaults> {
        let faults = self.faults();
        if faults.inboxes.is_empty() && faults.everywhere.is_none() {
            return None;
        }
        let is_known = |id: &InboxId| faults.inboxes.contains_key(id);
        let may_have = faults.everywhere.is_some()
            || is_known(recipient)
            || recipient
                .without_tag()
                .is_some_and(|untagged| is_known(&untagged));
        may_have.then_some(KnownFaults {
            changes: faults.changes,
        })
    }

    /// Records that the inbox has no more faults, unless it got new ones after `known`.
    pub(super) fn forget_faults(&self, inbox: &InboxId, known: KnownFaults) {
        let mut faults = self.faults();
        if faults
            .inboxes
            .get(inbox)
            .is_some_and(|change| *change <= known.changes)
        {
            faults.inboxes.remove(inbox);
        }
    }

    /// Returns what is known if the list has to be read from the database again.
    pub(super) fn outdated_faults(&self) -> Option<KnownFaults> {
        let faults = self.faults();
        let is_outdated =
            faults.everywhere.is_some() || faults.inboxes.len() > faults.read + NEW_FAULTS;
        is_outdated.then_some(KnownFaults {
            changes: faults.changes,
        })
    }

    /// Records the inboxes with faults as read from the database after `known`.
    pub(super) fn set_faults(&self, inboxes: Vec<InboxId>, known: KnownFaults) {
        let mut faults = self.faults();
        faults.inboxes.retain(|_, change| *change > known.changes);
        faults.everywhere = faults.everywhere.filter(|noticed| *noticed > known.changes);
        if inboxes.len() > REMEMBERED_FAULTS {
            faults.may_be_everywhere();
        }
        faults.read = inboxes.len();
        for id in inboxes.into_iter().take(REMEMBERED_FAULTS) {
            faults.inboxes.entry(id).or_insert(known.changes);
        }
    }

    fn full(&self) -> MutexGuard<'_, HashSet<InboxId>> {
        // The mutex is not poisoned: no code panics while it is locked.
        self.full.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn faults(&self) -> MutexGuard<'_, Faults> {
        // The mutex is not poisoned: no code panics while it is locked.
        self.faults.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Faults {
    fn may_be_everywhere(&mut self) {
        self.changes += 1;
        self.everywhere = Some(self.changes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> InboxId {
        InboxId::parse(text).unwrap()
    }

    #[test]
    fn only_exceptions_are_looked_up() {
        let exceptions = Exceptions::new(false);
        let full = id("full");
        let other = id("other");
        exceptions.follow(&[
            Change::InboxFull(full.clone()),
            Change::Inbox(other.clone()),
        ]);
        assert!(exceptions.may_concern(&full) && !exceptions.may_concern(&other));
        exceptions.inbox_has_room(&full);
        assert!(!exceptions.may_concern(&full));
        exceptions.follow(&[Change::Projects]);
        assert!(exceptions.may_concern(&other));
    }

    #[test]
    fn faults_are_known_until_they_are_used_up() {
        let exceptions = Exceptions::new(false);
        assert!(exceptions.faults_of(&id("a")).is_none());
        exceptions.follow(&[Change::Faults(id("a"), uuid::Uuid::nil())]);
        assert!(exceptions.faults_of(&id("b")).is_none());
        let known = exceptions.faults_of(&id("a+tag")).unwrap();
        // New faults that arrive during the query are not forgotten.
        exceptions.follow(&[Change::Faults(id("a"), uuid::Uuid::nil())]);
        exceptions.forget_faults(&id("a"), known);
        let known = exceptions.faults_of(&id("a")).unwrap();
        // An inbox whose name has the tag is another one.
        exceptions.forget_faults(&id("a+tag"), known);
        assert!(exceptions.faults_of(&id("a+tag")).is_some());
        exceptions.forget_faults(&id("a"), known);
        assert!(exceptions.faults_of(&id("a")).is_none());
    }

    #[test]
    fn lost_announcements_concern_every_recipient_until_the_faults_are_read() {
        let exceptions = Exceptions::new(false);
        assert!(exceptions.outdated_faults().is_none());
        exceptions.follow(&[Change::Faults(id("a"), uuid::Uuid::nil()), Change::Unknown]);
        assert!(exceptions.faults_of(&id("b")).is_some());
        let known = exceptions.outdated_faults().unwrap();
        exceptions.follow(&[Change::Faults(id("c"), uuid::Uuid::nil())]);
        exceptions.set_faults(vec![id("b")], known);
        let have_faults = ["a", "b", "c"].map(|inbox| exceptions.faults_of(&id(inbox)).is_some());
        assert_eq!(have_faults, [false, true, true]);
        assert!(exceptions.outdated_faults().is_none());
    }
}
