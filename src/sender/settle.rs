//! Stores the result of an attempt: sent, to be retried, or failed. Repeats the write until it succeeds.

use std::time::Duration;

use super::bounce::Bounce;
use super::failure::Failure;
use super::mail::Mail;
use super::retry;
use super::transport::Taken;
use crate::metrics;
use crate::model::{EmailAddress, Outgoing, OutgoingStatus, Timestamp, WorkerId};
use crate::service::{DeliverError, Service};
use crate::store::Settlement;

/// The pause before a failed write is repeated.
const WRITE_AGAIN: Duration = Duration::from_secs(1);

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

    /// The item as a message with its envelope.
    pub(super) fn mail(&self, item: &Outgoing, message: Vec<u8>) -> Mail {
        let sender = if item.is_report { String::new() } else { self.sender(item) };
        Mail { sender, recipients: vec![item.recipient.clone()], message }
    }

    /// Fails an item that expired before this attempt.
    pub(super) fn check_time(&self, item: &Outgoing) -> Result<(), Failure> {
        if item.expires_at.is_none_or(|expires_at| self.now() < expires_at) {
            return Ok(());
        }
        let last = if item.last_reply.is_empty() { "there was no attempt in time" } else { &item.last_reply };
        Err(Failure::permanent(4, 7, format!("it expired: {last}")))
    }

    /// Stores the result of an attempt, and a bounce if the item has failed; `header` is that of the message. If the
    /// lease was lost, nothing is stored, because the item belongs to another worker.
    pub(super) async fn settle(&self, item: &Outgoing, header: &[u8], outcome: Result<Taken, Failure>) {
        let decision = self.decide(item, outcome);
        decision.announce(item);
        loop {
            match self.write(item, header, &decision).await {
                Ok(true) => return,
                Ok(false) => return tracing::warn!(outgoing = %item.id, "the lease was lost during the attempt"),
                Err(error) => {
                    tracing::warn!(outgoing = %item.id, %error, "cannot store the result of the attempt; trying again");
                    self.service.clock().sleep(WRITE_AGAIN).await;
                }
            }
        }
    }

    /// Delivers a report to a local inbox and settles it as sent, or as failed if the inbox does not accept it.
    pub(super) async fn deliver_here(&self, item: &Outgoing, recipient: &EmailAddress, raw: &[u8]) {
        loop {
            match self.write_here(item, recipient, raw).await {
                Ok(true) => return tracing::info!(outgoing = %item.id, %recipient, "delivered to a local inbox"),
                Ok(false) => return tracing::warn!(outgoing = %item.id, "the lease was lost during the attempt"),
                Err(DeliverError::Refused(refusal)) => {
                    return self.settle(item, &[], Err(Failure::permanent(1, 1, refusal.to_string()))).await;
                }
                Err(error) => {
                    tracing::warn!(outgoing = %item.id, %error, "cannot deliver a report; trying again");
                    self.service.clock().sleep(WRITE_AGAIN).await;
                }
            }
        }
    }

    async fn write_here(&self, item: &Outgoing, recipient: &EmailAddress, raw: &[u8]) -> Result<bool, DeliverError> {
        let server = self.service.mail_domain().as_str();
        let sent = self.settlement(item, OutgoingStatus::Sent, None, Some(server), "delivered to a local inbox".into());
        self.service.deliver_report(recipient.clone(), raw.to_vec(), sent).await
    }

    /// The address of a report for a local inbox, which needs no other server.
    pub(super) fn local_recipient(&self, item: &Outgoing) -> Option<EmailAddress> {
        let recipient = EmailAddress::parse(&item.recipient).ok().filter(|_| item.is_report)?;
        (recipient.domain() == self.service.mail_domain()).then_some(recipient)
    }

    fn settlement(
        &self,
        item: &Outgoing,
        status: OutgoingStatus,
        due_at: Option<Timestamp>,
        server: Option<&str>,
        reply: String,
    ) -> Settlement {
        let (id, worker, attempt) = (item.id, self.worker, item.attempts);
        Settlement { id, worker, attempt, status, due_at, server: server.map(str::to_owned), reply }
    }

    fn decide(&self, item: &Outgoing, outcome: Result<Taken, Failure>) -> Decision {
        let failure = match outcome {
            Ok(taken) => return Decision::Sent(taken),
            Err(failure) => failure,
        };
        let next_due = retry::next_due(self.now(), item.attempts);
        let in_time = item.expires_at.is_none_or(|expires_at| next_due < expires_at);
        if in_time && !failure.is_permanent() { Decision::Again(next_due, failure) } else { Decision::Failed(failure) }
    }

    async fn write(&self, item: &Outgoing, header: &[u8], decision: &Decision) -> Result<bool, DeliverError> {
        let outbox = self.service.outbox();
        match decision {
            Decision::Sent(Taken { server, reply }) => {
                let sent = self.settlement(item, OutgoingStatus::Sent, None, Some(server), reply.to_string());
                Ok(outbox.settle(&sent).await?)
            }
            Decision::Again(due_at, failure) => {
                let (server, text) = (failure.server.as_deref(), failure.text.clone());
                let again = self.settlement(item, OutgoingStatus::Queued, Some(*due_at), server, text);
                Ok(outbox.settle(&again).await?)
            }
            Decision::Failed(failure) => {
                let (server, text) = (failure.server.as_deref(), failure.text.clone());
                let failed = self.settlement(item, OutgoingStatus::Failed, None, server, text);
                if item.is_report {
                    return Ok(outbox.settle(&failed).await?);
                }
                self.service.bounce(item, failed, self.report(item, header, failure)).await
            }
        }
    }

    fn report(&self, item: &Outgoing, header: &[u8], failure: &Failure) -> Vec<u8> {
        let (sender, mail_domain) = (self.sender(item), self.service.mail_domain());
        Bounce { item, sender: &sender, header, failure, mail_domain, now: self.now() }.compose()
    }

    fn sender(&self, item: &Outgoing) -> String {
        item.inbox.at(self.service.mail_domain())
    }

    fn now(&self) -> Timestamp {
        self.service.clock().now()
    }
}

impl Decision {
    /// Reports the result in the log and the metrics.
    fn announce(&self, item: &Outgoing) {
        let (id, recipient, attempt) = (item.id, item.recipient.as_str(), item.attempts);
        metrics::outgoing_attempted(match self {
            Self::Sent(_) => "sent",
            Self::Again(..) => "deferred",
            Self::Failed(_) => "failed",
        });
        match self {
            Self::Sent(Taken { reply, .. }) => tracing::info!(outgoing = %id, recipient, attempt, %reply, "sent"),
            Self::Again(due_at, failure) => {
                tracing::info!(outgoing = %id, recipient, attempt, %due_at, reply = failure.text, "not sent yet");
            }
            Self::Failed(failure) => {
                tracing::warn!(outgoing = %id, recipient, attempt, reply = failure.text, "failed permanently");
            }
        }
    }
}
