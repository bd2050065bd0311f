//! SQLite: one thread that writes, and a pool of connections that read.
//!
//! Each commit flushes the write-ahead log (`synchronous=FULL`), so it survives a power cut. One
//! commit ends all transactions that are queued (`writer.rs`). A query that finds a few rows by an
//! index runs on the calling thread, because handing it to another thread would take longer. Any
//! other query runs on a blocking thread.

mod backup;
mod checkpoint;
mod connection;
mod transaction;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use super::announcer::Announcer;
use super::{DatabaseError, Row, Value};
pub use backup::{BackupError, backup};
use connection::{SqliteConnection, lock};
pub(super) use transaction::SqliteTransaction;
use writer::Writer;
pub(super) use writer::{Reply, Work};

/// Maximum number of queries that run on blocking threads at once.
const QUERIES_AT_ONCE: usize = 8;

/// An open database file.
#[derive(Debug)]
pub(super) struct Sqlite {
    writer: Writer,
    readers: Arc<Readers>,
    queries: Arc<Semaphore>,
}

impl Sqlite {
    /// Opens the file at `path`, and creates it if it is missing. Futures of transactions run
    /// within `runtime`.
    pub(super) fn open(
        path: &Path,
        announcer: Announcer,
        runtime: Handle,
    ) -> Result<Self, DatabaseError> {
        let writer = Writer::start(path, announcer, runtime)?;
        let readers = Readers {
            path: path.to_owned(),
            idle: Mutex::default(),
        };
        readers.query("SELECT 1", &[], usize::MAX)?;
        Ok(Self {
            writer,
            readers: Arc::new(readers),
            queries: Arc::new(Semaphore::new(QUERIES_AT_ONCE)),
        })
    }

    /// Runs a query on the calling thread.
    pub(super) fn look_up(
        &self,
        sql: &'static str,
        parameters: &[Value],
    ) -> Result<Vec<Row>, DatabaseError> {
        self.readers.query(sql, parameters, usize::MAX)
    }

    /// Runs a query on a blocking thread, until its rows have `max_bytes`. It keeps its permit
    /// until it ends, even if the caller stops waiting.
    pub(super) async fn query(
        &self,
        sql: &'static str,
        parameters: Vec<Value>,
        max_bytes: usize,
    ) -> Result<Vec<Row>, DatabaseError> {
        let place = Arc::clone(&self.queries)
            .acquire_owned()
            .await
            .map_err(|_| DatabaseError::Closed)?;
        let readers = Arc::clone(&self.readers);
        let query = tokio::task::spawn_blocking(move || {
            let rows = readers.query(sql, &parameters, max_bytes);
            drop(place);
            rows
        });
        query.await.map_err(|_| DatabaseError::Panicked)?
    }

    /// Runs `work` on the writing thread. Its reply is called once the group of transactions that it
    /// belongs to is on stable storage; it is dropped if `work` panics.
    pub(super) fn queue(&self, work: Work) -> Result<(), DatabaseError> {
        self.writer.queue(work)
    }

    /// Fails if the file is gone. The open connections would go on, with a file that ends with
    /// them.
    pub(super) fn check_file(&self) -> Result<(), DatabaseError> {
        let path = &self.readers.path;
        if path.exists() {
            Ok(())
        } else {
            Err(DatabaseError::Gone(path.display().to_string()))
        }
    }

    /// Closes all connections after the queued transactions. SQLite then moves the log into the
    /// database file.
    pub(super) async fn close(&self) {
        // The last connection that closes runs the checkpoint, and only a writing connection
        // removes the log.
        self.queries.close();
        lock(&self.readers.idle).clear();
        self.writer.close().await;
    }
}

/// The idle read connections. There are as many as were in use at the same time.
#[derive(Debug)]
struct Readers {
    path: PathBuf,
    idle: Mutex<Vec<SqliteConnection>>,
}

impl Readers {
    fn query(
        &self,
        sql: &'static str,
        parameters: &[Value],
        max_bytes: usize,
    ) -> Result<Vec<Row>, DatabaseError> {
        let idle = lock(&self.idle).pop();
        let mut connection = match idle {
            Some(connection) => connection,
            None => SqliteConnection::reader(&self.path)?,
        };
        let rows = connection.query(sql, parameters, max_bytes);
        lock(&self.idle).push(connection);
        rows
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use rusqlite::Connection;
    use tokio::sync::oneshot;

    use super::*;

    impl Sqlite {
        pub(super) async fn transact<T, F>(
            &self,
            work: impl FnOnce(SqliteTransaction) -> F + Send + 'static,
        ) -> Result<T, DatabaseError>
        where
            T: Send + 'static,
            F: Future<Output = T> + Send + 'static,
        {
            let (sender, answer) = oneshot::channel();
            let work = |transaction| {
                async move {
                    let done = work(transaction).await;
                    let reply = |committed: Result<(), DatabaseError>| {
                        drop(sender.send(committed.map(|()| done)));
                    };
                    Box::new(reply) as Reply
                }
                .boxed()
            };
            self.queue(Box::new(work))?;
            answer.await.map_err(|_| DatabaseError::Panicked)?
        }
    }

    const COUNT: &str = "SELECT COUNT(*) FROM numbers";
    pub(super) const INSERT: &str = "INSERT INTO numbers VALUES (1)";

    /// A new database in the file `test.db`.
    pub(super) fn opened() -> (tempfile::TempDir, Sqlite) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("test.db");
        let sqlite = Sqlite::open(&path, Announcer::default(), Handle::current()).unwrap();
        (directory, sqlite)
    }

    pub(super) async fn with_table() -> (tempfile::TempDir, Sqlite) {
        let (directory, sqlite) = opened();
        let make = async |mut open: SqliteTransaction| {
            open.execute_script("CREATE TABLE numbers (number BIGINT)")
                .unwrap();
            open.commit(&[]).unwrap();
        };
        sqlite.transact(make).await.unwrap();
        (directory, sqlite)
    }

    pub(super) fn numbers(sqlite: &Sqlite) -> i64 {
        sqlite.look_up(COUNT, &[]).unwrap()[0].get::<i64>().unwrap()
    }

    #[test]
    fn it_is_compiled_as_the_configuration_of_cargo_says() {
        let connection = Connection::open_in_memory().unwrap();
        let used = |option| {
            connection
                .query_row("SELECT sqlite_compileoption_used(?1)", [option], |row| {
                    row.get::<_, bool>(0)
                })
                .unwrap()
        };
        assert!(used("DEFAULT_MEMSTATUS=0") && used("OMIT_LOAD_EXTENSION"));
        assert!(!used("ENABLE_FTS5") && !used("ENABLE_RTREE"));
    }

    #[tokio::test]
    async fn the_file_of_another_program_is_rejected_and_unchanged() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("other.db");
        let other = Connection::open(&path).unwrap();
        other
            .execute_batch("CREATE TABLE notes (note TEXT)")
            .unwrap();
        other.close().unwrap();
        let before = std::fs::read(&path).unwrap();

        let opened = Sqlite::open(&path, Announcer::default(), Handle::current());

        assert!(
            matches!(opened, Err(DatabaseError::Foreign(_))),
            "{opened:?}"
        );
        assert_eq!(std::fs::read(&path).unwrap(), before);
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[tokio::test]
    async fn an_empty_file_and_an_own_one_are_opened() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("test.db");
        std::fs::write(&path, "").unwrap();
        for _ in 0..2 {
            let sqlite = Sqlite::open(&path, Announcer::default(), Handle::current()).unwrap();
            sqlite.close().await;
        }
        let file = Connection::open(&path).unwrap();
        let mark = file.query_row("PRAGMA application_id", [], |row| row.get::<_, i64>(0));
        assert_eq!(mark.unwrap(), i64::from(u32::from_be_bytes(*b"rest")));
    }

    #[tokio::test]
    async fn what_is_not_committed_is_undone() {
        let (_directory, sqlite) = with_table().await;
        let insert = async |mut open: SqliteTransaction| open.execute(INSERT, &[vec![]]);
        assert_eq!(sqlite.transact(insert).await.unwrap().unwrap(), 1);
        assert_eq!(numbers(&sqlite), 0);
    }
}
