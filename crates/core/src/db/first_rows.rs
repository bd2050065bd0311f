//! Queries whose rows may be large: they are read until they have a number of bytes.

use super::{Database, DatabaseError, Engine, Row, Value};

impl Database {
    /// Runs one read-only statement, outside any transaction, and reads its rows until they have
    /// `max_bytes`: at least one. Returns them, and whether there may be more.
    pub async fn first_rows(
        &self,
        sql: &'static str,
        parameters: Vec<Value>,
        max_bytes: usize,
    ) -> Result<(Vec<Row>, bool), DatabaseError> {
        let rows = self.read(sql, parameters, max_bytes).await?;
        let has_more = rows.iter().map(Row::held).sum::<usize>() >= max_bytes;
        Ok((rows, has_more))
    }

    /// The rows of a read-only statement until they have `max_bytes`.
    pub(super) async fn read(
        &self,
        sql: &'static str,
        parameters: Vec<Value>,
        max_bytes: usize,
    ) -> Result<Vec<Row>, DatabaseError> {
        match &self.engine {
            Engine::Sqlite(engine) => engine.query(sql, parameters, max_bytes).await,
            Engine::Postgres(engine) => Box::pin(engine.query(sql, parameters, max_bytes)).await,
        }
    }
}
