//! Tells whoever listens what committed transactions have announced.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use super::Change;

type Listener = Box<dyn Fn(&[Change]) + Send + Sync>;

/// All who listen. Clones share them.
#[derive(Clone, Default)]
pub(super) struct Announcer(Arc<RwLock<Vec<Listener>>>);

impl Announcer {
    pub(super) fn add(&self, listener: impl Fn(&[Change]) + Send + Sync + 'static) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).push(Box::new(listener));
    }

    pub(super) fn announce(&self, changes: &[Change]) {
        if !changes.is_empty() {
            self.0.read().unwrap_or_else(PoisonError::into_inner).iter().for_each(|listener| listener(changes));
        }
    }
}

impl fmt::Debug for Announcer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Announcer").finish_non_exhaustive()
    }
}
