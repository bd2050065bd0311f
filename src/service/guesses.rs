//! Slows down the guessing of keys and tokens: a guess that fails takes a second, and only five are
//! made at a time.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::clock::Clock;

/// How long a guess takes if it fails.
pub const FAILED_GUESS: Duration = Duration::from_secs(1);
/// How many guesses are made at the same time.
const AT_A_TIME: usize = 5;

/// The guesses of all clients.
#[derive(Debug)]
pub(super) struct Guesses {
    clock: Clock,
    turns: Arc<Semaphore>,
}

impl Guesses {
    pub(super) fn new(clock: Clock) -> Self {
        let turns = Arc::new(Semaphore::new(AT_A_TIME));
        Self { clock, turns }
    }

    /// Waits for the turn of a guess. Dropping it lets the next one begin. The semaphore is never
    /// closed.
    pub(super) async fn turn(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.turns).acquire_owned().await.ok()
    }

    /// Waits until a guess that failed may be answered. A client that does not wait for the answer
    /// makes its next guess no earlier.
    pub(super) async fn failed(&self, turn: Option<OwnedSemaphorePermit>) {
        let clock = self.clock.clone();
        let waiting = tokio::spawn(async move {
            clock.sleep(FAILED_GUESS).await;
            drop(turn);
        });
        // It can only fail when the runtime stops.
        let _ = waiting.await;
    }
}
