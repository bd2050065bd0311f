//! Searches the messages of an inbox, and the mail of a project, as the dashboard does.

use super::{Caller, ListFilter, Service, ServiceError};
use crate::model::{Inbox, InboxId, Message, MessageId, Parts, Timestamp};
use crate::store::{MailFilter, fold_case};

/// The most messages that one step of a search reads.
const SEARCHED: usize = 2_000;
/// The most bytes of a message's text that a list needs.
const ABRIDGED: usize = 4_096;

/// What a list shows of a message. A page of full messages may not fit into memory.
#[derive(Debug)]
pub struct ListedMessage {
    /// Identifies it.
    pub id: MessageId,
    /// The inbox in which it is.
    pub inbox_id: InboxId,
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

/// One page of a list of messages, newest first.
#[derive(Debug)]
pub struct FoundMessages {
    /// The messages.
    pub messages: Vec<ListedMessage>,
    /// The list continues before this message.
    pub more: Option<MessageId>,
}

/// One page of the messages of a project, newest first.
#[derive(Debug)]
pub struct FoundMail {
    /// The messages.
    pub messages: Vec<ListedMessage>,
    /// The list continues before this number.
    pub next: Option<i64>,
    /// The messages that were compared with the filter.
    pub compared: usize,
}

impl Service {
    /// A page of at most `limit` messages of a project, newest first, and where the list continues.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn mail(&self, caller: &Caller, filter: &MailFilter, limit: usize) -> Result<FoundMail, ServiceError> {
        let _room = self.reserve(caller, filter.working_memory()).await?;
        let page = self.0.store.mail(caller.project, filter, limit, self.0.clock.now()).await?;
        let mut messages = Vec::with_capacity(page.messages.len());
        for message in page.messages {
            if let Some(message) = message.load_start().await? {
                let parts = message.parts.read()?;
                messages.push(ListedMessage::new(message, parts));
            }
        }
        Ok(FoundMail { messages, next: page.next, compared: page.compared })
    }

    /// At most `limit` messages of `inbox` whose sender, subject or text contains `wanted` (case-insensitive) and that
    /// are older than the message `before`, newest first.
    ///
    /// # Errors
    /// [`ServiceError::InvalidBefore`].
    pub async fn search(
        &self,
        caller: &Caller,
        inbox: &Inbox,
        wanted: &str,
        before: Option<String>,
        limit: usize,
    ) -> Result<FoundMessages, ServiceError> {
        let wanted = fold_case(wanted);
        let mut pages = self.list(caller, inbox, &ListFilter { before, ..ListFilter::default() }).await?;
        let (mut messages, mut read) = (Vec::new(), 0);
        while let Some(page) = pages.next_page().await? {
            for message in page {
                let Some(message) = message.load_start().await? else { continue };
                let (id, parts) = (message.id, message.parts.read()?);
                read += 1;
                if contains(&message, &parts.text, &wanted) {
                    messages.push(ListedMessage::new(message, parts));
                }
                if messages.len() >= limit || read >= SEARCHED {
                    return Ok(FoundMessages { messages, more: Some(id) });
                }
            }
        }
        Ok(FoundMessages { messages, more: None })
    }
}

impl ListedMessage {
    fn new(message: Message, parts: Parts) -> Self {
        let Message { id, inbox_id, from, subject, received_at, attachments, .. } = message;
        let text = parts.text[..parts.text.floor_char_boundary(ABRIDGED)].to_owned();
        Self { id, inbox_id, from, subject, text, otp: parts.otp, received_at, attachments }
    }
}

/// Whether a message with this text contains `wanted`, which is folded.
fn contains(message: &Message, text: &str, wanted: &str) -> bool {
    let has = |text: &str| fold_case(text).contains(wanted);
    wanted.is_empty() || has(&message.subject) || has(&message.from) || has(text)
}
