//! Outgoing items: what was sent from an inbox, and what waits to be.

use bytes::Bytes;

use super::content::compress;
use super::{Store, StoreError};
use crate::db::{DatabaseError, Transaction, values};
use crate::model::{InboxId, OutgoingId, OutgoingStatus, ProjectId, Timestamp};

/// An outgoing item to be stored.
#[derive(Clone, Debug)]
pub struct NewOutgoing {
    /// Identifies it.
    pub id: OutgoingId,
    /// Whose inbox sends it.
    pub project: ProjectId,
    /// The inbox it is sent from.
    pub inbox: InboxId,
    /// Whom it goes to.
    pub recipient: String,
    /// Its subject.
    pub subject: String,
    /// Its Message-ID, made once, so that a copy sent twice can be told.
    pub message_id: String,
    /// Where it stands.
    pub status: OutgoingStatus,
    /// The composed message, compressed, where somebody still has to send it.
    raw: Option<Bytes>,
}

impl NewOutgoing {
    /// An item without a message of its own: it was delivered into a local inbox.
    #[must_use]
    pub fn delivered(
        project: ProjectId,
        inbox: InboxId,
        recipient: String,
        subject: String,
        message_id: String,
    ) -> Self {
        let (id, status) = (OutgoingId::generate(), OutgoingStatus::Sent);
        Self { id, project, inbox, recipient, subject, message_id, status, raw: None }
    }

    /// The same item, waiting for the mail worker to send `raw`.
    ///
    /// # Errors
    /// [`StoreError::Compression`].
    pub fn queued(self, raw: &[u8]) -> Result<Self, StoreError> {
        Ok(Self { status: OutgoingStatus::Queued, raw: Some(compress(raw)?), ..self })
    }
}

impl Store {
    /// Stores an item; when this returns, it is on stable storage.
    ///
    /// # Errors
    /// Where the database fails.
    pub async fn add_outgoing(&self, item: &NewOutgoing, now: Timestamp) -> Result<(), StoreError> {
        let mut transaction = self.database.begin()?;
        insert(&mut transaction, std::iter::once(item), now).await?;
        Ok(transaction.commit().await?)
    }

    /// How many items wait to be sent; counted no further than 100,000.
    ///
    /// # Errors
    /// Where the database fails.
    pub async fn queued_outgoing(&self) -> Result<u32, StoreError> {
        const QUEUED: &str =
            "SELECT COUNT(*) FROM (SELECT 1 FROM outgoing WHERE status = 'queued' LIMIT 100000) AS queued";
        let mut rows = self.database.query(QUEUED, vec![]).await?;
        let count = rows.pop().map(|mut row| row.integer()).transpose()?.unwrap_or(0);
        Ok(u32::try_from(count).unwrap_or(0))
    }
}

pub(super) async fn insert(
    transaction: &mut Transaction,
    items: impl Iterator<Item = &NewOutgoing>,
    now: Timestamp,
) -> Result<(), DatabaseError> {
    const INSERT: &str = "
        INSERT INTO outgoing (id, project_id, inbox_id, recipient, subject, message_id, status, created_at, raw)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
    let rows: Vec<_> = items
        .map(|item| {
            values![
                item.id.0.as_bytes().as_slice(),
                item.project.0.as_bytes().as_slice(),
                item.inbox.as_str(),
                item.recipient.as_str(),
                item.subject.as_str(),
                item.message_id.as_str(),
                item.status.as_str(),
                now.as_millis(),
                item.raw.clone(),
            ]
        })
        .collect();
    if !rows.is_empty() {
        transaction.execute_many(INSERT, rows).await?;
    }
    Ok(())
}
