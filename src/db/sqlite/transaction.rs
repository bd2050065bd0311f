//! A transaction on the writing connection. It starts with its first statement.

use std::sync::{Arc, Mutex, MutexGuard};

use super::backup::copy_before_migration;
use super::connection::{SqliteConnection, lock};
use crate::db::announcer::Announcer;
use crate::db::{DatabaseError, Row, Value};
use crate::model::Change;

/// A transaction on the only writing connection. If it is dropped without a commit, it is rolled
/// back.
#[derive(Debug)]
pub(in crate::db) struct SqliteTransaction {
    connection: Arc<Mutex<SqliteConnection>>,
    announcer: Announcer,
    open: bool,
}

impl SqliteTransaction {
    pub(super) fn new(connection: Arc<Mutex<SqliteConnection>>, announcer: Announcer) -> Self {
        Self {
            connection,
            announcer,
            open: false,
        }
    }

    pub(in crate::db) fn execute(
        &mut self,
        sql: &'static str,
        parameters: &[Vec<Value>],
    ) -> Result<u64, DatabaseError> {
        self.connection()?.execute(sql, parameters)
    }

    pub(in crate::db) fn insert(
        &mut self,
        sql: &'static str,
        rows: &[Vec<Value>],
    ) -> Result<Vec<i64>, DatabaseError> {
        self.connection()?.insert(sql, rows)
    }

    pub(in crate::db) fn execute_script(&mut self, sql: &'static str) -> Result<(), DatabaseError> {
        self.connection()?.execute_script(sql)
    }

    pub(in crate::db) fn query(
        &mut self,
        sql: &'static str,
        parameters: &[Vec<Value>],
    ) -> Result<Vec<Vec<Row>>, DatabaseError> {
        let mut connection = self.connection()?;
        parameters
            .iter()
            .map(|parameters| connection.query(sql, parameters, usize::MAX))
            .collect()
    }

    /// Copies the committed state to a file beside the database. No other writer can change it
    /// meanwhile.
    pub(in crate::db) fn copy_before_migration(
        &mut self,
        version: i64,
    ) -> Result<(), DatabaseError> {
        match self.connection()?.path() {
            Some(path) => copy_before_migration(path, version),
            None => Ok(()),
        }
    }

    /// Commits, then passes `changes` to the listeners.
    pub(in crate::db) fn commit(mut self, changes: &[Change]) -> Result<(), DatabaseError> {
        self.connection()?.control("COMMIT")?;
        self.open = false;
        self.announcer.announce(changes);
        Ok(())
    }

    fn connection(&mut self) -> Result<MutexGuard<'_, SqliteConnection>, DatabaseError> {
        let connection = lock(&self.connection);
        if !self.open {
            connection.control("BEGIN IMMEDIATE")?;
            self.open = true;
        }
        Ok(connection)
    }
}

impl Drop for SqliteTransaction {
    fn drop(&mut self) {
        if self.open {
            lock(&self.connection).roll_back();
        }
    }
}
