//! The mail worker: takes what is due, has each item attempted on a task of its own, and settles what came of it.
//!
//! It sleeps until the queue changes, an attempt ends, or the next item is due. Now and then it looks without being
//! woken: to renew its leases, and because the commands of an administrator are another process's changes, of which
//! SQLite tells nothing.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::task::{Id, JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

use super::bounce::header_section;
use super::failure::Failure;
use super::retry;
use super::settle::Settler;
use super::transport::Transport;
use crate::clock::{Clock, Instant};
use crate::model::{Outgoing, OutgoingId, Timestamp, WorkerId};
use crate::service::{Outbox, Service};
use crate::store::{Claim, Claimed, Due, StoreError};

/// Attempts at once.
const ATTEMPTS: usize = 50;
/// Attempts at once that go to one domain.
const ATTEMPTS_A_DOMAIN: usize = 5;
/// Due items that are looked at: enough to find [`ATTEMPTS`] whatever domains are busy.
const CANDIDATES: usize = ATTEMPTS * (1 + ATTEMPTS_A_DOMAIN);
/// The longest sleep; a third of a lease.
const LOOK_AGAIN: Duration = Duration::from_secs(10);
/// The least time between two renewals: not every look writes all leases anew, and one failure costs no lease.
const RENEWED_EVERY: Duration = Duration::from_secs(5);

pub(super) struct Worker {
    id: WorkerId,
    clock: Clock,
    outbox: Outbox,
    settler: Settler,
    transport: Arc<Transport>,
    attempts: JoinSet<()>,
    under_way: HashMap<Id, Outgoing>,
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

    /// Works until `stop`; attempts that are under way then have `grace` to end.
    pub(super) async fn run(mut self, stop: CancellationToken, grace: Duration) {
        let changes = self.outbox.changes();
        while !stop.is_cancelled() {
            // One instant for the whole look, so that nothing becomes due unseen in the middle of it.
            let now = self.clock.now();
            let next = self.take_what_is_due(now).await.unwrap_or_else(|error| {
                tracing::warn!(%error, "cannot read the queue; trying again");
                None
            });
            let look_again = self.clock.instant().after(LOOK_AGAIN);
            let wake_at = next.map_or(look_again, |next| self.clock.instant_of(next).min(look_again));
            tokio::select! {
                () = stop.cancelled() => {}
                () = changes.notified() => {}
                Some(ended) = self.attempts.join_next_with_id() => self.ended(ended).await,
                () = self.clock.sleep_until(wake_at) => {}
            }
        }
        self.finish(grace).await;
    }

    /// Takes as many due items as may be under way, and returns when to look next.
    async fn take_what_is_due(&mut self, now: Timestamp) -> Result<Option<Timestamp>, StoreError> {
        if !self.under_way.is_empty() && self.clock.instant() >= self.renew_at {
            let items = self.under_way.values().map(|item| item.id).collect();
            self.outbox.renew(self.id, items).await?;
            self.renew_at = self.clock.instant().after(RENEWED_EVERY);
        }
        if self.under_way.len() < ATTEMPTS {
            let due = self.outbox.due(ATTEMPTS_A_DOMAIN, CANDIDATES, now).await?;
            let claims = self.choose(due, now);
            if !claims.is_empty() {
                let claimed = self.outbox.claim(self.id, claims).await?;
                claimed.into_iter().for_each(|claimed| self.begin(claimed));
            }
        }
        self.outbox.next_due(now).await
    }

    /// Those that find a free place, overall and at their domain. What is under way is not taken a second time, however
    /// late its lease was renewed.
    fn choose(&self, due: Vec<Due>, now: Timestamp) -> Vec<Claim> {
        let mut busy: HashMap<String, usize> = HashMap::new();
        for item in self.under_way.values() {
            *busy.entry(domain_of(&item.recipient).to_owned()).or_default() += 1;
        }
        let under_way: HashSet<OutgoingId> = self.under_way.values().map(|item| item.id).collect();
        let has_place = |due: &Due| {
            let busy = busy.entry(due.domain.clone()).or_default();
            *busy += 1;
            *busy <= ATTEMPTS_A_DOMAIN
        };
        let claim = |due: Due| Claim { id: due.id, next_due: retry::next_due(now, due.attempts + 1) };
        let due = due.into_iter().filter(|due| !under_way.contains(&due.id));
        due.filter(has_place).take(ATTEMPTS - self.under_way.len()).map(claim).collect()
    }

    fn begin(&mut self, claimed: Claimed) {
        let (settler, transport) = (self.settler.clone(), Arc::clone(&self.transport));
        let item = claimed.item.clone();
        let task = self.attempts.spawn(async move {
            let Claimed { item, raw } = claimed;
            let header = header_section(&raw).to_vec();
            let outcome = match settler.check_time(&item) {
                Ok(()) => transport.send(settler.mail(&item, raw)).await,
                Err(failure) => Err(failure),
            };
            settler.settle(&item, &header, outcome).await;
        });
        self.under_way.insert(task.id(), item);
    }

    /// An attempt that broke off is settled as one that failed for now.
    async fn ended(&mut self, ended: Result<(Id, ()), JoinError>) {
        let id = match &ended {
            Ok((id, ())) => *id,
            Err(error) => error.id(),
        };
        if let (Some(item), Err(error)) = (self.under_way.remove(&id), ended) {
            tracing::error!(outgoing = %item.id, %error, "an attempt broke off");
            self.settler.settle(&item, &[], Err(Failure::transient(3, 0, "the attempt broke off"))).await;
        }
    }

    async fn finish(mut self, grace: Duration) {
        let ending = async { while self.attempts.join_next().await.is_some() {} };
        if tokio::time::timeout(grace, ending).await.is_err() {
            tracing::warn!(attempts = self.attempts.len(), "attempts to send were broken off at the end of the grace");
            self.attempts.shutdown().await;
        }
        if let Err(error) = self.outbox.release(self.id).await {
            tracing::warn!(%error, "cannot give back what was taken from the queue");
        }
    }
}

/// The part of an address behind the `@`.
fn domain_of(recipient: &str) -> &str {
    recipient.rsplit_once('@').map_or("", |(_, domain)| domain)
}
