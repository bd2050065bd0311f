//! Writes deliveries, many in one transaction, so that durability costs one flush a batch and not one a message.
//!
//! One task receives deliveries, takes all that are waiting, writes them and answers each. While one batch is written,
//! the next one collects. What a batch sets aside, because another transaction holds its inbox, is tried by itself.

use std::sync::Arc;
use std::time::Instant;

use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::DeliverError;
use super::deliver::Held;
use crate::metrics;
use crate::store::{BusyInbox, Delivery, DeliveryError, Outcome, Outcomes, Policy, Store};

/// Deliveries in one batch, and as many may wait for the next one; further ones wait for a place.
const BATCH: usize = 512;
/// Deliveries that wait for an inbox at once. Each of them has a connection to the database.
const SET_ASIDE: usize = 4;

type Answer = Result<Vec<Outcome>, DeliverError>;

/// The queue of the committer.
#[derive(Debug)]
pub(super) struct Committer {
    queue: mpsc::Sender<Job>,
    stop: CancellationToken,
}

struct Job {
    delivery: Delivery,
    policy: Policy,
    reply: Reply,
}

/// The way to send a delivery its answer, and what it keeps until then.
struct Reply {
    sender: oneshot::Sender<Answer>,
    held: Held,
}

impl Reply {
    /// A caller that has left does not need its answer.
    fn send(self, answer: Answer) {
        drop(self.held);
        let _ = self.sender.send(answer);
    }
}

impl Committer {
    pub(super) fn start(store: Store, tasks: &TaskTracker) -> Self {
        let (queue, jobs) = mpsc::channel(BATCH);
        let stop = CancellationToken::new();
        let writer = Writer { store, tasks: tasks.clone(), waiters: Arc::new(Semaphore::new(SET_ASIDE)) };
        tasks.spawn(writer.run(jobs, stop.clone()));
        Self { queue, stop }
    }

    /// Stores a delivery; when this returns, it is on stable storage. A delivery whose caller no longer waits is not
    /// written, unless its transaction has started.
    pub(super) async fn deliver(&self, delivery: Delivery, policy: Policy, held: Held) -> Answer {
        let (sender, answer) = oneshot::channel();
        let job = Job { delivery, policy, reply: Reply { sender, held } };
        if self.stop.is_cancelled() || self.queue.send(job).await.is_err() {
            return Err(DeliverError::Stopping);
        }
        answer.await.map_err(|_| DeliverError::Stopping)?
    }

    /// Takes nothing more. What was taken is still written.
    pub(super) fn close(&self) {
        self.stop.cancel();
    }
}

/// What the task needs.
#[derive(Clone)]
struct Writer {
    store: Store,
    tasks: TaskTracker,
    waiters: Arc<Semaphore>,
}

impl Writer {
    /// Writes one batch after another until `stop`, and then what is left in the queue.
    async fn run(self, mut jobs: mpsc::Receiver<Job>, stop: CancellationToken) {
        let mut batch = Vec::new();
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled(), if !jobs.is_closed() => jobs.close(),
                received = jobs.recv_many(&mut batch, BATCH) => match received {
                    0 => return,
                    _ => self.write(std::mem::take(&mut batch)).await,
                }
            }
        }
    }

    async fn write(&self, mut jobs: Vec<Job>) {
        jobs.retain(|job| !job.reply.sender.is_closed());
        let Some(policy) = jobs.iter().map(|job| job.policy).max_by_key(|policy| policy.now) else { return };
        let (deliveries, replies): (Vec<_>, Vec<_>) = jobs.into_iter().map(|job| (job.delivery, job.reply)).unzip();
        let deliveries = Arc::new(deliveries);
        let started = Instant::now();
        match self.store.deliver(&deliveries, policy, BusyInbox::SetAside).await {
            Ok(outcomes) => {
                let stored = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
                metrics::committed(u32::try_from(stored).unwrap_or(u32::MAX), started.elapsed());
                self.answer(&deliveries, policy, replies, outcomes);
            }
            Err(error) if error.is_unavailable() => {
                tracing::warn!(%error, deliveries = replies.len(), "a batch failed");
                replies.into_iter().for_each(|reply| reply.send(Err(DeliverError::Unavailable)));
            }
            Err(error) => {
                tracing::warn!(%error, deliveries = replies.len(), "a batch failed; its deliveries are tried one by one");
                for (delivery, reply) in deliveries.iter().zip(replies) {
                    reply.send(write_alone(&self.store, delivery.clone(), policy).await);
                }
            }
        }
    }

    /// Sends each delivery its answer; one that was set aside is tried by itself first.
    fn answer(&self, deliveries: &[Delivery], policy: Policy, replies: Vec<Reply>, outcomes: Outcomes) {
        for ((delivery, reply), outcome) in deliveries.iter().zip(replies).zip(outcomes) {
            match outcome {
                Err(DeliveryError::InboxBusy(_)) => self.write_aside(delivery.clone(), policy, reply),
                outcome => reply.send(outcome.map_err(Into::into)),
            }
        }
    }

    /// Waits for the inboxes of a delivery in a task of its own, so that other deliveries go on.
    fn write_aside(&self, delivery: Delivery, policy: Policy, mut reply: Reply) {
        let Self { store, waiters, .. } = self.clone();
        self.tasks.spawn(async move {
            let written = async {
                let _place = waiters.acquire().await.map_err(|_| DeliverError::Stopping)?;
                write_alone(&store, delivery, policy).await
            };
            // Dropped before its commit, the transaction is rolled back.
            let answer = tokio::select! {
                biased;
                () = reply.sender.closed() => return,
                answer = written => answer,
            };
            reply.send(answer);
        });
    }
}

/// Writes one delivery, and waits for its inboxes.
async fn write_alone(store: &Store, delivery: Delivery, policy: Policy) -> Answer {
    let outcomes = store.deliver(&Arc::new(vec![delivery]), policy, BusyInbox::Wait).await?;
    outcomes.into_iter().next().unwrap_or(Ok(Vec::new())).map_err(Into::into)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::future::join3;
    use restante_mail::ParsedMessage;

    use super::*;
    use crate::config::DatabaseUrl;
    use crate::db::Database;
    use crate::model::{InboxId, Timestamp};
    use crate::store::{Content, OutgoingChange};

    async fn started() -> (tempfile::TempDir, Store, Policy, TaskTracker, Committer) {
        let directory = tempfile::tempdir().unwrap();
        let url = DatabaseUrl::Sqlite(directory.path().join("restante.db"));
        let store = Store::open(Database::open(&url).await.unwrap()).await.unwrap();
        let now = Timestamp::from_millis(1);
        let default_project = store.default_project("default", now).await.unwrap();
        let policy = Policy { now, lifetime: Duration::from_secs(60), inbox_messages: 10, default_project };
        let tasks = TaskTracker::new();
        let committer = Committer::start(store.clone(), &tasks);
        (directory, store, policy, tasks, committer)
    }

    fn delivery(inbox: &str) -> Delivery {
        Delivery {
            recipients: vec![InboxId::parse(inbox).unwrap()],
            project: None,
            opens_inboxes: true,
            content: Content::encode(ParsedMessage::default(), String::new(), String::new(), b"x").unwrap(),
            outgoing: None,
        }
    }

    #[tokio::test]
    async fn a_delivery_that_panics_refuses_only_itself() {
        let (_directory, store, policy, _tasks, committer) = started().await;
        let panics = Delivery { outgoing: Some(OutgoingChange::Panic), ..delivery("b") };
        // There is one thread, so all three are queued before the committer runs.
        let (one, bad, other) = join3(
            committer.deliver(delivery("a"), policy, None),
            committer.deliver(panics, policy, None),
            committer.deliver(delivery("c"), policy, None),
        )
        .await;
        assert!(one.is_ok() && other.is_ok());
        assert!(matches!(bad, Err(DeliverError::Store(_))));
        assert_eq!(store.stored().await.unwrap(), (2, 2));
    }

    #[tokio::test]
    async fn what_was_taken_is_written_before_the_end() {
        let (_directory, store, policy, tasks, committer) = started().await;
        let taken = committer.deliver(delivery("a"), policy, None);
        tokio::pin!(taken);
        assert!(futures_util::poll!(taken.as_mut()).is_pending());
        committer.close();
        tasks.close();
        tasks.wait().await;
        assert!(taken.await.is_ok());
        assert!(matches!(committer.deliver(delivery("b"), policy, None).await, Err(DeliverError::Stopping)));
        assert_eq!(store.stored().await.unwrap(), (1, 1));
    }

    #[tokio::test]
    async fn a_delivery_whose_caller_has_left_is_not_written() {
        let (_directory, store, policy, _tasks, committer) = started().await;
        let mut left = Box::pin(committer.deliver(delivery("a"), policy, None));
        assert!(futures_util::poll!(left.as_mut()).is_pending());
        drop(left);
        committer.deliver(delivery("b"), policy, None).await.unwrap();
        assert_eq!(store.stored().await.unwrap(), (1, 1));
    }
}
