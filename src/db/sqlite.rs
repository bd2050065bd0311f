//! SQLite behind the seam: one connection that writes, and a pool of connections that read.
//!
//! The write-ahead log is flushed at every commit (`synchronous=FULL`), so that what is committed survives a power cut.
//! A transaction is work that runs as a whole, from its first statement to its commit: however many statements it has, it
//! costs one way to another thread and one back at most.
//!
//! A look-up reads a few rows by an index, which takes less time than to hand it to another thread: it runs where it is
//! called. Any other query runs on a blocking thread.

mod checkpoints;
mod files;
mod writer;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::slice::from_ref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use rusqlite::config::DbConfig;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{CachedStatement, Connection, OpenFlags, ToSql};
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, oneshot};

use self::writer::Writer;
use super::announcer::Announcer;
use super::{Change, DatabaseError, Row, RowChange, Value};

/// How long a statement waits for another process that holds the database, such as a command beside a server.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
/// Octets that the log keeps when it begins anew; one that had to be longer, for a change of the schema, gives back the rest.
const LOG_KEPT: i64 = 256 * 1024 * 1024;
/// Prepared statements kept by each connection.
const STATEMENTS_KEPT: usize = 64;
/// Queries that run on blocking threads at once.
const QUERIES_AT_ONCE: usize = 8;

/// An open database file.
#[derive(Debug)]
pub(super) struct Sqlite {
    writer: Writer,
    readers: Arc<Readers>,
    queries: Semaphore,
}

impl Sqlite {
    /// Opens or makes the file at `path`. Transactions may use what `runtime` offers.
    pub(super) fn open(path: &Path, announcer: Announcer, runtime: Handle) -> Result<Self, DatabaseError> {
        let connection = SqliteConnection::writer(path).map_err(|error| open_failed(path, error))?;
        let writer = Writer::of(connection, path, announcer, runtime)?;
        let readers = Readers { path: path.to_owned(), idle: Mutex::default() };
        readers.query("SELECT 1", &[])?;
        Ok(Self { writer, readers: Arc::new(readers), queries: Semaphore::new(QUERIES_AT_ONCE) })
    }

    pub(super) fn look_up(&self, sql: &'static str, parameters: &[Value]) -> Result<Vec<Row>, DatabaseError> {
        self.readers.query(sql, parameters)
    }

    pub(super) async fn query(&self, sql: &'static str, parameters: Vec<Value>) -> Result<Vec<Row>, DatabaseError> {
        let _permit = self.queries.acquire().await.map_err(|_| DatabaseError::Closed)?;
        let readers = Arc::clone(&self.readers);
        let query = tokio::task::spawn_blocking(move || readers.query(sql, &parameters));
        query.await.map_err(|_| DatabaseError::Closed)?
    }

    /// Runs `work` when it is its turn, and answers what it answers.
    pub(super) async fn transact<T, F>(
        &self,
        work: impl FnOnce(SqliteTransaction) -> F + Send + 'static,
    ) -> Result<T, DatabaseError>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        // Whoever no longer listens does not mind.
        let answered = |transaction| async move { drop(reply.send(work(transaction).await)) }.boxed();
        self.writer.take(Box::new(answered))?;
        answer.await.map_err(|_| DatabaseError::Closed)
    }
}

/// A transaction, which has the writing connection to itself. It begins with its first statement.
#[derive(Debug)]
pub(super) struct SqliteTransaction {
    connection: Arc<Mutex<SqliteConnection>>,
    announcer: Announcer,
    open: bool,
}

impl SqliteTransaction {
    pub(super) fn execute(&mut self, sql: &'static str, parameters: &[Vec<Value>]) -> Result<u64, DatabaseError> {
        self.connection()?.execute(sql, parameters)
    }

    pub(super) fn execute_script(&mut self, sql: &'static str) -> Result<(), DatabaseError> {
        self.connection()?.execute_script(sql)
    }

    pub(super) fn query(
        &mut self,
        sql: &'static str,
        parameters: &[Vec<Value>],
    ) -> Result<Vec<Vec<Row>>, DatabaseError> {
        let mut connection = self.connection()?;
        parameters.iter().map(|parameters| connection.query(sql, parameters)).collect()
    }

    /// Changes rows, and reads each behind its change.
    pub(super) fn change(
        &mut self,
        change: RowChange,
        parameters: &[Vec<Value>],
    ) -> Result<Vec<Vec<Row>>, DatabaseError> {
        let mut connection = self.connection()?;
        let rows =
            parameters.iter().map(|parameters| match connection.execute(change.change, from_ref(parameters))? {
                0 => Ok(Vec::new()),
                _ => connection.query(change.row, &parameters[..change.row_parameters]),
            });
        rows.collect()
    }

    pub(super) fn commit(mut self, changes: &[Change]) -> Result<(), DatabaseError> {
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

/// A panic elsewhere leaves connections whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Connections that only read: as many as have ever been wanted at once.
#[derive(Debug)]
struct Readers {
    path: PathBuf,
    idle: Mutex<Vec<SqliteConnection>>,
}

impl Readers {
    fn query(&self, sql: &'static str, parameters: &[Value]) -> Result<Vec<Row>, DatabaseError> {
        let idle = lock(&self.idle).pop();
        let mut connection = match idle {
            Some(connection) => connection,
            None => SqliteConnection::reader(&self.path).map_err(|error| open_failed(&self.path, error))?,
        };
        let rows = connection.query(sql, parameters);
        lock(&self.idle).push(connection);
        rows
    }
}

fn open_failed(path: &Path, source: rusqlite::Error) -> DatabaseError {
    DatabaseError::Open { path: path.display().to_string(), source }
}

/// A connection that remembers how this engine spells each statement.
#[derive(Debug)]
struct SqliteConnection {
    connection: Connection,
    spellings: HashMap<&'static str, String>,
}

impl SqliteConnection {
    fn writer(path: &Path) -> Result<Self, rusqlite::Error> {
        let connection = Connection::open_with_flags_and_vfs(path, OpenFlags::default(), files::vfs()?)?;
        let connection = Self::set_up(connection)?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "journal_size_limit", LOG_KEPT)?;
        connection.pragma_update(None, "foreign_keys", "ON")?;
        Ok(Self { connection, spellings: HashMap::new() })
    }

    fn reader(path: &Path) -> Result<Self, rusqlite::Error> {
        let connection = Self::set_up(Connection::open(path)?)?;
        connection.pragma_update(None, "query_only", "ON")?;
        Ok(Self { connection, spellings: HashMap::new() })
    }

    fn set_up(connection: Connection) -> Result<Connection, rusqlite::Error> {
        connection.busy_timeout(BUSY_TIMEOUT)?;
        // Otherwise a statement whose plan might be another with other parameters is planned anew each time it runs.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS_KEPT);
        Ok(connection)
    }

    /// Begins or ends a transaction.
    fn control(&self, sql: &str) -> Result<(), DatabaseError> {
        self.connection.prepare_cached(sql)?.execute([])?;
        Ok(())
    }

    fn roll_back(&self) {
        // Some failures (a full disk) have rolled back already; that is no failure here.
        if !self.connection.is_autocommit()
            && let Err(error) = self.control("ROLLBACK")
        {
            tracing::error!(%error, "cannot roll back");
        }
    }

    fn execute(&mut self, sql: &'static str, parameters: &[Vec<Value>]) -> Result<u64, DatabaseError> {
        let mut statement = self.prepare(sql)?;
        let mut changed = 0;
        for parameters in parameters {
            changed += statement.execute(rusqlite::params_from_iter(parameters))? as u64;
        }
        Ok(changed)
    }

    fn execute_script(&mut self, sql: &'static str) -> Result<(), DatabaseError> {
        Ok(self.connection.execute_batch(&spell(sql))?)
    }

    fn query(&mut self, sql: &'static str, parameters: &[Value]) -> Result<Vec<Row>, DatabaseError> {
        let mut statement = self.prepare(sql)?;
        let width = statement.column_count();
        let mut rows = statement.query(rusqlite::params_from_iter(parameters))?;
        let mut read = Vec::new();
        while let Some(row) = rows.next()? {
            let columns: Result<Vec<Value>, DatabaseError> = (0..width).map(|index| column(row, index)).collect();
            read.push(Row::new(columns?));
        }
        Ok(read)
    }

    fn prepare(&mut self, sql: &'static str) -> Result<CachedStatement<'_>, rusqlite::Error> {
        let spelling = self.spellings.entry(sql).or_insert_with(|| spell(sql));
        self.connection.prepare_cached(spelling)
    }
}

/// `$1` names a parameter here and `?1` numbers one.
fn spell(sql: &str) -> String {
    let spelled = sql.replace('$', "?").replace("{bytes}", "BLOB").replace("{clustered}", "WITHOUT ROWID");
    let spelled = spelled.replace("{numbered}", "INTEGER PRIMARY KEY");
    // The one writer has every row to itself.
    spelled.replace("{for_update}", "").replace("{skip_locked}", "")
}

fn column(row: &rusqlite::Row<'_>, index: usize) -> Result<Value, DatabaseError> {
    match row.get_ref(index)? {
        ValueRef::Null => Ok(Value::Null),
        ValueRef::Integer(integer) => Ok(Value::Integer(integer)),
        ValueRef::Text(octets) => {
            let text = String::from_utf8(octets.to_vec());
            text.map(Value::Text).map_err(|_| DatabaseError::Column { index, expected: "UTF-8" })
        }
        ValueRef::Blob(octets) => Ok(Value::Bytes(Bytes::copy_from_slice(octets))),
        ValueRef::Real(_) => Err(DatabaseError::Column { index, expected: "an integer, text or octets" }),
    }
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Integer(integer) => ValueRef::Integer(*integer),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Bytes(octets) => ValueRef::Blob(octets),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::{row_change, values};

    const COUNT: &str = "SELECT COUNT(*) FROM numbers";
    const INSERT: &str = "INSERT INTO numbers VALUES (1)";

    /// A database of its own, in the file `test.db`.
    pub(super) fn opened() -> (tempfile::TempDir, Sqlite) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("test.db");
        let sqlite = Sqlite::open(&path, Announcer::default(), Handle::current()).unwrap();
        (directory, sqlite)
    }

    async fn with_table() -> (tempfile::TempDir, Sqlite) {
        let (directory, sqlite) = opened();
        let make = async |mut open: SqliteTransaction| {
            open.execute_script("CREATE TABLE numbers (number BIGINT)").unwrap();
            open.commit(&[]).unwrap();
        };
        sqlite.transact(make).await.unwrap();
        (directory, sqlite)
    }

    fn numbers(sqlite: &Sqlite) -> i64 {
        sqlite.look_up(COUNT, &[]).unwrap()[0].integer().unwrap()
    }

    #[test]
    fn it_is_compiled_as_the_configuration_of_cargo_says() {
        let connection = Connection::open_in_memory().unwrap();
        let used = |option| {
            connection.query_row("SELECT sqlite_compileoption_used(?1)", [option], |row| row.get::<_, bool>(0)).unwrap()
        };
        assert!(used("DEFAULT_MEMSTATUS=0") && used("OMIT_LOAD_EXTENSION"));
        assert!(!used("ENABLE_FTS5") && !used("ENABLE_RTREE"));
    }

    #[tokio::test]
    async fn what_is_not_committed_is_undone() {
        let (_directory, sqlite) = with_table().await;
        let insert = async |mut open: SqliteTransaction| open.execute(INSERT, &[vec![]]);
        assert_eq!(sqlite.transact(insert).await.unwrap().unwrap(), 1);
        assert_eq!(numbers(&sqlite), 0);
    }

    #[tokio::test]
    async fn a_row_is_read_behind_its_change() {
        const REPLACE: RowChange = row_change!(
            "UPDATE numbers SET number = $1 WHERE number = $2",
            "number * 10",
            "FROM numbers WHERE number = $1",
            1
        );
        let (_directory, sqlite) = with_table().await;
        let change = async |mut open: SqliteTransaction| {
            open.execute(INSERT, &[vec![]]).unwrap();
            open.change(REPLACE, &[values![3, 1], values![4, 1], values![7, 3]]).unwrap()
        };
        let rows = sqlite.transact(change).await.unwrap().into_iter();
        let numbers: Vec<_> = rows.map(|mut rows| rows.pop().map(|mut row| row.integer().unwrap())).collect();
        assert_eq!(numbers, [Some(30), None, Some(70)]);
    }

    #[tokio::test]
    async fn a_transaction_that_panics_ends_alone() {
        let (_directory, sqlite) = with_table().await;
        let panic = async |mut open: SqliteTransaction| -> () {
            open.execute(INSERT, &[vec![]]).unwrap();
            panic!("as a test wants it");
        };
        assert!(matches!(sqlite.transact(panic).await, Err(DatabaseError::Closed)));
        let insert = async |mut open: SqliteTransaction| {
            open.execute(INSERT, &[vec![]]).unwrap();
            open.commit(&[])
        };
        sqlite.transact(insert).await.unwrap().unwrap();
        assert_eq!(numbers(&sqlite), 1);
    }

    #[tokio::test]
    async fn a_transaction_is_finished_when_nobody_waits_for_it() {
        let (_directory, sqlite) = with_table().await;
        let insert = async |mut open: SqliteTransaction| {
            open.execute(INSERT, &[vec![]]).unwrap();
            open.commit(&[])
        };
        assert!(sqlite.transact(insert).now_or_never().is_none());
        // The next one stands behind it.
        sqlite.transact(async |open: SqliteTransaction| drop(open)).await.unwrap();
        assert_eq!(numbers(&sqlite), 1);
    }
}
