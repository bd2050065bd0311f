//! The seam to the database engines: transactions, queries and announcements of changes, with no word of the domain.
//!
//! `store/` writes every statement once, in the SQL that all engines speak: parameters `$1`, `$2` …, `ON CONFLICT`,
//! `RETURNING`, integers of 64 bits, text and octets. The few words that differ stand in braces and are filled in by
//! the engine:
//!
//! | word | meaning |
//! |---|---|
//! | `{bytes}` | the column type for octets |
//! | `{clustered}` | behind a table's closing bracket: its rows lie in the order of the primary key |
//! | `{numbered}` | the type of a primary key: each row gets the next number where it says none |
//! | `{for_update}` | behind a SELECT: no other transaction changes its rows before this one ends |
//! | `{skip_locked}` | the same, but rows that another transaction holds are left out |
//!
//! An engine with one writer (SQLite) runs transactions one after another, each as a whole on one thread.
//! PostgreSQL runs them side by side where they are called, and several processes may share it. Its futures are boxed: they
//! are large, and every wait would make room for them, whichever engine it is on.

mod announcer;
mod locks;
mod migrate;
mod postgres;
mod sqlite;
mod value;

use std::sync::Arc;

use tokio::sync::MutexGuard;

use crate::config::DatabaseUrl;

use announcer::Announcer;
pub use locks::{Lock, Locks};
pub(crate) use value::values;
pub use value::{Row, Value};

type BoxedError = Box<dyn std::error::Error + Send + Sync>;

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
    /// An environment variable says what cannot be used.
    #[error("the environment variable {0} does not say what psql understands by it")]
    Environment(&'static str),
    /// The connection to the server cannot be encrypted as it should be.
    #[error("cannot encrypt the connection to the database: {0}")]
    Tls(#[source] BoxedError),
    /// The server cannot be reached, or was lost while it did what it was asked: it may have done it.
    #[error("the database cannot be reached: {}", chain(.0.as_ref()))]
    Unreachable(#[source] BoxedError),
    /// The engine has ended the transaction in favour of another one; it may be tried again.
    #[error("the database ended the transaction in favour of another: {}", chain(.0))]
    Conflict(#[source] tokio_postgres::Error),
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
    /// A statement failed on the server.
    #[error("the database failed: {}", chain(.0))]
    Postgres(#[from] tokio_postgres::Error),
    /// The threads that serve the database could not be started.
    #[error("cannot start a database thread: {0}")]
    Thread(std::io::Error),
    /// Whatever serves the connection is gone, for good or until it has connected again.
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

impl DatabaseError {
    /// Whether the database, and not the statement, is what is wrong.
    #[must_use]
    pub fn is_absence(&self) -> bool {
        matches!(self, Self::Unreachable(_) | Self::Closed)
    }
}

/// What an error of the driver says with all its causes; alone it says only where it happened.
fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(error.source(), |error| error.source());
    causes.map(ToString::to_string).fold(error.to_string(), |text, cause| {
        // Some errors already name their cause.
        if text.contains(&cause) { text } else { format!("{text}: {cause}") }
    })
}

/// A database. Cheap to clone; the last clone closes it.
#[derive(Clone, Debug)]
pub struct Database {
    engine: Engine,
    locks: Locks,
    announcer: Announcer,
}

#[derive(Clone, Debug)]
enum Engine {
    Sqlite(Arc<sqlite::Sqlite>),
    Postgres(Arc<postgres::Postgres>),
}

impl Database {
    /// Opens the database; SQLite makes it where there is none.
    ///
    /// # Errors
    /// [`DatabaseError::Open`] where the file cannot be opened, or is no database; [`DatabaseError::Unreachable`],
    /// [`DatabaseError::Tls`] and [`DatabaseError::Environment`] where the server cannot be used.
    pub async fn open(url: &DatabaseUrl) -> Result<Self, DatabaseError> {
        let announcer = Announcer::default();
        let (engine, locks) = match url.clone() {
            DatabaseUrl::Sqlite(path) => {
                let (runtime, announcer) = (tokio::runtime::Handle::current(), announcer.clone());
                let opening = tokio::task::spawn_blocking(move || sqlite::Sqlite::open(&path, announcer, runtime));
                let engine = opening.await.map_err(|_| DatabaseError::Closed)??;
                (Engine::Sqlite(Arc::new(engine)), Locks::within_process())
            }
            DatabaseUrl::Postgres(url) => {
                let engine = postgres::Postgres::open(&url, announcer.clone()).await?;
                let locks = Locks::among_nodes(engine.session());
                (Engine::Postgres(Arc::new(engine)), locks)
            }
        };
        Ok(Self { engine, locks, announcer })
    }

    /// Brings the schema to the newest of `migrations`; each runs in a transaction of its own.
    ///
    /// # Errors
    /// [`DatabaseError::Newer`] where the database knows more migrations than this; whatever a migration fails with.
    pub async fn migrate(&self, migrations: &[&'static str]) -> Result<(), DatabaseError> {
        migrate::run(self, migrations).await
    }

    /// Reads a few rows that an index finds, outside any transaction. It may run on the calling thread: whatever looks
    /// at many rows is a [`Database::query`].
    ///
    /// # Errors
    /// What the statement fails with.
    pub async fn look_up(&self, sql: &'static str, parameters: Vec<Value>) -> Result<Vec<Row>, DatabaseError> {
        // Whoever looks again and again lets others have the thread now and then.
        tokio::task::consume_budget().await;
        match &self.engine {
            Engine::Sqlite(engine) => engine.look_up(sql, &parameters),
            Engine::Postgres(engine) => Box::pin(engine.query(sql, parameters)).await,
        }
    }

    /// Runs one statement that only reads, outside any transaction.
    ///
    /// # Errors
    /// What the statement fails with.
    pub async fn query(&self, sql: &'static str, parameters: Vec<Value>) -> Result<Vec<Row>, DatabaseError> {
        match &self.engine {
            Engine::Sqlite(engine) => engine.query(sql, parameters).await,
            Engine::Postgres(engine) => Box::pin(engine.query(sql, parameters)).await,
        }
    }

    /// Runs `work` in a transaction, which `work` commits; dropped without a commit, it is rolled back. `work` may hold up
    /// everybody else who writes, so it waits for nothing but its transaction. Where it does, it is finished even when nobody
    /// waits for its answer any more.
    ///
    /// # Errors
    /// What `work` fails with; [`DatabaseError::Closed`]. What the engine fails with at the beginning comes out of the first
    /// statement.
    pub async fn transact<T, E, F>(&self, work: impl FnOnce(Transaction) -> F + Send + 'static) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<DatabaseError> + Send + 'static,
        F: Future<Output = Result<T, E>> + Send + 'static,
    {
        match &self.engine {
            Engine::Sqlite(engine) => {
                engine.transact(|open| work(Transaction::new(OpenTransaction::Sqlite(open)))).await?
            }
            Engine::Postgres(engine) => {
                Box::pin(work(Transaction::new(OpenTransaction::Postgres(Box::new(engine.begin()))))).await
            }
        }
    }

    /// Waits for a turn, which lasts until it is dropped: transactions that are begun in one are run one after another. Where
    /// all of them are anyway, there is nothing to wait for, so that the next one can stand in line.
    pub async fn turn(&self) -> Option<MutexGuard<'_, ()>> {
        match &self.engine {
            Engine::Sqlite(_) => None,
            Engine::Postgres(engine) => Some(engine.turn().await),
        }
    }

    /// Calls `listener` with what each transaction has announced, from now on and for as long as the database is open:
    /// where the commit was, before whoever committed hears of it, so it must not wait for anything. On PostgreSQL it is
    /// called when the server passes the announcement on.
    pub fn listen(&self, listener: impl Fn(&[Change]) + Send + Sync + 'static) {
        self.announcer.add(listener);
    }

    /// The locks that all nodes on this database share.
    #[must_use]
    pub fn locks(&self) -> &Locks {
        &self.locks
    }
}

/// A statement that changes a row, and what is to be known of that row then, for [`Transaction::change_many`].
#[derive(Clone, Copy, Debug)]
pub struct RowChange {
    /// Both at once, with `RETURNING`.
    pub returning: &'static str,
    /// The change alone.
    pub change: &'static str,
    /// A query for the row that has just been changed, alone among those who write.
    pub row: &'static str,
    /// How many of the first parameters that query has.
    pub row_parameters: usize,
}

/// A [`RowChange`]: the change, the columns that are to be known, where their row is found, and by how many of the first
/// parameters.
macro_rules! row_change {
    ($change:literal, $columns:literal, $row:literal, $row_parameters:literal) => {
        $crate::db::RowChange {
            returning: concat!($change, " RETURNING ", $columns),
            change: $change,
            row: concat!("SELECT ", $columns, " ", $row),
            row_parameters: $row_parameters,
        }
    };
}
pub(crate) use row_change;

/// A transaction that may read and write.
#[derive(Debug)]
pub struct Transaction {
    engine: OpenTransaction,
    changes: Vec<Change>,
}

#[derive(Debug)]
enum OpenTransaction {
    Sqlite(sqlite::SqliteTransaction),
    Postgres(Box<postgres::PostgresTransaction>),
}

impl Transaction {
    fn new(engine: OpenTransaction) -> Self {
        Self { engine, changes: Vec::new() }
    }

    /// Runs one statement and returns how many rows it changed.
    ///
    /// # Errors
    /// What the statement fails with; the transaction can then only be dropped.
    pub async fn execute(&mut self, sql: &'static str, parameters: Vec<Value>) -> Result<u64, DatabaseError> {
        self.execute_many(sql, vec![parameters]).await
    }

    /// Runs one statement once for each set of parameters, in one round trip; returns how many rows changed in all.
    ///
    /// # Errors
    /// As [`Transaction::execute`].
    pub async fn execute_many(&mut self, sql: &'static str, parameters: Vec<Vec<Value>>) -> Result<u64, DatabaseError> {
        match &mut self.engine {
            OpenTransaction::Sqlite(engine) => engine.execute(sql, &parameters),
            OpenTransaction::Postgres(engine) => Box::pin(engine.execute(sql, parameters)).await,
        }
    }

    /// Runs several statements without parameters, separated by semicolons.
    ///
    /// # Errors
    /// As [`Transaction::execute`].
    pub async fn execute_script(&mut self, sql: &'static str) -> Result<(), DatabaseError> {
        match &mut self.engine {
            OpenTransaction::Sqlite(engine) => engine.execute_script(sql),
            OpenTransaction::Postgres(engine) => engine.execute_script(sql).await,
        }
    }

    /// Runs one statement and returns its rows.
    ///
    /// # Errors
    /// As [`Transaction::execute`].
    pub async fn query(&mut self, sql: &'static str, parameters: Vec<Value>) -> Result<Vec<Row>, DatabaseError> {
        Ok(self.query_many(sql, vec![parameters]).await?.pop().unwrap_or_default())
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
        match &mut self.engine {
            OpenTransaction::Sqlite(engine) => engine.query(sql, &parameters),
            OpenTransaction::Postgres(engine) => Box::pin(engine.query(sql, parameters)).await,
        }
    }

    /// Changes a row for each set of parameters, in one round trip; returns what is to be known of each, nothing where
    /// there was nothing to change. Where there is no round trip, rows are asked for behind their changes: SQLite makes a
    /// temporary table, and a journal of its own, whenever a statement has `RETURNING`.
    ///
    /// # Errors
    /// As [`Transaction::execute`].
    pub async fn change_many(
        &mut self,
        change: RowChange,
        parameters: Vec<Vec<Value>>,
    ) -> Result<Vec<Vec<Row>>, DatabaseError> {
        match &mut self.engine {
            OpenTransaction::Sqlite(engine) => engine.change(change, &parameters),
            OpenTransaction::Postgres(engine) => Box::pin(engine.query(change.returning, parameters)).await,
        }
    }

    /// Waits until no other transaction has the lock `name`, and holds it until this one ends. Where transactions run
    /// one after another, there is nothing to wait for.
    ///
    /// # Errors
    /// As [`Transaction::execute`].
    pub async fn lock(&mut self, name: i64) -> Result<(), DatabaseError> {
        const LOCK: &str = "SELECT 1 FROM (SELECT pg_advisory_xact_lock($1)) AS locked";
        if let OpenTransaction::Postgres(engine) = &mut self.engine {
            engine.query(LOCK, vec![values![name]]).await?;
        }
        Ok(())
    }

    /// The same without waiting: `false` where another transaction has the lock.
    ///
    /// # Errors
    /// As [`Transaction::execute`].
    pub async fn try_lock(&mut self, name: i64) -> Result<bool, DatabaseError> {
        const TRY_LOCK: &str = "SELECT 1 FROM (SELECT pg_try_advisory_xact_lock($1) AS taken) AS locked WHERE taken";
        match &mut self.engine {
            OpenTransaction::Sqlite(_) => Ok(true),
            OpenTransaction::Postgres(engine) => {
                Ok(!engine.query(TRY_LOCK, vec![values![name]]).await?.iter().all(Vec::is_empty))
            }
        }
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
        match self.engine {
            OpenTransaction::Sqlite(engine) => engine.commit(&self.changes),
            OpenTransaction::Postgres(engine) => Box::pin(engine.commit(&self.changes)).await,
        }
    }
}
