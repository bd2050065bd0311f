//! Copies a database file while it is in use.
//!
//! The copy is made in steps within one read transaction. It therefore contains one consistent
//! state of the database, commits can continue, and no commit forces it to start again.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};

use crate::db::DatabaseError;
use crate::os;

/// Pages that are copied between two progress reports.
const PAGES_A_STEP: i32 = 1_024;
/// How long to wait while another process locks the whole database, for example to close it.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// Why the backup failed.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The database cannot be read, or the copy cannot be written.
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    /// The file of the copy cannot be created or replaced.
    #[error("cannot write the copy: {0}")]
    Write(#[source] io::Error),
    /// The copy cannot be flushed to the disk.
    #[error("cannot flush the copy: {0}")]
    Flush(#[source] io::Error),
}

/// Copies the database at `path` to a file beside it whose name ends with `.version-N`, so that the
/// old program can be used again if a migration goes wrong. A copy of an earlier attempt is
/// replaced only when the new one is complete.
pub(super) fn copy_before_migration(path: &Path, version: i64) -> Result<(), DatabaseError> {
    let beside = |end: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".version-{version}{end}"));
        PathBuf::from(name)
    };
    let copy = beside("");
    let partial = beside(".partial");
    tracing::info!(database = %path.display(), copy = %copy.display(), "copying the database before its migration");
    let copied = copy_to_new_file(path, &partial)
        .and_then(|()| fs::rename(&partial, &copy).map_err(BackupError::Write));
    copied.map_err(|source| {
        // An incomplete copy is useless, and may have filled the disk.
        let _ = fs::remove_file(&partial);
        DatabaseError::CopyBeforeMigration {
            path: copy.display().to_string(),
            source,
        }
    })
}

fn copy_to_new_file(source: &Path, target: &Path) -> Result<(), BackupError> {
    if let Err(error) = fs::remove_file(target)
        && error.kind() != io::ErrorKind::NotFound
    {
        return Err(BackupError::Write(error));
    }
    let created = os::private_file(File::options().write(true).create_new(true)).open(target);
    created.map_err(BackupError::Write)?;
    backup(source, target, |_, _| ())
}

/// Copies the database at `source` to `target`, an empty file. Calls `progress` with the number of
/// copied pages and the total. When this returns, the copy is on stable storage.
///
/// # Errors
/// [`BackupError`]; `target` is then incomplete.
pub fn backup(
    source: &Path,
    target: &Path,
    mut progress: impl FnMut(u64, u64),
) -> Result<(), BackupError> {
    let source = Connection::open_with_flags(source, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    source.busy_timeout(BUSY_TIMEOUT)?;
    source.execute_batch("BEGIN")?;
    // A transaction starts with its first statement.
    source.query_row("SELECT COUNT(*) FROM sqlite_schema", [], |_| Ok(()))?;
    let mut copy = Connection::open(target)?;
    let backup = Backup::new(&source, &mut copy)?;
    loop {
        let step = backup.step(PAGES_A_STEP)?;
        let pages = backup.progress();
        let all = u64::try_from(pages.pagecount).unwrap_or(0);
        let left = u64::try_from(pages.remaining).unwrap_or(0);
        progress(all.saturating_sub(left), all);
        if step == StepResult::Done {
            break;
        }
    }
    drop(backup);
    copy.close().map_err(|(_, error)| error)?;
    let directory = target
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let flush = || {
        // Windows flushes only what may be written.
        File::options().write(true).open(target)?.sync_all()?;
        os::flush_directory(directory)
    };
    flush().map_err(BackupError::Flush)
}
