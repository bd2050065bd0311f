//! Blocks of numbers for new rows, so that a row's number is known before the row is sent.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Numbers that this node has taken from sequences and not used.
#[derive(Debug, Default)]
pub(super) struct Numbers(Mutex<HashMap<String, Vec<i64>>>);

impl Numbers {
    /// Keeps numbers that are not needed yet.
    pub(super) fn keep(&self, table: &str, numbers: Vec<i64>) {
        let mut blocks = self.blocks();
        let block = blocks.entry(table.to_owned()).or_default();
        block.extend(numbers.into_iter().rev());
    }

    /// Takes `count` numbers of a table, if so many are left.
    pub(super) fn take(&self, table: &str, count: usize) -> Option<Vec<i64>> {
        let mut blocks = self.blocks();
        let block = blocks.get_mut(table)?;
        let start = block.len().checked_sub(count)?;
        let mut numbers = block.split_off(start);
        numbers.reverse();
        Some(numbers)
    }

    /// Forgets what is left: after a failover, another node may get the same numbers.
    pub(super) fn clear(&self) {
        self.blocks().clear();
    }

    fn blocks(&self) -> MutexGuard<'_, HashMap<String, Vec<i64>>> {
        // The mutex is not poisoned: no code panics while it is locked.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
