//! Deletions in the dashboard that can be undone for some seconds. Deleted data is immediately
//! invisible to every reader; the table `trash` has the data that an undo needs. The sweeper then
//! removes it permanently.

use uuid::Uuid;

use super::sweep::remove_numbered;
use super::{Change, Store, StoreError, live, until_undisturbed};
use crate::db::{Transaction, values};
use crate::model::{Inbox, InboxId, MessageId, ProjectId, Timestamp};

/// Rows that one step of the sweeper removes.
const ROWS_A_STEP: i64 = 100;

/// What a user deletes.
#[derive(Clone, Debug)]
pub enum ToDelete {
    /// One message of an inbox.
    Message(Inbox, MessageId),
    /// All messages of an inbox.
    Messages(Inbox),
    /// Inboxes with their messages. Unknown ones are left out.
    Inboxes(Vec<InboxId>),
}

impl Store {
    /// Deletes `target`. Returns an id, with which it can be restored until `due_at`, and the
    /// number of deleted messages or inboxes.
    pub async fn throw_away(
        &self,
        project: ProjectId,
        target: &ToDelete,
        now: Timestamp,
        due_at: Timestamp,
    ) -> Result<(Uuid, u64), StoreError> {
        let deletion = Uuid::now_v7();
        let count = until_undisturbed(|| {
            let target = target.clone();
            self.database
                .transact(async move |mut transaction: Transaction| {
                    let count = match target {
                        ToDelete::Message(inbox, id) => {
                            throw_messages(&mut transaction, deletion, &inbox, Some(id), due_at)
                                .await?
                        }
                        ToDelete::Messages(inbox) => {
                            throw_messages(&mut transaction, deletion, &inbox, None, due_at).await?
                        }
                        ToDelete::Inboxes(ids) => {
                            throw_inboxes(&mut transaction, deletion, project, ids, now, due_at)
                                .await?
                        }
                    };
                    transaction.commit().await?;
                    Ok::<_, StoreError>(count)
                })
        })
        .await?;
        tracing::debug!(%project, count, "deleted");
        Ok((deletion, count))
    }

    /// Whether a deletion of `project` can still be undone.
    pub async fn can_restore(
        &self,
        project: ProjectId,
        deletion: Uuid,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        const FIND: &str =
            "SELECT 1 FROM trash WHERE deletion = $1 AND project_id = $2 AND due_at > $3 LIMIT 1";
        Ok(!self
            .database
            .look_up(FIND, values![deletion, project, now])
            .await?
            .is_empty())
    }

    /// Undoes a deletion, except for inboxes that have changed since. Returns how many rows were
    /// restored.
    pub async fn restore(
        &self,
        project: ProjectId,
        deletion: Uuid,
        now: Timestamp,
    ) -> Result<u64, StoreError> {
        until_undisturbed(|| {
            self.database.transact(async move |transaction| {
                restore(transaction, project, deletion, now).await
            })
        })
        .await
    }
}

async fn throw_messages(
    transaction: &mut Transaction,
    deletion: Uuid,
    inbox: &Inbox,
    id: Option<MessageId>,
    due_at: Timestamp,
) -> Result<u64, StoreError> {
    // The inbox is locked first, as in a delivery.
    const INBOX: &str =
        "SELECT number FROM inboxes WHERE id = $1 AND created_at = $2 AND closed = 0 {for_update}";
    const KEEP: &str = "
        INSERT INTO trash (deletion, project_id, inbox_number, message_number, content_number, due_at)
        SELECT $1, $2, $3, m.number, m.content_number, $4
        FROM messages m JOIN inboxes i ON i.number = m.inbox_number
        WHERE m.inbox_number = $3 AND m.sequence > i.emptied_sequence AND m.content_number IS NOT NULL
            AND ($5 = 1 OR m.id = $6)";
    const EMPTY: &str = "
        UPDATE messages SET content_number = NULL
        WHERE number IN (SELECT message_number FROM trash WHERE deletion = $1)";
    const COUNT: &str = "
        UPDATE inboxes SET message_count = message_count - $2, changes = changes + 1 WHERE number = $1";
    let found = transaction
        .query(INBOX, values![&inbox.id, inbox.created_at])
        .await?;
    let Some(number) = found
        .into_iter()
        .next()
        .map(|mut row| row.integer())
        .transpose()?
    else {
        return Ok(0);
    };
    let one = id.unwrap_or(MessageId(Uuid::nil()));
    let keep = values![deletion, inbox.project, number, due_at, id.is_none(), one];
    let count = transaction.execute(KEEP, keep).await?;
    transaction.execute(EMPTY, values![deletion]).await?;
    transaction
        .execute(
            COUNT,
            values![number, i64::try_from(count).unwrap_or(i64::MAX)],
        )
        .await?;
    transaction.notify(Change::Inbox(inbox.id.clone()));
    Ok(count)
}

async fn throw_inboxes(
    transaction: &mut Transaction,
    deletion: Uuid,
    project: ProjectId,
    mut ids: Vec<InboxId>,
    now: Timestamp,
    due_at: Timestamp,
) -> Result<u64, StoreError> {
    const LOCK: &str = concat!(
        "
        SELECT number, id FROM inboxes
        WHERE id = $1 AND project_id = $2 AND ",
        live!("$3"),
        " {for_update}"
    );
    const KEEP: &str = "
        INSERT INTO trash (deletion, project_id, inbox_number, kind, expires_at, retention_days, emptied_sequence,
            created_at, due_at)
        SELECT $1, project_id, number, kind, expires_at, retention_days, emptied_sequence, created_at, $3
        FROM inboxes WHERE number = $2";
    const END: &str = "
        UPDATE inboxes SET kind = 'temporary', expires_at = $2, deleted_at = $2, closed = 1, message_count = 0,
            emptied_sequence = last_sequence, retention_days = NULL
        WHERE number = $1";
    // In the same order as in a delivery.
    ids.sort();
    ids.dedup();
    let wanted = ids.iter().map(|id| values![id, project, now]).collect();
    let mut keep = Vec::new();
    let mut end = Vec::new();
    for mut row in transaction
        .query_many(LOCK, wanted)
        .await?
        .into_iter()
        .flatten()
    {
        let number = row.integer()?;
        keep.push(values![deletion, number, due_at]);
        end.push(values![number, now]);
        transaction.notify(Change::Inbox(InboxId::from_stored(row.text()?)));
    }
    transaction.execute_many(KEEP, keep).await?;
    Ok(transaction.execute_many(END, end).await?)
}

async fn restore(
    mut transaction: Transaction,
    project: ProjectId,
    deletion: Uuid,
    now: Timestamp,
) -> Result<u64, StoreError> {
    const INBOXES: &str = "
        SELECT number, id FROM inboxes WHERE number IN (
            SELECT inbox_number FROM trash WHERE deletion = $1 AND project_id = $2 AND due_at > $3)
        ORDER BY id {for_update}";
    // Incoming mail may have created the inbox again since, and that inbox may also have been
    // deleted.
    const REOPEN: &str = "
        UPDATE inboxes SET closed = 0, deleted_at = NULL,
            kind = (SELECT kind FROM trash WHERE deletion = $1 AND inbox_number = inboxes.number),
            expires_at = (SELECT expires_at FROM trash WHERE deletion = $1 AND inbox_number = inboxes.number),
            retention_days = (SELECT retention_days FROM trash WHERE deletion = $1 AND inbox_number = inboxes.number),
            emptied_sequence =
                (SELECT emptied_sequence FROM trash WHERE deletion = $1 AND inbox_number = inboxes.number)
        WHERE number = $2 AND closed = 1 AND deleted_at IS NOT NULL
            AND EXISTS (
                SELECT 1 FROM trash
                WHERE deletion = $1 AND inbox_number = inboxes.number AND created_at = inboxes.created_at)";
    const REFILL: &str = "
        UPDATE messages SET content_number = (
            SELECT t.content_number FROM trash t WHERE t.deletion = $1 AND t.message_number = messages.number)
        WHERE inbox_number = $2 AND content_number IS NULL
            AND number IN (SELECT message_number FROM trash WHERE deletion = $1 AND inbox_number = $2)
            AND sequence > (SELECT emptied_sequence FROM inboxes WHERE number = $2 AND closed = 0)";
    const COUNT: &str = "
        UPDATE inboxes SET changes = changes + 1, message_count = (
            SELECT COUNT(content_number) FROM messages
            WHERE inbox_number = $1 AND sequence > inboxes.emptied_sequence)
        WHERE number = $1 AND closed = 0";
    const FORGET: &str = "
        DELETE FROM trash WHERE deletion = $1 AND (message_number IS NULL OR message_number IN (
            SELECT number FROM messages WHERE content_number IS NOT NULL))";
    let mut numbers = Vec::new();
    let mut named = Vec::new();
    for mut row in transaction
        .query(INBOXES, values![deletion, project, now])
        .await?
    {
        let number = row.integer()?;
        numbers.push(values![number]);
        named.push(values![deletion, number]);
        transaction.notify(Change::Restored(InboxId::from_stored(row.text()?)));
    }
    let inboxes = transaction.execute_many(REOPEN, named.clone()).await?;
    let messages = transaction.execute_many(REFILL, named).await?;
    transaction.execute_many(COUNT, numbers).await?;
    transaction.execute(FORGET, values![deletion]).await?;
    transaction.commit().await?;
    Ok(inboxes + messages)
}

/// Permanently removes what can no longer be restored. Returns whether there was any.
pub(super) async fn empty_trash(
    transaction: &mut Transaction,
    now: Timestamp,
) -> Result<bool, StoreError> {
    const DUE: &str = "
        SELECT number, content_number, message_number FROM trash WHERE due_at <= $1 ORDER BY number LIMIT $2
        {skip_locked}";
    const BLANK: &str = "
        UPDATE messages SET is_shared = 0, parsed_size = 0, raw_size = 0, sender = '', subject = '',
            subject_folded = ''
        WHERE number = $1 AND content_number IS NULL";
    const FORGET: &str = "DELETE FROM trash WHERE number = $1";
    let due = transaction.query(DUE, values![now, ROWS_A_STEP]).await?;
    let mut numbers = Vec::new();
    let mut contents = Vec::new();
    let mut messages = Vec::new();
    for mut row in due {
        numbers.push(values![row.integer()?]);
        if let Some(content) = row.optional_integer()? {
            contents.push(content);
        }
        messages.extend(row.optional_integer()?.map(|message| values![message]));
    }
    if numbers.is_empty() {
        return Ok(false);
    }
    transaction.execute_many(BLANK, messages).await?;
    transaction.execute_many(FORGET, numbers).await?;
    remove_numbered(transaction, contents).await?;
    Ok(true)
}
