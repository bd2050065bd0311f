//! Which messages the clients of Mailpit's API have read. Only this node knows it, until it ends.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::model::MessageId;

/// Maximum number of messages of which it is known. The oldest is unread again beyond it.
const MAX_MESSAGES: usize = 100_000;

/// The messages that were read. Clones are the same.
#[derive(Clone, Debug, Default)]
pub(super) struct ReadMail(Arc<Mutex<BTreeSet<MessageId>>>);

impl ReadMail {
    pub(super) fn is_empty(&self) -> bool {
        self.ids().is_empty()
    }

    pub(super) fn contains(&self, id: MessageId) -> bool {
        self.ids().contains(&id)
    }

    pub(super) fn mark(&self, id: MessageId, is_read: bool) {
        let mut ids = self.ids();
        if is_read {
            ids.insert(id);
        } else {
            ids.remove(&id);
        }
        if ids.len() > MAX_MESSAGES {
            // Ids grow with time.
            ids.pop_first();
        }
    }

    fn ids(&self) -> MutexGuard<'_, BTreeSet<MessageId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
