//! Stores the result of an attempt: sent, to be retried, or failed. Repeats the write until it
//! succeeds.

use std::time::Duration;

use restante_mail::report::header_section;

use super::bounce::Bounce;
use super::failure::Failure;
use super::mail::Message;
use super::retry;
use super::transport::Taken;
use crate::metrics;
use crate::model::{EmailAddress, Outgoing, OutgoingStatus, Timestamp, WorkerId, address_of};
use crate::service::{DeliverError, Service};
use crate::store::{Claimed, Settlement, StoreError};

/// The pause before a failed write is repeated.
const WRITE_AGAIN: Duration = Duration::from_secs(1);

/// Bytes of a message that are read at most, to find the header for its bounce.
const MAX_REPORTED_HEADER: usize = 256 * 1024;

/// Stores the results of one worker's attempts.
#[derive(Clone)]
pub(super) struct Settler {
    worker: WorkerId,
    service: Service,
}

/// The state of an item after an attempt.
enum Decision {
    Sent(Taken),
    Again(Timestamp, Failure),
    Failed(Failure),
}

impl Settler {
    pub(super) fn new(worker: WorkerId, service: Service) -> Self {
        Self { worker, service }
    }

    /// The reverse-path of an item.
    pub(super) fn reverse_path(&self, item: &Outgoing) -> String {
        if item.is_report {
            String::new()
        } else {
            self.sender(item)
        }
    }

    /// The message of a claimed item.
    pub(super) fn message(&self, claimed: &Claimed) -> Message {
        Message::queued(self.service.outbox(), claimed.item.id, claimed.size)
    }

    /// Fails an item that expired before this attempt.
    pub(super) fn check_time(&self, item: &Outgoing) -> Result<(), Failure> {
        if item
            .expires_at
            .is_none_or(|expires_at| self.now() < expires_at)
        {
            return Ok(());
        }
        let last = if item.last_reply.is_empty() {
            "there was no attempt in time"
        } else {
            &item.last_reply
        };
        Err(Failure::permanent(4, 7, format!("it expired: {last}")))
    }

    /// Stores the result of an attempt, and a bounce if the item has failed. If the lease was lost,
    /// nothing is stored, because the item belongs to another worker.
    pub(super) async fn settle(&self, claimed: &Claimed, outcome: Result<Taken, Failure>) {
        let item = &claimed.item;
        let decision = self.decide(item, outcome);
        decision.announce(item);
        loop {
            match self.write(claimed, &decision).await {
                Ok(true) => return,
                Ok(false) => {
                    return tracing::warn!(outgoing = %item.id, "the lease was lost during the attempt");
                }
                Err(error) => {
                    tracing::warn!(outgoing = %item.id, %error, "cannot store the result of the attempt; trying again");
                    self.service.clock().sleep(WRITE_AGAIN).await;
                }
            }
        }
    }

    /// Delivers an item to a local inbox and settles it as sent, or as failed if the inbox does not
    /// accept it.
    pub(super) async fn deliver_here(&self, claimed: &Claimed, recipient: &EmailAddress) {
        let item = &claimed.item;
        loop {
            match self.write_here(claimed, recipient).await {
                Ok(true) => {
                    return tracing::info!(outgoing = %item.id, %recipient, "delivered to a local inbox");
                }
                Ok(false) => {
                    return tracing::warn!(outgoing = %item.id, "the lease was lost during the attempt");
                }
                Err(DeliverError::Refused(refusal)) => {
                    return self
                        .settle(claimed, Err(Failure::permanent(1, 1, refusal.to_string())))
                        .await;
                }
                Err(error) => {
                    tracing::warn!(outgoing = %item.id, %error, "cannot deliver to a local inbox; trying again");
                    self.service.clock().sleep(WRITE_AGAIN).await;
                }
            }
        }
    }

    async fn write_here(
        &self,
        claimed: &Claimed,
        recipient: &EmailAddress,
    ) -> Result<bool, DeliverError> {
        let item = &claimed.item;
        let server = self.service.mail_domain().as_str();
        let sent = self.settlement(
            item,
            OutgoingStatus::Sent,
            None,
            Some(server),
            "delivered to a local inbox".into(),
        );
        let raw = match self.message(claimed).beginning(claimed.size).await {
            Ok(raw) => raw,
            // The project was deleted in the meantime, and with it the item.
            Err(StoreError::Removed) => return Ok(false),
            Err(error) => return Err(error.into()),
        };
        self.service
            .deliver_queued(
                item.project,
                self.reverse_path(item),
                recipient.clone(),
                raw,
                sent,
            )
            .await
    }

    /// The address of an item for a local inbox, which needs no other server: a report, or a
    /// message that was queued before its domain was accepted.
    pub(super) fn local_recipient(&self, item: &Outgoing) -> Option<EmailAddress> {
        let recipient = EmailAddress::parse(&item.recipient).ok()?;
        self.service
            .is_local(recipient.domain())
            .then_some(recipient)
    }

    fn settlement(
        &self,
        item: &Outgoing,
        status: OutgoingStatus,
        due_at: Option<Timestamp>,
        server: Option<&str>,
        reply: String,
    ) -> Settlement {
        let id = item.id;
        let worker = self.worker;
        let attempt = item.attempts;
        Settlement {
            id,
            worker,
            attempt,
            status,
            due_at,
            server: server.map(str::to_owned),
            reply,
        }
    }

    fn decide(&self, item: &Outgoing, outcome: Result<Taken, Failure>) -> Decision {
        let failure = match outcome {
            Ok(taken) => return Decision::Sent(taken),
            Err(failure) => failure,
        };
        let next_due = retry::next_due(self.now(), item.attempts);
        let in_time = item
            .expires_at
            .is_none_or(|expires_at| next_due < expires_at);
        if in_time && !failure.is_permanent() {
            Decision::Again(next_due, failure)
        } else {
            Decision::Failed(failure)
        }
    }

    async fn write(&self, claimed: &Claimed, decision: &Decision) -> Result<bool, DeliverError> {
        let item = &claimed.item;
        let outbox = self.service.outbox();
        match decision {
            Decision::Sent(Taken { server, reply }) => {
                let sent = self.settlement(
                    item,
                    OutgoingStatus::Sent,
                    None,
                    Some(server),
                    reply.to_string(),
                );
                Ok(outbox.store().settle_outgoing(&sent).await?)
            }
            Decision::Again(due_at, failure) => {
                let server = failure.server.as_deref();
                let text = failure.text.clone();
                let again =
                    self.settlement(item, OutgoingStatus::Queued, Some(*due_at), server, text);
                Ok(outbox.store().settle_outgoing(&again).await?)
            }
            Decision::Failed(failure) => {
                let server = failure.server.as_deref();
                let text = failure.text.clone();
                let failed = self.settlement(item, OutgoingStatus::Failed, None, server, text);
                if item.is_report {
                    return Ok(outbox.store().settle_outgoing(&failed).await?);
                }
                let beginning = self
                    .message(claimed)
                    .beginning(MAX_REPORTED_HEADER)
                    .await
                    .unwrap_or_default();
                self.service
                    .bounce(
                        item,
                        failed,
                        self.report(item, header_section(&beginning), failure),
                    )
                    .await
            }
        }
    }

    fn report(&self, item: &Outgoing, header: &[u8], failure: &Failure) -> Vec<u8> {
        let sender = self.sender(item);
        let mail_domain = self.service.mail_domain();
        Bounce {
            item,
            sender: &sender,
            header,
            failure,
            mail_domain,
            now: self.now(),
        }
        .compose()
    }

    fn sender(&self, item: &Outgoing) -> String {
        address_of(
            &item.inbox,
            item.shared.as_ref(),
            self.service.mail_domain(),
        )
    }

    fn now(&self) -> Timestamp {
        self.service.clock().now()
    }
}

impl Decision {
    /// Reports the result in the log and the metrics.
    fn announce(&self, item: &Outgoing) {
        let id = item.id;
        let recipient = item.recipient.as_str();
        let attempt = item.attempts;
        metrics::outgoing_attempted(match self {
            Self::Sent(_) => "sent",
            Self::Again(..) => "deferred",
            Self::Failed(_) => "failed",
        });
        match self {
            Self::Sent(Taken { reply, .. }) => {
                tracing::info!(outgoing = %id, recipient, attempt, %reply, "sent");
            }
            Self::Again(due_at, failure) => {
                tracing::info!(outgoing = %id, recipient, attempt, %due_at, reply = failure.text, "not sent yet");
            }
            Self::Failed(failure) => {
                tracing::warn!(outgoing = %id, recipient, attempt, reply = failure.text, "failed permanently");
            }
        }
    }
}
