//! Passes the changes of committed transactions to the listeners.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use crate::model::Change;

type ChangeListener = Box<dyn Fn(&[Change]) + Send + Sync>;

/// The listeners. Clones share the same list.
#[derive(Clone, Default)]
pub(super) struct Announcer(Arc<RwLock<Vec<ChangeListener>>>);

impl Announcer {
    pub(super) fn add(&self, listener: impl Fn(&[Change]) + Send + Sync + 'static) {
        self.0
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .push(Box::new(listener));
    }

    pub(super) fn announce(&self, changes: &[Change]) {
        if !changes.is_empty() {
            self.0
                .read()
                .unwrap_or_else(PoisonError::into_inner)
                .iter()
                .for_each(|listener| listener(changes));
        }
    }
}

impl fmt::Debug for Announcer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Announcer").finish_non_exhaustive()
    }
}
