//! Time for everything that stores or waits: the system's, or a test's own that passes when told to.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::sync::watch;

use crate::model::Timestamp;

/// Where the time comes from. Cheap to clone; clones of a manual clock pass together.
#[derive(Clone, Debug)]
pub struct Clock(Source);

#[derive(Clone, Debug)]
enum Source {
    System,
    Manual(Arc<watch::Sender<Timestamp>>),
}

impl Clock {
    /// The system's clock.
    #[must_use]
    pub fn system() -> Self {
        Self(Source::System)
    }

    /// A clock that stands still at `start` until [`Clock::advance`].
    #[must_use]
    pub fn manual(start: Timestamp) -> Self {
        Self(Source::Manual(Arc::new(watch::Sender::new(start))))
    }

    /// The present instant.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        match &self.0 {
            Source::System => {
                let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                Timestamp::from_millis(i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX))
            }
            Source::Manual(now) => *now.borrow(),
        }
    }

    /// Lets time pass on a manual clock and wakes whoever slept until then; the system's clock ignores it.
    pub fn advance(&self, duration: Duration) {
        if let Source::Manual(now) = &self.0 {
            now.send_modify(|now| *now = now.after(duration));
        }
    }

    /// Sleeps until `instant` has come.
    pub async fn sleep_until(&self, instant: Timestamp) {
        match &self.0 {
            Source::System => tokio::time::sleep(instant.since(self.now())).await,
            Source::Manual(now) => {
                // The sender lives as long as this clock, so waiting cannot fail.
                let _ = now.subscribe().wait_for(|now| *now >= instant).await;
            }
        }
    }

    /// Sleeps for `duration`.
    pub async fn sleep(&self, duration: Duration) {
        self.sleep_until(self.now().after(duration)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_manual_clock_wakes_sleepers_when_it_is_advanced() {
        let clock = Clock::manual(Timestamp::from_millis(1_000));
        let sleeper = tokio::spawn({
            let clock = clock.clone();
            async move {
                clock.sleep_until(Timestamp::from_millis(5_000)).await;
                clock.now()
            }
        });
        clock.advance(Duration::from_secs(2));
        clock.advance(Duration::from_secs(2));
        assert_eq!(sleeper.await.unwrap(), Timestamp::from_millis(5_000));
    }
}
