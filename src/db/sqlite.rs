//! SQLite behind the seam: one thread that writes, a few that read, and channels to them.
//!
//! The write-ahead log is flushed at every commit (`synchronous=FULL`), so that what is committed survives a power cut.
//! A transaction hands its thread a channel of commands; while it is open, the thread serves nothing else. When the
//! channel ends without a commit, the thread rolls back.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

use bytes::Bytes;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{CachedStatement, Connection, ToSql};
use tokio::sync::{broadcast, oneshot};

use super::{Change, DatabaseError, Row, Value};

/// How long a statement waits for another process that holds the database, such as a command beside a server.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
/// Prepared statements kept by each connection.
const STATEMENTS_KEPT: usize = 64;

type Reply<T> = oneshot::Sender<Result<T, DatabaseError>>;

/// An open database file.
#[derive(Debug)]
pub(super) struct Sqlite {
    writer: mpsc::Sender<mpsc::Receiver<Command>>,
    readers: mpsc::Sender<ReadJob>,
    changes: broadcast::Sender<Change>,
}

struct ReadJob {
    sql: &'static str,
    parameters: Vec<Value>,
    reply: Reply<Vec<Row>>,
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
        let opened = |source| DatabaseError::Open { path: path.display().to_string(), source };
        let (changes, _) = broadcast::channel(changes_kept);

        let (writer, transactions) = mpsc::channel();
        let connection = SqliteConnection::writer(path).map_err(opened)?;
        spawn("sqlite-writer", {
            let changes = changes.clone();
            move || serve_transactions(connection, &transactions, &changes)
        })?;

        let (readers, jobs) = mpsc::channel();
        let jobs = Arc::new(Mutex::new(jobs));
        for _ in 0..reader_count() {
            let connection = SqliteConnection::reader(path).map_err(opened)?;
            let jobs = Arc::clone(&jobs);
            spawn("sqlite-reader", move || serve_reads(connection, &jobs))?;
        }
        Ok(Self { writer, readers, changes })
    }

    pub(super) async fn query(&self, sql: &'static str, parameters: Vec<Value>) -> Result<Vec<Row>, DatabaseError> {
        let (reply, answer) = oneshot::channel();
        self.readers.send(ReadJob { sql, parameters, reply }).map_err(|_| DatabaseError::Closed)?;
        answer.await.map_err(|_| DatabaseError::Closed)?
    }

    pub(super) fn begin(&self) -> Result<SqliteTransaction, DatabaseError> {
        let (commands, receiver) = mpsc::channel();
        self.writer.send(receiver).map_err(|_| DatabaseError::Closed)?;
        Ok(SqliteTransaction { commands })
    }

    pub(super) fn changes(&self) -> broadcast::Receiver<Change> {
        self.changes.subscribe()
    }
}

/// The caller's end of an open transaction.
#[derive(Debug)]
pub(super) struct SqliteTransaction {
    commands: mpsc::Sender<Command>,
}

impl SqliteTransaction {
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

    pub(super) async fn commit(self, changes: Vec<Change>) -> Result<(), DatabaseError> {
        self.ask(|reply| Command::Commit { changes, reply }).await
    }

    async fn ask<T>(&self, command: impl FnOnce(Reply<T>) -> Command) -> Result<T, DatabaseError> {
        let (reply, answer) = oneshot::channel();
        self.commands.send(command(reply)).map_err(|_| DatabaseError::Closed)?;
        answer.await.map_err(|_| DatabaseError::Closed)?
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), DatabaseError> {
    let builder = std::thread::Builder::new().name(name.to_owned());
    builder.spawn(work).map(drop).map_err(DatabaseError::Thread)
}

fn reader_count() -> usize {
    std::thread::available_parallelism().map_or(2, usize::from).clamp(2, 8)
}

fn serve_transactions(
    mut connection: SqliteConnection,
    transactions: &mpsc::Receiver<mpsc::Receiver<Command>>,
    changes: &broadcast::Sender<Change>,
) {
    for commands in transactions {
        serve_transaction(&mut connection, &commands, changes);
    }
}

fn serve_transaction(
    connection: &mut SqliteConnection,
    commands: &mpsc::Receiver<Command>,
    changes: &broadcast::Sender<Change>,
) {
    let Ok(first) = commands.recv() else { return };
    if let Err(error) = connection.control("BEGIN IMMEDIATE") {
        return first.fail(error);
    }
    let rest = std::iter::from_fn(|| commands.recv().ok());
    for command in std::iter::once(first).chain(rest) {
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

fn serve_reads(mut connection: SqliteConnection, jobs: &Mutex<mpsc::Receiver<ReadJob>>) {
    loop {
        // The lock is held while waiting for a job, never while doing one; a panic elsewhere leaves the queue whole.
        let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(ReadJob { sql, parameters, reply }) = job else { return };
        drop(reply.send(connection.query(sql, &parameters)));
    }
}

/// A connection that remembers how this engine spells each statement.
struct SqliteConnection {
    connection: Connection,
    spellings: HashMap<&'static str, String>,
}

impl SqliteConnection {
    fn writer(path: &Path) -> Result<Self, rusqlite::Error> {
        let connection = Self::open(path)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
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
