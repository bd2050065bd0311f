//! The front door for mail of clients, over SMTP and over the APIs of providers: it asks for the
//! sender and for each recipient, takes the message, logs what happens, and records what is
//! refused. Its callers read a protocol, and translate the answers into it.

use std::fmt::Display;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{DeliverError, Incoming, Receipt, Service};
use crate::disk::Disk;
use crate::metrics;
use crate::model::{
    EmailAddress, FaultAction, ProjectId, Recipient, Refusal, RefusalReason, RefusedMail, Via,
};

/// How long the service may take to answer a client. After that, the client has to try again.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// The door for one client.
pub struct Door {
    service: Service,
    disk: Arc<Disk>,
    peer: SocketAddr,
    via: Via,
    /// The project whose key the client authenticated with.
    pub project: Option<ProjectId>,
}

impl Door {
    pub(crate) fn new(service: Service, disk: Arc<Disk>, peer: SocketAddr, via: Via) -> Self {
        Self {
            service,
            disk,
            peer,
            via,
            project: None,
        }
    }

    /// Whether a message can be stored now.
    ///
    /// # Errors
    /// [`Refusal::DiskShort`], [`Refusal::StoreFailure`].
    pub async fn sender(&self) -> Result<(), Refusal> {
        if self.answer(self.disk.is_full()).await? {
            Err(Refusal::DiskShort)
        } else {
            Ok(())
        }
    }

    /// Whether mail to `recipient` would be accepted now, and the fault that the answer uses up.
    ///
    /// # Errors
    /// The refusal of the recipient, or [`Refusal::StoreFailure`].
    pub async fn recipient(
        &self,
        recipient: &EmailAddress,
    ) -> Result<Option<FaultAction>, Refusal> {
        let accepted = self.service.accept_recipient(recipient, self.project);
        let fault = self
            .answer(accepted)
            .await?
            .map_err(|error| self.refusal(&error))?;
        if let Some(fault) = &fault {
            tracing::info!(peer = %self.peer, to = %recipient, fault = fault.as_str(), "recipient");
        }
        Ok(fault)
    }

    /// Parses and stores a message of the sender `from`. The place in `parsing` is kept until it
    /// is parsed. `held` is kept until the delivery has ended, even if the client got its answer
    /// earlier: if the store hangs, clients that try again cannot exceed the limits.
    ///
    /// # Errors
    /// The refusal of the message; then no recipient has it.
    pub async fn message<Place>(
        &self,
        from: &str,
        incoming: Incoming,
        parsing: impl Future<Output = Place> + Send,
        held: impl Send + 'static,
    ) -> Result<Receipt, Refusal> {
        let size = incoming.raw.len() as u64;
        let time = self.service.delivery_timeout(incoming.raw.len());
        let to = incoming.recipients.clone();
        let storing = Box::pin(async {
            let place = parsing.await;
            let prepared = self.service.prepare(incoming).await;
            drop(place);
            self.service.store_prepared(prepared?.holding(held)).await
        });
        let started = Instant::now();
        let stored = self.within(time, storing).await;
        let stored = stored.and_then(|stored| stored.map_err(|error| self.refusal(&error)));
        self.log(from, &to, size, stored.as_ref());
        if let Ok(receipt) = &stored {
            if !receipt.messages.is_empty() {
                metrics::message_stored(size, started.elapsed());
            }
            self.record_unstored(from, &to, receipt);
        }
        stored
    }

    /// Logs a message that was stored or refused.
    pub fn log(
        &self,
        from: &str,
        to: &[EmailAddress],
        size: u64,
        outcome: Result<&Receipt, &Refusal>,
    ) {
        let peer = self.peer;
        let to = joined(to);
        let via = self.via;
        let (outcome, fault, ids) = match outcome {
            Ok(receipt) if receipt.faults.is_empty() => ("stored", None, Some(&receipt.messages)),
            Ok(receipt) => (
                "fault",
                Some(receipt.faults.join(" ")),
                Some(&receipt.messages),
            ),
            Err(refusal) => (refusal.label(), None, None),
        };
        let ids = ids.map(|ids| joined(ids));
        tracing::info!(%peer, %via, %from, to, size, outcome, fault, ids, "message");
    }

    /// Records a refusal, or what a fault did, among what the project sees of the recipient.
    pub fn record(&self, reason: &RefusalReason, sender: &str, recipient: &str, reply: &str) {
        // One row for all failed logins or sessions of a client, so that they do not displace other
        // refusals.
        let peer = match reason {
            RefusalReason::Smtp(Refusal::AuthenticationFailed) | RefusalReason::Session(_) => {
                self.peer.ip().to_canonical().to_string()
            }
            _ => self.peer.to_string(),
        };
        let refused = RefusedMail {
            peer,
            sender: sender.to_owned(),
            recipient: recipient.to_owned(),
            inbox: None,
            authenticated: self.project.is_some(),
            reason: reason.clone(),
            reply: reply.to_owned(),
            refused_at: self.service.clock().now(),
        };
        self.service.record_refusal(refused, self.project);
    }

    /// Records the copies that were accepted and are not stored, because no answer shows that.
    fn record_unstored(&self, from: &str, to: &[EmailAddress], receipt: &Receipt) {
        for address in to {
            let recipient = Recipient::of(address, self.service.mail_domain());
            let mut unstored = receipt.unstored.iter();
            if let Some((_, reason)) = unstored.find(|(unstored, _)| *unstored == recipient) {
                let what = format!("accepted, and {} on request", reason.outcome());
                self.record(reason, from, &address.to_string(), &what);
            }
        }
    }

    /// The answer of the service, if there is one in time.
    ///
    /// # Errors
    /// [`Refusal::StoreFailure`].
    pub async fn answer<T>(&self, work: impl Future<Output = T>) -> Result<T, Refusal> {
        self.within(ANSWER_TIMEOUT, work).await
    }

    fn refusal(&self, error: &DeliverError) -> Refusal {
        if let DeliverError::Store(error) = error {
            tracing::error!(peer = %self.peer, %error, "the store failed");
        }
        error.refusal()
    }

    /// The result of `work`, or the refusal of a store that does not answer within this time.
    async fn within<T>(&self, time: Duration, work: impl Future<Output = T>) -> Result<T, Refusal> {
        tokio::select! {
            biased;
            done = work => Ok(done),
            () = self.service.clock().sleep(time) => {
                tracing::error!("the store did not answer in time");
                Err(Refusal::StoreFailure)
            }
        }
    }
}

/// The items, separated by spaces.
fn joined<T: Display>(items: &[T]) -> String {
    let items: Vec<_> = items.iter().map(ToString::to_string).collect();
    items.join(" ")
}
