//! The reports of all nodes about their clients: over SMTP, and over the APIs for sending.

use std::collections::HashSet;

use uuid::Uuid;

use super::{Change, Store, StoreError};
use crate::db::{DatabaseError, Transaction, Value, values};
use crate::model::{SendApisUse, SmtpUse, Timestamp};

impl Store {
    /// Whether several nodes may use the database.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.database.is_shared()
    }

    /// Stores the report of a node, and deletes nodes that have not reported since `forgotten`.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn report_node(
        &self,
        node: Uuid,
        started_at: Timestamp,
        (used, apis): (SmtpUse, SendApisUse),
        forgotten: Timestamp,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        const REPORT: &str = "
            INSERT INTO nodes (id, started_at, connections_open, last_connection_at, last_message_at, reported_at,
                last_ses_at, last_resend_at, last_sendgrid_at, last_postmark_at, last_mailgun_at)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
            ON CONFLICT (id) DO UPDATE SET connections_open = $3, last_connection_at = $4, last_message_at = $5,
                reported_at = $6, last_ses_at = $7, last_resend_at = $8, last_sendgrid_at = $9, last_postmark_at = $10,
                last_mailgun_at = $11,
                earlier_connection_at = CASE WHEN nodes.last_connection_at = $4 THEN nodes.earlier_connection_at
                    ELSE nodes.last_connection_at END,
                earlier_message_at = CASE WHEN nodes.last_message_at = $5 THEN nodes.earlier_message_at
                    ELSE nodes.last_message_at END";
        const FORGET: &str = "DELETE FROM nodes WHERE reported_at <= $1";
        let SmtpUse { connections_open, last_connection_at, last_message_at } = used;
        let mut report = values![node, started_at, connections_open, last_connection_at, last_message_at, now];
        report.extend(apis.0.map(Value::from));
        let run = async move |mut transaction: Transaction| {
            transaction.execute(REPORT, report).await?;
            transaction.execute(FORGET, values![forgotten]).await?;
            Ok(transaction.commit().await?)
        };
        self.database.transact(run).await
    }

    /// The nodes except `node` that have reported after `alive_since`.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn other_nodes(&self, node: Uuid, alive_since: Timestamp) -> Result<HashSet<Uuid>, StoreError> {
        const OTHERS: &str = "SELECT id FROM nodes WHERE id <> $1 AND reported_at > $2";
        let rows = self.database.query(OTHERS, values![node, alive_since]).await?;
        Ok(rows.into_iter().map(|mut row| row.uuid()).collect::<Result<_, _>>()?)
    }

    /// Announces changes without writing anything.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn announce(&self, changes: Vec<Change>) -> Result<(), StoreError> {
        let announce = async move |mut transaction: Transaction| {
            changes.into_iter().for_each(|change| transaction.notify(change));
            Ok(transaction.commit().await?)
        };
        self.database.transact(announce).await
    }

    /// The use of SMTP and of the APIs for sending at all nodes except `node` until `until`, and the earliest time at
    /// which one of them started counting. Open connections are counted only at nodes that have reported after
    /// `alive_since`, and only if the last one was opened until then. If the last use was later, the one of an earlier
    /// report counts.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn use_of_other_nodes(
        &self,
        node: Uuid,
        alive_since: Timestamp,
        until: Timestamp,
    ) -> Result<(SmtpUse, SendApisUse, Option<Timestamp>), StoreError> {
        const USE: &str = "
            SELECT CAST(COALESCE(SUM(CASE WHEN reported_at > $2 AND last_connection_at <= $3 THEN connections_open
                    ELSE 0 END), 0) AS BIGINT),
                MAX(CASE WHEN last_connection_at <= $3 THEN last_connection_at
                    WHEN earlier_connection_at <= $3 THEN earlier_connection_at END),
                MAX(CASE WHEN last_message_at <= $3 THEN last_message_at
                    WHEN earlier_message_at <= $3 THEN earlier_message_at END),
                MAX(CASE WHEN last_ses_at <= $3 THEN last_ses_at END),
                MAX(CASE WHEN last_resend_at <= $3 THEN last_resend_at END),
                MAX(CASE WHEN last_sendgrid_at <= $3 THEN last_sendgrid_at END),
                MAX(CASE WHEN last_postmark_at <= $3 THEN last_postmark_at END),
                MAX(CASE WHEN last_mailgun_at <= $3 THEN last_mailgun_at END), MIN(started_at)
            FROM nodes WHERE id <> $1";
        let rows = self.database.query(USE, values![node, alive_since, until]).await?;
        let mut row = rows.into_iter().next().ok_or(DatabaseError::NoRow)?;
        let connections_open = row.integer()?;
        let mut time = || Ok::<_, DatabaseError>(row.optional_integer()?.map(Timestamp::from_millis));
        let used = SmtpUse { connections_open, last_connection_at: time()?, last_message_at: time()? };
        let mut apis = SendApisUse::default();
        for last in &mut apis.0 {
            *last = time()?;
        }
        Ok((used, apis, time()?))
    }
}
