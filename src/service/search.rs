//! Lists and searches the mail of a project or of an inbox, as the dashboard does.

use super::{Caller, Service, ServiceError};
use crate::model::{MailFilter, MessageStart};

/// Maximum number of bytes of a message's text that a list needs.
const TEXT_BYTES: usize = 4_096;

/// One page of the messages of a project, newest first.
#[derive(Debug)]
pub struct FoundMail {
    /// The messages.
    pub messages: Vec<MessageStart>,
    /// The list continues before this position.
    pub next: Option<i64>,
    /// The messages that were compared with the filter.
    pub compared: usize,
}

impl Service {
    /// A page of at most `limit` messages of a project or of one of its inboxes, newest first, and where the list
    /// continues.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn mail(&self, caller: &Caller, filter: &MailFilter, limit: usize) -> Result<FoundMail, ServiceError> {
        let _room = self.reserve(caller, filter.working_memory()).await?;
        let page = self.0.store.mail(caller.project, filter, limit, self.0.clock.now()).await?;
        let mut messages = Vec::with_capacity(page.messages.len());
        for message in page.messages {
            messages.extend(message.start(TEXT_BYTES).await?);
        }
        Ok(FoundMail { messages, next: page.next, compared: page.compared })
    }
}
