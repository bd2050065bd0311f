//! Threads for work on large data: as many as there are processors. Where the system allows it
//! they yield to the other threads, so that a small request does not wait for a large one. Work
//! never waits for other work here.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::LazyLock;
use std::thread::available_parallelism;

use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;

use crate::os;

/// Work on up to this many bytes is done on the calling thread.
pub const SMALL: usize = 64 * 1024;

#[derive(Debug, thiserror::Error)]
#[error("work on a message has panicked")]
pub struct Panicked;

/// Only its blocking threads are used.
static THREADS: LazyLock<Runtime> = LazyLock::new(|| {
    Builder::new_current_thread()
        .max_blocking_threads(available_parallelism().map_or(1, usize::from))
        .thread_name("large-work")
        .on_thread_start(os::lower_priority)
        .build()
        .expect("a runtime without a driver needs nothing from the system")
});

/// Runs `work` on data of this many bytes. It is finished even if the caller is dropped.
///
/// # Errors
/// If `work` panics.
pub async fn run<T: Send + 'static>(
    bytes: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Panicked> {
    if bytes <= SMALL {
        return catch_unwind(AssertUnwindSafe(work)).map_err(|_| Panicked);
    }
    let (sender, result) = oneshot::channel();
    // One type for all work, so that the machinery of a task is compiled once.
    let work: Box<dyn FnOnce() + Send> = Box::new(move || {
        // The caller may have stopped waiting.
        let _ = sender.send(work());
    });
    drop(THREADS.spawn_blocking(work));
    result.await.map_err(|_| Panicked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn work_runs_and_a_panic_is_an_error() {
        for bytes in [SMALL, SMALL + 1] {
            assert_eq!(run(bytes, || 1 + 1).await.unwrap(), 2);
            let panicked = run(bytes, || -> () { panic!("intended by the test") });
            panicked.await.unwrap_err();
        }
    }
}
