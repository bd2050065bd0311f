//! Lets readers wait until a background task has written what it was given so far. While a reader waits, the task makes
//! no pause.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;

/// How long a reader waits at most.
const WRITTEN_WITHIN: Duration = Duration::from_secs(1);

/// The side of the readers and of those that add something.
#[derive(Debug)]
pub(super) struct Written {
    added: AtomicU64,
    done: watch::Receiver<u64>,
    readers: watch::Sender<usize>,
}

/// The side of the task that writes.
#[derive(Debug)]
pub(super) struct Writing {
    done: watch::Sender<u64>,
    readers: watch::Receiver<usize>,
}

/// A reader that waits. It is counted until it is dropped, even if its request is cancelled.
struct Reader<'a>(&'a watch::Sender<usize>);

pub(super) fn written() -> (Written, Writing) {
    let (progress, done) = watch::channel(0);
    let (readers, waiting) = watch::channel(0);
    (Written { added: AtomicU64::new(0), done, readers }, Writing { done: progress, readers: waiting })
}

impl Written {
    /// Counts one more item for the task.
    pub(super) fn add(&self) {
        self.added.fetch_add(1, Ordering::Release);
    }

    /// Returns when the items that were added so far are written, or could not be, or after a second.
    pub(super) async fn wait(&self) {
        let added = self.added.load(Ordering::Acquire);
        self.wait_for(|done| done >= added).await;
    }

    /// Returns when some items are written, or after a second. `is_done` is asked when others are done, with the number
    /// of all that are.
    pub(super) async fn wait_for(&self, is_done: impl Fn(u64) -> bool) {
        let mut done = self.done.clone();
        let now = *done.borrow();
        if !is_done(now) {
            let _reader = Reader::start(&self.readers);
            let _ = timeout(WRITTEN_WITHIN, done.wait_for(|done| is_done(*done))).await;
        }
    }
}

impl Writing {
    /// Counts items that are written, or could not be.
    pub(super) fn done(&self, count: usize) {
        self.done.send_modify(|done| *done += count as u64);
    }

    /// Pauses for this long, or until a reader waits.
    pub(super) async fn pause(&mut self, pause: Duration) {
        let _ = timeout(pause, self.readers.wait_for(|readers| *readers > 0)).await;
    }
}

impl<'a> Reader<'a> {
    fn start(readers: &'a watch::Sender<usize>) -> Self {
        readers.send_modify(|readers| *readers += 1);
        Self(readers)
    }
}

impl Drop for Reader<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|readers| *readers -= 1);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_cancelled_reader_no_longer_ends_the_pause() {
        let (written, mut writing) = written();
        written.add();
        {
            let mut reader = Box::pin(written.wait());
            assert!(reader.as_mut().now_or_never().is_none());
            assert!(Box::pin(writing.pause(Duration::MAX)).now_or_never().is_some(), "a reader waits");
        }
        assert!(Box::pin(writing.pause(Duration::MAX)).now_or_never().is_none(), "the reader is gone");
        writing.done(1);
        assert!(Box::pin(written.wait()).now_or_never().is_some());
    }
}
