//! The sweeper: removes in the background what has expired. Each node has one; only one of them works at a time.

use std::sync::Arc;
use std::time::Duration;

use super::recipients::Exceptions;
use crate::clock::Clock;
use crate::store::{Store, StoreError, Swept};

/// Between two looks when nothing is left to do.
const PAUSE: Duration = Duration::from_secs(5);
/// Between two steps, so that deliveries come first.
const BREATH: Duration = Duration::from_millis(5);

/// What the sweeper needs.
pub(super) struct Sweeper {
    pub(super) store: Store,
    pub(super) clock: Clock,
    pub(super) exceptions: Arc<Exceptions>,
}

impl Sweeper {
    /// Sweeps for as long as it is polled. A failure is logged and tried again.
    pub(super) async fn run(self) {
        loop {
            match self.step().await {
                Ok(Swept::More) => tokio::time::sleep(BREATH).await,
                Ok(Swept::Done) => self.clock.sleep(PAUSE).await,
                Err(error) => {
                    tracing::warn!(%error, "cannot remove what has expired; trying again");
                    self.clock.sleep(PAUSE).await;
                }
            }
        }
    }

    async fn step(&self) -> Result<Swept, StoreError> {
        // A command beside this server may have deleted a project.
        self.exceptions.set_deleted_projects(self.store.has_deleted_projects().await?);
        self.store.sweep(self.clock.now()).await
    }
}
