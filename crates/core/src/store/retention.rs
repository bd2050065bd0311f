//! The retention of permanent inboxes: messages are removed when they are older than a number of
//! days.

use super::{Change, Store, StoreError};
use crate::db::{Row, Transaction, values};
use crate::model::{Inbox, Timestamp};

/// Maximum number of inboxes in one step.
const INBOXES_A_STEP: i64 = 20;
/// Maximum number of messages of one inbox that one step removes.
const MESSAGES_A_STEP: i64 = 100;
const DAY_MILLIS: i64 = 24 * 60 * 60 * 1000;

impl Store {
    /// How many days the messages of an inbox are kept; `None` if they are kept until the inbox
    /// ends.
    pub async fn retention_days(&self, inbox: &Inbox) -> Result<Option<i64>, StoreError> {
        const READ: &str = "SELECT retention_days FROM inboxes WHERE id = $1 AND project_id = $2 AND retention_days IS NOT NULL";
        let parameters = values![&inbox.id, inbox.project];
        self.first(READ, parameters, Row::get).await
    }

    /// Sets how many days the messages of a live permanent inbox are kept; `false` if there is no
    /// such inbox.
    pub async fn set_retention_days(
        &self,
        inbox: &Inbox,
        days: Option<i64>,
    ) -> Result<bool, StoreError> {
        const SET: &str = "
            UPDATE inboxes SET retention_days = $3, changes = changes + 1
            WHERE id = $1 AND project_id = $2 AND kind = 'permanent' AND closed = 0";
        Ok(self
            .change(SET, values![&inbox.id, inbox.project, days], None)
            .await?
            == 1)
    }
}

/// Hides messages that are too old, the oldest of each inbox first; the sweeper then removes them.
/// Returns whether there were any. If a delivery has locked an inbox, the inbox is left for the
/// next step.
pub(super) async fn take_old_messages(
    transaction: &mut Transaction,
    now: Timestamp,
) -> Result<bool, StoreError> {
    const DUE: &str = "
        SELECT number, id, emptied_sequence, retention_days FROM inboxes
        WHERE retention_days IS NOT NULL AND closed = 0 AND (
            SELECT received_at FROM messages WHERE inbox_number = inboxes.number AND sequence > inboxes.emptied_sequence
            ORDER BY sequence LIMIT 1) <= $1 - retention_days * $2
        ORDER BY number LIMIT $3 {skip_locked}";
    // Only the oldest are read, so that a step is small even in a long inbox.
    const LAST: &str = "
        SELECT MAX(sequence) FROM (
            SELECT sequence, received_at FROM messages WHERE inbox_number = $1 AND sequence > $2
            ORDER BY sequence LIMIT $4) AS oldest
        WHERE received_at <= $3";
    const TAKE: &str = "
        UPDATE inboxes SET changes = changes + 1, emptied_sequence = $2, message_count = message_count - (
            SELECT COUNT(content_number) FROM messages
            WHERE inbox_number = $1 AND sequence > inboxes.emptied_sequence AND sequence <= $2)
        WHERE number = $1";
    let due = transaction
        .query(DUE, values![now, DAY_MILLIS, INBOXES_A_STEP])
        .await?;
    let any = !due.is_empty();
    for mut row in due {
        let number: i64 = row.get()?;
        let id = row.get()?;
        let emptied: i64 = row.get()?;
        let days: i64 = row.get()?;
        let until = now.as_millis() - days * DAY_MILLIS;
        let last = transaction
            .query(LAST, values![number, emptied, until, MESSAGES_A_STEP])
            .await?;
        if let Some(last) = Row::only(last, Row::get::<Option<i64>>)? {
            transaction.execute(TAKE, values![number, last]).await?;
            transaction.notify(Change::Inbox(id));
        }
    }
    Ok(any)
}
