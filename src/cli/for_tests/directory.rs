//! The directories of servers for tests: one for each server, within one of the user.
//!
//! A server's directory is in use while a process has the lock of its file `alive`. A lock ends
//! with its process, however that ends, and means the same to all containers that share the
//! directory, which process IDs do not. Only who has the lock of the user's directory creates,
//! publishes or removes something in it.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::super::data_dir::open;
use crate::os;

/// The extension of the files that name the shared servers.
const PUBLISHED: &str = "json";
const ALIVE: &str = "alive";
/// How long threads may still write after the end of their server.
const WRITTEN_FOR: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(10);

/// Why there is no directory.
#[derive(Debug, thiserror::Error)]
pub(in crate::cli) enum DirectoryError {
    #[error("cannot use {}: set TMPDIR to another directory", path.display())]
    Unusable { path: PathBuf, source: io::Error },
    #[error("{} is open to other users: remove it, or set TMPDIR to another directory", .0.display())]
    Foreign(PathBuf),
}

impl DirectoryError {
    fn at(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        |source| Self::Unusable { path, source }
    }
}

/// The user's directory, and the lock of it.
pub(super) struct UserDirectory {
    path: PathBuf,
    _lock: File,
}

/// A shared server, as its file in the user's directory has it.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Published {
    pub(super) directory: PathBuf,
    /// The line that it printed.
    pub(super) line: String,
}

impl UserDirectory {
    /// Waits for the lock, and removes what killed servers have left.
    pub(super) fn enter() -> Result<Self, DirectoryError> {
        let path = std::env::temp_dir().join(format!("restante-{}", os::scope()));
        let unusable = |source| DirectoryError::at(&path)(source);
        match os::private_directory(&mut DirBuilder::new()).create(&path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(unusable(error));
            }
            _ => {}
        }
        // Others may have put a link or a directory of theirs there.
        let metadata = path.symlink_metadata().map_err(unusable)?;
        if !metadata.is_dir() || !os::is_own(&metadata) || os::others_may_access(&metadata) {
            return Err(DirectoryError::Foreign(path));
        }
        let lock = open(&path.join("lock")).map_err(unusable)?;
        lock.lock().map_err(unusable)?;
        for entry in fs::read_dir(&path).map_err(unusable)?.flatten() {
            // What cannot be removed now is removed by a later start.
            let _ = remove_abandoned(&entry.path());
        }
        Ok(Self { path, _lock: lock })
    }

    /// Makes a directory for a server. Until the server has occupied it, this lock must be held.
    pub(super) fn create(&self) -> Result<RunDirectory, DirectoryError> {
        let made = tempfile::Builder::new()
            .prefix("server-")
            .tempdir_in(&self.path);
        made.map(|directory| RunDirectory::at(&directory.keep()))
            .map_err(DirectoryError::at(&self.path))
    }

    /// The shared server of this name, if there is one that goes on.
    pub(super) fn find(&self, name: &str) -> Option<Published> {
        running(&self.file(name))
    }

    pub(super) fn publish(&self, name: &str, server: &Published) -> Result<(), DirectoryError> {
        let path = self.file(name);
        let written = serde_json::to_vec(server)
            .map_err(io::Error::from)
            .and_then(|text| fs::write(&path, text));
        written.map_err(DirectoryError::at(&path))
    }

    /// Nobody finds the shared server of this name any longer.
    pub(super) fn withdraw(&self, name: &str) {
        // A file that stays names a directory that is not in use.
        let _ = fs::remove_file(self.file(name));
    }

    fn file(&self, name: &str) -> PathBuf {
        self.path.join(name).with_extension(PUBLISHED)
    }
}

/// Removes what a killed server has left.
fn remove_abandoned(path: &Path) -> io::Result<()> {
    let is_published = path
        .extension()
        .is_some_and(|extension| extension == PUBLISHED);
    if path.is_dir() && !RunDirectory::at(path).is_in_use() {
        remove(path)
    } else if is_published && running(path).is_none() {
        fs::remove_file(path)
    } else {
        Ok(())
    }
}

/// The server that a file in the user's directory names, if it goes on.
fn running(file: &Path) -> Option<Published> {
    let text = fs::read(file).ok()?;
    let published: Published = serde_json::from_slice(&text).ok()?;
    RunDirectory::at(&published.directory)
        .is_in_use()
        .then_some(published)
}

/// The directory of a server. The process that occupies it removes it at its end.
pub(super) struct RunDirectory {
    path: PathBuf,
    alive: Option<File>,
}

impl RunDirectory {
    pub(super) fn at(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            alive: None,
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Takes the directory for this process.
    pub(super) fn occupy(mut self) -> Result<Self, DirectoryError> {
        let path = self.path.join(ALIVE);
        let locked = open(&path).and_then(|file| {
            file.try_lock()?;
            Ok(file)
        });
        self.alive = Some(locked.map_err(DirectoryError::at(&path))?);
        Ok(self)
    }

    fn is_in_use(&self) -> bool {
        File::open(self.path.join(ALIVE)).is_ok_and(|file| file.try_lock().is_err())
    }
}

impl Drop for RunDirectory {
    fn drop(&mut self) {
        if self.alive.is_some() {
            // What cannot be removed now is removed by the next start.
            let _ = remove(&self.path);
        }
    }
}

/// Removes a directory. Threads of a server that did not start may still write into it.
fn remove(path: &Path) -> io::Result<()> {
    let until = Instant::now() + WRITTEN_FOR;
    loop {
        match fs::remove_dir_all(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error)
                if error.kind() == io::ErrorKind::DirectoryNotEmpty && Instant::now() < until =>
            {
                thread::sleep(PAUSE);
            }
            removed => return removed,
        }
    }
}
