//! Statements with their parameters, sent together: several cost one round trip.

use futures_util::TryStreamExt;
use tokio_postgres::Statement;

use super::failure::failed;
use super::pipeline::Pipeline;
use super::pool::Connection;
use crate::db::{DatabaseError, Row, Value};

/// One statement, which runs once for each set of parameters.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) sql: &'static str,
    pub(super) parameters: Vec<Vec<Value>>,
    /// No further row is read once the rows have this many bytes.
    pub(super) max_bytes: usize,
}

/// The answer to one set of parameters.
#[derive(Debug, Default)]
pub(super) struct Answer {
    pub(super) rows: Vec<Row>,
    pub(super) changed: u64,
}

impl Request {
    /// Whether the statement changes nothing if it runs outside a transaction.
    pub(super) fn only_reads(&self) -> bool {
        self.sql.trim_start().starts_with("SELECT")
    }

    /// The size of large parameters, in bytes.
    pub(super) fn size(&self) -> usize {
        let bytes = |value: &Value| {
            if let Value::Bytes(bytes) = value {
                bytes.len()
            } else {
                0
            }
        };
        self.parameters.iter().flatten().map(bytes).sum()
    }
}

/// Sends `before`, the requests and `after` in one round trip. `before` and `after` are scripts; an
/// empty one is not sent. Returns the answers to the last request.
///
/// # Errors
/// The first error.
pub(super) async fn send(
    connection: &Connection,
    before: &str,
    requests: &[Request],
    after: &str,
) -> Result<Vec<Answer>, DatabaseError> {
    let mut statements = Vec::with_capacity(requests.len());
    for request in requests {
        statements.push(connection.statement(request.sql).await?);
    }
    let mut pipeline = Pipeline::new();
    if !before.is_empty() {
        pipeline.send(run(connection, before)).await;
    }
    for (request, statement) in requests.iter().zip(&statements) {
        for parameters in &request.parameters {
            pipeline
                .send(answer(connection, statement, parameters, request.max_bytes))
                .await;
        }
    }
    if !after.is_empty() {
        pipeline.send(run(connection, after)).await;
    }
    let mut answers = pipeline.answers().await?;
    if !after.is_empty() {
        answers.pop();
    }
    let wanted = requests
        .last()
        .map_or(0, |request| request.parameters.len());
    Ok(answers.split_off(answers.len().saturating_sub(wanted)))
}

async fn run(connection: &Connection, script: &str) -> Result<Answer, DatabaseError> {
    connection
        .client
        .batch_execute(script)
        .await
        .map_err(failed)?;
    Ok(Answer::default())
}

async fn answer(
    connection: &Connection,
    statement: &Statement,
    parameters: &[Value],
    max_bytes: usize,
) -> Result<Answer, DatabaseError> {
    let stream = connection
        .client
        .query_raw(statement, parameters)
        .await
        .map_err(failed)?;
    futures_util::pin_mut!(stream);
    let mut rows = Vec::new();
    let mut bytes = 0;
    // The connection discards the rows that are not read.
    while bytes < max_bytes
        && let Some(row) = stream.try_next().await.map_err(failed)?
    {
        let row = Row::of_postgres(&row)?;
        bytes += row.held();
        rows.push(row);
    }
    Ok(Answer {
        rows,
        changed: stream.rows_affected().unwrap_or_default(),
    })
}
