//! The sweeper: removes in the background what has expired. Every node has one, and one at a time does something.

use std::time::Duration;

use crate::clock::Clock;
use crate::store::{Store, Swept};

/// Between two looks when nothing is left to do.
const PAUSE: Duration = Duration::from_secs(5);
/// Between two steps, so that deliveries come first.
const BREATH: Duration = Duration::from_millis(5);

/// Sweeps for as long as it is polled. A failure is logged and tried again.
pub(super) async fn sweep_forever(store: Store, clock: Clock) {
    loop {
        match store.sweep(clock.now()).await {
            Ok(Swept::More) => tokio::time::sleep(BREATH).await,
            Ok(Swept::Done) => clock.sleep(PAUSE).await,
            Err(error) => {
                tracing::warn!(%error, "cannot remove what has expired; trying again");
                clock.sleep(PAUSE).await;
            }
        }
    }
}
