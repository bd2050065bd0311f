//! When an item is retried.

use std::time::Duration;

use rand::RngExt;

use crate::model::Timestamp;

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
/// The pause after the first attempt, the second, and so on, in seconds; the last one applies to
/// all later attempts.
const PAUSES: [u64; 8] = [
    MINUTE,
    5 * MINUTE,
    15 * MINUTE,
    30 * MINUTE,
    HOUR,
    2 * HOUR,
    4 * HOUR,
    4 * HOUR,
];
/// A pause is extended by up to this fraction, so that items that failed together are not retried
/// together.
const JITTER: f64 = 0.1;

/// When the next attempt is due after attempt number `attempt`, counted from 1, that starts or ends
/// at `now`.
pub(super) fn next_due(now: Timestamp, attempt: u32) -> Timestamp {
    let longer = 1.0 + rand::rng().random_range(0.0..JITTER);
    now.after(pause(attempt).mul_f64(longer))
}

fn pause(attempt: u32) -> Duration {
    let index = usize::try_from(attempt.saturating_sub(1)).unwrap_or(usize::MAX);
    Duration::from_secs(PAUSES[index.min(PAUSES.len() - 1)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pauses_grow_up_to_four_hours() {
        let minutes: Vec<u64> = (1..=10)
            .map(|attempt| pause(attempt).as_secs() / 60)
            .collect();
        assert_eq!(minutes, [1, 5, 15, 30, 60, 120, 240, 240, 240, 240]);
        assert_eq!(pause(u32::MAX), Duration::from_secs(4 * HOUR));
    }

    #[test]
    fn jitter_only_lengthens_and_only_a_little() {
        let now = Timestamp::from_millis(0);
        for _ in 0..1_000 {
            let pause = next_due(now, 1).since(now);
            assert!((60_000..66_000).contains(&pause.as_millis()), "{pause:?}");
        }
    }
}
