//! The queue as the mail worker sees it: what is due, taking it under a lease, and settling it, with a bounce into the
//! sender's inbox where it failed.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

use super::{DeliverError, Incoming, Outbox, Service};
use crate::model::{EmailAddress, Outgoing, OutgoingId, Timestamp, WorkerId};
use crate::store::{Change, Claim, Claimed, Due, OutgoingChange, Settlement, StoreError};

/// How long an item is a worker's own without being renewed.
const LEASE: Duration = Duration::from_secs(30);

impl Outbox {
    /// Is told whenever the queue may have changed, from now on.
    #[must_use]
    pub fn changes(&self) -> Arc<Notify> {
        let told = Arc::new(Notify::new());
        let notify = Arc::clone(&told);
        let concerns_queue = |change: &Change| matches!(change, Change::Queue | Change::Unknown);
        self.store.listen(move |changes| {
            if changes.iter().any(concerns_queue) {
                notify.notify_one();
            }
        });
        told
    }

    /// Items that are due and nobody's, the longest due first.
    ///
    /// # Errors
    /// If the store fails, as everywhere here.
    pub async fn due(&self, a_domain: usize, limit: usize, now: Timestamp) -> Result<Vec<Due>, StoreError> {
        let bounded = |number| i64::try_from(number).unwrap_or(i64::MAX);
        self.store.due_outgoing(bounded(a_domain), bounded(limit), now).await
    }

    /// When next, behind `now`, there may be something to take.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn next_due(&self, now: Timestamp) -> Result<Option<Timestamp>, StoreError> {
        self.store.next_outgoing(now).await
    }

    /// Takes items for one attempt each; the attempt is on stable storage when this returns.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn claim(&self, worker: WorkerId, claims: Vec<Claim>) -> Result<Vec<Claimed>, StoreError> {
        let now = self.clock.now();
        self.store.claim_outgoing(worker, claims, now.after(LEASE), now).await
    }

    /// Keeps `items`, which the worker has under way, its own for another lease.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn renew(&self, worker: WorkerId, items: Vec<OutgoingId>) -> Result<(), StoreError> {
        self.store.renew_leases(worker, items, self.clock.now().after(LEASE)).await
    }

    /// Gives back what the worker has taken: it ends.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn release(&self, worker: WorkerId) -> Result<(), StoreError> {
        self.store.release_leases(worker).await
    }

    /// Writes what an attempt has come to; `false` where the lease was lost and nothing is written.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn settle(&self, settlement: &Settlement) -> Result<bool, StoreError> {
        self.store.settle_outgoing(settlement).await
    }
}

impl Service {
    /// The outgoing items.
    #[must_use]
    pub fn outbox(&self) -> Outbox {
        Outbox { store: self.0.store.clone(), clock: self.0.clock.clone() }
    }

    /// Settles an item that failed for good and delivers `bounce` into the inbox that sent it, in one transaction. The
    /// bounce is left out where that inbox has ended or is full. `false` where the lease was lost and nothing is
    /// written.
    ///
    /// # Errors
    /// If the store fails, or the service stops.
    pub async fn bounce(&self, item: &Outgoing, settlement: Settlement, bounce: Vec<u8>) -> Result<bool, DeliverError> {
        let Some(sender) = self.living_sender(item).await? else {
            return Ok(self.0.store.settle_outgoing(&settlement).await?);
        };
        let trace =
            format!("Return-Path: <>\r\nReceived: by {}; {}\r\n", self.mail_domain(), self.0.clock.now().to_rfc5322());
        let incoming = Incoming { reverse_path: None, recipients: vec![sender], project: None, trace, raw: bounce };
        match self.deliver_own(incoming, OutgoingChange::Settle(settlement.clone())).await {
            Ok(_) => Ok(true),
            Err(DeliverError::LeaseLost) => Ok(false),
            Err(refusal @ (DeliverError::InboxFull(_) | DeliverError::Disabled(_) | DeliverError::NoInbox(_))) => {
                tracing::warn!(outgoing = %item.id, %refusal, "no place for the bounce");
                Ok(self.0.store.settle_outgoing(&settlement).await?)
            }
            Err(error) => Err(error),
        }
    }

    /// The address of the inbox that sent an item, if that is still the inbox it was then.
    async fn living_sender(&self, item: &Outgoing) -> Result<Option<EmailAddress>, StoreError> {
        let inbox = self.0.store.live_inbox(&item.inbox, self.0.clock.now()).await?;
        let same = inbox.filter(|inbox| inbox.project == item.project && inbox.created_at <= item.created_at);
        Ok(same.and_then(|inbox| EmailAddress::parse(&inbox.address(self.mail_domain())).ok()))
    }
}
