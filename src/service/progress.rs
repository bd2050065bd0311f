//! Whether deliveries are committed: since when some have been waiting or failing without a commit.

use std::collections::BTreeMap;
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
    /// When each delivery without a result started, in the order of their starts.
    waiting: BTreeMap<u64, Instant>,
    next: u64,
    /// When it was last known that mail can be stored.
    worked_at: Instant,
    /// When the first delivery started that has failed since then.
    failing_since: Option<Instant>,
    failed_at: Option<Instant>,
}

impl State {
    /// When the first delivery started that has been waiting, or has failed, without a commit.
    fn stuck_since(&self) -> Option<Instant> {
        let waiting_since = self
            .waiting
            .values()
            .next()
            .map(|start| self.worked_at.max(*start));
        waiting_since.into_iter().chain(self.failing_since).min()
    }

    fn works(&mut self, now: Instant) {
        self.worked_at = now;
        self.failing_since = None;
    }
}

/// A delivery without a result. Dropping it counts as a failure.
#[derive(Debug)]
pub(super) struct Pending<'a> {
    progress: &'a Progress,
    number: u64,
    outcome: Outcome,
}

#[derive(Clone, Copy, Debug)]
enum Outcome {
    Committed,
    Failed,
    /// It was never tried, or wrote nothing.
    Withdrawn,
}

impl Progress {
    pub(super) fn new(clock: Clock) -> Self {
        Self {
            clock,
            state: Arc::default(),
        }
    }

    /// Counts a delivery as waiting until the result is dropped.
    pub(super) fn start(&self) -> Pending<'_> {
        let now = self.clock.instant();
        let mut state = self.state();
        let number = state.next;
        state.next += 1;
        state.waiting.insert(number, now);
        Pending {
            progress: self,
            number,
            outcome: Outcome::Failed,
        }
    }

    /// How long deliveries have been waiting or failing without a commit.
    pub(super) fn stuck_for(&self) -> Duration {
        self.state()
            .stuck_since()
            .map_or(Duration::ZERO, |since| self.clock.instant().since(since))
    }

    /// Whether deliveries have failed, but none is waiting or has just failed. Then no delivery
    /// will show that the database works again.
    pub(super) fn is_unknown(&self) -> bool {
        let now = self.clock.instant();
        let state = self.state();
        let fails = state
            .failed_at
            .is_some_and(|failed_at| now.since(failed_at) < FAILING);
        state.failing_since.is_some() && state.waiting.is_empty() && !fails
    }

    /// Records that the database works.
    pub(super) fn works(&self) {
        let now = self.clock.instant();
        self.state().works(now);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // The mutex is not poisoned: no code panics while it is locked.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pending<'_> {
    /// The delivery has stored a message.
    pub(super) fn committed(mut self) {
        self.outcome = Outcome::Committed;
    }

    /// The delivery was not tried, or wrote nothing. It shows nothing about the database.
    pub(super) fn withdrawn(mut self) {
        self.outcome = Outcome::Withdrawn;
    }
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        let now = self.progress.clock.instant();
        let mut state = self.progress.state();
        let Some(start) = state.waiting.remove(&self.number) else {
            return;
        };
        match self.outcome {
            Outcome::Committed => state.works(now),
            Outcome::Failed => {
                let since = start.max(state.worked_at);
                state.failing_since = Some(
                    state
                        .failing_since
                        .map_or(since, |earlier| earlier.min(since)),
                );
                state.failed_at = Some(now);
            }
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
        assert_eq!(
            (progress.stuck_for(), progress.is_unknown()),
            (2 * second, false),
            "one is waiting"
        );
        progress.start().committed();
        assert_eq!(progress.stuck_for(), Duration::ZERO);
        clock.advance(second);
        assert_eq!(progress.stuck_for(), second, "the first is still waiting");
        drop(waiting);
        assert!(!progress.is_unknown(), "it has just failed");
        clock.advance(second);
        assert!(progress.is_unknown());
        progress.works();
        assert_eq!(
            (progress.stuck_for(), progress.is_unknown()),
            (Duration::ZERO, false)
        );
    }

    #[test]
    fn a_delivery_that_wrote_nothing_shows_nothing() {
        let clock = Clock::manual(Timestamp::from_millis(0));
        let progress = Progress::new(clock.clone());
        let second = Duration::from_secs(1);
        let refused = progress.start();
        clock.advance(second);
        let waiting = progress.start();
        refused.withdrawn();
        clock.advance(second);
        assert_eq!(progress.stuck_for(), second, "it does not count itself");
        progress.start().withdrawn();
        assert_eq!(
            progress.stuck_for(),
            second,
            "it does not hide that another is waiting"
        );
        drop(waiting);
        progress.start().withdrawn();
        assert_eq!(
            progress.stuck_for(),
            second,
            "it does not hide that another has failed"
        );
    }
}
