//! Passes the notifications of committed transactions to the listeners.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use super::Notice;

type NoticeListener = Box<dyn Fn(&[Notice]) + Send + Sync>;

/// The listeners. Clones share the same list.
#[derive(Clone, Default)]
pub(super) struct Announcer(Arc<RwLock<Vec<NoticeListener>>>);

impl Announcer {
    pub(super) fn add(&self, listener: impl Fn(&[Notice]) + Send + Sync + 'static) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).push(Box::new(listener));
    }

    pub(super) fn announce(&self, notices: &[Notice]) {
        if !notices.is_empty() {
            self.0.read().unwrap_or_else(PoisonError::into_inner).iter().for_each(|listener| listener(notices));
        }
    }
}

impl fmt::Debug for Announcer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Announcer").finish_non_exhaustive()
    }
}
