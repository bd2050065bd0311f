//! Lets readers wait until a background task has written what it was given so far. While a reader
//! waits, the task makes no pause.

use std::hash::Hash;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;

use super::quotas::Quotas;

/// How long a reader waits at most.
const MAX_BARRIER_WAIT: Duration = Duration::from_secs(1);

/// The side of the readers.
#[derive(Debug)]
pub(super) struct Barrier {
    done: watch::Receiver<()>,
    readers: watch::Sender<usize>,
}

/// The side of the task that writes.
#[derive(Debug)]
pub(super) struct BarrierWriter {
    done: watch::Sender<()>,
    readers: watch::Receiver<usize>,
}

/// A reader that waits. It is counted until it is dropped, even if its request is cancelled.
struct Reader<'a>(&'a watch::Sender<usize>);

pub(super) fn barrier() -> (Barrier, BarrierWriter) {
    let (progress, done) = watch::channel(());
    let (readers, waiting) = watch::channel(0);
    (
        Barrier { done, readers },
        BarrierWriter {
            done: progress,
            readers: waiting,
        },
    )
}

impl Barrier {
    /// Returns when the items that these owners have in the queue now are written, or could not be,
    /// or after a second.
    pub(super) async fn wait<K: Clone + Eq + Hash>(
        &self,
        quotas: &Quotas<K>,
        is_wanted: impl Fn(&K) -> bool,
    ) {
        let marks = quotas.marks(is_wanted);
        if !quotas.have_left(&marks) {
            let _reader = Reader::start(&self.readers);
            let _ = timeout(
                MAX_BARRIER_WAIT,
                self.done.clone().wait_for(|()| quotas.have_left(&marks)),
            )
            .await;
        }
    }
}

impl BarrierWriter {
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
        let ((reached, mut writing), quotas, item) = (barrier(), Quotas::new(), [((), 1)]);
        assert!(quotas.take(&item));
        {
            let mut reader = Box::pin(reached.wait(&quotas, |()| true));
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
        quotas.give_back(&item);
        writing.done();
        assert!(
            Box::pin(reached.wait(&quotas, |()| true))
                .now_or_never()
                .is_some()
        );
    }
}
