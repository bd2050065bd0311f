//! Deliveries to inboxes that another transaction has locked. Each is written in its own transaction, so that it does
//! not delay other deliveries.
//!
//! At most one delivery per inbox waits in the database, so that an inbox that is locked for long does not delay
//! deliveries to other inboxes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

use super::DeliverError;
use super::responder::{Answer, Responder};
use crate::model::InboxId;
use crate::store::{BusyInbox, Delivery, Policy, Store};

/// The most deliveries that wait in the database at once. Each uses a connection.
const PLACES: usize = 4;
/// How long a delivery waits for its inbox; SMTP clients wait longer.
const PATIENCE: Duration = Duration::from_secs(25);

/// The deliveries that wait for their inboxes. Cheap to clone; clones share the same state.
#[derive(Clone, Debug)]
pub(super) struct BlockedDeliveries {
    store: Store,
    tasks: TaskTracker,
    places: Arc<Semaphore>,
    queues: Queues,
}

/// The queues, by inbox.
type Queues = Arc<Mutex<HashMap<InboxId, Queue>>>;

/// The deliveries that wait for one inbox.
#[derive(Debug)]
struct Queue {
    length: usize,
    /// Has one permit; the delivery that is being written has it.
    turn: Arc<Semaphore>,
}

/// A delivery in a queue. Dropping this removes the delivery from the queue.
struct Queued {
    queues: Queues,
    inbox: InboxId,
    turn: Arc<Semaphore>,
}

impl BlockedDeliveries {
    pub(super) fn new(store: Store, tasks: TaskTracker) -> Self {
        Self { store, tasks, places: Arc::new(Semaphore::new(PLACES)), queues: Arc::default() }
    }

    /// Returns an inbox of this delivery that other deliveries already wait for.
    pub(super) fn busy_inbox(&self, delivery: &Delivery) -> Option<InboxId> {
        let queues = lock(&self.queues);
        if queues.is_empty() {
            return None;
        }
        let mut inboxes = delivery.recipients.iter().flat_map(InboxId::meant);
        inboxes.find(|id| queues.contains_key(id))
    }

    /// Writes a delivery in its own transaction, after those that wait for the same inbox. If its caller stops waiting
    /// before the commit, the transaction is rolled back.
    pub(super) fn write(&self, inbox: InboxId, delivery: Delivery, policy: Policy, mut reply: Responder) {
        let (store, places) = (self.store.clone(), Arc::clone(&self.places));
        let queued = Queued::new(&self.queues, inbox);
        self.tasks.spawn(async move {
            let write = async {
                let _turn = queued.turn.acquire().await;
                let _place = places.acquire().await;
                write_alone(&store, &Arc::new(vec![delivery]), policy).await
            };
            let answer = tokio::select! {
                biased;
                () = reply.abandoned() => return,
                written = timeout(PATIENCE, write) => written.unwrap_or(Err(DeliverError::Unavailable)),
            };
            // Released before the caller gets its result, so that its next delivery does not wait.
            drop(queued);
            reply.send(answer);
        });
    }
}

impl Queued {
    fn new(queues: &Queues, inbox: InboxId) -> Self {
        let mut locked = lock(queues);
        let new = || Queue { length: 0, turn: Arc::new(Semaphore::new(1)) };
        let queue = locked.entry(inbox.clone()).or_insert_with(new);
        queue.length += 1;
        Self { queues: Arc::clone(queues), inbox, turn: Arc::clone(&queue.turn) }
    }
}

impl Drop for Queued {
    fn drop(&mut self) {
        let mut queues = lock(&self.queues);
        if let Some(queue) = queues.get_mut(&self.inbox) {
            queue.length -= 1;
            if queue.length == 0 {
                queues.remove(&self.inbox);
            }
        }
    }
}

fn lock(queues: &Queues) -> MutexGuard<'_, HashMap<InboxId, Queue>> {
    // The mutex is not poisoned: no code panics while it is locked.
    queues.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes one delivery after waiting for its inboxes.
async fn write_alone(store: &Store, delivery: &Arc<Vec<Delivery>>, policy: Policy) -> Answer {
    loop {
        match store.deliver(delivery, policy, BusyInbox::Wait).await {
            Err(error) if error.is_lock_timeout() => {}
            Err(error) if error.is_unavailable() => return Err(DeliverError::Unavailable),
            // Without an outcome, nothing is known to be stored.
            written => return written?.into_iter().next().ok_or(DeliverError::Unavailable)?.map_err(Into::into),
        }
    }
}
