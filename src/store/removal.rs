//! Deletes a single message. Its row remains as a cursor until its inbox is swept; its content is deleted immediately.

use super::sweep::remove_contents;
use super::{Change, Store, StoreError, live, until_undisturbed};
use crate::db::{Transaction, values};
use crate::model::{InboxId, MessageId, ProjectId, Timestamp};

impl Store {
    /// Deletes a message that `project` owns and that is in a live inbox; `false` if there is no such message.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn delete_message(&self, project: ProjectId, id: MessageId, now: Timestamp) -> Result<bool, StoreError> {
        until_undisturbed(|| {
            self.database.transact(async move |transaction| delete(transaction, project, id, now).await)
        })
        .await
    }
}

async fn delete(
    mut transaction: Transaction,
    project: ProjectId,
    id: MessageId,
    now: Timestamp,
) -> Result<bool, StoreError> {
    // The inbox is locked first, as in a delivery, so that the two cannot deadlock.
    const INBOX: &str = concat!(
        "
        SELECT number, id FROM inboxes WHERE number = (SELECT inbox_number FROM messages WHERE id = $1)
            AND project_id = $2 AND ",
        live!("$3"),
        " {for_update}"
    );
    const CONTENT: &str = "
        SELECT content_number FROM messages WHERE id = $1 AND content_number IS NOT NULL
            AND sequence > (SELECT emptied_sequence FROM inboxes WHERE number = $2)";
    const EMPTY: &str = "
        UPDATE messages SET content_number = NULL, is_shared = 0, parsed_size = 0, raw_size = 0, sender = '',
            subject = '', subject_folded = ''
        WHERE id = $1";
    const COUNT: &str = "
        UPDATE inboxes SET message_count = message_count - 1, changes = changes + 1 WHERE number = $1";
    let Some(mut row) = transaction.query(INBOX, values![id, project, now]).await?.into_iter().next() else {
        return Ok(false);
    };
    let (number, inbox) = (row.integer()?, InboxId::from_stored(row.text()?));
    let content = transaction.query(CONTENT, values![id, number]).await?;
    if content.is_empty() {
        return Ok(false);
    }
    transaction.execute(EMPTY, values![id]).await?;
    transaction.execute(COUNT, values![number]).await?;
    remove_contents(&mut transaction, content).await?;
    transaction.notify(Change::Inbox(inbox));
    transaction.commit().await?;
    Ok(true)
}
