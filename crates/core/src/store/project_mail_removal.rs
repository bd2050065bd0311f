//! Deletes messages of a project in all inboxes that have them, or marks them as read, for the API
//! of Mailpit. As after any deletion, their ids remain cursors.

use std::collections::BTreeMap;

use super::messages::Head;
use super::removal::delete_in;
use super::search::Search;
use super::{Store, StoreError, until_undisturbed};
use crate::db::Transaction;
use crate::model::{InboxId, MailChange, MailQuery, MessageId, ProjectId, Timestamp};

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
            let mut heads = Vec::new();
            for id in ids {
                heads.extend(self.find_message(project, *id, now).await?);
            }
            deleted += self.change_everywhere(project, heads, change, now).await?;
        }
        Ok(deleted)
    }

    /// Deletes or marks the messages of a project that a query finds and that arrived before this
    /// call.
    pub async fn change_found_mail(
        &self,
        project: ProjectId,
        query: MailQuery,
        change: MailChange,
        now: Timestamp,
    ) -> Result<u64, StoreError> {
        let mut search = Search::newest_first(query);
        let mut deleted = 0;
        while !search.is_over() {
            let found = self.step(&mut search, BATCH, None, now).await?;
            let heads = found.into_iter().map(|candidate| candidate.head);
            deleted += self
                .change_everywhere(project, heads.collect(), change, now)
                .await?;
        }
        Ok(deleted)
    }

    /// Changes messages in all inboxes of the project that have them.
    async fn change_everywhere(
        &self,
        project: ProjectId,
        heads: Vec<Head>,
        change: MailChange,
        now: Timestamp,
    ) -> Result<u64, StoreError> {
        // Inboxes are locked in the same order as in a delivery.
        let mut messages: BTreeMap<InboxId, Vec<MessageId>> = BTreeMap::new();
        for head in heads {
            for (id, reached) in self.copies(project, &head, now).await? {
                messages.entry(reached.inbox).or_default().push(id);
            }
            messages.entry(head.inbox_id).or_default().push(head.id);
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
