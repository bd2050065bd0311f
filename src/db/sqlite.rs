//! SQLite behind the seam: one thread that writes, and a pool of connections that read.
//!
//! The write-ahead log is flushed at every commit (`synchronous=FULL`), so that what is committed survives a power cut.
//! A transaction hands its thread a channel of commands; while it is open, the thread serves nothing else. When the
//! channel ends without a commit, the thread rolls back.
//!
//! A look-up reads a few rows by an index, which takes less time than to hand it to another thread: it runs where it is
//! called. Any other query runs on a blocking thread.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::Duration;

use bytes::Bytes;
use rusqlite::config::DbConfig;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{CachedStatement, Connection, ToSql};
use tokio::sync::{Semaphore, broadcast, oneshot};

use super::{Change, DatabaseError, Deferred, Row, Value};

/// How long a statement waits for another process that holds the database, such as a command beside a server.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
/// Pages of the write-ahead log from which on a commit also moves them into the database. More of them at once are moved
/// more cheaply, and hold up that commit for longer.
const CHECKPOINT_PAGES: u32 = 2_000;
/// Prepared statements kept by each connection.
const STATEMENTS_KEPT: usize = 64;
/// Queries that run on blocking threads at once.
const QUERIES_AT_ONCE: usize = 8;

type Reply<T> = oneshot::Sender<Result<T, DatabaseError>>;

/// An open database file.
#[derive(Debug)]
pub(super) struct Sqlite {
    writer: mpsc::Sender<mpsc::Receiver<Request>>,
    readers: Arc<Readers>,
    queries: Semaphore,
    changes: broadcast::Sender<Change>,
}

/// A command, and what is done before it.
struct Request {
    deferred: Vec<Deferred>,
    command: Command,
}

enum Command {
    Execute { sql: &'static str, parameters: Vec<Vec<Value>>, reply: Reply<u64> },
    Script { sql: &'static str, reply: Reply<()> },
    Query { sql: &'static str, parameters: Vec<Vec<Value>>, reply: Reply<Vec<Vec<Row>>> },
    Commit { changes: Vec<Change>, reply: Reply<()> },
}

impl Command {
    fn fail(self, error: DatabaseError) {
        // Whoever no longer listens does not mind.
        match self {
            Self::Execute { reply, .. } => drop(reply.send(Err(error))),
            Self::Script { reply, .. } | Self::Commit { reply, .. } => drop(reply.send(Err(error))),
            Self::Query { reply, .. } => drop(reply.send(Err(error))),
        }
    }
}

impl Sqlite {
    pub(super) fn open(path: &Path, changes_kept: usize) -> Result<Self, DatabaseError> {
        let (changes, _) = broadcast::channel(changes_kept);

        let (writer, transactions) = mpsc::channel();
        let connection = SqliteConnection::writer(path).map_err(|error| open_failed(path, error))?;
        spawn("sqlite-writer", {
            let changes = changes.clone();
            move || serve_transactions(connection, &transactions, &changes)
        })?;

        let readers = Readers { path: path.to_owned(), idle: Mutex::default() };
        readers.query("SELECT 1", &[])?;
        Ok(Self { writer, readers: Arc::new(readers), queries: Semaphore::new(QUERIES_AT_ONCE), changes })
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

    pub(super) fn begin(&self) -> Result<SqliteTransaction, DatabaseError> {
        let (commands, receiver) = mpsc::channel();
        self.writer.send(receiver).map_err(|_| DatabaseError::Closed)?;
        Ok(SqliteTransaction { commands, deferred: Vec::new() })
    }

    pub(super) fn changes(&self) -> broadcast::Receiver<Change> {
        self.changes.subscribe()
    }
}

/// The caller's end of an open transaction.
#[derive(Debug)]
pub(super) struct SqliteTransaction {
    commands: mpsc::Sender<Request>,
    deferred: Vec<Deferred>,
}

impl SqliteTransaction {
    pub(super) fn defer(&mut self, deferred: Deferred) {
        self.deferred.push(deferred);
    }

    pub(super) async fn execute(
        &mut self,
        sql: &'static str,
        parameters: Vec<Vec<Value>>,
    ) -> Result<u64, DatabaseError> {
        self.ask(|reply| Command::Execute { sql, parameters, reply }).await
    }

    pub(super) async fn execute_script(&mut self, sql: &'static str) -> Result<(), DatabaseError> {
        self.ask(|reply| Command::Script { sql, reply }).await
    }

    pub(super) async fn query(
        &mut self,
        sql: &'static str,
        parameters: Vec<Vec<Value>>,
    ) -> Result<Vec<Vec<Row>>, DatabaseError> {
        self.ask(|reply| Command::Query { sql, parameters, reply }).await
    }

    pub(super) async fn commit(mut self, changes: Vec<Change>) -> Result<(), DatabaseError> {
        self.ask(|reply| Command::Commit { changes, reply }).await
    }

    async fn ask<T>(&mut self, command: impl FnOnce(Reply<T>) -> Command) -> Result<T, DatabaseError> {
        let (reply, answer) = oneshot::channel();
        let request = Request { deferred: std::mem::take(&mut self.deferred), command: command(reply) };
        self.commands.send(request).map_err(|_| DatabaseError::Closed)?;
        answer.await.map_err(|_| DatabaseError::Closed)?
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), DatabaseError> {
    let builder = std::thread::Builder::new().name(name.to_owned());
    builder.spawn(work).map(drop).map_err(DatabaseError::Thread)
}

fn serve_transactions(
    mut connection: SqliteConnection,
    transactions: &mpsc::Receiver<mpsc::Receiver<Request>>,
    changes: &broadcast::Sender<Change>,
) {
    for commands in transactions {
        serve_transaction(&mut connection, &commands, changes);
    }
}

fn serve_transaction(
    connection: &mut SqliteConnection,
    commands: &mpsc::Receiver<Request>,
    changes: &broadcast::Sender<Change>,
) {
    let Ok(first) = commands.recv() else { return };
    if let Err(error) = connection.control("BEGIN IMMEDIATE") {
        return first.command.fail(error);
    }
    let rest = std::iter::from_fn(|| commands.recv().ok());
    for Request { deferred, command } in std::iter::once(first).chain(rest) {
        if let Err(error) = connection.execute_all(&deferred) {
            command.fail(error);
            break;
        }
        match command {
            Command::Execute { sql, parameters, reply } => drop(reply.send(connection.execute(sql, &parameters))),
            Command::Script { sql, reply } => drop(reply.send(connection.execute_script(sql))),
            Command::Query { sql, parameters, reply } => {
                let rows = parameters.iter().map(|parameters| connection.query(sql, parameters)).collect();
                drop(reply.send(rows));
            }
            Command::Commit { changes: announced, reply } => {
                let committed = connection.control("COMMIT");
                if committed.is_err() {
                    connection.roll_back();
                } else {
                    // An error means that nobody listens.
                    announced.into_iter().for_each(|change| drop(changes.send(change)));
                }
                return drop(reply.send(committed));
            }
        }
    }
    connection.roll_back();
}

/// Connections that only read: as many as have ever been wanted at once.
#[derive(Debug)]
struct Readers {
    path: PathBuf,
    idle: Mutex<Vec<SqliteConnection>>,
}

impl Readers {
    fn query(&self, sql: &'static str, parameters: &[Value]) -> Result<Vec<Row>, DatabaseError> {
        let idle = self.idle().pop();
        let mut connection = match idle {
            Some(connection) => connection,
            None => SqliteConnection::reader(&self.path).map_err(|error| open_failed(&self.path, error))?,
        };
        let rows = connection.query(sql, parameters);
        self.idle().push(connection);
        rows
    }

    fn idle(&self) -> MutexGuard<'_, Vec<SqliteConnection>> {
        // A panic elsewhere leaves the list whole.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
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
        let connection = Self::open(path)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
        connection.pragma_update(None, "foreign_keys", "ON")?;
        Ok(Self { connection, spellings: HashMap::new() })
    }

    fn reader(path: &Path) -> Result<Self, rusqlite::Error> {
        let connection = Self::open(path)?;
        connection.pragma_update(None, "query_only", "ON")?;
        Ok(Self { connection, spellings: HashMap::new() })
    }

    fn open(path: &Path) -> Result<Connection, rusqlite::Error> {
        let connection = Connection::open(path)?;
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

    fn execute_all(&mut self, statements: &[Deferred]) -> Result<(), DatabaseError> {
        statements.iter().try_for_each(|(sql, parameters)| self.execute(sql, parameters).map(drop))
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
