//! The data directory and the database file: accessible only to their owner, and locked by the
//! server that uses them.

use std::fs::{self, DirBuilder, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use crate::config::DatabaseUrl;
use crate::os;

/// Why the data directory or the database file cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum DataDirError {
    #[error("cannot write to the data directory {}: choose another --data-dir", path.display())]
    Unwritable { path: PathBuf, source: io::Error },
    #[error(
        "cannot write to the database file {}: check its permissions, or choose another --database",
        path.display()
    )]
    UnwritableDatabase { path: PathBuf, source: io::Error },
    #[error(
        "another `restante serve` already uses {}: stop it, or choose another --data-dir or --database",
        .0.display()
    )]
    InUse(PathBuf),
}

/// A lock on a data directory. It is released when this value is dropped or the process ends.
#[derive(Debug)]
pub(super) struct DataDirLock(#[expect(dead_code, reason = "held, not read")] File);

/// Creates the directory and its parents if they are missing.
///
/// # Errors
/// [`DataDirError::Unwritable`].
pub(super) fn create(path: &Path) -> Result<(), DataDirError> {
    let created = os::private_directory(DirBuilder::new().recursive(true)).create(path);
    created.map_err(|source| DataDirError::Unwritable {
        path: path.to_owned(),
        source,
    })
}

/// Creates the directory and takes its lock.
///
/// # Errors
/// [`DataDirError`] if it cannot be written to, or if another process has the lock.
pub(super) fn lock(path: &Path) -> Result<DataDirLock, DataDirError> {
    create(path)?;
    let unwritable = |source| DataDirError::Unwritable {
        path: path.to_owned(),
        source,
    };
    let file = open(&path.join("lock")).map_err(unwritable)?;
    take_lock(&file, path, unwritable)?;
    Ok(DataDirLock(file))
}

/// Creates the database file if it is missing, because SQLite would create it with the mode of the
/// umask. SQLite gives its log the same mode as the file.
///
/// # Errors
/// [`DataDirError`] if the file cannot be written to.
pub(super) fn create_database(url: &DatabaseUrl) -> Result<(), DataDirError> {
    match url {
        DatabaseUrl::Sqlite(path) => open_database(path).map(drop),
        DatabaseUrl::Postgres(_) => Ok(()),
    }
}

/// Locks a database file until the process ends, and creates it if it is missing. The lock also
/// covers other paths to the same file. A PostgreSQL database is not locked, because nodes share
/// it.
///
/// # Errors
/// See [`lock`].
pub(super) fn lock_database(url: &DatabaseUrl) -> Result<(), DataDirError> {
    let DatabaseUrl::Sqlite(path) = url else {
        return Ok(());
    };
    let unwritable = |source| DataDirError::UnwritableDatabase {
        path: path.clone(),
        source,
    };
    let mut file = open_database(path)?;
    if !os::FILE_LOCKS_ARE_SEPARATE {
        let mut beside = fs::canonicalize(path).map_err(unwritable)?.into_os_string();
        beside.push(".lock");
        file = open(Path::new(&beside)).map_err(unwritable)?;
    }
    take_lock(&file, path, unwritable)?;
    // Never closed, because closing any descriptor of the file would release SQLite's locks in this
    // process.
    std::mem::forget(file);
    Ok(())
}

fn open_database(path: &Path) -> Result<File, DataDirError> {
    create(directory_of(path))?;
    open(path).map_err(|source| DataDirError::UnwritableDatabase {
        path: path.to_owned(),
        source,
    })
}

/// Opens a file of this user, and creates it if it is missing.
pub(super) fn open(path: &Path) -> io::Result<File> {
    // Windows locks only files that can be read.
    os::private_file(File::options().create(true).read(true).append(true)).open(path)
}

fn directory_of(path: &Path) -> &Path {
    path.parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

fn take_lock(
    file: &File,
    path: &Path,
    unwritable: impl FnOnce(io::Error) -> DataDirError,
) -> Result<(), DataDirError> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(DataDirError::InUse(path.to_owned())),
        Err(TryLockError::Error(source)) => Err(unwritable(source)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directory_is_created_for_its_owner_only() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("a/b");
        create(&path).unwrap();
        assert!(!os::others_may_access(&path.metadata().unwrap()));
    }

    #[test]
    fn only_one_process_can_hold_the_lock() {
        let directory = tempfile::tempdir().unwrap();
        let first = lock(directory.path()).unwrap();
        assert!(matches!(
            lock(directory.path()),
            Err(DataDirError::InUse(_))
        ));
        drop(first);
        assert!(lock(directory.path()).is_ok());
    }

    #[test]
    fn a_database_is_locked_under_all_its_names() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        let locked = |name: &str| lock_database(&DatabaseUrl::Sqlite(path(name)));
        locked("one.db").unwrap();
        fs::hard_link(path("one.db"), path("hard.db")).unwrap();
        // Windows makes symbolic links for administrators only.
        #[cfg(unix)]
        std::os::unix::fs::symlink("one.db", path("soft.db")).unwrap();
        let names: &[&str] = match std::env::consts::OS {
            "linux" => &["one.db", "soft.db", "hard.db"],
            // The lock is on a file beside it, whose name is that of the file without symbolic
            // links.
            "macos" => &["one.db", "soft.db"],
            _ => &["one.db"],
        };
        for name in names {
            assert!(
                matches!(locked(name), Err(DataDirError::InUse(path)) if path.ends_with(name)),
                "{name}"
            );
        }
        locked("other.db").unwrap();
    }

    #[test]
    fn a_bare_file_name_is_in_the_current_directory() {
        assert_eq!(directory_of(Path::new("restante.db")), Path::new("."));
        assert_eq!(
            directory_of(Path::new("/srv/restante.db")),
            Path::new("/srv")
        );
    }

    #[test]
    fn a_file_is_no_directory() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(matches!(
            lock(file.path()),
            Err(DataDirError::Unwritable { .. })
        ));
    }
}
