//! A timer for deadlines that change often and are seldom reached. A new deadline does not restart
//! it: if the timer ends before the deadline, it is restarted for the remaining time.

use std::pin::Pin;

use crate::clock::{Clock, Instant};

pub(super) struct Alarm {
    clock: Clock,
    timer: Option<Timer>,
}

struct Timer {
    until: Instant,
    sleep: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl Alarm {
    pub(super) fn new(clock: Clock) -> Self {
        Self { clock, timer: None }
    }

    /// Waits until `deadline`. If the future is dropped, the timer keeps running for the next call.
    pub(super) async fn wait_until(&mut self, deadline: Instant) {
        loop {
            let clock = &self.clock;
            let timer = match &mut self.timer {
                Some(timer) if timer.until <= deadline => timer,
                unfit => unfit.insert(Timer::start(clock.clone(), deadline)),
            };
            let until = timer.until;
            timer.sleep.as_mut().await;
            self.timer = None;
            if until >= deadline {
                return;
            }
        }
    }
}

impl Timer {
    fn start(clock: Clock, until: Instant) -> Self {
        Self {
            until,
            sleep: Box::pin(async move { clock.sleep_until(until).await }),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::FutureExt;

    use super::*;
    use crate::model::Timestamp;

    #[tokio::test]
    async fn the_last_deadline_counts() {
        let clock = Clock::manual(Timestamp::from_millis(0));
        let mut alarm = Alarm::new(clock.clone());
        let at = |seconds| Instant::default().after(Duration::from_secs(seconds));
        for (now, deadline, is_over) in [
            (0, 10, false),
            (5, 15, false),
            (12, 15, false),
            (13, 13, true),
            (15, 15, true),
        ] {
            clock.advance(at(now).since(clock.instant()));
            assert_eq!(
                alarm.wait_until(at(deadline)).now_or_never().is_some(),
                is_over,
                "{now} of {deadline}"
            );
        }
    }
}
