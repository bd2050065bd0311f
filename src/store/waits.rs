//! The recorded waits of all nodes. They are written in a separate transaction, to a table that needs no flush.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{Change, Store, StoreError};
use crate::db::{DatabaseError, Row, Transaction, Value, values};
use crate::model::{
    Features, HeaderFilter, Inbox, InboxId, MessageFilter, MessageId, ProjectId, SharedAddress, Timestamp, WaitEnd,
    WaitRecord,
};

/// Maximum number of waits that are kept.
const MAX_WAITS_KEPT: i64 = 20_000;

/// A SELECT of the columns of a [`WaitRecord`].
macro_rules! waits {
    ($conditions:literal) => {
        concat!(
            "SELECT id, project_id, inbox_id, inbox_created_at, subject, sender, recipient, text, header, has_otp,
                has_code, has_link, after, started_at, timeout_millis, ended_at, outcome, message_id, inbox_address
             FROM waits WHERE ",
            $conditions
        )
    };
}

impl Store {
    /// Stores waits as they are now, and announces them. Of the waits on an inbox that were refused because the key had
    /// too many, only the latest is kept: clients repeat them.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn record_waits(&self, waits: &[WaitRecord]) -> Result<(), StoreError> {
        const RECORD: &str = "
            INSERT INTO waits (id, project_id, inbox_id, inbox_created_at, subject, sender, recipient, text, header,
                has_otp, has_code, has_link, after, started_at, timeout_millis, ended_at, outcome, message_id,
                inbox_address)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)
            ON CONFLICT (id) DO UPDATE SET ended_at = $16, outcome = $17, message_id = $18";
        const FORGET_REFUSED: &str = "
            DELETE FROM waits WHERE inbox_id = $1 AND inbox_created_at = $2 AND outcome = $3 AND id < $4";
        let rows = waits.iter().map(row).collect();
        let too_many = WaitEnd::TooMany;
        let refused = waits.iter().filter(|wait| wait.end.is_some_and(|(_, end)| end == too_many));
        let refused: BTreeMap<&str, &WaitRecord> = refused.rev().map(|wait| (wait.inbox.as_str(), wait)).collect();
        let forget = refused.into_values();
        let forget =
            forget.map(|wait| values![&wait.inbox, wait.inbox_created_at, too_many.as_str(), wait.id]).collect();
        let record = async move |mut transaction: Transaction| {
            transaction.execute_many(RECORD, rows).await?;
            transaction.execute_many(FORGET_REFUSED, forget).await?;
            transaction.notify(Change::Waits);
            Ok(transaction.commit().await?)
        };
        self.database.transact(record).await
    }

    /// Deletes all but the latest waits.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn forget_waits(&self) -> Result<(), StoreError> {
        const FORGET: &str = "
            DELETE FROM waits WHERE id <= (SELECT id FROM waits ORDER BY id DESC LIMIT 1 OFFSET $1)";
        self.change(FORGET, values![MAX_WAITS_KEPT], None).await?;
        Ok(())
    }

    /// The latest waits on an inbox, open and ended, newest first.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn waits_of_inbox(&self, inbox: &Inbox, most: usize) -> Result<Vec<WaitRecord>, StoreError> {
        const LATEST: &str =
            waits!("inbox_id = $1 AND inbox_created_at = $2 AND project_id = $3 ORDER BY id DESC LIMIT $4");
        let parameters = values![&inbox.id, inbox.created_at, inbox.project, most];
        let rows = self.database.query(LATEST, parameters).await?;
        Ok(rows.into_iter().map(read).collect::<Result<_, _>>()?)
    }

    /// The open waits on inboxes of a project, newest first.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn open_waits(&self, project: ProjectId, most: usize) -> Result<Vec<WaitRecord>, StoreError> {
        const OPEN: &str = waits!("project_id = $1 AND ended_at IS NULL ORDER BY id DESC LIMIT $2");
        let rows = self.database.query(OPEN, values![project, most]).await?;
        Ok(rows.into_iter().map(read).collect::<Result<_, _>>()?)
    }

    /// The latest waits on inboxes of a project that ended with a message, newest first.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn answered_waits(&self, project: ProjectId, most: usize) -> Result<Vec<WaitRecord>, StoreError> {
        const ANSWERED: &str = waits!("project_id = $1 AND message_id IS NOT NULL ORDER BY id DESC LIMIT $2");
        let rows = self.database.query(ANSWERED, values![project, most]).await?;
        Ok(rows.into_iter().map(read).collect::<Result<_, _>>()?)
    }

    /// The mark of the waits of an inbox, or with `None` of the open waits of a project: a version that is different
    /// after they have changed.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn waits_mark(&self, project: ProjectId, inbox: Option<&InboxId>) -> Result<String, StoreError> {
        const OF_INBOX: &str = "
            SELECT COUNT(*), COUNT(ended_at), COALESCE(MAX(started_at), 0) FROM waits
            WHERE project_id = $1 AND inbox_id = $2";
        const OF_PROJECT: &str = "
            SELECT COUNT(*), CAST(0 AS BIGINT), COALESCE(MAX(started_at), 0) FROM waits
            WHERE project_id = $1 AND ended_at IS NULL";
        let rows = match inbox {
            Some(inbox) => self.database.query(OF_INBOX, values![project, inbox]).await?,
            None => self.database.query(OF_PROJECT, values![project]).await?,
        };
        let mut row = rows.into_iter().next().ok_or(DatabaseError::NoRow)?;
        Ok(format!("{}-{}-{}", row.integer()?, row.integer()?, row.integer()?))
    }
}

fn row(wait: &WaitRecord) -> Vec<Value> {
    let filter = &wait.filter;
    let message = wait.end.and_then(|(_, end)| if let WaitEnd::Message(message) = end { Some(message) } else { None });
    values![
        wait.id,
        wait.project,
        &wait.inbox,
        wait.inbox_created_at,
        filter.subject.as_deref(),
        filter.from.as_deref(),
        filter.to.as_deref(),
        filter.text.as_deref(),
        filter.header.as_ref().map(HeaderFilter::to_string),
        filter.has.otp,
        filter.has.code,
        filter.has.link,
        filter.after.as_deref(),
        wait.started_at,
        i64::try_from(wait.timeout.as_millis()).unwrap_or(i64::MAX),
        wait.end.map(|(at, _)| at),
        wait.end.map(|(_, end)| end.as_str()),
        message,
        wait.shared.as_ref(),
    ]
}

fn read(mut row: Row) -> Result<WaitRecord, DatabaseError> {
    let mut wait = WaitRecord {
        id: row.uuid()?,
        project: ProjectId(row.uuid()?),
        inbox: InboxId::from_stored(row.text()?),
        inbox_created_at: Timestamp::from_millis(row.integer()?),
        filter: MessageFilter {
            subject: row.optional_text()?,
            from: row.optional_text()?,
            to: row.optional_text()?,
            text: row.optional_text()?,
            header: row.optional_text()?.and_then(|text| HeaderFilter::parse(&text).ok()),
            has: Features { otp: row.integer()? == 1, code: row.integer()? == 1, link: row.integer()? == 1 },
            after: row.optional_text()?,
        },
        started_at: Timestamp::from_millis(row.integer()?),
        timeout: Duration::from_millis(u64::try_from(row.integer()?).unwrap_or_default()),
        end: None,
        shared: None,
    };
    let ended_at = row.optional_integer()?.map(Timestamp::from_millis);
    let outcome = row.optional_text()?.unwrap_or_default();
    let message = row.optional_bytes()?.and_then(|id| uuid::Uuid::from_slice(&id).ok()).map(MessageId);
    wait.shared = row.optional_text()?.map(SharedAddress::from_stored);
    wait.end = ended_at.map(|at| (at, WaitEnd::of_word(&outcome, message)));
    Ok(wait)
}
