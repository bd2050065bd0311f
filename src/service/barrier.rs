//! Lets readers wait until a background task has written what it was given so far. While a reader
//! waits, the task makes no pause.

use std::hash::Hash;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;

use super::shares::Shares;

/// How long a reader waits at most.
const WRITTEN_WITHIN: Duration = Duration::from_secs(1);

/// The side of the readers.
#[derive(Debug)]
pub(super) struct Written {
    done: watch::Receiver<()>,
    readers: watch::Sender<usize>,
}

/// The side of the task that writes.
#[derive(Debug)]
pub(super) struct Writing {
    done: watch::Sender<()>,
    readers: watch::Receiver<usize>,
}

/// A reader that waits. It is counted until it is dropped, even if its request is cancelled.
struct Reader<'a>(&'a watch::Sender<usize>);

pub(super) fn written() -> (Written, Writing) {
    let (progress, done) = watch::channel(());
    let (readers, waiting) = watch::channel(0);
    (
        Written { done, readers },
        Writing {
            done: progress,
            readers: waiting,
        },
    )
}

impl Written {
    /// Returns when the items that these owners have in the queue now are written, or could not be,
    /// or after a second.
    pub(super) async fn wait<K: Clone + Eq + Hash>(
        &self,
        shares: &Shares<K>,
        is_wanted: impl Fn(&K) -> bool,
    ) {
        let marks = shares.marks(is_wanted);
        if !shares.have_left(&marks) {
            let _reader = Reader::start(&self.readers);
            let _ = timeout(
                WRITTEN_WITHIN,
                self.done.clone().wait_for(|()| shares.have_left(&marks)),
            )
            .await;
        }
    }
}

impl Writing {
    /// Items were written, or could not be, and have left the queue.
    pub(super) fn done(&self) {
        self.done.send_replace(());
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
        let ((written, mut writing), shares, item) = (written(), Shares::new(), [((), 1)]);
        assert!(shares.take(&item));
        {
            let mut reader = Box::pin(written.wait(&shares, |()| true));
            assert!(reader.as_mut().now_or_never().is_none());
            assert!(
                Box::pin(writing.pause(Duration::MAX))
                    .now_or_never()
                    .is_some(),
                "a reader waits"
            );
        }
        assert!(
            Box::pin(writing.pause(Duration::MAX))
                .now_or_never()
                .is_none(),
            "the reader is gone"
        );
        shares.give_back(&item);
        writing.done();
        assert!(
            Box::pin(written.wait(&shares, |()| true))
                .now_or_never()
                .is_some()
        );
    }
}
