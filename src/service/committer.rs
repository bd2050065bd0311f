//! Group commit: all deliveries that are waiting go into one transaction, so that durability costs one flush a batch.
//!
//! While one batch is being written, the next gathers in the queue; nothing waits for a batch to fill. When a batch
//! fails, its members are tried one by one, so that only the bad one is refused.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use tokio::sync::{mpsc, oneshot};
use tokio_util::task::TaskTracker;

use super::DeliverError;
use crate::db::DatabaseError;
use crate::metrics;
use crate::store::{Delivery, DeliveryError, Outcome, Policy, Store};

/// Deliveries that may wait for a batch; further ones wait to get into the queue.
const QUEUE: usize = 1_024;
/// Deliveries in one batch.
const BATCH: usize = 256;

type Reply = oneshot::Sender<Result<Vec<Outcome>, DeliverError>>;

/// Writes deliveries, many at a time.
#[derive(Debug)]
pub(super) struct Committer {
    queue: Mutex<Option<mpsc::Sender<Job>>>,
}

#[derive(Debug)]
struct Job {
    delivery: Delivery,
    policy: Policy,
    reply: Reply,
}

impl Committer {
    pub(super) fn start(store: Store, tasks: &TaskTracker) -> Self {
        let (queue, jobs) = mpsc::channel(QUEUE);
        tasks.spawn(run(store, jobs));
        Self { queue: Mutex::new(Some(queue)) }
    }

    /// Stores a delivery; when this returns, it is on stable storage.
    pub(super) async fn deliver(&self, delivery: Delivery, policy: Policy) -> Result<Vec<Outcome>, DeliverError> {
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let queue = queue.ok_or(DeliverError::Stopping)?;
        let (reply, answer) = oneshot::channel();
        queue.send(Job { delivery, policy, reply }).await.map_err(|_| DeliverError::Stopping)?;
        drop(queue);
        answer.await.map_err(|_| DeliverError::Stopping)?
    }

    /// Takes nothing more. What was taken is still written; then the committer's task ends.
    pub(super) fn close(&self) {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

async fn run(store: Store, mut jobs: mpsc::Receiver<Job>) {
    let mut batch = Vec::with_capacity(BATCH);
    while jobs.recv_many(&mut batch, BATCH).await > 0 {
        write_batch(&store, std::mem::take(&mut batch)).await;
    }
}

async fn write_batch(store: &Store, batch: Vec<Job>) {
    let Some(policy) = batch.iter().map(|job| job.policy).max_by_key(|policy| policy.now) else { return };
    let (deliveries, replies): (Vec<Delivery>, Vec<Reply>) =
        batch.into_iter().map(|job| (job.delivery, job.reply)).unzip();
    let deliveries = deliveries.into();
    let begun = Instant::now();
    let error = match store.deliver(&deliveries, policy).await {
        Ok(outcomes) => {
            metrics::committed(u32::try_from(deliveries.len()).unwrap_or(u32::MAX), begun.elapsed());
            return replies.into_iter().zip(outcomes).for_each(|(reply, outcome)| answer(reply, Ok(outcome)));
        }
        Err(error) => error,
    };
    if deliveries.len() == 1 {
        return replies.into_iter().take(1).zip([error]).for_each(|(reply, error)| answer(reply, Err(error.into())));
    }
    if is_absence(&error) {
        // One answer serves all. To write them once more would also store twice what was lost only on its way back.
        tracing::warn!(%error, deliveries = deliveries.len(), "a batch failed: the database is away");
        return replies.into_iter().for_each(|reply| answer(reply, Err(absence())));
    }
    tracing::warn!(%error, deliveries = deliveries.len(), "a batch failed; its members are tried one by one");
    for (delivery, reply) in deliveries.iter().zip(replies) {
        let alone = store.deliver(&[delivery.clone()].into(), policy).await;
        answer(reply, alone.map(|mut outcomes| outcomes.pop().unwrap_or_default()).map_err(Into::into));
    }
}

fn is_absence(error: &DeliveryError) -> bool {
    matches!(error, DeliveryError::Store(error) if error.is_absence())
}

fn absence() -> DeliverError {
    DeliverError::Store(DatabaseError::Closed.into())
}

/// A client that has hung up does not hear that its message was taken; the message stays.
fn answer(reply: Reply, result: Result<Vec<Outcome>, DeliverError>) {
    drop(reply.send(result));
}
