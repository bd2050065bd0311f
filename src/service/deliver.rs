//! Taking a message: parse it, compress it, hand it to the committer.

use super::{DeliverError, Service};
use crate::model::{EmailAddress, InboxId, MessageId, ProjectId};
use crate::store::{Content, Delivery, Outcome, OutgoingChange, StoreError, aside};

/// Messages larger than this are parsed on a thread of their own, so that they hold up no other connection.
const PARSED_IN_PLACE: usize = 256 * 1024;

/// A message that was received in full.
#[derive(Clone, Debug)]
pub struct Incoming {
    /// Who hears of failures; `None` for the null reverse path.
    pub reverse_path: Option<EmailAddress>,
    /// At least one, all on the mail domain. One inbox named twice gets one message.
    pub recipients: Vec<EmailAddress>,
    /// Whose key the client authenticated with.
    pub project: Option<ProjectId>,
    /// The `Return-Path` and `Received` fields that this hop adds, each ended by CR LF.
    pub trace: String,
    /// The message, byte for byte.
    pub raw: Vec<u8>,
}

/// A message that is ready to be stored: compressed, and so smaller than it came.
#[derive(Debug)]
pub struct Prepared(Delivery);

impl Service {
    /// Whether mail to `recipient` would be taken now.
    ///
    /// # Errors
    /// [`DeliverError`], as [`Service::deliver`] would answer.
    pub async fn accept_recipient(&self, recipient: &EmailAddress) -> Result<(), DeliverError> {
        Ok(self.0.store.check_recipient(&InboxId::of(recipient), &self.policy()).await?)
    }

    /// Stores a message in the inboxes of all its recipients, opening those that do not exist. When this returns, it is
    /// on stable storage and the waits on these inboxes have been woken.
    ///
    /// # Errors
    /// [`DeliverError`]; then no recipient has the message.
    pub async fn deliver(&self, incoming: Incoming) -> Result<Vec<MessageId>, DeliverError> {
        self.store(prepare(incoming).await?).await
    }

    /// Stores a prepared message, as [`Service::deliver`] does.
    ///
    /// # Errors
    /// [`DeliverError`]; then no recipient has the message.
    pub async fn store(&self, Prepared(delivery): Prepared) -> Result<Vec<MessageId>, DeliverError> {
        let outcomes = self.0.committer.deliver(delivery, self.policy()).await?;
        Ok(outcomes.into_iter().map(|outcome| outcome.message).collect())
    }

    /// The same, with what it means for an outgoing item.
    pub(super) async fn deliver_with(
        &self,
        incoming: Incoming,
        outgoing: Option<OutgoingChange>,
    ) -> Result<Vec<Outcome>, DeliverError> {
        let Prepared(delivery) = prepare(incoming).await?;
        self.0.committer.deliver(Delivery { outgoing, ..delivery }, self.policy()).await
    }
}

/// Parses and compresses a message.
///
/// # Errors
/// [`DeliverError::Store`], which only a lack of memory brings about.
pub async fn prepare(incoming: Incoming) -> Result<Prepared, DeliverError> {
    let recipients = incoming.recipients.iter().map(InboxId::of).collect();
    let project = incoming.project;
    let content = encode_in_place_or_aside(incoming).await?;
    Ok(Prepared(Delivery { recipients, project, content, outgoing: None }))
}

async fn encode_in_place_or_aside(incoming: Incoming) -> Result<Content, StoreError> {
    if incoming.raw.len() <= PARSED_IN_PLACE {
        return encode(incoming);
    }
    aside(move || encode(incoming)).await
}

fn encode(incoming: Incoming) -> Result<Content, StoreError> {
    let mut parsed = restante_mail::parse(&incoming.raw);
    if let Some(excess) = &parsed.over_budget {
        tracing::warn!(%excess, octets = incoming.raw.len(), "a message is read only in part");
    }
    let reverse_path = incoming.reverse_path.map(|address| address.to_string());
    let sender = parsed.from.take().or(reverse_path).unwrap_or_default();
    Content::encode(parsed, sender, incoming.trace, &incoming.raw)
}
