//! Writes a batch of deliveries in one transaction, and tries again what can be tried again.
//!
//! This is the only loop around a delivery's transaction: load the facts, decide, apply the writes,
//! commit. The commit announces the changes.

use std::sync::Arc;
use std::time::Duration;

use restante_delivery::{NewIds, Verdict, decide};
use tokio::time::Instant;
use uuid::Uuid;

use crate::model::generate_inbox_id;
use crate::store::{Delivery, Locking, Policy, Store, StoreError, apply, load};

/// Maximum number of attempts, and the time after which none is started. One attempt takes at most
/// as long as the engine lets a transaction take.
const MAX_ATTEMPTS: usize = 5;
const RETRY_TIME: Duration = Duration::from_secs(10);

/// Writes a batch. When this returns, everything that was accepted is on stable storage. `policy`
/// is called for each attempt, because a delivery may wait so long for its inbox that the inbox
/// expires.
///
/// A transaction that was rolled back, because of a conflict (also over a new inbox) or a cancelled
/// statement, is tried again. If an inbox stays locked for half a second, the mail for locked
/// inboxes is left out, with [`Verdict::Conflict`]. Nothing else is tried again.
///
/// # Errors
/// If the database fails; then nothing is stored.
pub async fn write(
    store: &Store,
    batch: &Arc<Vec<Delivery>>,
    policy: impl Fn() -> Policy,
) -> Result<Vec<Verdict>, StoreError> {
    let end = Instant::now() + RETRY_TIME;
    let mut locking = Locking::WaitBriefly;
    for _ in 1..MAX_ATTEMPTS {
        match write_once(store, batch, policy(), locking).await {
            Err(error) if Instant::now() >= end => return Err(error),
            Err(error) if error.was_rolled_back() => {}
            Err(error) if error.is_lock_timeout() && locking == Locking::WaitBriefly => {
                locking = Locking::Skip;
            }
            done => return done,
        }
    }
    write_once(store, batch, policy(), locking).await
}

async fn write_once(
    store: &Store,
    batch: &Arc<Vec<Delivery>>,
    policy: Policy,
    locking: Locking,
) -> Result<Vec<Verdict>, StoreError> {
    let batch = Arc::clone(batch);
    let work = async move |mut transaction| {
        let loaded = load(&mut transaction, &batch, &policy, locking).await?;
        let new_ids = NewIds {
            uuid: &mut Uuid::now_v7,
            inbox: &mut generate_inbox_id,
        };
        let requests = batch.iter().map(|delivery| &delivery.request);
        let decision = decide(&loaded.facts, requests, new_ids);
        apply(&mut transaction, &batch, loaded, &decision, &policy).await?;
        transaction.commit().await?;
        Ok(decision.verdicts)
    };
    store.transact(work).await
}
