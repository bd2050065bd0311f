//! The sweeper: removes expired inboxes, messages and sessions in the background. Every node has a
//! sweeper; only one of them works at a time.

use std::sync::Arc;
use std::time::Duration;

use super::recipients::Exceptions;
use crate::clock::Clock;
use crate::store::{Store, StoreError, Swept};

/// The pause when nothing is left to remove.
const PAUSE: Duration = Duration::from_secs(5);
/// The pause between two steps, so that deliveries are not delayed.
const PAUSE_BETWEEN_STEPS: Duration = Duration::from_millis(5);

/// How often a shared database is searched for contents without a message.
const ORPHANS_PAUSE: Duration = Duration::from_secs(24 * 60 * 60);

pub(super) struct Sweeper {
    pub(super) store: Store,
    pub(super) clock: Clock,
    /// How long failures are kept.
    pub(super) keep_failures: Duration,
    pub(super) exceptions: Arc<Exceptions>,
}

/// Removes contents without a message: now, and then once a day.
pub(super) async fn remove_orphans(store: Store, clock: Clock) {
    loop {
        match store.remove_orphans().await {
            Ok(0) => clock.sleep(ORPHANS_PAUSE).await,
            Ok(removed) => tracing::warn!(removed, "removed contents without a message"),
            Err(error) => {
                tracing::debug!(%error, "cannot search for contents without a message; trying again");
                clock.sleep(PAUSE).await;
            }
        }
    }
}

impl Sweeper {
    /// Runs while it is polled. Retries after a failure.
    pub(super) async fn run(self) {
        loop {
            match self.step().await {
                Ok(Swept::More) => tokio::time::sleep(PAUSE_BETWEEN_STEPS).await,
                Ok(Swept::Done) => self.clock.sleep(PAUSE).await,
                Err(error) => {
                    tracing::warn!(%error, "cannot remove expired data; trying again");
                    self.clock.sleep(PAUSE).await;
                }
            }
        }
    }

    async fn step(&self) -> Result<Swept, StoreError> {
        // Another process on the same database may have deleted a project.
        self.exceptions
            .set_deleted_projects(self.store.deleted_projects().await? > 0);
        if let Some(known) = self.exceptions.outdated_faults() {
            self.exceptions.set_faults(
                self.store.inboxes_with_faults(self.clock.now()).await?,
                known,
            );
        }
        // Other nodes with the right time do it.
        if self.clock.is_wrong() {
            return Ok(Swept::Done);
        }
        self.store.sweep(self.clock.now(), self.keep_failures).await
    }
}
