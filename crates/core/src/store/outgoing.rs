//! Outgoing items: messages that inboxes sent or will send, and the administrator's changes to
//! them.

use std::time::Duration;

use bytes::Bytes;
use uuid::Uuid;

use super::content::compress;
use super::{Change, Store, StoreError};
use crate::db::{DatabaseError, Row, Transaction, values};
use crate::model::{
    InboxId, Outgoing, OutgoingFilter, OutgoingId, OutgoingStatus, ProjectId, SUBJECT_CHARACTERS,
    Timestamp, cut, domain_of,
};

/// Bytes in one piece of a message that waits to be sent. A worker has one piece of each attempt in
/// memory.
pub const OUTGOING_PIECE: usize = 64 * 1024;

/// Removes the message of an item.
pub(super) const REMOVE_CHUNKS_OF_OUTGOING: &str =
    "DELETE FROM outgoing_chunks WHERE outgoing_id = $1";

/// The columns of an [`Outgoing`], in the order in which [`read_item`] reads them.
macro_rules! item_columns {
    () => {
        "id, project_id, inbox_id, recipient, subject, message_id, status, created_at, attempts, attempted_at, due_at,
         expires_at, leased_until, last_reply, is_report,
         (SELECT address FROM inboxes WHERE inboxes.id = inbox_id)"
    };
}
pub(super) use item_columns;

/// How long the mail worker retries an item, from the send or from an administrator's retry.
pub const QUEUE_LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);

/// An outgoing item to be stored.
#[derive(Clone, Debug)]
pub struct NewOutgoing {
    pub id: OutgoingId,
    /// The project of the sending inbox.
    pub project: ProjectId,
    pub inbox: InboxId,
    /// The recipient, as a path without angle brackets.
    pub recipient: String,
    /// The domain of the recipient, or its address literal.
    domain: String,
    /// The start of its subject.
    pub subject: String,
    /// Its Message-ID, the same on every copy, so that a duplicate can be recognized.
    pub message_id: String,
    /// The data for the mail worker, if the item has to be sent over SMTP.
    waiting: Option<QueuedMessage>,
    /// Whether it is a delivery status notification.
    is_report: bool,
}

#[derive(Clone, Debug)]
struct QueuedMessage {
    /// Bytes of the composed message.
    size: usize,
    chunks: Vec<Bytes>,
    expires_at: Timestamp,
}

impl NewOutgoing {
    /// An item that was delivered to a local inbox. `recipient` is a path without angle brackets.
    /// It can be an address that only another server has, such as `"a b"@shop.example` or
    /// `a@[192.0.2.1]`.
    #[must_use]
    pub fn new(
        id: OutgoingId,
        project: ProjectId,
        inbox: InboxId,
        recipient: String,
        subject: String,
        message_id: String,
    ) -> Self {
        let domain = domain_of(&recipient).to_owned();
        let subject = cut(subject, SUBJECT_CHARACTERS);
        Self {
            id,
            project,
            inbox,
            recipient,
            domain,
            subject,
            message_id,
            waiting: None,
            is_report: false,
        }
    }

    /// The same item, queued for the mail worker, which has until `expires_at` to send `raw`.
    #[must_use]
    pub fn queued(self, raw: &[u8], expires_at: Timestamp) -> Self {
        let chunks = raw.chunks(OUTGOING_PIECE).map(compress).collect();
        Self {
            waiting: Some(QueuedMessage {
                size: raw.len(),
                chunks,
                expires_at,
            }),
            ..self
        }
    }

    /// The same item as a delivery status notification. It is sent with the null reverse-path, and
    /// never bounces.
    #[must_use]
    pub fn as_report(self) -> Self {
        Self {
            is_report: true,
            ..self
        }
    }
}

impl Store {
    /// Stores an item. When this returns, it is on stable storage.
    pub async fn add_outgoing(&self, item: &NewOutgoing, now: Timestamp) -> Result<(), StoreError> {
        let item = item.clone();
        let add = async move |mut transaction: Transaction| {
            insert(&mut transaction, std::iter::once(&item), now).await?;
            Ok(transaction.commit().await?)
        };
        self.database.transact(add).await
    }

    /// The number of queued items, counted up to 100,000.
    pub async fn queued_outgoing(&self) -> Result<u32, StoreError> {
        const QUEUED: &str = "SELECT COUNT(*) FROM (SELECT 1 FROM outgoing WHERE status = 'queued' LIMIT 100000) AS queued";
        self.only(QUEUED, vec![], Row::get).await
    }

    /// The item `id`.
    pub async fn outgoing(&self, id: OutgoingId) -> Result<Option<Outgoing>, StoreError> {
        const FIND: &str = concat!("SELECT ", item_columns!(), " FROM outgoing WHERE id = $1");
        self.first(FIND, values![id], read_item).await
    }

    /// At most `limit` items, newest first.
    pub async fn list_outgoing(
        &self,
        filter: &OutgoingFilter,
        limit: i64,
    ) -> Result<Vec<Outgoing>, StoreError> {
        const LIST: &str = concat!(
            "SELECT ",
            item_columns!(),
            " FROM outgoing WHERE ($1 = '' OR status = $1) AND ($2 = 0 OR project_id = $3) ORDER BY id DESC LIMIT $4"
        );
        let parameters = values![
            filter.status.map_or("", OutgoingStatus::as_str),
            filter.project.is_some(),
            filter.project.unwrap_or(ProjectId(Uuid::nil())),
            limit,
        ];
        self.all(LIST, parameters, read_item).await
    }

    /// Makes a queued, failed or cancelled item due now, until `expires_at`; `false` if there is no
    /// such item, or if it is being sent.
    pub async fn retry_outgoing(
        &self,
        id: OutgoingId,
        expires_at: Timestamp,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        const RETRY: &str = "
            UPDATE outgoing SET status = 'queued', due_at = $2, expires_at = $3, worker = NULL, leased_until = NULL
            WHERE id = $1 AND status <> 'sent' AND raw_size IS NOT NULL AND (worker IS NULL OR leased_until <= $2)";
        self.change_item(RETRY, values![id, now, expires_at]).await
    }

    /// Removes an item from the queue; `false` if it is not queued, or if it is being sent.
    pub async fn cancel_outgoing(
        &self,
        id: OutgoingId,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        const CANCEL: &str = "
            UPDATE outgoing SET status = 'cancelled', due_at = NULL, worker = NULL, leased_until = NULL
            WHERE id = $1 AND status = 'queued' AND (worker IS NULL OR leased_until <= $2)";
        self.change_item(CANCEL, values![id, now]).await
    }

    async fn change_item(
        &self,
        sql: &'static str,
        parameters: Vec<crate::db::Value>,
    ) -> Result<bool, StoreError> {
        Ok(self.change(sql, parameters, Some(Change::Queue)).await? == 1)
    }
}

pub(super) async fn insert(
    transaction: &mut Transaction,
    items: impl Iterator<Item = &NewOutgoing>,
    now: Timestamp,
) -> Result<(), DatabaseError> {
    const INSERT: &str = "
        INSERT INTO outgoing (id, project_id, inbox_id, recipient, domain, subject, message_id, status, created_at,
                              due_at, expires_at, raw_size, is_report)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)";
    const INSERT_CHUNK: &str =
        "INSERT INTO outgoing_chunks (id, outgoing_id, position, data) VALUES ($1, $2, $3, $4)";
    let mut rows = Vec::new();
    let mut chunks = Vec::new();
    for item in items {
        let waiting = item.waiting.as_ref();
        let status = if waiting.is_some() {
            OutgoingStatus::Queued
        } else {
            OutgoingStatus::Sent
        };
        rows.push(values![
            item.id,
            item.project,
            item.inbox.as_str(),
            item.recipient.as_str(),
            item.domain.as_str(),
            item.subject.as_str(),
            item.message_id.as_str(),
            status.as_str(),
            now,
            waiting.map(|_| now),
            waiting.map(|waiting| waiting.expires_at),
            waiting.map(|waiting| waiting.size),
            item.is_report,
        ]);
        if let Some(waiting) = waiting {
            let chunk = |(data, position): (&Bytes, i64)| {
                values![Uuid::now_v7(), item.id, position, data.clone()]
            };
            chunks.extend(waiting.chunks.iter().zip(0..).map(chunk));
            transaction.notify(Change::Queue);
        }
    }
    if !rows.is_empty() {
        transaction.execute_many(INSERT, rows).await?;
    }
    if !chunks.is_empty() {
        transaction.execute_many(INSERT_CHUNK, chunks).await?;
    }
    Ok(())
}

/// How many reports an inbox has caused since `start`, counted up to 1,000.
pub(super) async fn recent_reports(
    transaction: &mut Transaction,
    project: ProjectId,
    inbox: &InboxId,
    start: Timestamp,
) -> Result<u32, DatabaseError> {
    const COUNT: &str = "
        SELECT COUNT(*) FROM (
            SELECT 1 FROM outgoing WHERE created_at > $3 AND project_id = $1 AND inbox_id = $2 AND is_report = 1
            LIMIT 1000) AS recent";
    let parameters = values![project, inbox, start];
    Row::only(transaction.query(COUNT, parameters).await?, Row::get)
}

/// Reads the columns of [`item_columns`]. Columns after them remain unread.
pub(super) fn read_item(row: &mut Row) -> Result<Outgoing, DatabaseError> {
    Ok(Outgoing {
        id: row.get()?,
        project: row.get()?,
        inbox: row.get()?,
        recipient: row.get()?,
        subject: row.get()?,
        message_id: row.get()?,
        status: OutgoingStatus::of_word(&row.get::<String>()?).unwrap_or(OutgoingStatus::Failed),
        created_at: row.get()?,
        attempts: row.get()?,
        attempted_at: row.get()?,
        due_at: row.get()?,
        expires_at: row.get()?,
        leased_until: row.get()?,
        last_reply: row.get()?,
        is_report: row.get()?,
        shared: row.get()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_subject_is_cut() {
        let subject = |length| {
            let id = OutgoingId::generate();
            let project = ProjectId(Uuid::nil());
            let inbox = InboxId::from_stored("a".into());
            NewOutgoing::new(
                id,
                project,
                inbox,
                "b@c.example".into(),
                "é".repeat(length),
                String::new(),
            )
            .subject
        };
        assert_eq!(subject(1_000), "é".repeat(1_000));
        assert_eq!(subject(2_000), "é".repeat(1_000) + "…");
    }
}
