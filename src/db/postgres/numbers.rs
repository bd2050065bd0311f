//! Blocks of numbers for new rows, so that a row's number is known before the row is sent.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::transaction::PostgresTransaction;
use crate::db::{DatabaseError, values};

/// Numbers in one block.
const BLOCK: usize = 512;
const TAKE: &str =
    "SELECT nextval(pg_get_serial_sequence($1, 'number')) FROM generate_series(1, $2)";

/// Numbers that this node has taken from sequences and not used.
#[derive(Debug, Default)]
pub(super) struct Numbers(Mutex<HashMap<String, Vec<i64>>>);

impl Numbers {
    /// Takes `count` numbers of a table, with a block from the database if too few are left.
    pub(super) async fn take(
        &self,
        transaction: &mut PostgresTransaction,
        table: &str,
        count: usize,
    ) -> Result<Vec<i64>, DatabaseError> {
        if let Some(numbers) = self.split(table, count) {
            return Ok(numbers);
        }
        let block = i64::try_from(count.max(BLOCK)).unwrap_or(i64::MAX);
        let rows = transaction
            .query(TAKE, vec![values![table, block]])
            .await?
            .pop()
            .unwrap_or_default();
        let mut taken = rows
            .into_iter()
            .map(|mut row| row.integer())
            .collect::<Result<Vec<i64>, _>>()?;
        if taken.len() < count {
            return Err(DatabaseError::NoRow);
        }
        let rest = taken.split_off(count);
        self.blocks()
            .entry(table.to_owned())
            .or_default()
            .extend(rest.into_iter().rev());
        Ok(taken)
    }

    fn split(&self, table: &str, count: usize) -> Option<Vec<i64>> {
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
