//! The results of all attempts to send an outgoing item.

use std::collections::HashMap;

use uuid::Uuid;

use super::{Settlement, Store, StoreError};
use crate::db::{DatabaseError, Transaction, values};
use crate::model::{Attempt, OutgoingId, ProjectId, Timestamp};

impl Store {
    /// The attempts of the `limit` newest items of a project, for each item in the order in which they were made.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn attempts(
        &self,
        project: ProjectId,
        limit: i64,
    ) -> Result<HashMap<OutgoingId, Vec<Attempt>>, StoreError> {
        const LIST: &str = "
            SELECT outgoing_id, attempt, attempted_at, reply FROM attempts
            WHERE outgoing_id IN (SELECT id FROM outgoing WHERE project_id = $1 ORDER BY id DESC LIMIT $2)
            ORDER BY outgoing_id, attempt";
        let mut attempts: HashMap<OutgoingId, Vec<Attempt>> = HashMap::new();
        for mut row in self.database.query(LIST, values![project, limit]).await? {
            let item = OutgoingId(row.uuid()?);
            let attempt = Attempt {
                number: u32::try_from(row.integer()?).unwrap_or(u32::MAX),
                attempted_at: row.optional_integer()?.map(Timestamp::from_millis),
                reply: row.text()?,
            };
            attempts.entry(item).or_default().push(attempt);
        }
        Ok(attempts)
    }
}

/// Stores the result of an attempt.
pub(super) async fn keep(transaction: &mut Transaction, settlement: &Settlement) -> Result<(), DatabaseError> {
    const INSERT: &str = "
        INSERT INTO attempts (id, outgoing_id, attempt, attempted_at, reply)
        SELECT $1, id, attempts, attempted_at, $3 FROM outgoing WHERE id = $2";
    let parameters = values![Uuid::now_v7(), settlement.id, settlement.reply.as_str(),];
    transaction.execute(INSERT, parameters).await?;
    Ok(())
}
