//! The queue of the mail worker: finds due items, leases them, and stores the result. If an item
//! fails permanently, a bounce goes to the inbox that sent it.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

use super::{DeliverError, Incoming, Outbox, Service};
use crate::model::{EmailAddress, Outgoing, OutgoingId, ProjectId, WorkerId};
use crate::store::{Change, Claim, Claimed, OutgoingChange, Settlement, Store, StoreError};

/// How long a lease lasts unless it is renewed.
const LEASE: Duration = Duration::from_secs(30);

impl Outbox {
    /// Returns a watch that is notified whenever the queue may have changed.
    #[must_use]
    pub fn changes(&self) -> Arc<Notify> {
        let changed = Arc::new(Notify::new());
        let notify = Arc::clone(&changed);
        let concerns_queue = |change: &Change| matches!(change, Change::Queue | Change::Unknown);
        self.store.listen(move |changes| {
            if changes.iter().any(concerns_queue) {
                notify.notify_one();
            }
        });
        changed
    }

    /// The queue as it is stored.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Leases items for one attempt each; none while the clock of this node is wrong. When this
    /// returns, the attempts are on stable storage.
    pub async fn claim(
        &self,
        worker: WorkerId,
        claims: Vec<Claim>,
    ) -> Result<Vec<Claimed>, StoreError> {
        if self.clock.is_wrong() {
            return Ok(Vec::new());
        }
        let now = self.clock.now();
        self.store
            .claim_outgoing(worker, claims, now.after(LEASE), now)
            .await
    }

    /// Renews the worker's leases on `items`.
    pub async fn renew(&self, worker: WorkerId, items: Vec<OutgoingId>) -> Result<(), StoreError> {
        self.store
            .renew_leases(worker, items, self.clock.now().after(LEASE))
            .await
    }
}

impl Service {
    #[must_use]
    pub fn outbox(&self) -> Outbox {
        Outbox {
            store: self.store().clone(),
            clock: self.0.clock.clone(),
        }
    }

    /// Settles an item that failed permanently and delivers `bounce` to the inbox that sent it, in
    /// one transaction. If that inbox has ended or is full, the item is settled without a bounce.
    /// Returns `false` if the lease was lost; then nothing was written.
    ///
    /// # Errors
    /// If the store fails, or the service stops.
    pub async fn bounce(
        &self,
        item: &Outgoing,
        settlement: Settlement,
        bounce: Vec<u8>,
    ) -> Result<bool, DeliverError> {
        let Some(sender) = self.live_sender(item).await? else {
            return Ok(self.store().settle_outgoing(&settlement).await?);
        };
        match self
            .deliver_queued(
                item.project,
                String::new(),
                sender,
                bounce,
                settlement.clone(),
            )
            .await
        {
            Err(DeliverError::Refused(refusal)) => {
                tracing::warn!(outgoing = %item.id, %refusal, "the bounce was not delivered");
                Ok(self.store().settle_outgoing(&settlement).await?)
            }
            delivered => delivered,
        }
    }

    /// Delivers a queued message to a live inbox, of `project` if its address is shared, and
    /// settles its item, in one transaction. Returns `false` if the lease was lost; then nothing
    /// was written.
    ///
    /// # Errors
    /// [`DeliverError`]; then nothing was written.
    pub async fn deliver_queued(
        &self,
        project: ProjectId,
        reverse_path: String,
        recipient: EmailAddress,
        raw: Vec<u8>,
        settlement: Settlement,
    ) -> Result<bool, DeliverError> {
        let trace = format!(
            "Return-Path: <{reverse_path}>\r\nReceived: by {}; {}\r\n",
            self.mail_domain(),
            self.now().to_rfc5322()
        );
        let incoming = Incoming {
            reverse_path,
            recipients: vec![recipient],
            project: None,
            trace,
            reception: None,
            raw,
        };
        self.deliver_own(incoming, project, OutgoingChange::Settle(settlement))
            .await
    }

    /// The address of the inbox that sent an item, unless the inbox has ended since.
    async fn live_sender(&self, item: &Outgoing) -> Result<Option<EmailAddress>, StoreError> {
        let inbox = self.store().live_inbox(&item.inbox, self.now()).await?;
        let same = inbox
            .filter(|inbox| inbox.project == item.project && inbox.created_at <= item.created_at);
        Ok(same.and_then(|inbox| EmailAddress::parse(&inbox.address(self.mail_domain())).ok()))
    }
}
