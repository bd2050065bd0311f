//! The two clocks of the service: wall-clock time for what is stored or displayed, and a monotonic
//! clock for durations and timeouts. A change of the wall clock does not change any timeout.
//!
//! Tests use a manual clock, which moves only when the test advances it.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{self, Duration, SystemTime, UNIX_EPOCH};

use tokio::sync::watch;

use crate::model::Timestamp;

/// The origin of the system's monotonic clock.
static START: LazyLock<time::Instant> = LazyLock::new(time::Instant::now);

/// How far the system's clock may be from the one that is followed. Nodes with a clock that is
/// further away do nothing that depends on the time of others.
pub const MAX_DEVIATION: Duration = Duration::from_secs(2);

/// A wall clock that is no further away agrees with the one that is followed.
const AGREEING: Duration = Duration::from_millis(100);
/// Smaller differences do not move the time, so that it does not run backwards.
const STEADY: Duration = Duration::from_millis(20);

/// A source of time. Cheap to clone; clones of a manual clock share their time.
#[derive(Clone, Debug)]
pub struct Clock(TimeSource);

/// An instant of the monotonic clock. Unlike std's, a test can set it, and its arithmetic
/// saturates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Instant(Duration);

#[derive(Clone, Debug)]
enum TimeSource {
    System(Arc<Following>),
    Manual(Arc<Manual>),
}

/// The clock that the system's clocks follow. The time in between is monotonic, so a wrong wall
/// clock has no effect.
#[derive(Debug, Default)]
struct Following {
    /// The followed time at the origin of the monotonic clock, in milliseconds; 0 if none is
    /// followed.
    origin: AtomicI64,
    /// By how much the wall clock is wrong, in milliseconds; only in tests.
    error: AtomicI64,
}

#[derive(Debug)]
struct Manual {
    time: watch::Sender<ManualTime>,
    /// When those who sleep will be woken.
    sleepers: watch::Sender<Vec<Instant>>,
}

#[derive(Clone, Copy, Debug)]
struct ManualTime {
    wall: Timestamp,
    monotonic: Instant,
}

/// A task that sleeps by a manual clock until this instant.
struct Sleeper<'a>(&'a Manual, Instant);

impl Clock {
    #[must_use]
    pub fn system() -> Self {
        Self(TimeSource::System(Arc::default()))
    }

    /// The system's clocks, with a wall clock that is ahead. For tests.
    #[must_use]
    pub fn ahead_by(error: Duration) -> Self {
        Self::wrong_by(millis(error))
    }

    /// The system's clocks, with a wall clock that is behind. For tests.
    #[must_use]
    pub fn behind_by(error: Duration) -> Self {
        Self::wrong_by(-millis(error))
    }

    fn wrong_by(error: i64) -> Self {
        let error = AtomicI64::new(error);
        Self(TimeSource::System(Arc::new(Following {
            error,
            ..Following::default()
        })))
    }

    /// A clock that stays at `start` until [`Clock::advance`].
    #[must_use]
    pub fn manual(start: Timestamp) -> Self {
        let time = watch::Sender::new(ManualTime {
            wall: start,
            monotonic: Instant::default(),
        });
        Self(TimeSource::Manual(Arc::new(Manual {
            time,
            sleepers: watch::Sender::default(),
        })))
    }

    /// The wall-clock time, for what is stored or shown.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        match &self.0 {
            TimeSource::System(following) => following.now(),
            TimeSource::Manual(manual) => manual.time.borrow().wall,
        }
    }

    /// Follows another clock, which showed `time` at `instant`, or at most `uncertain` before or
    /// after it: nodes that share a database have the same time. If the wall clock agrees, its time
    /// is kept. A manual clock is not changed.
    pub fn follow(&self, time: Timestamp, instant: Instant, uncertain: Duration) {
        if let TimeSource::System(following) = &self.0 {
            following.follow(
                time.as_millis() - millis(instant.0),
                millis(AGREEING + uncertain),
            );
        }
    }

    /// How far the wall clock is from the one that it follows.
    #[must_use]
    pub fn deviation(&self) -> Duration {
        match &self.0 {
            TimeSource::System(following) => Duration::from_millis(
                (following.wall() - following.now().as_millis()).unsigned_abs(),
            ),
            TimeSource::Manual(_) => Duration::ZERO,
        }
    }

    /// Whether the wall clock is further away than [`MAX_DEVIATION`].
    #[must_use]
    pub fn is_wrong(&self) -> bool {
        self.deviation() > MAX_DEVIATION
    }

    /// The monotonic time, for durations and timeouts.
    #[must_use]
    pub fn instant(&self) -> Instant {
        match &self.0 {
            TimeSource::System(_) => Instant(START.elapsed()),
            TimeSource::Manual(manual) => manual.time.borrow().monotonic,
        }
    }

    /// The monotonic instant at which the wall clock will show `time`, if the wall clock is not
    /// changed before.
    #[must_use]
    pub fn instant_of(&self, time: Timestamp) -> Instant {
        self.instant().after(time.since(self.now()))
    }

    /// Moves both times of a manual clock forward and wakes its sleepers. Has no effect on the
    /// system's clock.
    pub fn advance(&self, duration: Duration) {
        if let TimeSource::Manual(manual) = &self.0 {
            manual.time.send_modify(|time| {
                time.wall = time.wall.after(duration);
                time.monotonic = time.monotonic.after(duration);
            });
        }
    }

    /// Sets the wall-clock time of a manual clock, as an administrator may do. Has no effect on the
    /// system's clock.
    pub fn set_wall(&self, wall: Timestamp) {
        if let TimeSource::Manual(manual) = &self.0 {
            manual.time.send_modify(|time| time.wall = wall);
        }
    }

    /// Sleeps until `instant`.
    pub async fn sleep_until(&self, instant: Instant) {
        match &self.0 {
            TimeSource::System(_) => tokio::time::sleep(instant.since(self.instant())).await,
            TimeSource::Manual(manual) => {
                let _sleeper = Sleeper::start(manual, instant);
                // The sender lives as long as this clock, so waiting cannot fail.
                let _ = manual
                    .time
                    .subscribe()
                    .wait_for(|time| time.monotonic >= instant)
                    .await;
            }
        }
    }

    /// Returns when a task sleeps by this manual clock until `instant`. A test can then advance the
    /// clock, because what the task does before it sleeps has happened. Returns at once on the
    /// system's clock.
    pub async fn until_sleeping(&self, instant: Instant) {
        if let TimeSource::Manual(manual) = &self.0 {
            // The sender lives as long as this clock, so waiting cannot fail.
            let _ = manual
                .sleepers
                .subscribe()
                .wait_for(|sleepers| sleepers.contains(&instant))
                .await;
        }
    }

    /// Sleeps for `duration`.
    pub async fn sleep(&self, duration: Duration) {
        self.sleep_until(self.instant().after(duration)).await;
    }
}

impl Following {
    /// Follows a clock that showed `origin` at the origin of the monotonic clock.
    fn follow(&self, origin: i64, most: i64) {
        let own = self.wall() - millis(START.elapsed());
        let target = if (own - origin).abs() <= most {
            own
        } else {
            origin
        };
        let present = self.origin.load(Ordering::Relaxed);
        if present == 0 || (target - present).abs() > millis(STEADY) {
            self.origin.store(target, Ordering::Relaxed);
        }
    }

    fn now(&self) -> Timestamp {
        match self.origin.load(Ordering::Relaxed) {
            0 => Timestamp::from_millis(self.wall()),
            origin => Timestamp::from_millis(origin + millis(START.elapsed())),
        }
    }

    fn wall(&self) -> i64 {
        let since_epoch = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        millis(since_epoch).saturating_add(self.error.load(Ordering::Relaxed))
    }
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

impl<'a> Sleeper<'a> {
    fn start(manual: &'a Manual, until: Instant) -> Self {
        manual.sleepers.send_modify(|sleepers| sleepers.push(until));
        Self(manual, until)
    }
}

impl Drop for Sleeper<'_> {
    fn drop(&mut self) {
        self.0.sleepers.send_modify(|sleepers| {
            if let Some(place) = sleepers.iter().position(|until| *until == self.1) {
                sleepers.swap_remove(place);
            }
        });
    }
}

impl Instant {
    /// The instant `duration` later; saturates.
    #[must_use]
    pub fn after(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(duration))
    }

    /// The time from `earlier` to this instant; zero if `earlier` is later.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    const DAY: Duration = Duration::from_secs(24 * 3_600);

    #[tokio::test]
    async fn a_manual_clock_wakes_sleepers_when_it_is_advanced() {
        let clock = Clock::manual(Timestamp::from_millis(1_000));
        let wake_at = clock.instant().after(Duration::from_secs(4));
        let sleeper = tokio::spawn({
            let clock = clock.clone();
            async move {
                clock.sleep_until(wake_at).await;
                clock.now()
            }
        });
        clock.advance(Duration::from_secs(2));
        clock.advance(Duration::from_secs(2));
        assert_eq!(sleeper.await.unwrap(), Timestamp::from_millis(5_000));
    }

    #[tokio::test]
    async fn a_test_can_wait_for_a_sleeper() {
        let clock = Clock::manual(Timestamp::from_millis(0));
        let first = clock.instant().after(Duration::from_secs(1));
        let second = clock.instant().after(DAY);
        let sleeper = tokio::spawn({
            let clock = clock.clone();
            async move {
                clock.sleep_until(first).await;
                clock.sleep_until(second).await;
            }
        });
        clock.until_sleeping(first).await;
        clock.advance(DAY);
        sleeper.await.unwrap();
        assert!(
            clock.until_sleeping(first).now_or_never().is_none(),
            "it has woken up"
        );
    }

    #[tokio::test]
    async fn a_step_of_the_wall_clock_lengthens_no_sleep() {
        let clock = Clock::manual(Timestamp::from_millis(3_600_000));
        let wake_at = clock.instant_of(Timestamp::from_millis(3_603_000));
        clock.set_wall(Timestamp::from_millis(0));
        clock.advance(Duration::from_secs(3));
        clock.sleep_until(wake_at).await;
        assert_eq!(clock.now(), Timestamp::from_millis(3_000));
    }
}
