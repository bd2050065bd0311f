//! The data directory: made for its owner alone, and locked by the one server that works on it.

use std::fs::{DirBuilder, File, TryLockError};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// Mails, keys and certificates are nobody else's business.
const OWNER_ONLY: u32 = 0o700;

/// Why the data directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum DataDirError {
    #[error("cannot write to the data directory {}: choose another with --data-dir", path.display())]
    Unwritable { path: PathBuf, source: io::Error },
    #[error(
        "another `restante serve` already works on {}: stop that one, or give this one another --data-dir", .0.display()
    )]
    InUse(PathBuf),
}

/// The lock on a data directory; it ends with this value, or with the process.
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
    create(path)?;
    let unwritable = |source| DataDirError::Unwritable { path: path.to_owned(), source };
    let file = File::options().create(true).append(true).open(path.join("lock")).map_err(unwritable)?;
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
    fn a_file_is_no_directory() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(matches!(lock(file.path()), Err(DataDirError::Unwritable { .. })));
    }
}
