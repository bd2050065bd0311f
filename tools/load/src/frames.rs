//! Counts the frames that a server writes to SQLite's log, by reading the index of the log.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// The position of the number of frames in the header of the index
/// (<https://www.sqlite.org/walformat.html>).
const FRAMES_AT: u64 = 16;
/// How often it is read. The log starts over only after thousands of frames, so few frames are
/// missed.
const INTERVAL: Duration = Duration::from_millis(5);

/// A running count.
pub(crate) struct Frames {
    done: Arc<AtomicBool>,
    counting: JoinHandle<u64>,
}

impl Frames {
    /// Starts counting, if one of the files in the directory is the index of a log.
    pub(crate) fn start(directory: &Path) -> Option<Self> {
        let mut files = std::fs::read_dir(directory)
            .ok()?
            .filter_map(|file| Some(file.ok()?.path()));
        let index =
            File::open(files.find(|path| path.to_string_lossy().ends_with("-shm"))?).ok()?;
        let done = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&done);
        let counting = std::thread::spawn(move || {
            let mut count = 0;
            let mut last = frames(&index);
            loop {
                let is_last = ended.load(Ordering::Relaxed);
                let now = frames(&index);
                // Fewer than before: the log has started over.
                count += if now < last { now } else { now - last };
                last = now;
                if is_last {
                    return count;
                }
                std::thread::sleep(INTERVAL);
            }
        });
        Some(Self { done, counting })
    }

    /// Stops counting.
    pub(crate) fn finish(self) -> u64 {
        self.done.store(true, Ordering::Relaxed);
        self.counting.join().unwrap()
    }
}

fn frames(index: &File) -> u64 {
    let mut frames = [0; 4];
    index.read_exact_at(&mut frames, FRAMES_AT).unwrap();
    u32::from_ne_bytes(frames).into()
}
