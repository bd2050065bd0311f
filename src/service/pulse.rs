//! The last hour of a project: arrivals and rejections per minute, and how fast waits were answered.

use std::time::Duration;

use super::Service;
use crate::model::{MessageId, ProjectId, Timestamp, WaitEnd, WaitRecord};
use crate::store::StoreError;

/// Minutes that are shown.
pub const MINUTES: usize = 60;
const MINUTE: Duration = Duration::from_secs(60);

/// The last hour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pulse {
    /// The number of messages that arrived in each minute, oldest minute first.
    pub arrivals: [i64; MINUTES],
    /// The number of rejections in each minute.
    pub refusals: [i64; MINUTES],
    /// The times from the arrival of a message to the response of its wait, ascending. Only waits that were open when
    /// the message arrived are included.
    pub answers: Vec<Duration>,
}

impl Service {
    /// The last hour of a project.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn pulse(&self, project: ProjectId) -> Result<Pulse, StoreError> {
        let now = self.0.clock.now();
        let since = now.before(MINUTE * 60);
        let arrivals = self.0.store.arrivals(project, since).await?;
        let refusals = self.0.store.refusals_by_minute(project, since).await?;
        let waits = self.answered_waits(project).await?;
        let mut answers: Vec<Duration> = waits.iter().filter_map(answer_time).collect();
        answers.sort_unstable();
        Ok(Pulse { arrivals: by_minute(&arrivals, now), refusals: by_minute(&refusals, now), answers })
    }
}

fn by_minute(counts: &[(i64, i64)], now: Timestamp) -> [i64; MINUTES] {
    let mut minutes = [0; MINUTES];
    let last = now.as_millis() / 60_000;
    for (minute, count) in counts {
        let index = usize::try_from(last - minute).ok().and_then(|ago| (MINUTES - 1).checked_sub(ago));
        if let Some(slot) = index.and_then(|index| minutes.get_mut(index)) {
            *slot = *count;
        }
    }
    minutes
}

/// The time between the arrival of the message and the end of the wait. The id of a message contains its arrival time.
fn answer_time(wait: &WaitRecord) -> Option<Duration> {
    let (ended_at, WaitEnd::Message(MessageId(id))) = wait.end? else { return None };
    let (seconds, nanos) = id.get_timestamp()?.to_unix();
    let arrived_at = i64::try_from(seconds).ok()?.checked_mul(1_000)?.checked_add(i64::from(nanos / 1_000_000))?;
    let arrived_at = Timestamp::from_millis(arrived_at);
    (arrived_at >= wait.started_at && arrived_at <= ended_at).then(|| ended_at.since(arrived_at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_placed_by_their_minute() {
        let now = Timestamp::from_millis(100 * 60_000 + 5);
        let minutes = by_minute(&[(100, 3), (99, 2), (41, 1), (40, 9), (101, 9)], now);
        assert_eq!((minutes[59], minutes[58], minutes[0]), (3, 2, 1));
        assert_eq!(minutes.iter().sum::<i64>(), 6);
    }
}
