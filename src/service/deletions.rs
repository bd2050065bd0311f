//! Polls for projects that another process on the same SQLite file has deleted, for example
//! `restante project delete`, and then wakes every wait. Deletions by this process, and by other
//! nodes on PostgreSQL, are announced and need no polling.

use std::time::Duration;

use super::hub::Hub;
use crate::clock::Clock;
use crate::store::{Change, Store};

/// The time between two polls.
const REFRESH: Duration = Duration::from_secs(2);

/// Runs while it is polled.
pub(super) async fn watch(store: Store, hub: Hub, clock: Clock) {
    let mut known = None;
    loop {
        match store.deleted_projects().await {
            Ok(deleted) => {
                if known.replace(deleted).is_some_and(|known| known != deleted) {
                    hub.announce(&[Change::Unknown]);
                }
            }
            // Other parts of the service report a database that is unavailable.
            Err(error) => tracing::debug!(%error, "cannot look for deleted projects"),
        }
        clock.sleep(REFRESH).await;
    }
}
