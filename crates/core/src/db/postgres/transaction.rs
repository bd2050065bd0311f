//! A transaction: few round trips, and nothing outside of it.
//!
//! BEGIN can fail, for example if an administrator cancels it. The statements after it would then
//! be committed one by one. So BEGIN is sent together with a statement only if that statement
//! changes nothing, and nothing else is sent before its answer has shown that the transaction has
//! started.

use std::mem;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::numbers::Numbers;
use super::pool::{Connection, Pool, PooledConnection, spell};
use super::requests::{Answer, Request, send};
use super::schema::Schema;
use super::{ANSWER_TIMEOUT, changes};
use crate::db::{DatabaseError, Row, Value, values};
use crate::model::Change;

/// How long a transaction may take. An SMTP client waits for 30 seconds.
const TRANSACTION_TIMEOUT: Duration = Duration::from_secs(25);
/// The lowest expected speed of network and disk, in bytes per second: statements with large
/// parameters get more time.
const SLOWEST: usize = 4 * 1024 * 1024;

const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED";
const BEGIN_BRIEFLY: &str =
    "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = '500ms'";
const BEGIN_WITHOUT_FLUSH: &str =
    "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL synchronous_commit = off";
const BEGIN_WITHOUT_LIMITS: &str = "BEGIN ISOLATION LEVEL READ COMMITTED;
    SET LOCAL lock_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0";
/// Row numbers that a node takes from the database at once, if it needs no more.
const BLOCK: usize = 512;
const NUMBERS: &str =
    "SELECT nextval(pg_get_serial_sequence($1, 'number')) FROM generate_series(1, $2)";
const NOTIFY: &str = "SELECT pg_notify($1, $2)";

/// An open transaction. Its first statement takes a connection. Dropping it rolls it back.
pub(in crate::db) struct PostgresTransaction {
    pool: Pool,
    schema: Arc<Schema>,
    numbers: Arc<Numbers>,
    connection: Option<PooledConnection>,
    begin: &'static str,
    /// `None` if there is no time limit.
    ends_at: Option<Instant>,
    /// Sent with the next statement, or with the commit.
    queued: Vec<Request>,
}

impl PostgresTransaction {
    pub(super) fn new(pool: Pool, schema: Arc<Schema>, numbers: Arc<Numbers>) -> Self {
        let ends_at = Some(Instant::now() + TRANSACTION_TIMEOUT);
        Self {
            pool,
            schema,
            numbers,
            connection: None,
            begin: BEGIN,
            ends_at,
            queued: Vec::new(),
        }
    }

    /// Sends the statement with the next one whose answer is awaited, or with the commit.
    pub(in crate::db) fn queue(&mut self, sql: &'static str, parameters: Vec<Vec<Value>>) {
        self.queued.push(Request {
            sql,
            parameters,
            max_bytes: usize::MAX,
        });
    }

    pub(in crate::db) async fn execute(
        &mut self,
        sql: &'static str,
        parameters: Vec<Vec<Value>>,
    ) -> Result<u64, DatabaseError> {
        Ok(self
            .answers(sql, parameters)
            .await?
            .into_iter()
            .map(|answer| answer.changed)
            .sum())
    }

    pub(in crate::db) async fn query(
        &mut self,
        sql: &'static str,
        parameters: Vec<Vec<Value>>,
    ) -> Result<Vec<Vec<Row>>, DatabaseError> {
        Ok(self
            .answers(sql, parameters)
            .await?
            .into_iter()
            .map(|answer| answer.rows)
            .collect())
    }

    pub(in crate::db) async fn execute_script(
        &mut self,
        sql: &'static str,
    ) -> Result<(), DatabaseError> {
        self.start().await?;
        let script = spell(sql);
        self.exchange(0, async |connection| {
            send(connection, &script, &[], "").await
        })
        .await?;
        Ok(())
    }

    /// Numbers for `count` new rows of a table.
    pub(in crate::db) async fn numbers(
        &mut self,
        table: &str,
        count: usize,
    ) -> Result<Vec<i64>, DatabaseError> {
        if let Some(numbers) = self.numbers.take(table, count) {
            return Ok(numbers);
        }
        let block = i64::try_from(count.max(BLOCK)).unwrap_or(i64::MAX);
        let mut rows = self.query(NUMBERS, vec![values![table, block]]).await?;
        let mut taken = rows
            .pop()
            .ok_or(DatabaseError::NoRow)?
            .into_iter()
            .map(|mut row| row.get())
            .collect::<Result<Vec<i64>, _>>()?;
        if taken.len() < count {
            return Err(DatabaseError::NoRow);
        }
        let rest = taken.split_off(count);
        self.numbers.keep(table, rest);
        Ok(taken)
    }

    /// Uses a short lock timeout: a statement that waits for a lock for half a second fails.
    pub(in crate::db) fn wait_briefly(&mut self) {
        self.begin = BEGIN_BRIEFLY;
    }

    /// Commits without waiting until the transaction is on stable storage.
    pub(in crate::db) fn without_flush(&mut self) {
        self.begin = BEGIN_WITHOUT_FLUSH;
    }

    /// Disables the time limits of this transaction's statements.
    pub(in crate::db) fn wait_as_long_as_it_takes(&mut self) {
        self.ends_at = None;
        self.begin = BEGIN_WITHOUT_LIMITS;
    }

    /// The name of a lock within this schema.
    pub(in crate::db) fn lock_name(&self, name: i64) -> i64 {
        self.schema.lock(name)
    }

    pub(in crate::db) async fn commit(mut self, changes: &[Change]) -> Result<(), DatabaseError> {
        if self.connection.is_none() {
            if self.queued.is_empty() && changes.is_empty() {
                return Ok(());
            }
            self.start().await?;
        }
        let mut requests = mem::take(&mut self.queued);
        if !changes.is_empty() {
            let parameters = vec![values![
                self.schema.channel.as_str(),
                changes::payload(changes)
            ]];
            requests.push(Request {
                sql: NOTIFY,
                parameters,
                max_bytes: usize::MAX,
            });
        }
        let bytes = requests.iter().map(Request::size).sum();
        // If one of the requests failed, COMMIT has rolled back, and its error is returned.
        self.exchange(bytes, async |connection| {
            send(connection, "", &requests, "COMMIT").await
        })
        .await?;
        self.connection
            .iter_mut()
            .for_each(PooledConnection::end_transaction);
        Ok(())
    }

    async fn answers(
        &mut self,
        sql: &'static str,
        parameters: Vec<Vec<Value>>,
    ) -> Result<Vec<Answer>, DatabaseError> {
        let mut requests = mem::take(&mut self.queued);
        requests.push(Request {
            sql,
            parameters,
            max_bytes: usize::MAX,
        });
        if self.connection.is_none() {
            if requests.iter().all(Request::only_reads) {
                return self.start_with(&requests).await;
            }
            self.start().await?;
        }
        let bytes = requests.iter().map(Request::size).sum();
        self.exchange(bytes, async |connection| {
            send(connection, "", &requests, "").await
        })
        .await
    }

    /// Starts the transaction, if it has not started.
    async fn start(&mut self) -> Result<(), DatabaseError> {
        if self.connection.is_none() {
            self.start_with(&[]).await?;
        }
        Ok(())
    }

    /// Starts with statements that change nothing. If a connection was lost while it was idle,
    /// another one is taken.
    async fn start_with(&mut self, requests: &[Request]) -> Result<Vec<Answer>, DatabaseError> {
        match self.begin_once(requests).await {
            Err(DatabaseError::Unreachable(_)) => self.begin_once(requests).await,
            started => started,
        }
    }

    async fn begin_once(&mut self, requests: &[Request]) -> Result<Vec<Answer>, DatabaseError> {
        let mut connection = self.pool.connection().await?;
        connection.start_transaction();
        self.connection = Some(connection);
        let begin = self.begin;
        let started = self
            .exchange(0, async |connection| {
                send(connection, begin, requests, "").await
            })
            .await;
        if started.is_err() {
            // Whether a transaction has started is unknown, so its connection is not used again.
            self.connection
                .take()
                .into_iter()
                .for_each(|mut connection| connection.close());
        }
        started
    }

    /// Sends a request with `bytes` of parameters, and waits for its answer.
    async fn exchange<T>(
        &mut self,
        bytes: usize,
        request: impl AsyncFnOnce(&Connection) -> Result<T, DatabaseError>,
    ) -> Result<T, DatabaseError> {
        let time = self.ends_at.map_or(Duration::MAX, |ends_at| {
            let time = ANSWER_TIMEOUT + Duration::from_secs((bytes / SLOWEST) as u64);
            time.min(ends_at.saturating_duration_since(Instant::now()))
        });
        let connection = self.connection.as_mut().ok_or(DatabaseError::Closed)?;
        let answer = connection.exchange(time, request).await;
        if answer.is_err() {
            self.numbers.clear();
        }
        answer
    }
}

impl std::fmt::Debug for PostgresTransaction {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("PostgresTransaction")
            .finish_non_exhaustive()
    }
}
