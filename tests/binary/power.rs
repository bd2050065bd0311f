//! Simulates power cuts: each block that was written since the last flush of its file may be lost.
//!
//! A preloaded library (`flushed.c`) copies each database file when it is flushed. To cut the
//! power, the test kills the server, and then takes every block of a file from either the copy or
//! the file.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use testkit::server::serve;

/// The block size of the disk, in bytes.
const BLOCK: usize = 4_096;

pub(crate) struct Disk {
    shim: PathBuf,
    flushed: TempDir,
    is_forgetful: bool,
}

impl Disk {
    pub(crate) fn new() -> Self {
        let flushed = tempfile::tempdir().unwrap();
        let shim = flushed.path().join("flushed.so");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/binary/flushed.c");
        let compiled = Command::new("cc")
            .args(["-shared", "-fPIC", source, "-o"])
            .arg(&shim)
            .status()
            .unwrap();
        assert!(compiled.success());
        Self {
            shim,
            flushed,
            is_forgetful: false,
        }
    }

    /// A disk that confirms flushes of the log without flushing it.
    pub(crate) fn forgetful() -> Self {
        Self {
            is_forgetful: true,
            ..Self::new()
        }
    }

    /// `restante serve` with its data on this disk.
    pub(crate) fn serve(&self, data_dir: &Path) -> Command {
        let mut serve = serve(data_dir);
        serve
            .env("LD_PRELOAD", &self.shim)
            .env("FLUSHED", self.flushed.path());
        serve.envs(self.is_forgetful.then_some(("FORGETFUL", "1")));
        serve
    }

    /// Cuts the power after the server has ended.
    pub(crate) fn cut(&self, data_dir: &Path) {
        for name in ["restante.db", "restante.db-wal"] {
            let file = data_dir.join(name);
            let copy = self.flushed.path().join(name);
            let flushed = fs::read(&copy).unwrap_or_default();
            let left = left_of(&flushed, &fs::read(&file).unwrap(), self.is_forgetful);
            fs::write(&file, &left).unwrap();
            fs::write(&copy, &left).unwrap();
        }
        // The shared-memory file of SQLite is not on the disk.
        let _ = fs::remove_file(data_dir.join("restante.db-shm"));
    }
}

/// A file after the power cut: its flushed copy, with some blocks from the file as it is `present`.
/// A forgetful disk has only the flushed copy.
fn left_of(flushed: &[u8], present: &[u8], is_forgetful: bool) -> Vec<u8> {
    // Sometimes no block has been written since, or all.
    let share = if is_forgetful {
        0
    } else {
        [0, 1, 50, 99, 100][rand::random_range(0..5)]
    };
    let is_written = || rand::random_range(0..100) < share;
    let size = if is_written() {
        present.len()
    } else {
        flushed.len()
    };
    let mut left = vec![0; size];
    for (index, block) in left.chunks_mut(BLOCK).enumerate() {
        let source = if is_written() { present } else { flushed };
        let source = source.get(index * BLOCK..).unwrap_or_default();
        let count = block.len().min(source.len());
        block[..count].copy_from_slice(&source[..count]);
    }
    left
}
