//! Abstracts over the database engines: transactions, queries and change notifications. Of the
//! domain types it knows only [`Change`].
//!
//! `store/` contains every statement once, in SQL that all engines support: parameters `$1`, `$2`
//! …, `ON CONFLICT`, `RETURNING`, integers of 64 bits, text and bytes. Where the dialects differ,
//! the SQL contains a placeholder in braces, which each engine replaces:
//!
//! | word | meaning |
//! |---|---|
//! | `{bytes}` | the column type for bytes |
//! | `{numbered}` | an auto-incremented integer primary key |
//! | `{for_update}` | after a SELECT: locks the selected rows |
//! | `{skip_locked}` | the same, and skips rows locked by other transactions |
//!
//! SQLite has one writer: transactions run one after another on one thread. PostgreSQL runs them
//! concurrently on the caller's task, and several processes may share it. PostgreSQL futures are
//! boxed because they are large.

mod announcer;
mod first_rows;
mod locks;
mod migrate;
mod postgres;
mod sqlite;
mod url;
mod value;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::oneshot;

use crate::causes::with_causes;
use crate::model::Change;

use announcer::Announcer;
pub use locks::{Lock, Locks};
use sqlite::Reply;
pub use sqlite::{BackupError, backup};
pub use url::{DatabaseUrl, InvalidDatabaseUrl, PostgresUrl, SslMode};
pub(crate) use value::values;
pub use value::{Column, Row, Value};

type BoxedError = Box<dyn std::error::Error + Send + Sync>;

/// Why a database operation failed.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    /// The file cannot be opened or created.
    #[error("cannot open the database {path}: {source}")]
    Open {
        path: String,
        source: rusqlite::Error,
    },
    /// The file is a SQLite database of another program.
    #[error(
        "{0} is not a database of Restante: it belongs to another program, so it was not changed"
    )]
    Foreign(String),
    /// The copy that is made before a migration failed, so the migration was not started.
    #[error("cannot copy the database to {path} before its migration: {source}")]
    CopyBeforeMigration {
        /// The file of the copy.
        path: String,
        source: BackupError,
    },
    /// An environment variable has a value that cannot be used.
    #[error("the value of the environment variable {0} is invalid: psql would reject it")]
    Environment(&'static str),
    /// The connection to the server cannot be encrypted as required.
    #[error("cannot encrypt the connection to the database: {0}")]
    Tls(#[source] BoxedError),
    /// The server cannot be reached, or the connection was lost during a statement, which may have
    /// been carried out.
    #[error("the database cannot be reached: {}", with_causes(.0.as_ref()))]
    Unreachable(#[source] BoxedError),
    /// This node's control connection is lost and is being opened again.
    #[error("lost the connection to the database; reconnecting")]
    SessionLost,
    /// The server did not answer in time. It may have carried out the request.
    #[error("the database does not answer")]
    Silent,
    /// Another transaction locked a row for too long; this one may be retried.
    #[error("timed out waiting for a database lock")]
    LockTimeout,
    /// This node has as many named locks as its share of the lock table allows.
    #[error(
        "this node has {0} open waits and sends, its share of the lock table: raise max_locks_per_transaction"
    )]
    TooManyLocks(usize),
    /// The database cannot store every character.
    #[error(
        "the database encoding is {0}, but Restante requires UTF8: create it with ENCODING 'UTF8'"
    )]
    Encoding(String),
    /// The server is a standby, which accepts no writes.
    #[error("this database server is a standby: connect to the primary, or name both in the URL")]
    Standby,
    /// The server rejects writes.
    #[error("the database is read-only")]
    ReadOnly,
    /// The connection is shared with other clients.
    #[error(
        "the database connection goes through a pooler in transaction mode: Restante needs session pooling"
    )]
    Pooler,
    /// An administrator or a time limit of the server has cancelled the statement; the transaction
    /// may be retried.
    #[error("the database cancelled the statement")]
    Cancelled,
    /// The server has no disk, memory or connections left.
    #[error("the database has no resources left: {}", with_causes(.0))]
    Exhausted(#[source] tokio_postgres::Error),
    /// The engine ended the transaction because of a conflict with another one (a deadlock, a
    /// serialization failure, or a row with the same key that the other has inserted); it may be
    /// retried.
    #[error("the database ended the transaction because of a conflict with another: {}", with_causes(.0))]
    Conflict(#[source] tokio_postgres::Error),
    /// A newer program has changed the schema.
    #[error(
        "the database has schema version {found}, but this program supports only versions up to {known}: \
         use a newer version of restante"
    )]
    Newer {
        found: i64,
        /// The newest version known.
        known: i64,
    },
    /// The file was deleted or moved while it was open.
    #[error("the database file {0} is gone")]
    Gone(String),
    /// A statement failed. The text of the statement is of no use to those who read this.
    #[error("the database failed: {}", without_statement(.0))]
    Sqlite(rusqlite::Error),
    /// A statement failed on the server.
    #[error("the database failed: {}", with_causes(.0))]
    Postgres(#[from] tokio_postgres::Error),
    /// A thread of the database could not be started.
    #[error("cannot start a database thread: {0}")]
    Thread(std::io::Error),
    /// This program has closed the database.
    #[error("the database is closed")]
    Closed,
    /// A transaction or a query panicked; it was rolled back.
    #[error("internal error: a database transaction panicked")]
    Panicked,
    /// A statement that always returns a row returned none.
    #[error("the database returned no row, but one was expected")]
    NoRow,
    /// A column has an unexpected type.
    #[error("column {index} of a row is not {expected}")]
    Column {
        /// The column, counted from 0.
        index: usize,
        /// The type that was expected.
        expected: &'static str,
    },
}

impl From<rusqlite::Error> for DatabaseError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

fn without_statement(error: &rusqlite::Error) -> String {
    match error {
        rusqlite::Error::SqlInputError { msg, .. } => msg.clone(),
        error => error.to_string(),
    }
}

impl DatabaseError {
    /// Whether the error is temporary (the database is unavailable or busy), so that a retry may
    /// succeed.
    #[must_use]
    pub fn is_unavailable(&self) -> bool {
        matches!(
            self,
            Self::Unreachable(_)
                | Self::SessionLost
                | Self::Silent
                | Self::LockTimeout
                | Self::TooManyLocks(_)
                | Self::Closed
                | Self::Standby
                | Self::ReadOnly
                | Self::Cancelled
                | Self::Exhausted(_)
                | Self::Conflict(_)
        )
    }
}

/// What a transaction does. Its result is a function that gives the caller the answer.
type Work = Box<dyn FnOnce(Transaction) -> BoxFuture<'static, Reply> + Send>;

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
    /// Opens the database. A missing SQLite file is created.
    ///
    /// # Errors
    /// [`DatabaseError::Open`] if the file cannot be opened, or is not a database;
    /// [`DatabaseError::Unreachable`], [`DatabaseError::Tls`] and [`DatabaseError::Environment`] if
    /// the server cannot be used.
    pub async fn open(url: &DatabaseUrl) -> Result<Self, DatabaseError> {
        let announcer = Announcer::default();
        let (engine, locks) = match url.clone() {
            DatabaseUrl::Sqlite(path) => {
                let runtime = tokio::runtime::Handle::current();
                let announcer = announcer.clone();
                let opening = tokio::task::spawn_blocking(move || {
                    sqlite::Sqlite::open(&path, announcer, runtime)
                });
                let engine = opening.await.map_err(|_| DatabaseError::Panicked)??;
                (Engine::Sqlite(Arc::new(engine)), Locks::within_process())
            }
            DatabaseUrl::Postgres(url) => {
                let engine = postgres::Postgres::open(&url, announcer.clone()).await?;
                let locks = Locks::among_nodes(engine.session());
                (Engine::Postgres(Arc::new(engine)), locks)
            }
        };
        Ok(Self {
            engine,
            locks,
            announcer,
        })
    }

    /// Applies those of `migrations` that are missing, each in its own transaction.
    ///
    /// # Errors
    /// [`DatabaseError::Newer`] if the database has newer migrations; otherwise the error of a
    /// migration.
    pub async fn migrate(&self, migrations: &[&'static str]) -> Result<(), DatabaseError> {
        migrate::run(self, migrations).await
    }

    /// Reads a few rows by an index, outside any transaction. On SQLite it blocks the calling
    /// thread, so use [`Database::query`] to read many rows.
    pub async fn look_up(
        &self,
        sql: &'static str,
        parameters: Vec<Value>,
    ) -> Result<Vec<Row>, DatabaseError> {
        // Lets other tasks run between the queries of a loop.
        tokio::task::consume_budget().await;
        match &self.engine {
            Engine::Sqlite(engine) => engine.look_up(sql, &parameters),
            Engine::Postgres(engine) => Box::pin(engine.query(sql, parameters, usize::MAX)).await,
        }
    }

    /// Runs one read-only statement, outside any transaction.
    pub async fn query(
        &self,
        sql: &'static str,
        parameters: Vec<Value>,
    ) -> Result<Vec<Row>, DatabaseError> {
        self.read(sql, parameters, usize::MAX).await
    }

    /// Runs `work` in a transaction, which `work` must commit; otherwise it is rolled back. On
    /// SQLite, `work` blocks every other writer, so it must await only its transaction. It runs to
    /// its end even if the caller stops waiting.
    ///
    /// # Errors
    /// The error of `work`; [`DatabaseError::Panicked`], [`DatabaseError::Closed`]. A failure to
    /// start the transaction is returned by its first statement.
    pub async fn transact<T, E, F>(
        &self,
        work: impl FnOnce(Transaction) -> F + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<DatabaseError> + Send + 'static,
        F: Future<Output = Result<T, E>> + Send + 'static,
    {
        let (sender, answer) = oneshot::channel();
        // One type for all transactions, so that what runs them is compiled once.
        let work: Work = Box::new(|open| {
            let work = work(open);
            let replying = async move {
                let done = work.await;
                let reply = |committed: Result<(), DatabaseError>| {
                    // The caller may have stopped waiting.
                    let _ = sender.send(committed.map(|()| done));
                };
                Box::new(reply) as Reply
            };
            replying.boxed()
        });
        self.run(work).await?;
        answer.await.map_err(|_| DatabaseError::Panicked)??
    }

    /// Runs a transaction. A panic drops its reply.
    async fn run(&self, work: Work) -> Result<(), DatabaseError> {
        match &self.engine {
            Engine::Sqlite(engine) => engine.queue(Box::new(|open| {
                work(Transaction::new(OpenTransaction::Sqlite(open)))
            })),
            Engine::Postgres(engine) => {
                let open = Transaction::new(OpenTransaction::Postgres(Box::new(engine.begin())));
                if let Ok(reply) = AssertUnwindSafe(work(open)).catch_unwind().await {
                    reply(Ok(()));
                }
                Ok(())
            }
        }
    }

    /// Calls `listener` with the changes of each committed transaction, while the database is open.
    /// The listener must not block. SQLite calls it before the commit returns to its caller.
    /// PostgreSQL calls it when the server sends the notifications, including those of other nodes.
    pub fn listen(&self, listener: impl Fn(&[Change]) + Send + Sync + 'static) {
        self.announcer.add(listener);
    }

    /// Closes the database after the queued transactions. A SQLite database then consists of one
    /// file.
    pub async fn close(&self) {
        match &self.engine {
            Engine::Sqlite(engine) => engine.close().await,
            Engine::Postgres(engine) => engine.close(),
        }
    }

    /// Fails if the server rejects writes, or if the file of a SQLite database is gone.
    ///
    /// # Errors
    /// [`DatabaseError::ReadOnly`]; [`DatabaseError::Gone`]; the error of the query.
    pub async fn check_writable(&self) -> Result<(), DatabaseError> {
        match &self.engine {
            Engine::Sqlite(engine) => engine.check_file(),
            Engine::Postgres(engine) => Box::pin(engine.check_writable()).await,
        }
    }

    /// Whether several nodes may use the database.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        matches!(self.engine, Engine::Postgres(_))
    }

    /// The locks that all nodes on this database share.
    #[must_use]
    pub fn locks(&self) -> &Locks {
        &self.locks
    }
}

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
        Self {
            engine,
            changes: Vec::new(),
        }
    }

    /// Runs one statement and returns how many rows it changed.
    ///
    /// # Errors
    /// The error of the statement; the transaction can then only be dropped.
    pub async fn execute(
        &mut self,
        sql: &'static str,
        parameters: Vec<Value>,
    ) -> Result<u64, DatabaseError> {
        self.execute_many(sql, vec![parameters]).await
    }

    /// Runs one statement once for each set of parameters, in one round trip. Returns the total
    /// number of changed rows.
    pub async fn execute_many(
        &mut self,
        sql: &'static str,
        parameters: Vec<Vec<Value>>,
    ) -> Result<u64, DatabaseError> {
        match &mut self.engine {
            OpenTransaction::Sqlite(engine) => engine.execute(sql, &parameters),
            OpenTransaction::Postgres(engine) => Box::pin(engine.execute(sql, parameters)).await,
        }
    }

    /// Runs one statement once for each set of parameters, at the latest with the commit. Its error
    /// is that of a later statement, or of the commit. This saves a round trip if the statement's
    /// result is not needed.
    pub async fn queue_many(
        &mut self,
        sql: &'static str,
        parameters: Vec<Vec<Value>>,
    ) -> Result<(), DatabaseError> {
        if parameters.is_empty() {
            return Ok(());
        }
        match &mut self.engine {
            OpenTransaction::Sqlite(engine) => engine.execute(sql, &parameters).map(drop),
            OpenTransaction::Postgres(engine) => {
                engine.queue(sql, parameters);
                Ok(())
            }
        }
    }

    /// Inserts rows into `table`, and returns their numbers. `sql` inserts one row; its number is
    /// the first parameter, and null stands for the next number. PostgreSQL inserts them as
    /// [`Transaction::queue_many`] does.
    pub async fn insert_numbered(
        &mut self,
        table: &'static str,
        sql: &'static str,
        mut rows: Vec<Vec<Value>>,
    ) -> Result<Vec<i64>, DatabaseError> {
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        match &mut self.engine {
            OpenTransaction::Sqlite(engine) => engine.insert(sql, &rows),
            OpenTransaction::Postgres(engine) => {
                let numbers = Box::pin(engine.numbers(table, rows.len())).await?;
                for (row, number) in rows.iter_mut().zip(&numbers) {
                    row.iter_mut()
                        .take(1)
                        .for_each(|first| *first = Value::from(*number));
                }
                engine.queue(sql, rows);
                Ok(numbers)
            }
        }
    }

    /// Runs several statements without parameters, separated by semicolons.
    pub async fn execute_script(&mut self, sql: &'static str) -> Result<(), DatabaseError> {
        match &mut self.engine {
            OpenTransaction::Sqlite(engine) => engine.execute_script(sql),
            OpenTransaction::Postgres(engine) => Box::pin(engine.execute_script(sql)).await,
        }
    }

    /// Runs one statement and returns its rows.
    pub async fn query(
        &mut self,
        sql: &'static str,
        parameters: Vec<Value>,
    ) -> Result<Vec<Row>, DatabaseError> {
        Ok(self
            .query_many(sql, vec![parameters])
            .await?
            .pop()
            .expect("there is one answer to one set of parameters"))
    }

    /// Runs one statement once for each set of parameters, in one round trip; returns the rows of
    /// each.
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

    /// Copies the committed state of a SQLite database to a file beside it, before a migration from
    /// `version` changes it. A PostgreSQL database is left to its own tools.
    ///
    /// # Errors
    /// [`DatabaseError::CopyBeforeMigration`].
    async fn copy_before_migration(&mut self, version: i64) -> Result<(), DatabaseError> {
        match &mut self.engine {
            OpenTransaction::Sqlite(engine) => engine.copy_before_migration(version),
            OpenTransaction::Postgres(_) => Ok(()),
        }
    }

    /// Uses a short lock timeout for this transaction: a statement that waits for a lock for half a
    /// second fails with [`DatabaseError::LockTimeout`]. Call it before the first statement. SQLite
    /// runs transactions one after another, so no statement waits for a lock.
    pub fn wait_briefly(&mut self) {
        if let OpenTransaction::Postgres(engine) = &mut self.engine {
            engine.wait_briefly();
        }
    }

    /// Commits without waiting until this transaction is on stable storage: it may be lost in a
    /// crash. Call it before the first statement. SQLite flushes it with others.
    pub fn without_flush(&mut self) {
        if let OpenTransaction::Postgres(engine) = &mut self.engine {
            engine.without_flush();
        }
    }

    /// Disables the statement and lock timeouts for this transaction. Call it before the first
    /// statement.
    pub fn wait_as_long_as_it_takes(&mut self) {
        if let OpenTransaction::Postgres(engine) = &mut self.engine {
            engine.wait_as_long_as_it_takes();
        }
    }

    /// Waits for the lock `name` and keeps it until this transaction ends. SQLite runs transactions
    /// one after another, so it needs no lock.
    pub async fn lock(&mut self, name: i64) -> Result<(), DatabaseError> {
        const LOCK: &str = "SELECT 1 FROM (SELECT pg_advisory_xact_lock($1)) AS locked";
        if let OpenTransaction::Postgres(engine) = &mut self.engine {
            let name = engine.lock_name(name);
            engine.query(LOCK, vec![values![name]]).await?;
        }
        Ok(())
    }

    /// Like [`Transaction::lock`], but does not wait: returns `false` if another transaction has
    /// the lock.
    pub async fn try_lock(&mut self, name: i64) -> Result<bool, DatabaseError> {
        const TRY_LOCK: &str =
            "SELECT 1 FROM (SELECT pg_try_advisory_xact_lock($1) AS taken) AS locked WHERE taken";
        match &mut self.engine {
            OpenTransaction::Sqlite(_) => Ok(true),
            OpenTransaction::Postgres(engine) => {
                let name = engine.lock_name(name);
                Ok(!engine
                    .query(TRY_LOCK, vec![values![name]])
                    .await?
                    .iter()
                    .all(Vec::is_empty))
            }
        }
    }

    /// Passes `change` to every listener once the transaction is committed.
    pub fn notify(&mut self, change: Change) {
        self.changes.push(change);
    }

    /// Commits. When this returns, the changes are on stable storage.
    ///
    /// # Errors
    /// The error of the commit. After [`DatabaseError::Unreachable`] or [`DatabaseError::Silent`]
    /// the transaction may nevertheless be committed. After other errors nothing is stored.
    pub async fn commit(self) -> Result<(), DatabaseError> {
        match self.engine {
            OpenTransaction::Sqlite(engine) => engine.commit(&self.changes),
            OpenTransaction::Postgres(engine) => Box::pin(engine.commit(&self.changes)).await,
        }
    }
}
