//! Whether deliveries are committed: since when some have been waiting or failing without a commit.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::clock::{Clock, Instant};

/// While deliveries keep failing, nothing but a commit of one of them shows that they no longer do.
const FAILING: Duration = Duration::from_secs(1);

/// The progress of all deliveries. Cheap to clone; clones share the same state.
#[derive(Clone, Debug)]
pub(super) struct Progress {
    clock: Clock,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    /// Deliveries that have no result.
    waiting: usize,
    /// When the first delivery started that has been waiting, or has failed, since the last commit.
    stuck_since: Option<Instant>,
    failed_at: Option<Instant>,
}

/// A delivery without a result. Dropping it counts as a failure.
#[derive(Debug)]
pub(super) struct Pending<'a> {
    progress: &'a Progress,
    outcome: Outcome,
}

#[derive(Clone, Copy, Debug)]
enum Outcome {
    Committed,
    Failed,
    /// It was never tried.
    Withdrawn,
}

impl Progress {
    pub(super) fn new(clock: Clock) -> Self {
        Self { clock, state: Arc::default() }
    }

    /// Counts a delivery as waiting until the result is dropped.
    pub(super) fn start(&self) -> Pending<'_> {
        let now = self.clock.instant();
        let mut state = self.state();
        state.waiting += 1;
        state.stuck_since.get_or_insert(now);
        Pending { progress: self, outcome: Outcome::Failed }
    }

    /// How long deliveries have been waiting or failing without a commit.
    pub(super) fn stuck_for(&self) -> Duration {
        self.state().stuck_since.map_or(Duration::ZERO, |since| self.clock.instant().since(since))
    }

    /// Whether deliveries have failed, but none is waiting or has just failed. Then no delivery will show that the
    /// database works again.
    pub(super) fn is_unknown(&self) -> bool {
        let (now, state) = (self.clock.instant(), self.state());
        let fails = state.failed_at.is_some_and(|failed_at| now.since(failed_at) < FAILING);
        state.stuck_since.is_some() && state.waiting == 0 && !fails
    }

    /// Records that the database works.
    pub(super) fn works(&self) {
        let now = self.clock.instant();
        let mut state = self.state();
        state.stuck_since = (state.waiting > 0).then_some(now);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // The mutex is not poisoned: no code panics while it is locked.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pending<'_> {
    /// The delivery was committed, or rejected by a transaction that was.
    pub(super) fn committed(mut self) {
        self.outcome = Outcome::Committed;
    }

    /// The delivery was not tried.
    pub(super) fn withdrawn(mut self) {
        self.outcome = Outcome::Withdrawn;
    }
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        let now = self.progress.clock.instant();
        let mut state = self.progress.state();
        state.waiting -= 1;
        match self.outcome {
            Outcome::Committed => state.stuck_since = (state.waiting > 0).then_some(now),
            Outcome::Failed => state.failed_at = Some(now),
            Outcome::Withdrawn => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Timestamp;

    #[test]
    fn deliveries_are_stuck_until_one_is_committed() {
        let clock = Clock::manual(Timestamp::from_millis(0));
        let progress = Progress::new(clock.clone());
        let second = Duration::from_secs(1);
        let waiting = progress.start();
        clock.advance(second);
        drop(progress.start());
        clock.advance(second);
        assert_eq!((progress.stuck_for(), progress.is_unknown()), (2 * second, false), "one is waiting");
        progress.start().committed();
        assert_eq!(progress.stuck_for(), Duration::ZERO);
        clock.advance(second);
        assert_eq!(progress.stuck_for(), second, "the first is still waiting");
        drop(waiting);
        assert!(!progress.is_unknown(), "it has just failed");
        clock.advance(second);
        assert!(progress.is_unknown());
        progress.works();
        assert_eq!((progress.stuck_for(), progress.is_unknown()), (Duration::ZERO, false));
    }
}
