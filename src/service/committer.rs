//! Group commit: all deliveries that are waiting go into one transaction, so that durability costs one flush a batch.
//!
//! A batch is gathered when its transaction begins: at once where its first member is alone. While one is written, the next
//! stands in the database's line and takes along what has come until it is its turn; nothing waits for a batch to fill. When
//! a batch fails, its members are tried one by one, so that only the bad one is refused.

use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use futures_util::FutureExt;
use tokio::sync::{Semaphore, oneshot};
use tokio_util::task::TaskTracker;

use super::DeliverError;
use crate::db::DatabaseError;
use crate::metrics;
use crate::store::{Batch, Delivery, DeliveryError, Outcome, Policy, Store};

/// Deliveries that are being written or wait for it; further ones wait until there is room for them.
const ROOM: usize = 512;

type Reply = oneshot::Sender<Result<Vec<Outcome>, DeliverError>>;

/// Writes deliveries, many at a time.
#[derive(Debug)]
pub(super) struct Committer {
    store: Store,
    tasks: TaskTracker,
    room: Semaphore,
    /// What the next batch will gather. Whoever comes first has begun one.
    waiting: Arc<Mutex<Vec<Job>>>,
}

#[derive(Debug)]
struct Job {
    delivery: Delivery,
    policy: Policy,
    reply: Reply,
}

impl Committer {
    pub(super) fn new(store: Store, tasks: TaskTracker) -> Self {
        Self { store, tasks, room: Semaphore::new(ROOM), waiting: Arc::default() }
    }

    /// Stores a delivery; when this returns, it is on stable storage.
    pub(super) async fn deliver(&self, delivery: Delivery, policy: Policy) -> Result<Vec<Outcome>, DeliverError> {
        let _room = self.room.acquire().await.map_err(|_| DeliverError::Stopping)?;
        let (reply, answer) = oneshot::channel();
        let is_first = {
            let mut waiting = locked(&self.waiting);
            waiting.push(Job { delivery, policy, reply });
            waiting.len() == 1
        };
        if is_first {
            let mut batch = Box::pin(write_batch(self.store.clone(), Arc::clone(&self.waiting), policy));
            // With nobody to wait for, it is written at once; before a task of its own begins, others come along.
            let is_alone = self.room.available_permits() + 1 == ROOM;
            if !is_alone || batch.as_mut().now_or_never().is_none() {
                self.tasks.spawn(batch);
            }
        }
        answer.await.map_err(|_| DeliverError::Stopping)?
    }

    /// Takes nothing more. What was taken is still written.
    pub(super) fn close(&self) {
        self.room.close();
    }
}

/// A batch whose transaction has begun.
struct Gathered {
    batch: Batch,
    replies: Mutex<Vec<Reply>>,
    begun: Instant,
}

impl Gathered {
    fn new(jobs: Vec<Job>, policy: Policy) -> Self {
        let policy =
            jobs.iter().map(|job| job.policy).fold(policy, |one, other| if other.now > one.now { other } else { one });
        let (deliveries, replies) = jobs.into_iter().map(|job| (job.delivery, job.reply)).unzip();
        Self { batch: Batch { deliveries, policy }, replies: Mutex::new(replies), begun: Instant::now() }
    }
}

impl AsRef<Batch> for Gathered {
    fn as_ref(&self) -> &Batch {
        &self.batch
    }
}

async fn write_batch(store: Store, waiting: Arc<Mutex<Vec<Job>>>, policy: Policy) {
    let gathered = Arc::new(LazyLock::new(move || Gathered::new(std::mem::take(&mut *locked(&waiting)), policy)));
    let _turn = store.turn().await;
    let result = store.deliver(&gathered).await;
    let replies = std::mem::take(&mut *locked(&gathered.replies));
    match result {
        Ok(outcomes) => {
            metrics::committed(u32::try_from(outcomes.len()).unwrap_or(u32::MAX), gathered.begun.elapsed());
            replies.into_iter().zip(outcomes).for_each(|(reply, outcome)| answer(reply, Ok(outcome)));
        }
        Err(error) => write_one_by_one(&store, &gathered.batch, replies, error).await,
    }
}

/// Answers the members of a batch that `error` has ended.
async fn write_one_by_one(store: &Store, batch: &Batch, replies: Vec<Reply>, error: DeliveryError) {
    if replies.len() == 1 {
        return replies.into_iter().zip([error]).for_each(|(reply, error)| answer(reply, Err(error.into())));
    }
    if is_absence(&error) {
        // One answer serves all. To write them once more would also store twice what was lost only on its way back.
        tracing::warn!(%error, deliveries = replies.len(), "a batch failed: the database is away");
        return replies.into_iter().for_each(|reply| answer(reply, Err(absence())));
    }
    tracing::warn!(%error, deliveries = replies.len(), "a batch failed; its members are tried one by one");
    for (delivery, reply) in batch.deliveries.iter().zip(replies) {
        let written = store.deliver(&Batch::known(vec![delivery.clone()], batch.policy)).await;
        answer(reply, written.map(|mut outcomes| outcomes.pop().unwrap_or_default()).map_err(Into::into));
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

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
