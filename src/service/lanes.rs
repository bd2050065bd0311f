//! Lanes: deliveries that are written alone, because another transaction has locked their inbox, or because their batch
//! failed as a whole.
//!
//! Each inbox has its own lane, in which one delivery at a time is written. So an inbox that is locked for long delays
//! only its own mail. The inboxes with one shared address have one lane.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

use super::DeliverError;
use super::attempt::{Retry, write};
use super::responder::{Answer, Responder};
use crate::model::Recipient;
use crate::store::{Delivery, Policy, Store};

/// Maximum number of deliveries that wait in the database at the same time. Each uses a connection.
const MAX_WRITING: usize = 4;

/// The deliveries that are written alone. Cheap to clone; clones share the same state.
#[derive(Clone, Debug)]
pub(super) struct Lanes {
    store: Store,
    tasks: TaskTracker,
    places: Arc<Semaphore>,
    lanes: ByRecipient,
}

type ByRecipient = Arc<Mutex<HashMap<Recipient, Lane>>>;

/// The deliveries for one recipient.
#[derive(Debug)]
struct Lane {
    length: usize,
    /// Has one permit; the delivery that is being written has it.
    turn: Arc<Semaphore>,
}

/// A delivery in a lane. Dropping this removes the delivery from the lane.
struct Queued {
    lanes: ByRecipient,
    recipient: Recipient,
    turn: Arc<Semaphore>,
}

impl Lanes {
    pub(super) fn new(store: Store, tasks: TaskTracker) -> Self {
        Self { store, tasks, places: Arc::new(Semaphore::new(MAX_WRITING)), lanes: Arc::default() }
    }

    /// Returns a recipient of this delivery that has a lane.
    pub(super) fn busy_recipient(&self, delivery: &Delivery) -> Option<Recipient> {
        let lanes = lock(&self.lanes);
        if lanes.is_empty() {
            return None;
        }
        let mut recipients = delivery.request.recipients.iter().flat_map(Recipient::meant);
        recipients.find(|recipient| lanes.contains_key(recipient))
    }

    /// Writes a delivery in its own transaction, after those that wait for the same inbox. If its caller stops waiting
    /// before the commit, the transaction is rolled back.
    pub(super) fn write(&self, recipient: Recipient, delivery: Delivery, policy: Policy, mut reply: Responder) {
        let (store, places) = (self.store.clone(), Arc::clone(&self.places));
        let queued = Queued::new(&self.lanes, recipient);
        self.tasks.spawn(async move {
            let written_alone = async {
                let _turn = queued.turn.acquire().await;
                let _place = places.acquire().await;
                write_alone(&store, delivery, &policy).await
            };
            let answer = tokio::select! {
                biased;
                () = reply.abandoned() => return,
                written = timeout(Retry::ALONE.time, written_alone) => {
                    written.unwrap_or(Err(DeliverError::Unavailable))
                }
            };
            // Released before the caller gets its result, so that its next delivery does not wait.
            drop(queued);
            reply.send(answer);
        });
    }
}

impl Queued {
    fn new(lanes: &ByRecipient, recipient: Recipient) -> Self {
        let mut locked = lock(lanes);
        let new = || Lane { length: 0, turn: Arc::new(Semaphore::new(1)) };
        let lane = locked.entry(recipient.clone()).or_insert_with(new);
        lane.length += 1;
        Self { lanes: Arc::clone(lanes), recipient, turn: Arc::clone(&lane.turn) }
    }
}

impl Drop for Queued {
    fn drop(&mut self) {
        let mut lanes = lock(&self.lanes);
        if let Some(lane) = lanes.get_mut(&self.recipient) {
            lane.length -= 1;
            if lane.length == 0 {
                lanes.remove(&self.recipient);
            }
        }
    }
}

fn lock(lanes: &ByRecipient) -> MutexGuard<'_, HashMap<Recipient, Lane>> {
    // The mutex is not poisoned: no code panics while it is locked.
    lanes.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes one delivery. It has one verdict; if that were missing, nothing would be known to be stored.
async fn write_alone(store: &Store, delivery: Delivery, policy: &Policy) -> Answer {
    match write(store, &Arc::new(vec![delivery]), policy, Retry::ALONE).await {
        Ok(verdicts) => verdicts.into_iter().next().ok_or(DeliverError::Unavailable),
        Err(error) => Err(error.into()),
    }
}
