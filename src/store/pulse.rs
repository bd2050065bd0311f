//! Counts per minute for the chart of a project: messages that arrived, and refusals.

use super::{Store, StoreError};
use crate::db::{DatabaseError, Row, values};
use crate::model::{ProjectId, Timestamp};

/// Maximum number of messages that are counted; in a busier project, only the newest ones are.
const COUNTED: i64 = 5_000;
const MINUTE_MILLIS: i64 = 60_000;

/// Counts per minute since the epoch.
pub type Minutes = Vec<(i64, i64)>;

impl Store {
    /// The messages of a project that arrived since `since`, by minute; only the newest 5,000 are counted.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn arrivals(&self, project: ProjectId, since: Timestamp) -> Result<Minutes, StoreError> {
        const ARRIVALS: &str = "
            SELECT received_at / $3, COUNT(*) FROM (
                SELECT received_at FROM messages WHERE project_id = $1 ORDER BY number DESC LIMIT $4) AS newest
            WHERE received_at >= $2 GROUP BY received_at / $3";
        let rows = self.database.query(ARRIVALS, values![project, since, MINUTE_MILLIS, COUNTED]).await?;
        Ok(rows.into_iter().map(read).collect::<Result<_, _>>()?)
    }

    /// The refusals of a project since `since`, by minute.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn refusals_by_minute(&self, project: ProjectId, since: Timestamp) -> Result<Minutes, StoreError> {
        const REFUSALS: &str = "
            SELECT refused_at / $3, COUNT(*) FROM refusals
            WHERE project_id = $1 AND refused_at >= $2 GROUP BY refused_at / $3";
        let rows = self.database.query(REFUSALS, values![project, since, MINUTE_MILLIS]).await?;
        Ok(rows.into_iter().map(read).collect::<Result<_, _>>()?)
    }
}

fn read(mut row: Row) -> Result<(i64, i64), DatabaseError> {
    Ok((row.integer()?, row.integer()?))
}
