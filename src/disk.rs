//! Checks whether the disk has space for another message. A measurement is valid for one second,
//! and runs on a blocking thread. A reserve keeps a full disk usable.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::sync::Mutex;

use crate::clock::{Clock, Instant};
use crate::os;

const MEASURED_FOR: Duration = Duration::from_secs(1);
/// The bytes of the reserve.
const RESERVE: u64 = 1024 * 1024;
/// The free bytes with which the reserve is made again.
const ENOUGH: u64 = 16 * RESERVE;

/// Measures the free space of the disk with the data directory.
pub(crate) struct Disk {
    path: PathBuf,
    min_free: u64,
    clock: Clock,
    measured: Mutex<Option<Measured>>,
}

#[derive(Clone, Copy)]
struct Measured {
    at: Instant,
    full: bool,
}

impl Disk {
    /// Measures the disk with `path`, which counts as full if fewer than `min_free` bytes are free.
    pub(crate) fn new(path: PathBuf, min_free: u64, clock: Clock) -> Self {
        Self {
            path,
            min_free,
            clock,
            measured: Mutex::new(None),
        }
    }

    /// Whether the disk is full. Simultaneous callers share one measurement.
    pub(crate) async fn is_full(&self) -> bool {
        let mut measured = self.measured.lock().await;
        let now = self.clock.instant();
        match *measured {
            Some(Measured { at, full }) if now.since(at) < MEASURED_FOR => full,
            _ => {
                let full = self.measure().await;
                *measured = Some(Measured { at: now, full });
                full
            }
        }
    }

    /// If the measurement fails, the disk does not count as full: the store will report the error.
    async fn measure(&self) -> bool {
        let path = self.path.clone();
        match tokio::task::spawn_blocking(move || os::free_bytes(&path)).await {
            Ok(Ok(free)) => free < self.min_free,
            Ok(Err(error)) => {
                tracing::warn!(%error, path = %self.path.display(), "cannot measure the free disk space");
                false
            }
            Err(error) => {
                tracing::error!(%error, "measuring the disk failed");
                false
            }
        }
    }
}

/// Keeps a file beside a database, and removes it when the disk is full, so that messages can be
/// deleted and a person can sign in to do that. Does not return.
pub(crate) async fn keep_reserve(file: PathBuf, clock: Clock) {
    loop {
        let file = file.clone();
        match tokio::task::spawn_blocking(move || follow_reserve(&file)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::debug!(%error, "cannot keep a reserve of the disk"),
            Err(error) => tracing::error!(%error, "measuring the disk failed"),
        }
        clock.sleep(MEASURED_FOR).await;
    }
}

fn follow_reserve(file: &Path) -> io::Result<()> {
    let directory = file.parent().filter(|parent| *parent != Path::new(""));
    let free = os::free_bytes(directory.unwrap_or(Path::new(".")))?;
    let is_ours = |file: fs::Metadata| file.is_file() && file.len() <= RESERVE;
    match (fs::metadata(file).is_ok_and(is_ours), free) {
        (true, ..RESERVE) => {
            tracing::warn!("the disk is full: the reserve is free for deletions and sign-ins");
            fs::remove_file(file)
        }
        (false, ENOUGH..) => {
            // Zeros would take no space on a file system that compresses.
            let bytes: Vec<u8> = (0..RESERVE).map(|_| rand::random()).collect();
            os::private_file(OpenOptions::new().write(true).create_new(true))
                .open(file)?
                .write_all(&bytes)
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Timestamp;

    fn disk(path: &Path, min_free: u64) -> Disk {
        Disk::new(path.to_owned(), min_free, Clock::system())
    }

    #[tokio::test]
    async fn a_disk_is_full_below_its_limit() {
        let dir = tempfile::tempdir().unwrap();
        assert!(!disk(dir.path(), 1).is_full().await);
        assert!(disk(dir.path(), u64::MAX).is_full().await);
    }

    #[tokio::test]
    async fn a_measurement_is_valid_for_a_second() {
        let dir = tempfile::tempdir().unwrap();
        let clock = Clock::manual(Timestamp::from_millis(0));
        let mut disk = Disk::new(dir.path().to_owned(), 1, clock.clone());
        assert!(!disk.is_full().await);
        disk.min_free = u64::MAX;
        assert!(!disk.is_full().await);
        clock.advance(MEASURED_FOR);
        assert!(disk.is_full().await);
    }

    #[tokio::test]
    async fn a_disk_that_cannot_be_measured_is_not_full() {
        assert!(
            !disk(Path::new("/no/such/directory"), u64::MAX)
                .is_full()
                .await
        );
    }
}
