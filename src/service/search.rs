//! Lists and searches the mail of a project or of an inbox, as the dashboard does.

use super::{Caller, Service, ServiceError};
use crate::model::{DamagedParts, InboxId, MailFilter, Message, MessageId, SharedAddress, Timestamp};
use crate::store::{StoreError, on_blocking_thread};

/// The most bytes of a message's text that a list needs.
const ABRIDGED: usize = 4_096;

/// What a list shows of a message. A page of full messages may not fit into memory.
#[derive(Debug)]
pub struct ListedMessage {
    /// Identifies it.
    pub id: MessageId,
    /// The inbox in which it is.
    pub inbox_id: InboxId,
    /// The address of the inbox, if that is not on the mail domain.
    pub shared: Option<SharedAddress>,
    /// The sender's address; empty if there is none.
    pub from: String,
    /// The subject, decoded; empty if there is none.
    pub subject: String,
    /// The start of its text.
    pub text: String,
    /// The one-time code; empty if there is none.
    pub otp: String,
    /// When it was accepted.
    pub received_at: Timestamp,
    /// The number of its attachments, without images that its HTML shows.
    pub attachments: i64,
}

/// One page of the messages of a project, newest first.
#[derive(Debug)]
pub struct FoundMail {
    /// The messages.
    pub messages: Vec<ListedMessage>,
    /// The list continues before this position.
    pub next: Option<i64>,
    /// The messages that were compared with the filter.
    pub compared: usize,
}

impl Service {
    /// A page of at most `limit` messages of a project or of one of its inboxes, newest first, and where the list
    /// continues. The parts are parsed on a blocking thread.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn mail(&self, caller: &Caller, filter: &MailFilter, limit: usize) -> Result<FoundMail, ServiceError> {
        let _room = self.reserve(caller, filter.working_memory()).await?;
        let page = self.0.store.mail(caller.project, filter, limit, self.0.clock.now()).await?;
        let mut messages = Vec::with_capacity(page.messages.len());
        for message in page.messages {
            messages.extend(message.load_start().await?);
        }
        let abridge = || messages.into_iter().map(ListedMessage::new).collect::<Result<_, DamagedParts>>();
        let messages = on_blocking_thread(abridge).await?.map_err(StoreError::from)?;
        Ok(FoundMail { messages, next: page.next, compared: page.compared })
    }
}

impl ListedMessage {
    fn new(message: Message) -> Result<Self, DamagedParts> {
        let (text, otp) = message.parts.abridged(ABRIDGED)?;
        let Message { id, inbox_id, shared, from, subject, received_at, attachments, .. } = message;
        Ok(Self { id, inbox_id, shared, from, subject, text, otp, received_at, attachments })
    }
}
