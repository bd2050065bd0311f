//! Moving the write-ahead log into the database, so that it stays short.
//!
//! That writes many pages all over the database and flushes them, which takes a slow disk a tenth of a second. So most of
//! it is done on a thread of its own while commits go on at the end of the log. They would keep that from ever being moved
//! whole, which is what lets it begin anew: the few pages that came meanwhile are moved between two transactions.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc;

use rusqlite::Connection;

use super::SqliteConnection;
use crate::db::DatabaseError;

/// Pages of the log from which on it is moved. More of them at once are moved more cheaply.
const PAGES: u32 = 8_000;
/// Pages that are moved between two transactions.
const FEW_PAGES: u32 = 256;
/// A log of so many pages is moved between two transactions whatever that takes, so that it does not grow for ever.
const MOST_PAGES: u32 = 32_000;

/// What whoever writes and the thread that moves the log tell each other.
#[derive(Debug, Default)]
struct Log {
    /// Pages in the log after the last commit.
    pages: AtomicU32,
    /// Those of them that are in the database.
    moved: AtomicU32,
    is_being_moved: AtomicBool,
}

/// The writer's side.
#[derive(Debug)]
pub(super) struct Checkpoints {
    log: Arc<Log>,
    begin: mpsc::Sender<()>,
}

impl Checkpoints {
    /// Takes over the log of `writer`, which writes the file at `path`.
    pub(super) fn of(writer: &mut SqliteConnection, path: &Path) -> Result<Self, DatabaseError> {
        let log = Arc::new(Log::default());
        let counted = Arc::clone(&log);
        // In place of SQLite's own, which moves the log within a commit.
        writer.connection.wal_hook(Some(move |_: &mut _, pages| {
            counted.pages.store(u32::try_from(pages).unwrap_or(0), Ordering::Relaxed);
            Ok(())
        }))?;
        let (begin, begun) = mpsc::channel();
        let checkpoints = Self { log: Arc::clone(&log), begin };
        let path = path.to_owned();
        let builder = std::thread::Builder::new().name("sqlite-log".to_owned());
        builder.spawn(move || log.be_moved_beside(&path, &begun)).map_err(DatabaseError::Thread)?;
        Ok(checkpoints)
    }

    /// Whether there is something to do between two transactions.
    pub(super) fn are_due(&self) -> bool {
        self.log.pages.load(Ordering::Relaxed) >= PAGES && !self.log.is_being_moved.load(Ordering::Acquire)
    }

    /// Does what there is to do between two transactions of `writer`.
    pub(super) fn between_transactions(&self, writer: &SqliteConnection) {
        let pages = self.log.pages.load(Ordering::Relaxed);
        if pages < self.log.moved.load(Ordering::Relaxed) {
            // All had been moved, and the log has begun anew.
            self.log.moved.store(0, Ordering::Relaxed);
        }
        if !self.are_due() {
            return;
        }
        let moved = self.log.moved.load(Ordering::Relaxed);
        if moved > 0 && pages.saturating_sub(moved) <= FEW_PAGES || pages >= MOST_PAGES {
            self.log.be_moved(&writer.connection);
            self.log.moved.store(0, Ordering::Relaxed);
        } else {
            self.log.is_being_moved.store(true, Ordering::Relaxed);
            // It ends only with this side.
            let _ = self.begin.send(());
        }
    }
}

impl Log {
    /// Moves the log each time that it is `begun`. The connection is made the first time: a command that changes a few rows
    /// never needs it.
    fn be_moved_beside(&self, path: &Path, begun: &mpsc::Receiver<()>) {
        let mut made = None;
        for () in begun {
            let connection = made.take().map_or_else(|| SqliteConnection::writer(path), Ok);
            match connection {
                Ok(connection) => self.be_moved(&made.insert(connection).connection),
                Err(error) => report(&error),
            }
            self.is_being_moved.store(false, Ordering::Release);
        }
    }

    /// Moves what no reader needs any more. It waits for nobody.
    fn be_moved(&self, connection: &Connection) {
        match connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| row.get(2)) {
            Ok(moved) => self.moved.store(moved, Ordering::Relaxed),
            Err(error) => report(&error),
        }
    }
}

fn report(error: &rusqlite::Error) {
    tracing::warn!(%error, "cannot move the log into the database; it grows meanwhile");
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::fs::FileExt;

    use super::super::SqliteTransaction;
    use super::super::tests::opened;
    use super::*;

    /// Commits that the log is given to begin anew; it takes some tens.
    const COMMITS: usize = 100_000;

    #[test]
    fn the_log_begins_anew_while_commits_go_on() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("test.db");
        let mut writer = SqliteConnection::writer(&path).unwrap();
        let checkpoints = Checkpoints::of(&mut writer, &path).unwrap();
        writer.execute_script("CREATE TABLE noise (octets BLOB)").unwrap();
        let mut pages = 0;
        let mut commit = |size: u32| {
            let before = pages;
            writer.connection.execute("INSERT INTO noise VALUES (randomblob(?1))", [size]).unwrap();
            pages = checkpoints.log.pages.load(Ordering::Relaxed);
            checkpoints.between_transactions(&writer);
            pages < before
        };
        assert!(!commit((PAGES - 100) * 4096) && !commit(200 * 4096));
        assert!((0..COMMITS).any(|_| commit(1)));
        // And once more, with what is left of the first time.
        assert!(!commit((PAGES + 100) * 4096));
        assert!((0..COMMITS).any(|_| commit(1)));
        let kept = "SELECT COUNT(*) FROM noise WHERE LENGTH(octets) > 1";
        assert_eq!(writer.connection.query_row(kept, [], |row| row.get(0)), Ok(3));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn the_log_is_moved_though_nothing_stands_in_line() {
        let (directory, sqlite) = opened();
        let insert = async |octets: u32| {
            let insert = async move |mut open: SqliteTransaction| {
                open.execute_script("CREATE TABLE IF NOT EXISTS noise (octets BLOB)").unwrap();
                open.execute("INSERT INTO noise VALUES (zeroblob($1))", &[vec![i64::from(octets).into()]]).unwrap();
                open.commit(&[]).unwrap();
            };
            sqlite.transact(insert).await.unwrap();
            // How often it has begun anew (SQLite's file format, section "WAL Header Format").
            let mut sequence = [0; 4];
            let log = File::open(directory.path().join("test.db-wal")).unwrap();
            log.read_exact_at(&mut sequence, 12).unwrap();
            sequence
        };
        let before = insert(40_000_000).await;
        for _ in 0..COMMITS {
            if insert(1).await != before {
                return;
            }
        }
        panic!("the log was not moved");
    }
}
