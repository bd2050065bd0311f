//! One connection to a database file: how it is opened, and how statements run on it.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use rusqlite::config::DbConfig;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{CachedStatement, Connection, OpenFlags, ToSql};

use crate::db::{DatabaseError, Row, Value};

/// Marks a database file as Restante's, in the header of the file (`PRAGMA application_id`):
/// "rest".
const APPLICATION_ID: i64 = 0x7265_7374;
/// How long a statement waits while another process locks the database, for example a command next
/// to a server.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
/// The log keeps this many bytes when it starts over. A larger log, for example after a migration,
/// is truncated.
const LOG_KEPT: i64 = 256 * 1024 * 1024;
/// The number of prepared statements that each connection keeps.
const STATEMENTS_KEPT: usize = 64;

/// A connection that caches statements, already translated to SQLite's dialect.
#[derive(Debug)]
pub(super) struct SqliteConnection {
    pub(super) connection: Connection,
    spellings: HashMap<&'static str, String>,
}

impl SqliteConnection {
    /// Opens the file for writing, and creates it if it is missing.
    pub(super) fn writer(path: &Path) -> Result<Self, DatabaseError> {
        let open = || {
            let connection = set_up(Connection::open(path)?)?;
            if !is_ours_or_empty(&connection)? {
                return Ok(None);
            }
            connection.pragma_update(None, "synchronous", "FULL")?;
            // Only for macOS, where a plain flush leaves the data in the disk's cache.
            connection.pragma_update(None, "fullfsync", "ON")?;
            connection.pragma_update(None, "journal_mode", "WAL")?;
            connection.pragma_update(None, "journal_size_limit", LOG_KEPT)?;
            connection.pragma_update(None, "foreign_keys", "ON")?;
            // A statement that changes several rows keeps what it needs to undo them. The sweeper's
            // need little.
            connection.pragma_update(None, "temp_store", "MEMORY")?;
            connection.pragma_update(None, "application_id", APPLICATION_ID)?;
            Ok(Some(Self {
                connection,
                spellings: HashMap::new(),
            }))
        };
        let opened = open().map_err(|error| open_failed(path, error))?;
        opened.ok_or_else(|| DatabaseError::Foreign(path.display().to_string()))
    }

    /// Opens the file for reading only. A file that is gone is not created again.
    pub(super) fn reader(path: &Path) -> Result<Self, DatabaseError> {
        let open = || {
            let flags = OpenFlags::default().difference(OpenFlags::SQLITE_OPEN_CREATE);
            let connection = set_up(Connection::open_with_flags(path, flags)?)?;
            connection.pragma_update(None, "query_only", "ON")?;
            Ok(Self {
                connection,
                spellings: HashMap::new(),
            })
        };
        open().map_err(|error| open_failed(path, error))
    }

    /// Starts or ends a transaction.
    pub(super) fn control(&self, sql: &str) -> Result<(), DatabaseError> {
        self.connection.prepare_cached(sql)?.execute([])?;
        Ok(())
    }

    /// The database file; `None` only for a database in memory.
    pub(super) fn path(&self) -> Option<&Path> {
        self.connection.path().map(Path::new)
    }

    /// Whether no transaction is open.
    pub(super) fn is_autocommit(&self) -> bool {
        self.connection.is_autocommit()
    }

    pub(super) fn roll_back(&self) {
        // Some failures (a full disk) have already rolled back; then there is no transaction to
        // end.
        if !self.is_autocommit()
            && let Err(error) = self.control("ROLLBACK")
        {
            tracing::error!(%error, "cannot roll back");
        }
    }

    /// Undoes what has been done since the savepoint, and ends it. If that fails, all is undone.
    pub(super) fn roll_back_to_savepoint(&self) {
        if self.is_autocommit() {
            return;
        }
        let undone = self.control("ROLLBACK TO own");
        if let Err(error) = undone.and_then(|()| self.control("RELEASE own")) {
            tracing::error!(%error, "cannot roll back to a savepoint");
            self.roll_back();
        }
    }

    pub(super) fn execute(
        &mut self,
        sql: &'static str,
        parameters: &[Vec<Value>],
    ) -> Result<u64, DatabaseError> {
        let mut statement = self.prepare(sql)?;
        let mut changed = 0;
        for parameters in parameters {
            changed += statement.execute(rusqlite::params_from_iter(parameters))? as u64;
        }
        Ok(changed)
    }

    /// Inserts rows, and returns their numbers. `RETURNING` would make SQLite build a table for
    /// each of them.
    pub(super) fn insert(
        &mut self,
        sql: &'static str,
        rows: &[Vec<Value>],
    ) -> Result<Vec<i64>, DatabaseError> {
        let mut statement = self.prepare(sql)?;
        rows.iter()
            .map(|row| Ok(statement.insert(rusqlite::params_from_iter(row))?))
            .collect()
    }

    pub(super) fn execute_script(&mut self, sql: &'static str) -> Result<(), DatabaseError> {
        Ok(self.connection.execute_batch(&spell(sql))?)
    }

    pub(super) fn query(
        &mut self,
        sql: &'static str,
        parameters: &[Value],
        max_bytes: usize,
    ) -> Result<Vec<Row>, DatabaseError> {
        let mut statement = self.prepare(sql)?;
        let width = statement.column_count();
        let mut rows = statement.query(rusqlite::params_from_iter(parameters))?;
        let mut read = Vec::new();
        let mut bytes = 0;
        while bytes < max_bytes
            && let Some(row) = rows.next()?
        {
            let columns: Result<Vec<Value>, DatabaseError> =
                (0..width).map(|index| column(row, index)).collect();
            let row = Row::new(columns?);
            bytes += row.held();
            read.push(row);
        }
        Ok(read)
    }

    fn prepare(&mut self, sql: &'static str) -> Result<CachedStatement<'_>, rusqlite::Error> {
        let spelling = self.spellings.entry(sql).or_insert_with(|| spell(sql));
        self.connection.prepare_cached(spelling)
    }
}

/// Locks a mutex of connections. A panic while it was locked does not damage them.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether the file has Restante's mark, or contains nothing yet. The file of another program must
/// not be changed.
fn is_ours_or_empty(connection: &Connection) -> Result<bool, rusqlite::Error> {
    let number = |sql| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
    Ok(match number("PRAGMA application_id")? {
        APPLICATION_ID => true,
        0 => number("SELECT COUNT(*) FROM sqlite_schema")? == 0,
        _ => false,
    })
}

fn set_up(connection: Connection) -> Result<Connection, rusqlite::Error> {
    connection.busy_timeout(BUSY_TIMEOUT)?;
    // Otherwise SQLite plans a statement again on each run if its plan might depend on the
    // parameters.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_KEPT);
    Ok(connection)
}

fn open_failed(path: &Path, source: rusqlite::Error) -> DatabaseError {
    DatabaseError::Open {
        path: path.display().to_string(),
        source,
    }
}

/// In SQLite `$1` is a named parameter and `?1` a numbered one.
fn spell(sql: &str) -> String {
    let spelled = sql
        .replace('$', "?")
        .replace("{bytes}", "BLOB")
        .replace("{numbered}", "INTEGER PRIMARY KEY");
    // Transactions run one after another, so rows need no lock.
    ["{for_update}", "{skip_locked}"]
        .iter()
        .fold(spelled, |spelled, word| spelled.replace(word, ""))
}

fn column(row: &rusqlite::Row<'_>, index: usize) -> Result<Value, DatabaseError> {
    match row.get_ref(index)? {
        ValueRef::Null => Ok(Value::Null),
        ValueRef::Integer(integer) => Ok(Value::Integer(integer)),
        ValueRef::Text(bytes) => {
            let text = String::from_utf8(bytes.to_vec());
            text.map(Value::Text).map_err(|_| DatabaseError::Column {
                index,
                expected: "UTF-8",
            })
        }
        ValueRef::Blob(bytes) => Ok(Value::Bytes(Bytes::copy_from_slice(bytes))),
        ValueRef::Real(_) => Err(DatabaseError::Column {
            index,
            expected: "an integer, text or bytes",
        }),
    }
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Integer(integer) => ValueRef::Integer(*integer),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Bytes(bytes) => ValueRef::Blob(bytes),
            Self::Uuid(uuid) => ValueRef::Blob(uuid.as_bytes()),
        }))
    }
}
