//! Delivers a message: parses it, compresses it, and passes it to the committer.

use std::panic::{UnwindSafe, catch_unwind};
use std::time::Duration;

use restante_delivery::{Copies, Fate, Refusal, Request, Source, Verdict};
use restante_mail::ParsedMessage;
use uuid::Uuid;

use super::committer::{MAX_BATCHED, MAX_LARGE_WAIT};
use super::responder::Held;
use super::{DeliverError, Service};
use crate::large;
use crate::model::{
    EmailAddress, FaultAction, InboxId, MessageId, ProjectId, Reception, Recipient, RefusalReason,
    Via,
};
use crate::store::{Content, Delivery, Origin, OutgoingChange, RecipientFault, StoreError};

/// How long a delivery may take, and the wait for large ones: more than the attempts to write it
/// take.
const DELIVERY_TIMEOUT: Duration = Duration::from_secs(30);
/// A larger message may be one that waits for others: what is stored of it is at most four times as
/// long.
const MAX_SMALL: usize = MAX_BATCHED / 4;

/// A message that was received in full.
#[derive(Clone, Debug)]
pub struct Incoming {
    /// Where failures are reported, as the client gave it: not every path is an [`EmailAddress`].
    /// Empty for `<>`.
    pub reverse_path: String,
    /// At least one, all on the mail domain or an accepted one. If two have the same inbox, it gets
    /// one message.
    pub recipients: Vec<EmailAddress>,
    /// The project whose key the client authenticated with.
    pub project: Option<ProjectId>,
    /// The fields `Return-Path` and `Received` that this server puts before the message, each with
    /// CR LF at its end.
    pub trace: String,
    /// The connection over which the message arrived; `None` for messages that this service
    /// composed.
    pub reception: Option<Reception>,
    /// The message, byte for byte.
    pub raw: Vec<u8>,
}

/// A message that is parsed, compressed and ready to be stored.
pub struct Prepared {
    delivery: Delivery,
    held: Held,
}

impl Prepared {
    /// Keeps `held` until the delivery has ended, even if its caller is dropped before.
    #[must_use]
    pub fn holding(self, held: impl Send + 'static) -> Self {
        Self {
            held: Some(Box::new(held)),
            ..self
        }
    }
}

/// What the reply to an accepted message needs, and what is logged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Receipt {
    /// The stored messages, in the order of the recipients.
    pub messages: Vec<MessageId>,
    /// The project that owns the first recipient's inbox; `None` if a fault kept the message from
    /// all.
    pub owner: Option<ProjectId>,
    /// The fault that changes the reply.
    pub reply: Option<FaultAction>,
    /// The recipients whose copies were accepted but not stored because of a fault, each with what
    /// is recorded as the reason.
    pub unstored: Vec<(Recipient, RefusalReason)>,
    /// The names of all faults that were used.
    pub faults: Vec<&'static str>,
}

impl Service {
    /// How long the client that sent this many bytes should wait for the result.
    #[must_use]
    pub fn delivery_timeout(&self, bytes: usize) -> Duration {
        let may_wait = self.store().is_shared() && bytes > MAX_SMALL;
        if may_wait {
            DELIVERY_TIMEOUT + MAX_LARGE_WAIT
        } else {
            DELIVERY_TIMEOUT
        }
    }

    /// Returns an error if mail to `recipient` would be rejected now, from a client that
    /// authenticated with a key of `project`. Uses up a fault of the inbox for RCPT TO, and returns
    /// it.
    ///
    /// # Errors
    /// [`DeliverError`], as [`Service::deliver`] would return.
    pub async fn accept_recipient(
        &self,
        recipient: &EmailAddress,
        project: Option<ProjectId>,
    ) -> Result<Option<FaultAction>, DeliverError> {
        let pending = self.0.progress.start();
        let accepted = self.try_recipient(recipient, project).await;
        if matches!(accepted, Ok(_) | Err(DeliverError::Refused(_))) {
            pending.withdrawn();
        }
        accepted
    }

    async fn try_recipient(
        &self,
        recipient: &EmailAddress,
        project: Option<ProjectId>,
    ) -> Result<Option<FaultAction>, DeliverError> {
        let recipient = Recipient::of(recipient, self.mail_domain());
        let exceptions = &self.0.exceptions;
        let (id, may_be_refused) = match &recipient {
            // An address with a tag may belong to another project.
            Recipient::Inbox(id) => (
                Some(id.clone()),
                exceptions.may_concern(id) || (project.is_some() && id.without_tag().is_some()),
            ),
            // Whose inbox it is depends on all projects.
            Recipient::Shared(_) => (None, true),
        };
        let id = if may_be_refused {
            self.check_recipient(&recipient, project).await?.or(id)
        } else {
            id
        };
        let Some(id) = id else { return Ok(None) };
        let Some(known) = exceptions.faults_of(&id) else {
            return Ok(None);
        };
        let is_shared = matches!(recipient, Recipient::Shared(_));
        match self
            .store()
            .use_recipient_fault(&id, is_shared, self.now())
            .await?
        {
            RecipientFault::Now(action) => return Ok(Some(action)),
            RecipientFault::Later => {}
            RecipientFault::None(inbox) => exceptions.forget_faults(&inbox, known),
        }
        Ok(None)
    }

    /// The inbox that would get mail to `recipient`, if it is known.
    async fn check_recipient(
        &self,
        recipient: &Recipient,
        project: Option<ProjectId>,
    ) -> Result<Option<InboxId>, DeliverError> {
        let inbox = self
            .store()
            .check_recipient(recipient, project, &self.policy())
            .await?;
        let inbox = inbox.map_err(DeliverError::Refused)?;
        inbox
            .iter()
            .for_each(|id| self.0.exceptions.inbox_has_room(id));
        Ok(inbox)
    }

    /// Stores a message in the inboxes of all its recipients, and creates inboxes that do not
    /// exist. When this returns, the message is on stable storage. On SQLite, the waits on these
    /// inboxes have been woken; on PostgreSQL, they are woken when the server sends the
    /// notification of the commit, usually within a millisecond.
    ///
    /// # Errors
    /// [`DeliverError`]; then no recipient has the message.
    pub async fn deliver(&self, incoming: Incoming) -> Result<Vec<MessageId>, DeliverError> {
        Ok(self
            .store_prepared(self.prepare(incoming).await?)
            .await?
            .messages)
    }

    /// Parses and compresses a message.
    ///
    /// # Errors
    /// [`DeliverError::Store`]; the cause is never the message.
    pub async fn prepare(&self, incoming: Incoming) -> Result<Prepared, DeliverError> {
        let recipients = incoming
            .recipients
            .iter()
            .map(|address| Recipient::of(address, self.mail_domain()))
            .collect();
        let project = incoming.project;
        let reverse_path = incoming.reverse_path.clone();
        let encoding = large::run(incoming.raw.len(), move || encode(incoming));
        let content = encoding.await.map_err(StoreError::Aborted)?;
        let request = Request {
            recipients,
            source: Source::Client {
                project,
                reverse_path,
            },
        };
        Ok(Prepared {
            delivery: Delivery {
                request,
                content,
                outgoing: None,
            },
            held: None,
        })
    }

    /// Stores a prepared message, as [`Service::deliver`] does. A fault of an inbox may keep it
    /// from being stored.
    ///
    /// # Errors
    /// [`DeliverError`]; then no recipient has the message.
    pub async fn store_prepared(
        &self,
        Prepared { delivery, held }: Prepared,
    ) -> Result<Receipt, DeliverError> {
        let is_smtp = delivery
            .content
            .origin()
            .reception
            .as_ref()
            .is_none_or(|reception| reception.via == Via::Smtp);
        let receipt = match self.0.committer.deliver(delivery, held).await? {
            Verdict::Refused(refusal) => return Err(self.refused(refusal)),
            // Only reports of the mail worker have a lease. In a conflict, the inbox stayed locked.
            Verdict::LeaseLost | Verdict::Conflict(_) => return Err(DeliverError::Unavailable),
            verdict => Receipt::of(&verdict),
        };
        if is_smtp && !receipt.messages.is_empty() {
            self.0.activity.message_stored();
        }
        Ok(receipt)
    }

    /// Delivers a message that this service composed for an inbox of `project`, and changes its
    /// outgoing item in the same transaction. Creates no inbox. Returns `false` if the mail worker
    /// has lost its lease on the item; then nothing was written.
    pub(super) async fn deliver_own(
        &self,
        incoming: Incoming,
        project: ProjectId,
        change: OutgoingChange,
    ) -> Result<bool, DeliverError> {
        let lease = if let OutgoingChange::Settle(settlement) = &change {
            Some(settlement.id.0)
        } else {
            None
        };
        let Prepared { mut delivery, .. } = self.prepare(incoming).await?;
        delivery.request.source = Source::Service { project, lease };
        delivery.outgoing = Some(change);
        match self.0.committer.deliver(delivery, None).await? {
            Verdict::Accepted { .. } => Ok(true),
            Verdict::Refused(refusal) => Err(self.refused(refusal)),
            Verdict::LeaseLost => Ok(false),
            // The inbox stayed locked. Mail of the service uses no fault.
            Verdict::Conflict(_) | Verdict::Swallowed(_) => Err(DeliverError::Unavailable),
        }
    }

    fn refused(&self, refusal: Refusal) -> DeliverError {
        if let Refusal::Full(id) = &refusal {
            self.0.exceptions.inbox_is_full(id);
        }
        DeliverError::Refused(refusal)
    }
}

impl Receipt {
    fn of(verdict: &Verdict) -> Self {
        let mut receipt = Self {
            messages: verdict
                .messages()
                .map(|(_, place)| MessageId(place.message))
                .collect(),
            ..Self::default()
        };
        match verdict {
            Verdict::Accepted { copies, reply } => {
                receipt.owner = copies.first().map(|copies| copies.owner);
                for copies in copies {
                    match &copies.fate {
                        Fate::Stored(_) => {}
                        Fate::Duplicated(_) => receipt.faults.push(FaultAction::Duplicate.as_str()),
                        Fate::Bounced(_) => {
                            let reason = RefusalReason::BouncedOnRequest;
                            receipt.add_unstored(copies, &FaultAction::Bounce, &reason);
                        }
                        Fate::Dropped => {
                            let reason = RefusalReason::DroppedOnRequest;
                            receipt.add_unstored(copies, &FaultAction::Drop, &reason);
                        }
                    }
                }
                receipt.reply = reply.as_ref().map(|fault| fault.action.clone());
            }
            Verdict::Swallowed(fault) => receipt.reply = Some(fault.action.clone()),
            Verdict::Refused(_) | Verdict::Conflict(_) | Verdict::LeaseLost => {}
        }
        receipt
            .faults
            .extend(receipt.reply.as_ref().map(FaultAction::as_str));
        receipt
    }

    fn add_unstored(&mut self, copies: &Copies, fault: &FaultAction, reason: &RefusalReason) {
        self.faults.push(fault.as_str());
        let recipients = copies.recipients.iter().cloned();
        self.unstored
            .extend(recipients.map(|recipient| (recipient, reason.clone())));
    }
}

/// A message is stored even if a defect of the parser makes it panic: then it has its bytes and no
/// parts.
fn parsed(raw: &[u8], parse: impl FnOnce(&[u8]) -> ParsedMessage + UnwindSafe) -> ParsedMessage {
    catch_unwind(|| parse(raw)).unwrap_or_else(|_| {
        tracing::error!(
            bytes = raw.len(),
            "the parser failed, so a message is stored without its parts"
        );
        // It may have an id.
        ParsedMessage {
            has_message_id: true,
            ..ParsedMessage::default()
        }
    })
}

fn encode(incoming: Incoming) -> Content {
    let mut parsed = parsed(&incoming.raw, restante_mail::parse);
    if let Some(excess) = &parsed.over_budget {
        tracing::warn!(%excess, bytes = incoming.raw.len(), "a message is read only in part");
    }
    let sender = parsed
        .from
        .take()
        .unwrap_or_else(|| incoming.reverse_path.clone());
    let mut trace = incoming.trace;
    // A reply needs an id to refer to, so a message without one gets one (RFC 6409, section 8.3).
    if !parsed.has_message_id
        && let Some(recipient) = incoming.recipients.first()
    {
        trace.push_str(&format!(
            "Message-ID: <{}@{}>\r\n",
            Uuid::now_v7(),
            recipient.domain()
        ));
    }
    let origin = Origin {
        trace,
        reverse_path: incoming.reverse_path,
        reception: incoming.reception,
    };
    Content::encode(parsed, sender, origin, &incoming.raw)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_of_the_parser_leaves_the_message_without_parts() {
        let found = parsed(b"x", |_| panic!("a defect"));
        assert_eq!(
            (found.text.as_str(), found.links.len(), found.has_message_id),
            ("", 0, true)
        );
    }
}
