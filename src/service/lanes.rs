//! Lanes: deliveries that are written alone, because another transaction has locked their inbox,
//! because their batch failed as a whole, or because they are large.
//!
//! Each inbox has its own lane, in which one small delivery at a time is written. So an inbox that
//! is locked for long delays only its own mail, unless more than [`MAX_WRITING`] inboxes are
//! locked: the lanes share so many connections, and a delivery keeps one for up to 25 s. Batches
//! and large messages have others. The inboxes with one shared address have one lane.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

use super::DeliverError;
use super::attempt::{Retry, write};
use super::responder::{Answer, Responder};
use crate::clock::Clock;
use crate::model::Recipient;
use crate::store::{Delivery, Policy, Store};

/// Maximum number of deliveries that wait in the database at the same time, without a large one.
/// Each uses a connection: together half of the pool.
const MAX_WRITING: usize = 8;
/// A larger delivery is written alone if the database is on another host: it would delay the mail
/// in its batch. Large ones are written one at a time, so that on a slow network some of them
/// arrive, and not a part of each.
pub(super) const MAX_BATCHED: usize = 1024 * 1024;
/// How long a large delivery may wait for the others, in addition to the time for writing it. If it
/// was refused earlier, its client would have to send all of it again.
pub(super) const MAX_LARGE_WAIT: Duration = Duration::from_secs(60);

/// The deliveries that are written alone. Cheap to clone; clones share the same state.
#[derive(Clone, Debug)]
pub(super) struct Lanes {
    store: Store,
    clock: Clock,
    policy: Policy,
    tasks: TaskTracker,
    places: Arc<Semaphore>,
    /// Has one permit; the large delivery that is being written has it.
    large: Arc<Semaphore>,
    lanes: ByRecipient,
}

type ByRecipient = Arc<Mutex<HashMap<Recipient, Lane>>>;

/// The deliveries for one recipient.
#[derive(Debug)]
struct Lane {
    length: usize,
    /// Has one permit; the small delivery that is being written has it.
    turn: Arc<Semaphore>,
}

/// A delivery in a lane. Dropping this removes the delivery from the lane.
struct Queued {
    lanes: ByRecipient,
    recipient: Recipient,
    turn: Arc<Semaphore>,
}

impl Lanes {
    /// `policy` has the settings; each attempt to write gets the current time.
    pub(super) fn new(store: Store, clock: Clock, policy: Policy, tasks: TaskTracker) -> Self {
        let (places, large) = (
            Arc::new(Semaphore::new(MAX_WRITING)),
            Arc::new(Semaphore::new(1)),
        );
        Self {
            store,
            clock,
            policy,
            tasks,
            places,
            large,
            lanes: Arc::default(),
        }
    }

    /// The recipient in whose lane a delivery has to be written, if it must be written alone.
    pub(super) fn lane_of(&self, delivery: &Delivery) -> Option<Recipient> {
        let busy = self.busy_recipient(delivery);
        let is_large = || self.store.is_shared() && is_large(delivery);
        busy.or_else(|| {
            delivery
                .request
                .recipients
                .first()
                .filter(|_| is_large())
                .cloned()
        })
    }

    /// Returns a recipient of this delivery that has a lane.
    fn busy_recipient(&self, delivery: &Delivery) -> Option<Recipient> {
        let lanes = lock(&self.lanes);
        if lanes.is_empty() {
            return None;
        }
        let mut recipients = delivery
            .request
            .recipients
            .iter()
            .flat_map(Recipient::meant);
        recipients.find(|recipient| lanes.contains_key(recipient))
    }

    /// Writes a delivery in its own transaction, after those that wait for the same inbox. If its
    /// caller stops waiting before the commit is sent, the transaction is rolled back.
    pub(super) fn write(&self, recipient: Recipient, delivery: Delivery, mut reply: Responder) {
        let lanes = self.clone();
        let queued = Queued::new(&self.lanes, recipient);
        let is_large = is_large(&delivery);
        // Also for small mail, because others of the same inbox may be before it.
        let time = Retry::ALONE.time + MAX_LARGE_WAIT;
        self.tasks.spawn(async move {
            let written_alone = async {
                // A large one takes no turn: small mail of its inbox must not wait for other large
                // ones.
                let _turn = if is_large { None } else { Some(queued.turn.acquire().await) };
                let _place = if is_large { &lanes.large } else { &lanes.places }.acquire().await;
                lanes.write_alone(delivery).await
            };
            let answer = tokio::select! {
                biased;
                () = reply.abandoned() => return,
                written = timeout(time, written_alone) => written.unwrap_or(Err(DeliverError::Unavailable)),
            };
            // Released before the caller gets its result, so that its next delivery does not wait.
            drop(queued);
            reply.send(answer);
        });
    }

    /// Writes one delivery. It has one verdict; if that were missing, nothing would be known to be
    /// stored.
    async fn write_alone(&self, delivery: Delivery) -> Answer {
        let policy = || self.policy.at(self.clock.now());
        match write(&self.store, &Arc::new(vec![delivery]), policy, Retry::ALONE).await {
            Ok(verdicts) => verdicts.into_iter().next().ok_or(DeliverError::Unavailable),
            Err(error) => Err(error.into()),
        }
    }
}

impl Queued {
    fn new(lanes: &ByRecipient, recipient: Recipient) -> Self {
        let mut locked = lock(lanes);
        let new = || Lane {
            length: 0,
            turn: Arc::new(Semaphore::new(1)),
        };
        let lane = locked.entry(recipient.clone()).or_insert_with(new);
        lane.length += 1;
        Self {
            lanes: Arc::clone(lanes),
            recipient,
            turn: Arc::clone(&lane.turn),
        }
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

fn is_large(delivery: &Delivery) -> bool {
    delivery.content.stored_size() > MAX_BATCHED
}

fn lock(lanes: &ByRecipient) -> MutexGuard<'_, HashMap<Recipient, Lane>> {
    // The mutex is not poisoned: no code panics while it is locked.
    lanes.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use rand::Rng;
    use restante_delivery::{Request, Source};
    use restante_mail::ParsedMessage;

    use super::*;
    use crate::config::DatabaseUrl;
    use crate::db::Database;
    use crate::model::{Domain, InboxId, Timestamp};
    use crate::store::{Content, Origin};

    const START: Timestamp = Timestamp::from_millis(1_700_000_000_000);
    const LIFETIME: Duration = Duration::from_secs(60);

    async fn lanes(clock: &Clock) -> (tempfile::TempDir, Lanes) {
        let directory = tempfile::tempdir().unwrap();
        let url = DatabaseUrl::Sqlite(directory.path().join("restante.db"));
        let store = Store::open(Database::open(&url).await.unwrap())
            .await
            .unwrap();
        let default_project = store.default_project("default", START).await.unwrap();
        let mail_domain = Domain::parse("restante.example.com").unwrap();
        let policy = Policy {
            now: START,
            lifetime: LIFETIME,
            inbox_messages: 10,
            default_project,
            mail_domain,
        };
        (
            directory,
            Lanes::new(store, clock.clone(), policy, TaskTracker::new()),
        )
    }

    fn start(lanes: &Lanes, raw: &[u8]) -> tokio::sync::oneshot::Receiver<Answer> {
        let recipient = Recipient::from(InboxId::parse("box").unwrap());
        let source = Source::Client {
            project: None,
            reverse_path: String::new(),
        };
        let request = Request {
            recipients: vec![recipient.clone()],
            source,
        };
        let content = Content::encode(
            ParsedMessage::default(),
            String::new(),
            Origin::default(),
            raw,
        );
        let (reply, answer) = Responder::new(None);
        lanes.write(
            recipient,
            Delivery {
                request,
                content,
                outgoing: None,
            },
            reply,
        );
        answer
    }

    #[tokio::test]
    async fn an_inbox_that_expires_while_its_mail_waits_is_opened_again() {
        let clock = Clock::manual(START);
        let (_directory, lanes) = lanes(&clock).await;
        assert!(start(&lanes, b"x").await.unwrap().is_ok());
        let places = lanes
            .places
            .acquire_many(u32::try_from(MAX_WRITING).unwrap())
            .await
            .unwrap();
        let answer = start(&lanes, b"x");
        tokio::task::yield_now().await;
        clock.advance(LIFETIME);
        drop(places);
        assert!(answer.await.unwrap().is_ok());
        let inbox = lanes
            .store
            .live_inbox(&InboxId::parse("box").unwrap(), clock.now())
            .await
            .unwrap();
        assert_eq!(
            inbox.expect("it was opened again").created_at,
            START.after(LIFETIME)
        );
    }

    #[tokio::test]
    async fn a_large_delivery_does_not_wait_for_locked_inboxes() {
        let (_directory, lanes) = lanes(&Clock::manual(START)).await;
        let _locked = lanes
            .places
            .acquire_many(u32::try_from(MAX_WRITING).unwrap())
            .await
            .unwrap();
        let mut noise = vec![0; 2 * MAX_BATCHED];
        rand::rng().fill_bytes(&mut noise);
        assert!(start(&lanes, &noise).await.unwrap().is_ok());
    }

    #[tokio::test]
    async fn small_mail_does_not_wait_for_a_large_delivery_that_waits_for_others() {
        let (_directory, lanes) = lanes(&Clock::manual(START)).await;
        let mut noise = vec![0; 2 * MAX_BATCHED];
        rand::rng().fill_bytes(&mut noise);
        let other = lanes.large.acquire().await.unwrap();
        let large = start(&lanes, &noise);
        assert!(start(&lanes, b"x").await.unwrap().is_ok());
        drop(other);
        assert!(large.await.unwrap().is_ok());
    }

    #[tokio::test]
    async fn a_large_delivery_waits_for_others_longer_than_one_takes() {
        let clock = Clock::manual(START);
        let (_directory, lanes) = lanes(&clock).await;
        let mut noise = vec![0; 2 * MAX_BATCHED];
        rand::rng().fill_bytes(&mut noise);
        let other = lanes.large.acquire().await.unwrap();
        let mut answer = start(&lanes, &noise);
        tokio::task::yield_now().await;
        tokio::time::pause();
        tokio::time::advance(Retry::ALONE.time + Duration::from_secs(1)).await;
        tokio::time::resume();
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        assert!(answer.try_recv().is_err(), "it still waits");
        drop(other);
        assert!(answer.await.unwrap().is_ok());
    }
}
