//! The results of all attempts to send an outgoing item.

use std::collections::HashMap;

use uuid::Uuid;

use super::{Settlement, Store, StoreError};
use crate::db::{DatabaseError, Row, Transaction, values};
use crate::model::{Attempt, OutgoingId, ProjectId};

impl Store {
    /// The attempts of the `limit` newest items of a project, in chronological order for each item.
    pub async fn attempts(
        &self,
        project: ProjectId,
        limit: i64,
    ) -> Result<HashMap<OutgoingId, Vec<Attempt>>, StoreError> {
        const LIST: &str = "
            SELECT outgoing_id, attempt, attempted_at, server, reply FROM attempts
            WHERE outgoing_id IN (SELECT id FROM outgoing WHERE project_id = $1 ORDER BY id DESC LIMIT $2)
            ORDER BY outgoing_id, attempt";
        let mut attempts: HashMap<OutgoingId, Vec<Attempt>> = HashMap::new();
        for mut row in self.database.query(LIST, values![project, limit]).await? {
            let item = row.get()?;
            attempts
                .entry(item)
                .or_default()
                .push(read_attempt(&mut row)?);
        }
        Ok(attempts)
    }

    /// The attempts of one item in chronological order.
    pub async fn attempts_of(&self, item: OutgoingId) -> Result<Vec<Attempt>, StoreError> {
        const LIST: &str = "SELECT attempt, attempted_at, server, reply FROM attempts WHERE outgoing_id = $1 ORDER BY attempt";
        self.all(LIST, values![item], read_attempt).await
    }
}

fn read_attempt(row: &mut Row) -> Result<Attempt, DatabaseError> {
    Ok(Attempt {
        number: row.get()?,
        attempted_at: row.get()?,
        server: row.get()?,
        reply: row.get()?,
    })
}

/// Stores the result of an attempt.
pub(super) async fn keep(
    transaction: &mut Transaction,
    settlement: &Settlement,
) -> Result<(), DatabaseError> {
    const INSERT: &str = "
        INSERT INTO attempts (id, outgoing_id, attempt, attempted_at, server, reply)
        SELECT $1, id, attempts, attempted_at, $3, $4 FROM outgoing WHERE id = $2";
    let parameters = values![
        Uuid::now_v7(),
        settlement.id,
        settlement.server.as_deref(),
        settlement.reply.as_str()
    ];
    transaction.execute(INSERT, parameters).await?;
    Ok(())
}
