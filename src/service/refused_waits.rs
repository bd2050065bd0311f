//! Counts a refused wait once. A client whose key has too many waits tries again until a slot is
//! free; a try that is repeated within [`REPEATED_WITHIN`] belongs to the same wait, so only the
//! last one says how the wait ended.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::{Caller, Service};
use crate::clock::Instant;
use crate::metrics;
use crate::model::{Inbox, MessageFilter};

/// The clients pause for at most a second between two tries.
const REPEATED_WITHIN: Duration = Duration::from_secs(2);
/// Maximum number of refused tries that are remembered. Beyond it, tries are counted immediately.
const MAX_TRIES: usize = 10_000;

/// The refused tries that may still be repeated, by what they wait for.
#[derive(Debug, Default)]
pub(super) struct RefusedWaits(Mutex<HashMap<u64, Vec<Instant>>>);

impl RefusedWaits {
    /// Tries with the same identity are of the same wait.
    pub(super) fn identity(caller: &Caller, inbox: &Inbox, filter: &MessageFilter) -> u64 {
        let mut hasher = DefaultHasher::new();
        (caller.key.0, inbox.id.as_str()).hash(&mut hasher);
        filter.hash(&mut hasher);
        hasher.finish()
    }

    /// A try starts. If an earlier one was refused, this one continues its wait.
    pub(super) fn try_starts(&self, identity: u64) {
        let mut tries = self.tries();
        if let Some(earlier) = tries.get_mut(&identity) {
            earlier.pop();
            if earlier.is_empty() {
                tries.remove(&identity);
            }
        }
    }

    /// A try was refused at `now`.
    pub(super) fn refused(&self, identity: u64, now: Instant) {
        if self.tries().len() >= MAX_TRIES {
            metrics::waits_refused(self.take_ended(now));
        }
        let mut tries = self.tries();
        if tries.len() >= MAX_TRIES {
            return metrics::waits_refused(1);
        }
        tries.entry(identity).or_default().push(now);
    }

    /// Removes the waits that were not tried again in time, and returns their number.
    fn take_ended(&self, now: Instant) -> usize {
        let mut ended = 0;
        self.tries().retain(|_, refused| {
            let before = refused.len();
            refused.retain(|at| now.since(*at) < REPEATED_WITHIN);
            ended += before - refused.len();
            !refused.is_empty()
        });
        ended
    }

    fn tries(&self) -> MutexGuard<'_, HashMap<u64, Vec<Instant>>> {
        // The mutex is not poisoned: no code panics while it is locked.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Service {
    /// Adds the waits that were refused and not tried again to the metrics, before these are read.
    pub fn count_refused_waits(&self) {
        metrics::waits_refused(self.0.refused_waits.take_ended(self.0.clock.instant()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use crate::model::Timestamp;

    #[test]
    fn a_wait_that_is_tried_again_is_counted_once_at_its_end() {
        let (waits, clock) = (
            RefusedWaits::default(),
            Clock::manual(Timestamp::from_millis(0)),
        );
        for _ in 0..20 {
            waits.try_starts(1);
            waits.refused(1, clock.instant());
            clock.advance(REPEATED_WITHIN / 2);
            assert_eq!(waits.take_ended(clock.instant()), 0);
        }
        clock.advance(REPEATED_WITHIN);
        assert_eq!(
            (
                waits.take_ended(clock.instant()),
                waits.take_ended(clock.instant())
            ),
            (1, 0)
        );
    }

    #[test]
    fn a_wait_that_gets_a_slot_was_not_refused_and_an_equal_one_was() {
        let (waits, clock) = (
            RefusedWaits::default(),
            Clock::manual(Timestamp::from_millis(0)),
        );
        waits.refused(1, clock.instant());
        waits.refused(1, clock.instant());
        waits.try_starts(1);
        clock.advance(REPEATED_WITHIN);
        assert_eq!(waits.take_ended(clock.instant()), 1);
        assert!(waits.tries().is_empty());
    }
}
