//! Power loss of a disk: each block that was written since the last flush of its file may be there or not.
//!
//! A preloaded shim (`flushed.c`) copies each file of the database when it has been flushed. To cut the power, the test
//! kills the server and takes every block of a file either from the copy or from the file.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use testkit::server::serve;

/// What the system writes to a disk at once, in bytes.
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
        let compiled = Command::new("cc").args(["-shared", "-fPIC", source, "-o"]).arg(&shim).status().unwrap();
        assert!(compiled.success());
        Self { shim, flushed, is_forgetful: false }
    }

    /// One that says of the log that it has been flushed when it has not.
    pub(crate) fn forgetful() -> Self {
        Self { is_forgetful: true, ..Self::new() }
    }

    /// `restante serve` with its data on this disk.
    pub(crate) fn serve(&self, data_dir: &Path) -> Command {
        let mut serve = serve(data_dir);
        serve.env("LD_PRELOAD", &self.shim).env("FLUSHED", self.flushed.path());
        serve.envs(self.is_forgetful.then_some(("FORGETFUL", "1")));
        serve
    }

    /// Cuts the power, when the server has ended.
    pub(crate) fn cut(&self, data_dir: &Path) {
        for name in ["restante.db", "restante.db-wal"] {
            let (file, copy) = (data_dir.join(name), self.flushed.path().join(name));
            let flushed = fs::read(&copy).unwrap_or_default();
            let left = left_of(&flushed, &fs::read(&file).unwrap(), self.is_forgetful);
            fs::write(&file, &left).unwrap();
            fs::write(&copy, &left).unwrap();
        }
        // It is memory that the processes share.
        let _ = fs::remove_file(data_dir.join("restante.db-shm"));
    }
}

/// What is left of a file: blocks of what was flushed, or of what is `present`. A forgetful disk has nothing else than
/// the former.
fn left_of(flushed: &[u8], present: &[u8], is_forgetful: bool) -> Vec<u8> {
    // Now and then nothing has been written since, or all.
    let share = if is_forgetful { 0 } else { [0, 1, 50, 99, 100][rand::random_range(0..5)] };
    let is_written = || rand::random_range(0..100) < share;
    let size = if is_written() { present.len() } else { flushed.len() };
    let mut left = vec![0; size];
    for (index, block) in left.chunks_mut(BLOCK).enumerate() {
        let source = if is_written() { present } else { flushed };
        let source = source.get(index * BLOCK..).unwrap_or_default();
        let count = block.len().min(source.len());
        block[..count].copy_from_slice(&source[..count]);
    }
    left
}
