//! The mail worker: claims due items, attempts each on its own task, and stores the results.
//!
//! It sleeps until the queue changes, an attempt ends, or the next item is due. It also polls, to
//! renew its leases, and because SQLite does not notify it of changes by other processes, for
//! example an administrator's command.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::task::{Id, JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

use super::failure::Failure;
use super::places::{MAX_ATTEMPTS_A_DOMAIN, Places};
use super::retry;
use super::settle::Settler;
use super::transport::Transport;
use crate::clock::{Clock, Instant};
use crate::model::{OutgoingId, Timestamp, WorkerId};
use crate::service::{Outbox, Service};
use crate::store::{Claim, Claimed, DomainQueue, StoreError};

/// Maximum sleep: a third of a lease.
const LOOK_AGAIN: Duration = Duration::from_secs(10);
/// The minimum time between two renewals. It is so short that no lease is lost if one renewal
/// fails.
const RENEWED_EVERY: Duration = Duration::from_secs(5);

pub(super) struct Worker {
    id: WorkerId,
    clock: Clock,
    outbox: Outbox,
    settler: Settler,
    transport: Arc<Transport>,
    attempts: JoinSet<()>,
    under_way: HashMap<Id, Claimed>,
    renew_at: Instant,
}

impl Worker {
    pub(super) fn new(service: Service, transport: Arc<Transport>) -> Self {
        let id = WorkerId::generate();
        let clock = service.clock().clone();
        Self {
            id,
            renew_at: clock.instant(),
            clock,
            outbox: service.outbox(),
            settler: Settler::new(id, service),
            transport,
            attempts: JoinSet::new(),
            under_way: HashMap::new(),
        }
    }

    /// Runs until `stop` is cancelled, then gives running attempts `grace` to finish.
    pub(super) async fn run(mut self, stop: CancellationToken, grace: Duration) {
        let changes = self.outbox.changes();
        while !stop.is_cancelled() {
            // One time for the whole pass. Otherwise an item that becomes due between two steps
            // could be missed.
            let now = self.clock.now();
            let next = self.claim_due(now).await.unwrap_or_else(|error| {
                tracing::warn!(%error, "cannot read the queue; trying again");
                None
            });
            let look_again = self.clock.instant().after(LOOK_AGAIN);
            let wake_at = next.map_or(look_again, |next| {
                self.clock.instant_of(next).min(look_again)
            });
            tokio::select! {
                () = stop.cancelled() => {}
                () = changes.notified() => {}
                Some(result) = self.attempts.join_next_with_id() => self.finished(result),
                () = self.clock.sleep_until(wake_at) => {}
            }
        }
        self.finish(grace).await;
    }

    /// Starts attempts for due items, up to the limit, and returns when to check again.
    async fn claim_due(&mut self, now: Timestamp) -> Result<Option<Timestamp>, StoreError> {
        if !self.under_way.is_empty() && self.clock.instant() >= self.renew_at {
            let items = self
                .under_way
                .values()
                .map(|claimed| claimed.item.id)
                .collect();
            self.outbox.renew(self.id, items).await?;
            self.renew_at = self.clock.instant().after(RENEWED_EVERY);
        }
        let queues = self.outbox.store().domain_queues(now).await?;
        let next = queues.iter().filter_map(|queue| queue.next).min();
        let claims = self.choose(queues, now).await?;
        if !claims.is_empty() {
            let claimed = self.outbox.claim(self.id, claims).await?;
            claimed.into_iter().for_each(|claimed| self.start(claimed));
        }
        Ok(next)
    }

    /// The due items that get a place. Items with a running attempt are skipped, even if their
    /// lease was renewed too late.
    async fn choose(
        &self,
        queues: Vec<DomainQueue>,
        now: Timestamp,
    ) -> Result<Vec<Claim>, StoreError> {
        let under_way = || self.under_way.values().map(|claimed| &claimed.item);
        let (queues, places): (Vec<_>, Vec<_>) =
            Places::of(under_way()).share(queues).into_iter().unzip();
        if queues.is_empty() {
            return Ok(Vec::new());
        }
        let due = self
            .outbox
            .store()
            .due_outgoing(&queues, MAX_ATTEMPTS_A_DOMAIN, now)
            .await?;
        let under_way: HashSet<OutgoingId> = under_way().map(|item| item.id).collect();
        let chosen = due.into_iter().zip(places).flat_map(|(due, places)| {
            due.into_iter()
                .filter(|due| !under_way.contains(&due.id))
                .take(places)
        });
        Ok(chosen
            .map(|due| Claim {
                id: due.id,
                next_due: retry::next_due(now, due.attempts + 1),
            })
            .collect())
    }

    fn start(&mut self, claimed: Claimed) {
        let settler = self.settler.clone();
        let transport = Arc::clone(&self.transport);
        let item = claimed.clone();
        let task = self.attempts.spawn(async move {
            let item = &claimed.item;
            if let Some(recipient) = settler.local_recipient(item) {
                return settler.deliver_here(&claimed, &recipient).await;
            }
            let outcome = match settler.check_time(item) {
                Ok(()) => {
                    transport
                        .send(
                            settler.reverse_path(item),
                            &item.recipient,
                            settler.message(&claimed),
                        )
                        .await
                }
                Err(failure) => Err(failure),
            };
            settler.settle(&claimed, outcome).await;
        });
        self.under_way.insert(task.id(), item);
    }

    /// Removes a finished attempt. One that panicked is stored as a transient failure, on its own
    /// task, because that is repeated until it succeeds. If this panics too, the lease expires.
    fn finished(&mut self, result: Result<(Id, ()), JoinError>) {
        let id = match &result {
            Ok((id, ())) => *id,
            Err(error) => error.id(),
        };
        if let (Some(claimed), Err(error)) = (self.under_way.remove(&id), result) {
            tracing::error!(outgoing = %claimed.item.id, %error, "an attempt panicked");
            let settler = self.settler.clone();
            self.attempts.spawn(async move {
                let failure = Failure::transient(3, 0, "internal error during the attempt");
                settler.settle(&claimed, Err(failure)).await;
            });
        }
    }

    async fn finish(mut self, grace: Duration) {
        let all_finished = async { while self.attempts.join_next().await.is_some() {} };
        if tokio::time::timeout(grace, all_finished).await.is_err() {
            tracing::warn!(
                attempts = self.attempts.len(),
                "attempts to send did not finish in time and were stopped"
            );
            self.attempts.shutdown().await;
        }
        if let Err(error) = self.outbox.store().release_leases(self.id).await {
            tracing::warn!(%error, "cannot release the leases of the queue");
        }
    }
}
