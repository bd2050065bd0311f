//! The data directory and the database file, which may lie elsewhere: made for their owner alone, and locked by the one
//! server that works on them.

use std::fs::{DirBuilder, File, TryLockError};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use crate::config::DatabaseUrl;

/// Mails, keys and certificates are nobody else's business.
const OWNER_ONLY: u32 = 0o700;

/// Why the data directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum DataDirError {
    #[error("cannot write to the data directory {}: choose another with --data-dir", path.display())]
    Unwritable { path: PathBuf, source: io::Error },
    #[error(
        "another `restante serve` already works on {}: stop that one, or name another place with --data-dir or --database",
        .0.display()
    )]
    InUse(PathBuf),
}

/// A lock on a data directory or a database; it ends with this value, or with the process.
#[derive(Debug)]
pub(super) struct Lock(#[expect(dead_code, reason = "held, not read")] File);

/// Creates the directory, with its parents, where it is missing.
///
/// # Errors
/// [`DataDirError::Unwritable`].
pub(super) fn create(path: &Path) -> Result<(), DataDirError> {
    let created = DirBuilder::new().recursive(true).mode(OWNER_ONLY).create(path);
    created.map_err(|source| DataDirError::Unwritable { path: path.to_owned(), source })
}

/// Creates the directory and takes its lock.
///
/// # Errors
/// [`DataDirError`] where it cannot be written to, or where another process has the lock.
pub(super) fn lock(path: &Path) -> Result<Lock, DataDirError> {
    take_lock(path, &path.join("lock"), path)
}

/// Takes the lock of a database that is a file; on a server, nodes share it. Its directory is made where it is missing.
///
/// # Errors
/// As [`lock`].
pub(super) fn lock_database(url: &DatabaseUrl) -> Result<Option<Lock>, DataDirError> {
    let DatabaseUrl::Sqlite(path) = url else { return Ok(None) };
    let directory = directory_of(path);
    let mut file = path.clone().into_os_string();
    file.push(".lock");
    take_lock(directory, Path::new(&file), path).map(Some)
}

fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Locks `file` in `directory` for whoever works on `path`.
fn take_lock(directory: &Path, file: &Path, path: &Path) -> Result<Lock, DataDirError> {
    create(directory)?;
    let unwritable = |source| DataDirError::Unwritable { path: directory.to_owned(), source };
    let file = File::options().create(true).append(true).open(file).map_err(unwritable)?;
    match file.try_lock() {
        Ok(()) => Ok(Lock(file)),
        Err(TryLockError::WouldBlock) => Err(DataDirError::InUse(path.to_owned())),
        Err(TryLockError::Error(source)) => Err(unwritable(source)),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_directory_is_made_for_its_owner_alone() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("a/b");
        create(&path).unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, OWNER_ONLY);
    }

    #[test]
    fn only_one_has_the_lock() {
        let directory = tempfile::tempdir().unwrap();
        let first = lock(directory.path()).unwrap();
        assert!(matches!(lock(directory.path()), Err(DataDirError::InUse(_))));
        drop(first);
        assert!(lock(directory.path()).is_ok());
    }

    #[test]
    fn a_database_is_locked_by_itself() {
        let directory = tempfile::tempdir().unwrap();
        let database = |name: &str| DatabaseUrl::Sqlite(directory.path().join(name));
        let _first = lock_database(&database("one.db")).unwrap();
        assert!(
            matches!(lock_database(&database("one.db")), Err(DataDirError::InUse(path)) if path.ends_with("one.db"))
        );
        assert!(lock_database(&database("other.db")).unwrap().is_some());
    }

    #[test]
    fn a_bare_file_name_lies_here() {
        assert_eq!(directory_of(Path::new("restante.db")), Path::new("."));
        assert_eq!(directory_of(Path::new("/srv/restante.db")), Path::new("/srv"));
    }

    #[test]
    fn a_file_is_no_directory() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(matches!(lock(file.path()), Err(DataDirError::Unwritable { .. })));
    }
}
