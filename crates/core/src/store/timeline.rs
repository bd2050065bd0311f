//! What the tables know of the past of an inbox, for its timeline.

use super::{Store, StoreError};
use crate::db::{DatabaseError, Row, values};
use crate::model::{ArrivedMail, FaultUse, Inbox, MessageId, SentMail, Timestamp};

impl Store {
    /// The newest messages until then of an inbox that has not ended, newest first.
    pub async fn arrived_mail(
        &self,
        inbox: &Inbox,
        until: Timestamp,
        most: usize,
    ) -> Result<Vec<ArrivedMail>, StoreError> {
        const ARRIVED: &str = "
            SELECT m.id, m.sender, m.subject, m.code, m.raw_size, m.received_at, c.via, c.client, c.tls
            FROM inboxes i JOIN messages m ON m.inbox_number = i.number AND m.sequence > i.emptied_sequence
            JOIN contents c ON c.number = m.content_number
            WHERE i.id = $1 AND i.project_id = $2 AND i.created_at = $3 AND m.received_at <= $4
            ORDER BY m.sequence DESC LIMIT $5";
        let parameters = values![&inbox.id, inbox.project, inbox.created_at, until, most];
        let rows = self.database.query(ARRIVED, parameters).await?;
        Ok(rows
            .into_iter()
            .map(read_arrived)
            .collect::<Result<_, _>>()?)
    }

    /// The latest uses until then of the faults that an inbox has.
    pub async fn fault_uses(
        &self,
        inbox: &Inbox,
        until: Timestamp,
        most: usize,
    ) -> Result<Vec<FaultUse>, StoreError> {
        const USES: &str = "
            SELECT f.point, f.action, u.used_at
            FROM inboxes i JOIN faults f ON f.inbox_number = i.number JOIN fault_uses u ON u.fault_number = f.number
            WHERE i.id = $1 AND i.project_id = $2 AND u.used_at >= $3 AND u.used_at <= $4
            ORDER BY u.number DESC LIMIT $5";
        let parameters = values![&inbox.id, inbox.project, inbox.created_at, until, most];
        let rows = self.database.query(USES, parameters).await?;
        let read = |mut row: Row| {
            Ok(FaultUse {
                point: row.text()?,
                action: row.text()?,
                used_at: Timestamp::from_millis(row.integer()?),
            })
        };
        Ok(rows
            .into_iter()
            .map(read)
            .collect::<Result<_, DatabaseError>>()?)
    }

    /// The latest messages that were sent from an inbox until then, and the attempts to send them,
    /// newest first.
    pub async fn sent_mail(
        &self,
        inbox: &Inbox,
        until: Timestamp,
        most: usize,
    ) -> Result<Vec<SentMail>, StoreError> {
        // A message with a later attempt was still in the queue.
        const SENT: &str = "
            SELECT o.recipient, o.subject,
                CASE WHEN EXISTS (SELECT 1 FROM attempts l WHERE l.outgoing_id = o.id AND l.attempted_at > $4)
                    THEN 'queued' ELSE o.status END,
                o.created_at, a.attempted_at, a.reply
            FROM outgoing o LEFT JOIN attempts a ON a.outgoing_id = o.id AND a.attempted_at <= $4
            WHERE o.project_id = $1 AND o.inbox_id = $2 AND o.created_at >= $3 AND o.created_at <= $4
            AND o.is_report = 0 ORDER BY o.id DESC, a.attempt DESC LIMIT $5";
        let parameters = values![inbox.project, &inbox.id, inbox.created_at, until, most];
        let rows = self.database.query(SENT, parameters).await?;
        let read = |mut row: Row| {
            Ok(SentMail {
                recipient: row.text()?,
                subject: row.text()?,
                status: row.text()?,
                created_at: Timestamp::from_millis(row.integer()?),
                attempted_at: row.optional_integer()?.map(Timestamp::from_millis),
                reply: row.optional_text()?,
            })
        };
        Ok(rows
            .into_iter()
            .map(read)
            .collect::<Result<_, DatabaseError>>()?)
    }
}

fn read_arrived(mut row: Row) -> Result<ArrivedMail, DatabaseError> {
    Ok(ArrivedMail {
        id: MessageId(row.uuid()?),
        from: row.text()?,
        subject: row.text()?,
        code: row.text()?,
        size: row.integer()?,
        received_at: Timestamp::from_millis(row.integer()?),
        via: row.optional_text()?,
        client: row.optional_text()?,
        tls: row.optional_text()?,
    })
}
