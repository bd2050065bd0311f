//! Delivers the messages of a request as mail over SMTP is delivered, and records what is refused.

use std::fmt::Write;
use std::future::ready;
use std::sync::Arc;

use uuid::Uuid;

use super::batch::too_large;
use super::call::Call;
use super::failure::Failure;
use super::outgoing::{Composed, Outgoing};
use crate::evidence::accepting_flag;
use crate::jobs::Job;
use crate::large;
use crate::metrics;
use crate::model::{EmailAddress, FaultAction, Reception, Refusal, RefusalReason, Via};
use crate::service::Incoming;

/// A message that was accepted.
pub(super) struct Sent {
    /// The id of the stored message, or a new one if a fault kept it from being stored.
    pub(super) id: String,
    /// The value of its Message-ID.
    pub(super) message_id: String,
    /// The recipients of the envelope.
    pub(super) recipients: Vec<String>,
    /// Whether the application sent a whole message.
    pub(super) is_raw: bool,
}

/// The envelope of a message.
struct Envelope {
    sender: EmailAddress,
    recipients: Vec<EmailAddress>,
}

impl Call<'_> {
    /// Delivers messages. All of them are composed and all of their recipients are asked before the
    /// first is stored, so that a client can send a request again that had an invalid message. A
    /// fault at DATA, or an inbox or a disk that becomes full, is found only when its message is
    /// stored; the messages before it stay.
    pub(super) async fn send_all(
        &mut self,
        messages: Vec<Outgoing>,
        job: &Arc<Job>,
    ) -> Result<Vec<Sent>, Failure> {
        let mut envelopes = Vec::with_capacity(messages.len());
        for message in &messages {
            let envelope = self.envelope(message);
            envelopes.push(envelope.map_err(|failure| self.recorded_of(failure, message))?);
        }
        let mut composed = Vec::with_capacity(messages.len());
        for (message, envelope) in messages.into_iter().zip(&envelopes) {
            let one = self.composed(message, job).await;
            composed.push(one.map_err(|failure| self.recorded_to(failure, envelope))?);
        }
        for envelope in &envelopes {
            self.accept(envelope)
                .await
                .map_err(|failure| self.recorded_to(failure, envelope))?;
        }
        let mut sent = Vec::with_capacity(envelopes.len());
        for (envelope, composed) in envelopes.into_iter().zip(composed) {
            let delivered = self.deliver(&envelope, composed, job).await;
            sent.push(delivered.map_err(|failure| self.recorded_to(failure, &envelope))?);
        }
        Ok(sent)
    }

    /// The sender and the recipients, if they can be addresses.
    fn envelope(&self, message: &Outgoing) -> Result<Envelope, Failure> {
        // All are in a header, also those that are there twice.
        if message.most_addresses() > self.senders.app.limits.recipients {
            return Err(Failure::refused(Refusal::TooManyRecipients).because("--max-recipients"));
        }
        let most = self.provider.recipients;
        if message.most_addresses() > most {
            return Err(Failure::invalid(format!(
                "Recipient count exceeds {most}, the maximum of the provider"
            )));
        }
        let recipients = message.recipients();
        if recipients.is_empty() {
            return Err(Failure::invalid("the message has no recipient"));
        }
        let address = |text: &String| {
            EmailAddress::parse(text).map_err(|_| {
                Failure::refused(Refusal::BadRecipient)
                    .because(text)
                    .of(text)
            })
        };
        let recipients = recipients.iter().map(address).collect::<Result<_, _>>()?;
        Ok(Envelope {
            sender: message.sender()?,
            recipients,
        })
    }

    async fn composed(&mut self, message: Outgoing, job: &Arc<Job>) -> Result<Composed, Failure> {
        let service = &self.senders.app.service;
        let id = format!("<{}@{}>", Uuid::now_v7(), service.mail_domain());
        let date = service.clock().now().to_rfc5322();
        let held = Arc::clone(job);
        let composing = large::run(job.bytes(), move || {
            let composed = message.compose(&date, &id);
            drop(held);
            composed
        });
        let composed = composing
            .await
            .map_err(|_| Failure::refused(Refusal::StoreFailure))??;
        let size = composed.raw.len() as u64;
        if size > self.senders.app.limits.message_size {
            return Err(Failure::refused(Refusal::MessageTooLarge).because("--max-message-size"));
        }
        self.left = self.left.checked_sub(size).ok_or_else(too_large)?;
        Ok(composed)
    }

    /// Asks for each recipient whether it accepts mail, as RCPT TO does.
    async fn accept(&mut self, envelope: &Envelope) -> Result<(), Failure> {
        let service = &self.senders.app.service;
        for recipient in &envelope.recipients {
            if !service.is_local(recipient.domain()) {
                let text = recipient.to_string();
                let flag = accepting_flag(&text, service.accepted()).unwrap_or_default();
                let failure = Failure::refused(Refusal::RelayNotPermitted)
                    .because(format!("{text} ({flag})"));
                return Err(failure.of(&text));
            }
        }
        for recipient in &envelope.recipients {
            let of = |failure: Failure| failure.of(&recipient.to_string());
            let accepted = self.door.recipient(recipient).await;
            if let Some(fault) = accepted.map_err(|refusal| of(Failure::refused(refusal)))? {
                self.apply(&fault).map_err(of)?;
            }
        }
        Ok(())
    }

    async fn deliver(
        &mut self,
        envelope: &Envelope,
        composed: Composed,
        job: &Arc<Job>,
    ) -> Result<Sent, Failure> {
        // The messages of a request share a file, but each is stored with it.
        self.door.sender().await.map_err(Failure::refused)?;
        let Composed {
            message_id,
            raw,
            is_raw,
        } = composed;
        let incoming = self.incoming(envelope, raw);
        let from = envelope.sender.to_string();
        let stored = self
            .door
            .message(&from, incoming, ready(()), Arc::clone(job))
            .await;
        let receipt = stored.map_err(Failure::refused)?;
        if let Some(fault) = &receipt.reply {
            self.apply(fault)?;
        }
        let mut id = receipt.messages.first().copied();
        if let Some(first) = id
            && self.provider.via == Via::Mailpit
        {
            // One of several inboxes gives the message its id in Mailpit's lists.
            let service = &self.senders.app.service;
            let listed = service.listed_id(self.door.project, first);
            let listed = self.door.answer(listed).await.ok().and_then(Result::ok);
            id = Some(listed.unwrap_or(first));
        }
        let id = id.map_or_else(|| Uuid::now_v7().to_string(), |id| id.to_string());
        let recipients = envelope
            .recipients
            .iter()
            .map(ToString::to_string)
            .collect();
        Ok(Sent {
            id,
            message_id,
            recipients,
            is_raw,
        })
    }

    /// A fault fails the request, delays its answer, or ends the connection instead of it.
    fn apply(&mut self, fault: &FaultAction) -> Result<(), Failure> {
        if let Some(reply) = fault.refusal() {
            return Err(Failure::requested(&reply));
        }
        if let Some(closing) = fault.closing() {
            if fault.copies() == 0 {
                return Err(Failure::disconnected(closing));
            }
            self.closing = Some(closing);
        }
        self.delay = self.delay.max(fault.delay().unwrap_or_default());
        Ok(())
    }

    fn incoming(&self, envelope: &Envelope, raw: Vec<u8>) -> Incoming {
        let service = &self.senders.app.service;
        let mut trace = format!(
            "Return-Path: <{}>\r\nReceived: by {} with HTTP ({})",
            envelope.sender,
            service.mail_domain(),
            self.provider.via.title()
        );
        // With several recipients, each would see the addresses of the others.
        if let [recipient] = envelope.recipients.as_slice() {
            // Writing into memory cannot fail.
            let _ = write!(trace, "\r\n\tfor <{recipient}>");
        }
        let _ = write!(trace, ";\r\n\t{}\r\n", service.clock().now().to_rfc5322());
        let reception = Reception {
            client: self.client,
            helo: None,
            tls: None,
            authenticated: self.caller.is_some(),
            via: self.provider.via,
        };
        Incoming {
            reverse_path: envelope.sender.to_string(),
            recipients: envelope.recipients.clone(),
            project: self.door.project,
            trace,
            reception: Some(reception),
            raw,
        }
    }

    fn recorded_of(&self, failure: Failure, message: &Outgoing) -> Failure {
        let sender = message
            .sender()
            .map(|sender| sender.to_string())
            .unwrap_or_default();
        self.recorded(failure, &sender, &message.recipients())
    }

    fn recorded_to(&self, failure: Failure, envelope: &Envelope) -> Failure {
        let recipients: Vec<_> = envelope
            .recipients
            .iter()
            .map(ToString::to_string)
            .collect();
        self.recorded(failure, &envelope.sender.to_string(), &recipients)
    }

    /// The failure, after it was recorded for each recipient of the message, so that each owner
    /// sees only their own.
    pub(super) fn recorded(
        &self,
        failure: Failure,
        sender: &str,
        recipients: &[String],
    ) -> Failure {
        if let Some(reason) = &failure.reason {
            self.record_all(&failure, reason, sender, recipients);
        }
        failure
    }

    fn record_all(
        &self,
        failure: &Failure,
        reason: &RefusalReason,
        sender: &str,
        recipients: &[String],
    ) {
        match reason {
            RefusalReason::Smtp(refusal) => metrics::message_refused(refusal.label()),
            RefusalReason::InvalidRequest => metrics::message_refused("invalid_request"),
            _ => {}
        }
        let refused = |text: &str| {
            let status = (self.provider.refuse)(failure).status().as_u16();
            format!("{} {status}: {text}", self.provider.via.title())
        };
        // Every project sees what is of no address, so without a key nothing of the request is
        // shown.
        let is_shown =
            |recipient: &&String| self.caller.is_some() || EmailAddress::parse(recipient).is_ok();
        let recipients = &recipients[..recipients.len().min(self.senders.app.limits.recipients)];
        let shown: Vec<_> = recipients.iter().filter(is_shown).collect();
        if recipients.is_empty() || shown.len() < recipients.len() {
            let text = match (&self.caller, reason) {
                (Some(_), _) => failure.text.clone(),
                (None, RefusalReason::Smtp(refusal)) => refusal.line(),
                (None, _) => "a request is not valid; its sender was told what is wrong".to_owned(),
            };
            self.door.record(reason, "", "", &refused(&text));
        }
        for recipient in shown {
            let is_cause = failure
                .recipient
                .as_ref()
                .is_none_or(|cause| cause == recipient);
            let text = match reason {
                RefusalReason::Smtp(refusal) if !is_cause => {
                    format!(
                        "another recipient of the message was rejected: {}",
                        refusal.line()
                    )
                }
                _ => failure.text.clone(),
            };
            self.door.record(reason, sender, recipient, &refused(&text));
        }
    }
}
