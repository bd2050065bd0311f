//! Limits the log lines about refusals. In each time window, the first few refusals of a client are
//! logged one by one; the rest are counted, and logged as one line when the window ends. This
//! prevents a client that is rejected a hundred thousand times per second from filling the disk.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::clock::{Clock, Instant};
use crate::tcp::client_of;

/// The length of a window.
const WINDOW: Duration = Duration::from_secs(10);
/// The refusals per window that are logged one by one.
const LINES: u64 = 20;
/// Maximum number of clients with a window at once. Refusals of additional clients are not logged.
const CLIENTS: usize = 10_000;

/// The current windows, by client. Clones share the same state.
#[derive(Clone)]
pub(super) struct RefusalLog {
    windows: Arc<Mutex<HashMap<IpAddr, Window>>>,
    clock: Clock,
}

struct Window {
    started: Instant,
    refusals: u64,
}

impl RefusalLog {
    pub(super) fn new(clock: Clock) -> Self {
        Self {
            windows: Arc::default(),
            clock,
        }
    }

    /// Counts a refusal. Returns whether to log it.
    pub(super) fn admits(&self, client: IpAddr) -> bool {
        let client = client_of(client);
        let mut windows = self.windows();
        if let Some(window) = windows.get_mut(&client) {
            window.refusals += 1;
            return window.refusals <= LINES;
        }
        if windows.len() >= CLIENTS {
            return false;
        }
        let started = self.clock.instant();
        windows.insert(
            client,
            Window {
                started,
                refusals: 1,
            },
        );
        let log = self.clone();
        tokio::spawn(async move {
            log.clock.sleep_until(started.after(WINDOW)).await;
            let ended = log.windows().remove(&client);
            ended
                .into_iter()
                .for_each(|window| log.report(client, &window));
        });
        true
    }

    /// Ends every window now, because the server is stopping.
    pub(super) fn end(&self) {
        let windows = std::mem::take(&mut *self.windows());
        windows
            .iter()
            .for_each(|(client, window)| self.report(*client, window));
    }

    fn report(&self, client: IpAddr, window: &Window) {
        let more = window.refusals.saturating_sub(LINES);
        if more > 0 {
            let seconds = self.clock.instant().since(window.started).as_secs();
            tracing::info!("{more} more rejections of {client} in {seconds} s");
        }
    }

    fn windows(&self) -> MutexGuard<'_, HashMap<IpAddr, Window>> {
        // The mutex is not poisoned: no code panics while it is locked.
        self.windows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Timestamp;

    #[tokio::test]
    async fn each_client_has_some_lines_in_each_window() {
        let clock = Clock::manual(Timestamp::from_millis(0));
        let log = RefusalLog::new(clock.clone());
        let lines = |client: &str| {
            (0..1_000)
                .filter(|_| log.admits(client.parse().unwrap()))
                .count() as u64
        };
        assert_eq!((lines("192.0.2.1"), lines("192.0.2.2")), (LINES, LINES));
        assert_eq!(lines("::ffff:192.0.2.1"), 0);
        clock.advance(WINDOW);
        while !log.windows().is_empty() {
            tokio::task::yield_now().await;
        }
        assert_eq!(lines("192.0.2.1"), LINES);
        log.end();
        assert_eq!(lines("192.0.2.1"), LINES);
    }

    #[tokio::test]
    async fn a_flood_of_clients_takes_no_more_than_its_room() {
        let log = RefusalLog::new(Clock::manual(Timestamp::from_millis(0)));
        for number in 0..u32::try_from(CLIENTS).unwrap() + 50 {
            log.admits(IpAddr::from(number.to_be_bytes()));
        }
        assert_eq!(log.windows().len(), CLIENTS);
    }
}
