//! Deletes messages. Their rows remain as cursors until their inbox is swept; their contents are
//! deleted immediately.

use super::sweep::remove_contents;
use super::{Change, Store, StoreError, live, until_undisturbed};
use crate::db::{Row, Transaction, values};
use crate::model::{Inbox, InboxId, MessageId, ProjectId, Timestamp};

/// Messages that one transaction deletes when an inbox is emptied.
const MESSAGES_A_STEP: i64 = 100;

impl Store {
    /// Deletes a message that `project` owns and that is in a live inbox; `false` if there is no
    /// such message.
    pub async fn delete_message(
        &self,
        project: ProjectId,
        id: MessageId,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let Some(head) = self.find_message(project, id, now).await? else {
            return Ok(false);
        };
        let deleted = self.delete_some(project, &head.inbox_id, vec![id], now);
        Ok(deleted.await? > 0)
    }

    /// Deletes the messages that a live inbox has, some in each transaction. Later ones stay.
    pub async fn empty_inbox(&self, inbox: &Inbox, now: Timestamp) -> Result<(), StoreError> {
        const SOME: &str = concat!(
            "
            SELECT m.id FROM messages m JOIN inboxes i ON i.number = m.inbox_number
            WHERE i.id = $1 AND i.created_at = $2 AND m.sequence > i.emptied_sequence
                AND m.content_number IS NOT NULL AND m.received_at <= $3 AND ",
            live!("i.", "$3"),
            " ORDER BY m.sequence LIMIT $4"
        );
        loop {
            let some = values![&inbox.id, inbox.created_at, now, MESSAGES_A_STEP];
            let ids = self.all(SOME, some, Row::get).await?;
            if ids.is_empty() {
                return Ok(());
            }
            // Another request may have deleted them: then others follow.
            self.delete_some(inbox.project, &inbox.id, ids, now).await?;
        }
    }

    async fn delete_some(
        &self,
        project: ProjectId,
        inbox: &InboxId,
        ids: Vec<MessageId>,
        now: Timestamp,
    ) -> Result<u64, StoreError> {
        until_undisturbed(|| {
            let (inbox, ids) = (inbox.clone(), ids.clone());
            self.database
                .transact(async move |mut transaction: Transaction| {
                    let deleted = delete_in(&mut transaction, project, &inbox, ids, now).await?;
                    transaction.commit().await?;
                    Ok::<_, StoreError>(deleted)
                })
        })
        .await
    }
}

/// Deletes those of the messages that are in this live inbox of `project`. Returns how many there
/// were.
pub(super) async fn delete_in(
    transaction: &mut Transaction,
    project: ProjectId,
    inbox: &InboxId,
    ids: Vec<MessageId>,
    now: Timestamp,
) -> Result<u64, StoreError> {
    // The inbox is locked first, as in a delivery, so that the two cannot deadlock.
    const INBOX: &str = concat!(
        "
        SELECT number FROM inboxes WHERE id = $1 AND project_id = $2 AND ",
        live!("$3"),
        " {for_update}"
    );
    const CONTENT: &str = "
        SELECT content_number FROM messages WHERE id = $1 AND inbox_number = $2 AND content_number IS NOT NULL
            AND sequence > (SELECT emptied_sequence FROM inboxes WHERE number = $2)";
    const EMPTY: &str = "
        UPDATE messages SET content_number = NULL, is_shared = 0, parsed_size = 0, raw_size = 0, sender = '',
            subject = '', subject_folded = '', recipients = NULL
        WHERE id = $1";
    const COUNT: &str = "
        UPDATE inboxes SET message_count = message_count - $2, changes = changes + 1 WHERE number = $1";
    let held = transaction.query(INBOX, values![inbox, project, now]);
    let Some(number) = Row::first(held.await?, Row::get::<i64>)? else {
        return Ok(0);
    };
    let mut contents = Vec::new();
    let mut emptied = Vec::new();
    for id in ids {
        let content = transaction.query(CONTENT, values![id, number]).await?;
        if !content.is_empty() {
            transaction.execute(EMPTY, values![id]).await?;
            emptied.push(id);
        }
        contents.extend(content);
    }
    if emptied.is_empty() {
        return Ok(0);
    }
    let count = emptied.len() as u64;
    transaction
        .execute(COUNT, values![number, emptied.len()])
        .await?;
    remove_contents(transaction, contents).await?;
    transaction.notify(Change::Inbox(inbox.clone()));
    Ok(count)
}
