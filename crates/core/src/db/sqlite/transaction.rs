//! A transaction on the writing connection, and the group of transactions that one COMMIT ends. A
//! transaction starts with its first statement.

use std::sync::{Arc, Mutex, MutexGuard};

use super::backup::copy_before_migration;
use super::connection::{SqliteConnection, lock};
use crate::db::{DatabaseError, Row, Value};
use crate::model::Change;

/// The transactions that one COMMIT ends, on the only writing connection.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) connection: SqliteConnection,
    /// The changes of the transactions that have committed.
    changes: Vec<Change>,
}

impl Group {
    pub(super) fn new(connection: SqliteConnection) -> Self {
        Self {
            connection,
            changes: Vec::new(),
        }
    }

    /// Whether a transaction has started, and neither COMMIT nor a rollback has ended the group.
    pub(super) fn is_open(&self) -> bool {
        !self.connection.is_autocommit()
    }

    /// Starts the next transaction of the group.
    fn start(&self) -> Result<State, DatabaseError> {
        let (sql, state) = if self.is_open() {
            ("SAVEPOINT own", State::Savepoint)
        } else {
            ("BEGIN IMMEDIATE", State::First)
        };
        self.connection.control(sql)?;
        Ok(state)
    }

    /// Forgets the transactions that SQLite has rolled back; the result is for their callers.
    pub(super) fn lost(&mut self) -> Result<(), DatabaseError> {
        self.changes.clear();
        Err(DatabaseError::Cancelled)
    }

    /// Commits, and returns the changes. A group that cannot be committed is rolled back.
    pub(super) fn end(&mut self) -> Result<Vec<Change>, DatabaseError> {
        let changes = std::mem::take(&mut self.changes);
        if self.is_open()
            && let Err(error) = self.connection.control("COMMIT")
        {
            self.connection.roll_back();
            return Err(error);
        }
        Ok(changes)
    }
}

/// A transaction in a group. If it is dropped without a commit, it is rolled back alone.
#[derive(Debug)]
pub(in crate::db) struct SqliteTransaction {
    group: Arc<Mutex<Group>>,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    NotStarted,
    /// It is the first of its group, so it needs no savepoint.
    First,
    Savepoint,
    Ended,
}

impl SqliteTransaction {
    pub(super) fn new(group: Arc<Mutex<Group>>) -> Self {
        Self {
            group,
            state: State::NotStarted,
        }
    }

    pub(in crate::db) fn execute(
        &mut self,
        sql: &'static str,
        parameters: &[Vec<Value>],
    ) -> Result<u64, DatabaseError> {
        self.open()?.connection.execute(sql, parameters)
    }

    pub(in crate::db) fn insert(
        &mut self,
        sql: &'static str,
        rows: &[Vec<Value>],
    ) -> Result<Vec<i64>, DatabaseError> {
        self.open()?.connection.insert(sql, rows)
    }

    pub(in crate::db) fn execute_script(&mut self, sql: &'static str) -> Result<(), DatabaseError> {
        self.open()?.connection.execute_script(sql)
    }

    pub(in crate::db) fn query(
        &mut self,
        sql: &'static str,
        parameters: &[Vec<Value>],
    ) -> Result<Vec<Vec<Row>>, DatabaseError> {
        let mut group = self.open()?;
        parameters
            .iter()
            .map(|parameters| group.connection.query(sql, parameters, usize::MAX))
            .collect()
    }

    /// Copies the committed state to a file beside the database. No other writer can change it
    /// meanwhile.
    pub(in crate::db) fn copy_before_migration(
        &mut self,
        version: i64,
    ) -> Result<(), DatabaseError> {
        match self.open()?.connection.path() {
            Some(path) => copy_before_migration(path, version),
            None => Ok(()),
        }
    }

    /// Adds the transaction to its group, which passes `changes` to the listeners when it has been
    /// committed.
    pub(in crate::db) fn commit(mut self, changes: &[Change]) -> Result<(), DatabaseError> {
        let shared = Arc::clone(&self.group);
        let mut group = lock(&shared);
        if self.state == State::NotStarted {
            self.state = group.start()?;
        }
        if !group.is_open() {
            // An earlier statement failed, and SQLite has rolled back the group.
            return Err(DatabaseError::Cancelled);
        }
        if self.state == State::Savepoint {
            group.connection.control("RELEASE own")?;
        }
        group.changes.extend_from_slice(changes);
        self.state = State::Ended;
        Ok(())
    }

    fn open(&mut self) -> Result<MutexGuard<'_, Group>, DatabaseError> {
        let group = lock(&self.group);
        if self.state == State::NotStarted {
            self.state = group.start()?;
        } else if !group.is_open() {
            // An earlier statement failed, and SQLite has rolled back the group.
            return Err(DatabaseError::Cancelled);
        }
        Ok(group)
    }
}

impl Drop for SqliteTransaction {
    fn drop(&mut self) {
        let group = lock(&self.group);
        match self.state {
            State::First => group.connection.roll_back(),
            State::Savepoint => group.connection.roll_back_to_savepoint(),
            State::NotStarted | State::Ended => {}
        }
    }
}
