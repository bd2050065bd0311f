//! Writes deliveries in batches: one transaction, and so one flush, for many messages.
//!
//! A single task writes all queued deliveries in one transaction and sends each caller its result.
//! New deliveries are queued while a batch is being written. Mail for an inbox that another
//! transaction keeps locked is rejected with a temporary failure. What would delay the others is
//! written alone: large messages, if the database is on another host, and the deliveries of a batch
//! that failed as a whole.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use restante_delivery::Verdict;
use tokio::sync::{Semaphore, mpsc};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::DeliverError;
use super::attempt::write;
use super::progress::Progress;
use super::responder::{Answer, Held, Responder};
use crate::clock::Clock;
use crate::metrics;
use crate::store::{Delivery, Policy, Store, StoreError};

/// Maximum number of deliveries in one batch. Also the capacity of the queue; when it is full,
/// callers wait.
const MAX_BATCH: usize = 512;
/// After this many bytes, a batch is written, so that large messages do not make all the others
/// wait.
const MAX_BATCH_BYTES: usize = 4 * 1024 * 1024;
/// A larger delivery is written alone if the database is on another host: it would delay the mail
/// in its batch. Large ones are written one at a time, so that on a slow network some of them
/// arrive, and not a part of each.
pub(super) const MAX_BATCHED: usize = 1024 * 1024;
/// How long a large delivery may wait for the others, in addition to the time for writing it. If it
/// was refused earlier, its client would have to send all of it again.
pub(super) const MAX_LARGE_WAIT: Duration = Duration::from_secs(60);
/// How long writing one delivery alone may take.
const ALONE_TIMEOUT: Duration = Duration::from_secs(25);

/// The queue of the committer.
#[derive(Debug)]
pub(super) struct Committer {
    queue: mpsc::Sender<Job>,
    stop: CancellationToken,
    progress: Progress,
}

struct Job {
    delivery: Delivery,
    reply: Responder,
}

impl Committer {
    /// Starts the task. `policy` has the settings; each attempt to write gets the current time.
    pub(super) fn start(
        store: Store,
        clock: Clock,
        policy: Policy,
        progress: Progress,
        tasks: &TaskTracker,
    ) -> Self {
        let (queue, jobs) = mpsc::channel(MAX_BATCH);
        let stop = CancellationToken::new();
        let jobs = Jobs {
            queue: jobs,
            stop: stop.clone(),
        };
        let writer = BatchWriter {
            store,
            clock,
            policy,
            alone: Arc::new(Semaphore::new(1)),
            tasks: tasks.clone(),
        };
        tasks.spawn(writer.run(jobs));
        Self {
            queue,
            stop,
            progress,
        }
    }

    /// Stores a delivery. When this returns `Ok`, the delivery is on stable storage. If the future
    /// is dropped before the transaction starts, the delivery is not written. `held` is dropped
    /// when the delivery has ended.
    pub(super) async fn deliver(&self, delivery: Delivery, held: Held) -> Answer {
        let (reply, answer) = Responder::new(held);
        let job = Job { delivery, reply };
        let pending = self.progress.start();
        if self.stop.is_cancelled() || self.queue.send(job).await.is_err() {
            pending.withdrawn();
            return Err(DeliverError::Stopping);
        }
        let answer = answer.await.map_err(|_| DeliverError::Stopping)?;
        match &answer {
            Ok(verdict) if verdict.messages().next().is_some() => pending.committed(),
            // It wrote no message, so it does not show that messages can be written.
            Ok(_) => pending.withdrawn(),
            Err(_) => {}
        }
        answer
    }

    /// Rejects new deliveries. Queued ones are still written.
    pub(super) fn close(&self) {
        self.stop.cancel();
    }
}

/// The deliveries that wait for the writer.
struct Jobs {
    queue: mpsc::Receiver<Job>,
    stop: CancellationToken,
}

impl Jobs {
    /// The next batch; `None` if `stop` is cancelled and the queue is empty.
    async fn next(&mut self) -> Option<Vec<Job>> {
        let mut batch = Vec::new();
        loop {
            tokio::select! {
                biased;
                () = self.stop.cancelled(), if !self.queue.is_closed() => self.queue.close(),
                received = self.queue.recv_many(&mut batch, MAX_BATCH) => return (received > 0).then_some(batch),
            }
        }
    }
}

/// Writes the batches. Clones share the permit for what is written alone.
#[derive(Clone)]
struct BatchWriter {
    store: Store,
    clock: Clock,
    policy: Policy,
    /// Has one permit; the deliveries that are being written alone have it.
    alone: Arc<Semaphore>,
    tasks: TaskTracker,
}

impl BatchWriter {
    /// Writes one batch after another, at the end the rest of the queue.
    async fn run(self, mut jobs: Jobs) {
        while let Some(batch) = jobs.next().await {
            let mut batch = VecDeque::from(batch);
            while !batch.is_empty() {
                let selected = self.select(&mut batch);
                self.write(selected).await;
            }
        }
    }

    /// Takes jobs until there are enough for a batch. Drops those whose caller has stopped waiting,
    /// and has large ones written alone.
    fn select(&self, jobs: &mut VecDeque<Job>) -> Vec<Job> {
        let mut selected = Vec::new();
        let mut bytes = 0;
        while bytes < MAX_BATCH_BYTES
            && let Some(job) = jobs.pop_front()
        {
            let size = job.delivery.content.stored_size();
            if job.reply.is_abandoned() {
                continue;
            } else if size > MAX_BATCHED && self.store.is_shared() {
                self.write_alone(vec![job]);
            } else {
                bytes += size;
                selected.push(job);
            }
        }
        selected
    }

    /// Writes a batch and answers its callers.
    async fn write(&self, jobs: Vec<Job>) {
        if jobs.is_empty() {
            return;
        }
        let (deliveries, replies): (Vec<_>, Vec<_>) = jobs
            .into_iter()
            .map(|job| (job.delivery, job.reply))
            .unzip();
        let deliveries = Arc::new(deliveries);
        let started = Instant::now();
        match self.try_write(&deliveries).await {
            Ok(verdicts) => {
                let stored = verdicts
                    .iter()
                    .filter(|verdict| verdict.messages().next().is_some())
                    .count();
                metrics::committed(u32::try_from(stored).unwrap_or(u32::MAX), started.elapsed());
                for (reply, verdict) in replies.into_iter().zip(verdicts) {
                    reply.send(Ok(verdict));
                }
            }
            Err(error) if !may_be_of_one(&error) => {
                tracing::warn!(%error, deliveries = replies.len(), "a batch failed");
                replies
                    .into_iter()
                    .for_each(|reply| reply.send(Err(DeliverError::Unavailable)));
            }
            Err(error) => {
                tracing::warn!(%error, deliveries = replies.len(), "a batch failed; trying its deliveries one by one");
                let deliveries = Arc::unwrap_or_clone(deliveries);
                let jobs = deliveries.into_iter().zip(replies);
                self.write_alone(
                    jobs.map(|(delivery, reply)| Job { delivery, reply })
                        .collect(),
                );
            }
        }
    }

    /// Writes each delivery in its own transaction, after others that are written alone. If a
    /// caller stops waiting before the commit is sent, the transaction is rolled back.
    fn write_alone(&self, jobs: Vec<Job>) {
        let writer = self.clone();
        self.tasks.spawn(async move {
            let permit = timeout(MAX_LARGE_WAIT, writer.alone.acquire()).await;
            for Job {
                delivery,
                mut reply,
            } in jobs
            {
                if permit.is_err() {
                    reply.send(Err(DeliverError::Unavailable));
                    continue;
                }
                let one = Arc::new(vec![delivery]);
                let answer = tokio::select! {
                    biased;
                    () = reply.abandoned() => continue,
                    written = timeout(ALONE_TIMEOUT, writer.try_write(&one)) => match written {
                        Ok(Ok(mut verdicts)) => Ok(verdicts.remove(0)),
                        Ok(Err(error)) => Err(error.into()),
                        Err(_) => Err(DeliverError::Unavailable),
                    },
                };
                reply.send(answer);
            }
        });
    }

    async fn try_write(&self, deliveries: &Arc<Vec<Delivery>>) -> Result<Vec<Verdict>, StoreError> {
        write(&self.store, deliveries, || self.policy.at(self.clock.now())).await
    }
}

/// Whether the error may be due to one delivery of a batch. Otherwise, trying each of them would
/// only take long.
fn may_be_of_one(error: &StoreError) -> bool {
    !error.is_unavailable() || error.is_lock_timeout() || error.was_rolled_back()
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::time::Duration;

    use futures_util::future::{join, join3};
    use rand::Rng;
    use restante_delivery::{Request, Source};
    use restante_mail::ParsedMessage;
    use restante_schedules::{Schedule, orders, pause};

    use super::*;
    use crate::config::DatabaseUrl;
    use crate::db::{Database, DatabaseError};
    use crate::model::{Domain, InboxId, OutgoingId, ProjectId, Timestamp};
    use crate::store::{Content, NewOutgoing, OutgoingChange};

    #[test]
    fn queued_deliveries_are_written_before_the_shutdown_in_any_interleaving() {
        let prepared = delivery("a");
        for seed in orders() {
            let (queue, jobs) = mpsc::channel(2);
            let stop = CancellationToken::new();
            let progress = Progress::new(Clock::manual(Timestamp::from_millis(1)));
            let committer = Committer {
                queue,
                stop: stop.clone(),
                progress,
            };
            let written = Cell::new(0);
            let accepted = Cell::new(0);
            let mut jobs = Jobs { queue: jobs, stop };
            let mut schedule = Schedule::new(seed);
            schedule.add("writer", async {
                while let Some(batch) = jobs.next().await {
                    pause().await;
                    let wanted: Vec<_> = batch
                        .into_iter()
                        .filter(|job| !job.reply.is_abandoned())
                        .collect();
                    written.set(written.get() + wanted.len());
                    wanted
                        .into_iter()
                        .for_each(|job| job.reply.send(Ok(Verdict::LeaseLost)));
                }
            });
            for number in 0..6 {
                let caller = deliver_once(&committer, &prepared, &accepted);
                if number % 3 == 0 {
                    schedule.add_cancellable("left", caller);
                } else {
                    schedule.add("caller", caller);
                }
            }
            schedule.add("shut-down", async {
                pause().await;
                committer.close();
            });
            assert_eq!(schedule.run(), [""; 0], "seed {seed}");
            // A caller may leave between the commit and its answer.
            assert!(
                (accepted.get()..=accepted.get() + 2).contains(&written.get()),
                "seed {seed}"
            );
            assert!(committer.progress.stuck_for().is_zero(), "seed {seed}");
        }
    }

    async fn deliver_once(committer: &Committer, delivery: &Delivery, accepted: &Cell<usize>) {
        pause().await;
        match committer.deliver(delivery.clone(), None).await {
            Ok(_) => accepted.set(accepted.get() + 1),
            Err(error) => assert!(matches!(error, DeliverError::Stopping), "{error:?}"),
        }
    }

    async fn prepared() -> (tempfile::TempDir, Store, Policy) {
        let directory = tempfile::tempdir().unwrap();
        let url = DatabaseUrl::Sqlite(directory.path().join("restante.db"));
        let store = Store::open(Database::open(&url).await.unwrap())
            .await
            .unwrap();
        let now = Timestamp::from_millis(1);
        let default_project = store.default_project("default", now).await.unwrap();
        let mail_domain = Domain::parse("restante.example.com").unwrap();
        let lifetime = Duration::from_secs(60);
        (
            directory,
            store,
            Policy {
                now,
                lifetime,
                inbox_messages: 10,
                default_project,
                mail_domain,
            },
        )
    }

    async fn started() -> (tempfile::TempDir, Store, ProjectId, TaskTracker, Committer) {
        let (directory, store, policy) = prepared().await;
        let tasks = TaskTracker::new();
        let default_project = policy.default_project;
        let clock = Clock::manual(policy.now);
        let progress = Progress::new(clock.clone());
        let committer = Committer::start(store.clone(), clock, policy, progress, &tasks);
        (directory, store, default_project, tasks, committer)
    }

    fn delivery(inbox: &str) -> Delivery {
        delivery_of(inbox, b"x")
    }

    fn delivery_of(inbox: &str, raw: &[u8]) -> Delivery {
        let source = Source::Client {
            project: None,
            reverse_path: String::new(),
        };
        let content = Content::encode(
            ParsedMessage::default(),
            String::new(),
            crate::store::Origin::default(),
            raw,
        );
        let request = Request {
            recipients: vec![InboxId::parse(inbox).unwrap().into()],
            source,
        };
        Delivery {
            request,
            content,
            outgoing: None,
        }
    }

    #[tokio::test]
    async fn a_delivery_that_cannot_be_written_refuses_only_itself() {
        let (_directory, store, project, _tasks, committer) = started().await;
        let to = "b@restante.example.com".to_owned();
        let inbox = InboxId::parse("sender").unwrap();
        let sent = NewOutgoing::new(
            OutgoingId::generate(),
            project,
            inbox,
            to,
            String::new(),
            String::new(),
        );
        // There is an item with this id.
        store
            .add_outgoing(&sent, Timestamp::from_millis(1))
            .await
            .unwrap();
        let failing = Delivery {
            outgoing: Some(OutgoingChange::Add(sent)),
            ..delivery("b")
        };
        // There is one thread, so all three are queued before the committer runs.
        let (one, bad, other) = join3(
            committer.deliver(delivery("a"), None),
            committer.deliver(failing, None),
            committer.deliver(delivery("c"), None),
        )
        .await;
        assert!(one.is_ok() && other.is_ok());
        assert!(matches!(bad, Err(DeliverError::Store(_))));
        assert_eq!(store.stored().await.unwrap(), (2, 2));
    }

    #[tokio::test]
    async fn dequeued_deliveries_are_written_before_the_shutdown() {
        let (_directory, store, _, tasks, committer) = started().await;
        let taken = committer.deliver(delivery("a"), None);
        tokio::pin!(taken);
        assert!(futures_util::poll!(taken.as_mut()).is_pending());
        committer.close();
        tasks.close();
        tasks.wait().await;
        assert!(taken.await.is_ok());
        assert!(matches!(
            committer.deliver(delivery("b"), None).await,
            Err(DeliverError::Stopping)
        ));
        assert_eq!(store.stored().await.unwrap(), (1, 1));
    }

    #[tokio::test]
    async fn a_delivery_whose_caller_has_left_is_not_written() {
        let (_directory, store, _, _tasks, committer) = started().await;
        let mut left = Box::pin(committer.deliver(delivery("a"), None));
        assert!(futures_util::poll!(left.as_mut()).is_pending());
        drop(left);
        committer.deliver(delivery("b"), None).await.unwrap();
        assert_eq!(store.stored().await.unwrap(), (1, 1));
    }

    async fn batch_writer() -> (tempfile::TempDir, BatchWriter) {
        let (directory, store, policy) = prepared().await;
        let writer = BatchWriter {
            store,
            clock: Clock::manual(policy.now),
            policy,
            alone: Arc::new(Semaphore::new(1)),
            tasks: TaskTracker::new(),
        };
        (directory, writer)
    }

    #[tokio::test]
    async fn a_batch_of_large_deliveries_ends_early() {
        let (_directory, writer) = batch_writer().await;
        let mut noise = vec![0; MAX_BATCH_BYTES / 4];
        rand::rng().fill_bytes(&mut noise);
        let large = delivery_of("a", &noise);
        let (replies, _answers): (Vec<_>, Vec<_>) = (0..6).map(|_| Responder::new(None)).unzip();
        let mut jobs = replies
            .into_iter()
            .map(|reply| Job {
                delivery: large.clone(),
                reply,
            })
            .collect();
        assert_eq!(
            [
                writer.select(&mut jobs).len(),
                writer.select(&mut jobs).len()
            ],
            [4, 2]
        );
    }

    #[tokio::test]
    async fn what_is_written_alone_waits_for_the_others_but_not_for_ever() {
        let (_directory, writer) = batch_writer().await;
        let start = || {
            let (reply, answer) = Responder::new(None);
            let delivery = delivery("a");
            writer.write_alone(vec![Job { delivery, reply }]);
            answer
        };
        let others = writer.alone.acquire().await.unwrap();
        let mut waiting = start();
        tokio::task::yield_now().await;
        tokio::time::pause();
        tokio::time::advance(MAX_LARGE_WAIT - Duration::from_secs(1)).await;
        assert!(waiting.try_recv().is_err(), "it still waits");
        tokio::time::advance(Duration::from_secs(2)).await;
        tokio::time::resume();
        assert!(matches!(
            waiting.await.unwrap(),
            Err(DeliverError::Unavailable)
        ));
        drop(others);
        assert!(start().await.unwrap().is_ok());
    }

    #[tokio::test]
    async fn only_a_stored_message_shows_that_mail_can_be_stored() {
        let (_directory, .., other) = started().await;
        let stored = other.deliver(delivery("a"), None).await.unwrap();
        let clock = Clock::manual(Timestamp::from_millis(1));
        let (queue, mut jobs) = mpsc::channel(1);
        let committer = Committer {
            queue,
            stop: CancellationToken::new(),
            progress: Progress::new(clock.clone()),
        };
        drop(committer.progress.start());
        clock.advance(Duration::from_secs(1));
        for (verdict, stuck_for) in [(Verdict::LeaseLost, 1), (stored, 0)] {
            let answered = async { jobs.recv().await.unwrap().reply.send(Ok(verdict)) };
            assert!(
                join(committer.deliver(delivery("a"), None), answered)
                    .await
                    .0
                    .is_ok()
            );
            assert_eq!(
                committer.progress.stuck_for(),
                Duration::from_secs(stuck_for)
            );
        }
    }

    #[test]
    fn deliveries_are_tried_one_by_one_if_one_may_be_the_reason() {
        use DatabaseError::{Cancelled, Closed, LockTimeout, NoRow, ReadOnly, Silent};
        for (errors, expected) in [
            (vec![LockTimeout, Cancelled, NoRow], true),
            (vec![Silent, ReadOnly, Closed], false),
        ] {
            for error in errors {
                let error = StoreError::from(error);
                assert_eq!(may_be_of_one(&error), expected, "{error}");
            }
        }
    }
}
