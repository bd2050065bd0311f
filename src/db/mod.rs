//! The seam to the database engines: transactions, queries and a stream of changes, with no word of the domain.
//!
//! `store/` writes every statement once, in the SQL that all engines speak: parameters `$1`, `$2` …, `ON CONFLICT`,
//! `RETURNING`, integers of 64 bits, text and octets. The few words that differ stand in braces and are filled in by
//! the engine:
//!
//! | word | meaning |
//! |---|---|
//! | `{bytes}` | the column type for octets |
//! | `{clustered}` | behind a table's closing bracket: its rows lie in the order of the primary key |
//!
//! An engine with one writer (SQLite) runs transactions one after another; the caller of [`Database::begin`] queues.

mod migrate;
mod sqlite;
mod value;

use std::sync::Arc;

use tokio::sync::broadcast;

use crate::config::DatabaseUrl;

pub(crate) use value::values;
pub use value::{Row, Value};

/// How many changes a listener may fall behind before it is told to look at everything again.
const CHANGES_KEPT: usize = 4_096;

/// Why the database did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    /// The file cannot be opened or made.
    #[error("cannot open the database {path}: {source}")]
    Open {
        /// Which one.
        path: String,
        /// What the engine says.
        source: rusqlite::Error,
    },
    /// A newer program has changed the schema.
    #[error(
        "the database has schema version {found}, but this program knows only versions up to {known}: \
         run the newer version of restante that made it"
    )]
    Newer {
        /// The version found.
        found: i64,
        /// The newest version known.
        known: i64,
    },
    /// A statement failed.
    #[error("the database failed: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// The threads that serve the database could not be started.
    #[error("cannot start a database thread: {0}")]
    Thread(std::io::Error),
    /// The thread that serves the connection is gone.
    #[error("the database connection is closed")]
    Closed,
    /// A column does not hold what the statement promised.
    #[error("column {index} of a row is not {expected}")]
    Column {
        /// The column, counted from 0.
        index: usize,
        /// The type that was expected.
        expected: &'static str,
    },
}

/// Something that a committed transaction announced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// What a transaction passed to [`Transaction::notify`].
    Key(String),
    /// Announcements were lost: whatever is cached or waited for must be looked at again.
    Unknown,
}

/// A database. Cheap to clone; the last clone closes it.
#[derive(Clone, Debug)]
pub struct Database(Arc<sqlite::Sqlite>);

impl Database {
    /// Opens the database, making it where there is none.
    ///
    /// # Errors
    /// [`DatabaseError::Open`] where the file cannot be opened, or is no database.
    pub async fn open(url: &DatabaseUrl) -> Result<Self, DatabaseError> {
        let DatabaseUrl::Sqlite(path) = url.clone();
        let opening = tokio::task::spawn_blocking(move || sqlite::Sqlite::open(&path, CHANGES_KEPT));
        Ok(Self(Arc::new(opening.await.map_err(|_| DatabaseError::Closed)??)))
    }

    /// Brings the schema to the newest of `migrations`; each runs in a transaction of its own.
    ///
    /// # Errors
    /// [`DatabaseError::Newer`] where the database knows more migrations than this; whatever a migration fails with.
    pub async fn migrate(&self, migrations: &[&'static str]) -> Result<(), DatabaseError> {
        migrate::run(self, migrations).await
    }

    /// Runs one statement that only reads, outside any transaction.
    ///
    /// # Errors
    /// What the statement fails with.
    pub async fn query(&self, sql: &'static str, parameters: Vec<Value>) -> Result<Vec<Row>, DatabaseError> {
        self.0.query(sql, parameters).await
    }

    /// Begins a transaction. Dropping it without a commit rolls it back.
    ///
    /// # Errors
    /// [`DatabaseError::Closed`]; what the engine fails with at the beginning comes out of the first statement.
    pub fn begin(&self) -> Result<Transaction, DatabaseError> {
        Ok(Transaction { engine: self.0.begin()?, changes: Vec::new() })
    }

    /// Every change announced from now on.
    #[must_use]
    pub fn changes(&self) -> Changes {
        Changes(self.0.changes())
    }
}

/// A stream of changes.
#[derive(Debug)]
pub struct Changes(broadcast::Receiver<Change>);

impl Changes {
    /// The next change; `None` once the database is closed.
    pub async fn next(&mut self) -> Option<Change> {
        match self.0.recv().await {
            Ok(change) => Some(change),
            Err(broadcast::error::RecvError::Lagged(_)) => Some(Change::Unknown),
            Err(broadcast::error::RecvError::Closed) => None,
        }
    }
}

/// A transaction that may read and write.
#[derive(Debug)]
pub struct Transaction {
    engine: sqlite::SqliteTransaction,
    changes: Vec<Change>,
}

impl Transaction {
    /// Runs one statement and returns how many rows it changed.
    ///
    /// # Errors
    /// What the statement fails with; the transaction can then only be dropped.
    pub async fn execute(&mut self, sql: &'static str, parameters: Vec<Value>) -> Result<u64, DatabaseError> {
        self.engine.execute(sql, vec![parameters]).await
    }

    /// Runs one statement once for each set of parameters, in one round trip; returns how many rows changed in all.
    ///
    /// # Errors
    /// As [`Transaction::execute`].
    pub async fn execute_many(&mut self, sql: &'static str, parameters: Vec<Vec<Value>>) -> Result<u64, DatabaseError> {
        self.engine.execute(sql, parameters).await
    }

    /// Runs several statements without parameters, separated by semicolons.
    ///
    /// # Errors
    /// As [`Transaction::execute`].
    pub async fn execute_script(&mut self, sql: &'static str) -> Result<(), DatabaseError> {
        self.engine.execute_script(sql).await
    }

    /// Runs one statement and returns its rows.
    ///
    /// # Errors
    /// As [`Transaction::execute`].
    pub async fn query(&mut self, sql: &'static str, parameters: Vec<Value>) -> Result<Vec<Row>, DatabaseError> {
        Ok(self.engine.query(sql, vec![parameters]).await?.pop().unwrap_or_default())
    }

    /// Runs one statement once for each set of parameters, in one round trip; returns the rows of each.
    ///
    /// # Errors
    /// As [`Transaction::execute`].
    pub async fn query_many(
        &mut self,
        sql: &'static str,
        parameters: Vec<Vec<Value>>,
    ) -> Result<Vec<Vec<Row>>, DatabaseError> {
        self.engine.query(sql, parameters).await
    }

    /// Announces `key` to every listener once the transaction is committed, and never when it is not.
    pub fn notify(&mut self, key: String) {
        self.changes.push(Change::Key(key));
    }

    /// Commits. When this returns, the changes are on stable storage.
    ///
    /// # Errors
    /// What the commit fails with; nothing of the transaction is kept then.
    pub async fn commit(self) -> Result<(), DatabaseError> {
        self.engine.commit(self.changes).await
    }
}
