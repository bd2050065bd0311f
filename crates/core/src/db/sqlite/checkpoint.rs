//! Checkpoints move the write-ahead log into the database file, so that the log stays short.
//!
//! A checkpoint writes many pages all over the database file and flushes them, which takes a tenth
//! of a second on a slow disk. A separate thread therefore runs checkpoints while commits continue.
//! The log can start over only when all its pages have been moved. Between two transactions, the
//! writer moves the few pages that commits have added in the meantime.

use std::path::Path;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

use rusqlite::Connection;

use super::connection::SqliteConnection;
use crate::db::DatabaseError;

/// A checkpoint starts when the log has this many pages. The cost per page is lower in a larger
/// checkpoint.
const PAGES: u32 = 8_000;
/// The thread stops when no more pages than this are left for the writer.
const FEW_PAGES: u32 = 256;
/// Maximum number of rounds of one checkpoint. If commits are faster than the disk, the writer has
/// to move the rest.
const ROUNDS: u32 = 8;

/// The phases of a checkpoint.
const IDLE: u8 = 0;
const RUNNING: u8 = 1;
/// The writer has to move the remaining pages.
const NEARLY_DONE: u8 = 2;

/// State shared by the writer and the checkpoint thread.
#[derive(Debug, Default)]
struct CheckpointState {
    /// Pages in the log after the last commit.
    pages: AtomicU32,
    phase: AtomicU8,
}

/// The writer's handle to the checkpoint thread.
#[derive(Debug)]
pub(super) struct Checkpointer {
    shared: Arc<CheckpointState>,
    start: mpsc::Sender<()>,
    thread: JoinHandle<()>,
}

impl Checkpointer {
    /// Starts the thread for the database file at `path`, which `writer` writes.
    pub(super) fn start(writer: &mut SqliteConnection, path: &Path) -> Result<Self, DatabaseError> {
        let shared = Arc::new(CheckpointState::default());
        let counted = Arc::clone(&shared);
        // This replaces SQLite's own hook, which would run checkpoints within commits.
        writer.connection.wal_hook(Some(move |_: &mut _, pages| {
            counted
                .pages
                .store(u32::try_from(pages).unwrap_or(0), Ordering::Relaxed);
            Ok(())
        }))?;
        let (start, started) = mpsc::channel();
        let path = path.to_owned();
        let of_thread = Arc::clone(&shared);
        let builder = std::thread::Builder::new().name("sqlite-checkpoint".to_owned());
        let thread = builder
            .spawn(move || of_thread.run(&path, &started))
            .map_err(DatabaseError::Thread)?;
        Ok(Self {
            shared,
            start,
            thread,
        })
    }

    /// Starts a checkpoint if one is due, and finishes one that is nearly done.
    pub(super) fn after_transaction(&self, writer: &SqliteConnection) {
        let phase = self.shared.phase.load(Ordering::Acquire);
        if phase == NEARLY_DONE {
            checkpoint(&writer.connection);
            self.shared.phase.store(IDLE, Ordering::Relaxed);
        } else if phase == IDLE && self.shared.pages.load(Ordering::Relaxed) >= PAGES {
            self.shared.phase.store(RUNNING, Ordering::Relaxed);
            // The thread runs as long as this value exists.
            let _ = self.start.send(());
        }
    }

    /// Ends the thread and closes its connection.
    pub(super) fn close(self) {
        drop(self.start);
        if self.thread.join().is_err() {
            tracing::error!("the checkpoint thread has panicked");
        }
    }
}

impl CheckpointState {
    /// Runs a checkpoint for each message in `started`. Opens its connection for the first one,
    /// because a command that changes a few rows never needs it.
    fn run(&self, path: &Path, started: &mpsc::Receiver<()>) {
        let mut opened = None;
        for () in started {
            let connection = match opened.take() {
                Some(connection) => Ok(connection),
                None => SqliteConnection::writer(path),
            };
            match connection {
                Ok(connection) => {
                    self.checkpoint_until_few_pages_are_left(&opened.insert(connection).connection);
                }
                Err(error) => tracing::warn!(%error, "cannot open the database for a checkpoint"),
            }
            self.phase.store(NEARLY_DONE, Ordering::Release);
        }
    }

    fn checkpoint_until_few_pages_are_left(&self, connection: &Connection) {
        for _ in 0..ROUNDS {
            let moved = checkpoint(connection);
            if self.pages.load(Ordering::Relaxed).saturating_sub(moved) <= FEW_PAGES {
                return;
            }
        }
    }
}

/// Moves the pages that no reader needs, without waiting. Returns how many pages of the log are now
/// in the database, as far as is known.
fn checkpoint(connection: &Connection) -> u32 {
    let moved = moved_pages(connection).unwrap_or_else(|error| {
        tracing::warn!(%error, "a checkpoint failed; the log grows until one succeeds");
        None
    });
    moved.unwrap_or(0)
}

/// Runs a checkpoint; `None` if another connection, perhaps of another process, is running one:
/// then SQLite returns -1.
fn moved_pages(connection: &Connection) -> rusqlite::Result<Option<u32>> {
    let moved = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| {
        row.get::<_, i64>(2)
    })?;
    Ok(u32::try_from(moved).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The log has to start over within this number of commits; usually a few dozen are enough.
    const COMMITS: usize = 100_000;

    #[test]
    fn the_log_starts_over_while_commits_go_on() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("test.db");
        let mut writer = SqliteConnection::writer(&path).unwrap();
        let checkpointer = Checkpointer::start(&mut writer, &path).unwrap();
        writer
            .execute_script("CREATE TABLE noise (bytes BLOB)")
            .unwrap();
        let mut pages = 0;
        let mut commit = |size: u32| {
            let before = pages;
            writer
                .connection
                .execute("INSERT INTO noise VALUES (randomblob(?1))", [size])
                .unwrap();
            pages = checkpointer.shared.pages.load(Ordering::Relaxed);
            checkpointer.after_transaction(&writer);
            pages < before
        };
        assert!(!commit((PAGES - 100) * 4096) && !commit(200 * 4096));
        assert!((0..COMMITS).any(|_| commit(1)));
        // Once more, with the remainder of the first round.
        assert!(!commit((PAGES + 100) * 4096));
        assert!((0..COMMITS).any(|_| commit(1)));
        let kept = "SELECT COUNT(*) FROM noise WHERE LENGTH(bytes) > 1";
        assert_eq!(
            writer.connection.query_row(kept, [], |row| row.get(0)),
            Ok(3)
        );
    }

    #[test]
    fn a_checkpoint_of_another_connection_is_no_failure() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("test.db");
        let mut writer = SqliteConnection::writer(&path).unwrap();
        writer.execute_script("CREATE TABLE a (b INTEGER)").unwrap();
        let reader = Connection::open(&path).unwrap();
        reader.execute_batch("BEGIN; SELECT * FROM a").unwrap();
        writer.execute_script("INSERT INTO a VALUES (1)").unwrap();
        let other = std::thread::spawn(move || {
            let connection = Connection::open(&path).unwrap();
            connection
                .busy_timeout(std::time::Duration::from_secs(60))
                .unwrap();
            // It has the lock until the reader has ended, unless the checkpoint below has it now.
            let truncate = "PRAGMA wal_checkpoint(TRUNCATE)";
            while connection
                .query_row(truncate, [], |row| row.get::<_, i64>(0))
                .unwrap()
                != 0
            {}
        });
        let moved = std::iter::repeat_with(|| moved_pages(&writer.connection))
            .find(|moved| !matches!(moved, Ok(Some(_))));
        assert_eq!(moved, Some(Ok(None)));
        reader.execute_batch("COMMIT").unwrap();
        other.join().unwrap();
        assert!(moved_pages(&writer.connection).unwrap().is_some());
    }
}
