//! Writes a batch of deliveries in one transaction, and tries again what can be tried again.
//!
//! This is the only loop around a delivery's transaction: load the facts, decide, apply the writes,
//! commit. The commit announces the changes.

use std::sync::Arc;
use std::time::Duration;

use restante_delivery::{NewIds, Verdict, decide};
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use crate::model::generate_inbox_id;
use crate::store::{Delivery, Locking, Policy, Store, StoreError, apply, load};

/// The pause before a delivery that is written alone is tried again; it doubles up to
/// [`MAX_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const MAX_PAUSE: Duration = Duration::from_secs(1);

/// How a batch is tried again. What is not listed here is not tried again.
///
/// | cause | [`Retry::BATCH`] | [`Retry::ALONE`] |
/// |---|---|---|
/// | it was rolled back: a conflict (also over a new inbox), or a cancelled statement | again | again after a pause |
/// | an inbox is locked | after half a second, again without the mail for locked inboxes | again |
/// | total | five attempts | until its time is over |
#[derive(Clone, Copy, Debug)]
pub struct Retry {
    /// How the first attempt waits for locked inboxes.
    locking: Locking,
    /// Maximum number of attempts.
    attempts: usize,
    /// The time after which no attempt is started. One attempt takes at most as long as the engine
    /// lets a transaction take.
    pub time: Duration,
}

impl Retry {
    /// For a batch: mail for an inbox that stays locked is left out, with [`Verdict::Conflict`].
    pub const BATCH: Self = Self {
        locking: Locking::WaitBriefly,
        attempts: 5,
        time: Duration::from_secs(10),
    };
    /// For one delivery, which waits for its inboxes. SMTP clients wait longer.
    pub const ALONE: Self = Self {
        locking: Locking::Wait,
        attempts: usize::MAX,
        time: Duration::from_secs(25),
    };
}

/// Writes a batch. When this returns, everything that was accepted is on stable storage. `policy`
/// is called for each attempt, because a delivery may wait so long for its inbox that the inbox
/// expires.
///
/// # Errors
/// If the database fails; then nothing is stored.
pub async fn write(
    store: &Store,
    batch: &Arc<Vec<Delivery>>,
    policy: impl Fn() -> Policy,
    retry: Retry,
) -> Result<Vec<Verdict>, StoreError> {
    let end = Instant::now() + retry.time;
    let (mut locking, mut attempts, mut pause) = (retry.locking, 0, FIRST_PAUSE);
    loop {
        let error = match write_once(store, batch, policy(), locking).await {
            Ok(verdicts) => return Ok(verdicts),
            Err(error) => error,
        };
        attempts += 1;
        let is_last = attempts >= retry.attempts || Instant::now() >= end;
        match locking {
            _ if is_last => return Err(error),
            // A batch has few attempts, and others wait for it.
            Locking::Wait if error.was_rolled_back() => {
                sleep(pause).await;
                pause = (pause * 2).min(MAX_PAUSE);
            }
            _ if error.was_rolled_back() => {}
            Locking::WaitBriefly if error.is_lock_timeout() => locking = Locking::Skip,
            Locking::Wait if error.is_lock_timeout() => {}
            _ => return Err(error),
        }
    }
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
