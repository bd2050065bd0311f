//! Lists and searches the mail of a project or of an inbox, as the dashboard does, and finds
//! inboxes.

use std::time::{Duration, Instant};

use super::{Service, ServiceError};
use crate::model::{FoundInbox, Inbox, MailQuery, ProjectId, SearchText};
use crate::store::{MessageStart, Search, StoreError};

/// The time limit of a step of a search.
const STEP: Duration = Duration::from_millis(60);
/// Bytes of the messages of one page, without those of large messages.
const PAGE_BYTES: usize = 4 * 1024 * 1024;
/// Maximum number of bytes of a message's text that a list needs.
const TEXT_BYTES: usize = 4_096;

impl Service {
    /// A step of a search, newest first: a page of at most `limit` messages, and where the search
    /// continues.
    ///
    /// # Errors
    /// [`ServiceError::Busy`] if other scans of the project take too long, or if the store fails.
    pub async fn mail(
        &self,
        query: MailQuery,
        limit: usize,
    ) -> Result<(Vec<MessageStart>, Search), ServiceError> {
        let _scan = self.0.jobs.scan(query.scope.project().0).await?;
        let mut search = Search::newest_first(query);
        let step = (TEXT_BYTES, Instant::now() + STEP);
        let store = self.store();
        let messages = store
            .page_of_starts(&mut search, (limit, PAGE_BYTES), step, self.now())
            .await?;
        Ok((messages, search))
    }

    /// The number of messages of an inbox.
    pub async fn messages_in(&self, inbox: &Inbox) -> Result<i64, StoreError> {
        self.store().message_count(inbox).await
    }

    /// The number of messages of a project.
    pub async fn messages_of(&self, project: ProjectId) -> Result<i64, StoreError> {
        self.store().count_messages(project, self.now()).await
    }

    /// At most `limit` inboxes of a project whose address or label contains a text: live ones, or
    /// those that have ended in the last 30 days.
    pub async fn find_inboxes(
        &self,
        project: ProjectId,
        text: &SearchText,
        have_ended: bool,
        limit: usize,
    ) -> Result<Vec<FoundInbox>, StoreError> {
        let now = self.now();
        let store = self.store();
        store
            .find_inboxes(project, text, have_ended, limit, now)
            .await
    }
}
