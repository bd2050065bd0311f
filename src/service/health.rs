//! The health of this node: whether mail can be stored, and whether its clock is right.

use std::time::Duration;

use super::Service;
use super::progress::Progress;
use crate::clock::{Clock, Instant, MAX_DEVIATION};
use crate::db::DatabaseError;
use crate::model::Timestamp;
use crate::store::{Store, StoreError};

/// How long the health check waits for the database.
const CHECK_TIMEOUT: Duration = Duration::from_millis(1_500);
/// How long deliveries may wait or fail without a commit.
const STUCK_AFTER: Duration = Duration::from_secs(5);
/// How often the database is tested after deliveries have failed.
const PROBE_PAUSE: Duration = Duration::from_secs(1);
/// How often the clock is compared with that of the database.
const CLOCK_PAUSE: Duration = Duration::from_secs(5);
/// How often the clocks are compared at a start, until one answer is fast enough.
const FIRST_TRIES: usize = 3;
/// A slower answer says little about the time.
const MAX_ANSWER: Duration = Duration::from_millis(500);

/// Why this node is not healthy. The text is public.
#[derive(Debug, thiserror::Error)]
pub enum Unhealthy {
    /// The database rejects writes.
    #[error("the database is read-only")]
    ReadOnly,
    /// The database file was deleted or moved.
    #[error("the database file is gone")]
    Gone,
    /// The database does not answer.
    #[error("the database is unavailable")]
    Unavailable(#[source] StoreError),
    #[error("the database fails")]
    Failing(#[source] StoreError),
    /// Deliveries wait or fail.
    #[error("no mail was stored for {0} seconds, although mail has arrived")]
    Stuck(u64),
    /// The clock of this node is wrong.
    #[error("the clock of this node is {0} seconds away from that of the database")]
    Clock(u64),
}

impl Service {
    /// Checks that the database answers and stores mail, and that the clock is right. Returns
    /// within two seconds.
    ///
    /// # Errors
    /// The first reason why the node is not healthy.
    pub async fn check_health(&self) -> Result<(), Unhealthy> {
        let answer = tokio::time::timeout(CHECK_TIMEOUT, self.store().check()).await;
        answer.unwrap_or(Err(DatabaseError::Silent.into()))?;
        let stuck = self.0.progress.stuck_for();
        if stuck >= STUCK_AFTER {
            return Err(Unhealthy::Stuck(stuck.as_secs()));
        }
        if self.0.clock.is_wrong() {
            return Err(Unhealthy::Clock(self.0.clock.deviation().as_secs()));
        }
        Ok(())
    }
}

impl From<StoreError> for Unhealthy {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Database(DatabaseError::ReadOnly) => Self::ReadOnly,
            StoreError::Database(DatabaseError::Gone(_)) => Self::Gone,
            error if error.is_unavailable() => Self::Unavailable(error),
            error => Self::Failing(error),
        }
    }
}

/// Tests the database after deliveries have failed, until mail can be stored again.
pub(super) async fn probe(store: Store, progress: Progress, clock: Clock) {
    loop {
        clock.sleep(PROBE_PAUSE).await;
        if progress.is_unknown() && store.probe(clock.now()).await.is_ok() {
            progress.works();
        }
    }
}

/// Compares the clock with that of a shared database, every few seconds.
pub(super) async fn watch_clock(store: Store, clock: Clock) {
    let mut was_wrong = false;
    loop {
        let compared = Comparison::make(&store, &clock).await.map(|compared| {
            compared
                .into_iter()
                .filter(Comparison::is_fast)
                .for_each(|compared| compared.follow(&clock));
        });
        let is_wrong = clock.is_wrong();
        match compared {
            Err(error) => tracing::debug!(%error, "cannot read the clock of the database"),
            Ok(()) if is_wrong && !was_wrong => {
                let seconds = clock.deviation().as_secs();
                let most = MAX_DEVIATION.as_secs();
                tracing::error!(
                    seconds,
                    most,
                    "the clock of this node differs too much from that of the database"
                );
            }
            Ok(()) if was_wrong && !is_wrong => {
                tracing::info!("the clock of this node is right again");
            }
            Ok(()) => {}
        }
        was_wrong = is_wrong;
        tokio::time::sleep(CLOCK_PAUSE).await;
    }
}

/// Makes the clock follow that of a shared database before anything else uses it. If all answers
/// are slow, the fastest of them counts: a node whose clock is wrong would end the inboxes of the
/// others.
pub(super) async fn follow_database(store: &Store, clock: &Clock) -> Result<(), StoreError> {
    let mut fastest: Option<Comparison> = None;
    for _ in 0..FIRST_TRIES {
        let Some(compared) = Comparison::make(store, clock).await? else {
            return Ok(());
        };
        fastest = fastest
            .filter(|fastest| fastest.took < compared.took)
            .or(Some(compared));
        if fastest.as_ref().is_some_and(Comparison::is_fast) {
            break;
        }
    }
    fastest
        .into_iter()
        .for_each(|compared| compared.follow(clock));
    Ok(())
}

/// The time of a shared database at one moment.
struct Comparison {
    time: Timestamp,
    asked: Instant,
    took: Duration,
}

impl Comparison {
    /// Reads the time of the database; `None` if it is not shared.
    async fn make(store: &Store, clock: &Clock) -> Result<Option<Self>, StoreError> {
        let asked = clock.instant();
        let time = store.database_time().await?;
        let took = clock.instant().since(asked);
        Ok(time.map(|time| Self { time, asked, took }))
    }

    fn is_fast(&self) -> bool {
        self.took <= MAX_ANSWER
    }

    fn follow(self, clock: &Clock) {
        clock.follow(self.time, self.asked.after(self.took / 2), self.took / 2);
    }
}
