//! Notices that another process has deleted a project, as `restante project delete` does beside a server on SQLite, and
//! has every wait look again. Deletions by this process and by other nodes are announced, and need none of this.

use std::time::Duration;

use super::hub::Hub;
use crate::clock::Clock;
use crate::store::{Change, Store};

/// How long a deletion may go unnoticed.
const REFRESH: Duration = Duration::from_secs(2);

/// Watches for as long as it is polled.
pub(super) async fn watch(store: Store, hub: Hub, clock: Clock) {
    let mut known = None;
    loop {
        match store.deleted_projects().await {
            Ok(deleted) => {
                if known.replace(deleted).is_some_and(|known| known != deleted) {
                    hub.announce(&[Change::Unknown]);
                }
            }
            // A database that is unavailable is reported by everything else.
            Err(error) => tracing::debug!(%error, "cannot look for deleted projects"),
        }
        clock.sleep(REFRESH).await;
    }
}
