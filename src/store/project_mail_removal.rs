//! Deletes messages of a project in all inboxes that have them, or marks them as read, for the API
//! of Mailpit. As after any deletion, their ids remain cursors.

use std::collections::BTreeMap;

use super::project_mail::Walk;
use super::removal::delete_in;
use super::{Store, StoreError, until_undisturbed};
use crate::db::Transaction;
use crate::model::{InboxId, MailChange, MailSearch, MessageId, ProjectId, Timestamp};

/// Messages that are searched, or deleted in one transaction.
const BATCH: usize = 100;

impl Store {
    /// Deletes or marks these messages of a project. Returns how many inboxes' messages were
    /// deleted.
    pub async fn change_mail(
        &self,
        project: ProjectId,
        ids: &[MessageId],
        change: MailChange,
        now: Timestamp,
    ) -> Result<u64, StoreError> {
        let mut deleted = 0;
        for ids in ids.chunks(BATCH) {
            let mut contents = Vec::new();
            for id in ids {
                if let Some(head) = self.owned_head(project, *id, now).await? {
                    contents.push((head.inbox_id, head.id, head.content_number));
                }
            }
            deleted += self.change_contents(project, contents, change, now).await?;
        }
        Ok(deleted)
    }

    /// Deletes or marks the messages of a project that meet the conditions and arrived before this
    /// call.
    pub async fn change_found_mail(
        &self,
        project: ProjectId,
        search: &MailSearch,
        change: MailChange,
        now: Timestamp,
    ) -> Result<u64, StoreError> {
        let mut walk = Walk::new(self, project, search, now);
        let mut deleted = 0;
        while let Some(batch) = walk.next(BATCH).await? {
            let found = batch
                .into_iter()
                .map(|one| (one.head.inbox_id, one.head.id, one.head.content_number));
            deleted += self
                .change_contents(project, found.collect(), change, now)
                .await?;
        }
        Ok(deleted)
    }

    /// Changes messages, and the messages of other inboxes of the project with the same contents.
    async fn change_contents(
        &self,
        project: ProjectId,
        found: Vec<(InboxId, MessageId, i64)>,
        change: MailChange,
        now: Timestamp,
    ) -> Result<u64, StoreError> {
        // Inboxes are locked in the same order as in a delivery.
        let mut messages: BTreeMap<InboxId, Vec<MessageId>> = BTreeMap::new();
        for (inbox, id, content) in found {
            messages.entry(inbox).or_default().push(id);
            for copy in self.copies(project, content, now).await? {
                messages.entry(copy.inbox).or_default().push(copy.id);
            }
        }
        if let MailChange::Mark { is_read } = change {
            for id in messages.into_values().flatten() {
                self.read_mail.mark(id, is_read);
            }
            return Ok(0);
        }
        if messages.is_empty() {
            return Ok(0);
        }
        until_undisturbed(|| {
            let messages = messages.clone();
            self.database
                .transact(async move |mut transaction: Transaction| {
                    let mut deleted = 0;
                    for (inbox, ids) in messages {
                        deleted += delete_in(&mut transaction, project, &inbox, ids, now).await?;
                    }
                    transaction.commit().await?;
                    Ok::<_, StoreError>(deleted)
                })
        })
        .await
    }
}
