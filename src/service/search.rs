//! Lists and searches the mail of a project or of an inbox, as the dashboard does, and finds
//! inboxes.

use uuid::Uuid;

use super::{Service, ServiceError};
use crate::model::{FoundInbox, Inbox, MailFilter, MessageStart, ProjectId, SearchText};
use crate::store::StoreError;

/// Maximum number of bytes of a message's text that a list needs.
const TEXT_BYTES: usize = 4_096;

/// One page of the messages of a project, newest first.
#[derive(Debug)]
pub struct FoundMail {
    pub messages: Vec<MessageStart>,
    /// The list continues before this position.
    pub next: Option<i64>,
    /// The messages that were compared with the filter.
    pub compared: usize,
    /// Those of them whose text was compared only in part, because it is long or damaged.
    pub partly: usize,
}

impl Service {
    /// A page of at most `limit` messages of a project or of one of its inboxes, newest first, and
    /// where the list continues; without a project, of all projects, for the administrator.
    ///
    /// # Errors
    /// [`ServiceError::Busy`] if other scans of the project take too long, or if the store fails.
    pub async fn mail(
        &self,
        project: Option<ProjectId>,
        filter: &MailFilter,
        limit: usize,
    ) -> Result<FoundMail, ServiceError> {
        let _scan = self
            .0
            .jobs
            .scan(project.map_or(Uuid::nil(), |project| project.0))
            .await?;
        let page = self
            .0
            .store
            .mail(project, filter, limit, self.0.clock.now())
            .await?;
        let mut messages = Vec::with_capacity(page.messages.len());
        for message in page.messages {
            messages.extend(message.start(TEXT_BYTES).await?);
        }
        Ok(FoundMail {
            messages,
            next: page.next,
            compared: page.compared,
            partly: page.partly,
        })
    }

    /// The number of messages of an inbox.
    pub async fn messages_in(&self, inbox: &Inbox) -> Result<i64, StoreError> {
        self.0.store.message_count(inbox).await
    }

    /// The number of messages of a project, or of all projects.
    pub async fn messages_of(&self, project: Option<ProjectId>) -> Result<i64, StoreError> {
        self.0
            .store
            .count_messages(project, self.0.clock.now())
            .await
    }

    /// At most `limit` live inboxes whose address contains a text, of one project or of all.
    pub async fn find_inboxes(
        &self,
        project: Option<ProjectId>,
        text: &SearchText,
        limit: usize,
    ) -> Result<Vec<FoundInbox>, StoreError> {
        self.0
            .store
            .find_inboxes(project, text, limit, self.0.clock.now())
            .await
    }

    /// Like [`Service::find_inboxes`], of the inboxes that have ended in the last 30 days.
    pub async fn find_ended_inboxes(
        &self,
        project: Option<ProjectId>,
        text: &SearchText,
        limit: usize,
    ) -> Result<Vec<FoundInbox>, StoreError> {
        self.0
            .store
            .find_ended_inboxes(project, text, limit, self.0.clock.now())
            .await
    }
}
