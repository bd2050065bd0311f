//! The PostgreSQL engine: a pool of connections for statements, and one control connection for notifications and locks.
//!
//! Statements are prepared once per connection. The statements of a batch are sent before the first answer is awaited,
//! so a batch of any size costs only a few round trips.

mod changes;
mod connect;
mod pipeline;
mod pool;
mod session;
mod tls;
mod types;

use std::borrow::Cow;
use std::time::Duration;

use deadpool_postgres::Object;
use futures_util::TryStreamExt;
use futures_util::future::join;
use tokio::time::Instant;
use tokio_postgres::Statement;
use tokio_postgres::error::SqlState;

use super::announcer::Announcer;
use super::{DatabaseError, Row, Value};
use crate::config::PostgresUrl;
use crate::model::Change;
use connect::Target;
use pipeline::pipelined;
use pool::{CONNECTIONS, Pool, PooledConnection};
pub(super) use session::NodeSession;

/// How long the server may take to answer. It is longer than the server waits for a lock.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(8);
/// How long a transaction may take. An SMTP client waits for 30 seconds.
const TRANSACTION_TIMEOUT: Duration = Duration::from_secs(25);
/// The lowest expected speed of network and disk, in bytes per second: statements with large parameters get more time.
const SLOWEST: usize = 4 * 1024 * 1024;
/// The channel of the nodes' notifications.
const CHANNEL: &str = "restante_changes";

const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED";
const NOTIFY: &str = "SELECT pg_notify($1, $2)";

/// A database on a PostgreSQL server.
pub(super) struct Postgres {
    pool: Pool,
    session: NodeSession,
}

impl Postgres {
    pub(super) async fn open(url: &PostgresUrl, announcer: Announcer) -> Result<Self, DatabaseError> {
        let target = Target::new(url, |name| std::env::var(name).ok().filter(|text| !text.is_empty()))?;
        let session = NodeSession::start(target.clone(), announcer).await?;
        Ok(Self { pool: Pool::new(target)?, session })
    }

    /// Sends a query. If its connection was lost, the query is sent again: after a restart of the server, every
    /// connection in the pool is lost.
    pub(super) async fn query(&self, sql: &'static str, parameters: Vec<Value>) -> Result<Vec<Row>, DatabaseError> {
        for _ in 0..CONNECTIONS {
            match self.query_once(sql, &parameters).await {
                Err(DatabaseError::Unreachable(_)) => {}
                answered => return answered,
            }
        }
        self.query_once(sql, &parameters).await
    }

    async fn query_once(&self, sql: &'static str, parameters: &[Value]) -> Result<Vec<Row>, DatabaseError> {
        let query = async |connection: &Object| {
            let statement = connection.prepare_cached(&spell(sql)).await.map_err(failed)?;
            rows(connection, &statement, parameters).await
        };
        self.pool.connection().await?.exchange(ANSWER_TIMEOUT, query).await
    }

    pub(super) fn begin(&self) -> PostgresTransaction {
        let ends_at = Some(Instant::now() + TRANSACTION_TIMEOUT);
        PostgresTransaction { pool: self.pool.clone(), connection: None, ends_at }
    }

    /// Closes the pool.
    pub(super) fn close(&self) {
        self.pool.close();
    }

    pub(super) fn session(&self) -> NodeSession {
        self.session.clone()
    }
}

impl std::fmt::Debug for Postgres {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Postgres").finish_non_exhaustive()
    }
}

async fn rows(connection: &Object, statement: &Statement, parameters: &[Value]) -> Result<Vec<Row>, DatabaseError> {
    let stream = connection.query_raw(statement, parameters).await.map_err(failed)?;
    let rows: Vec<tokio_postgres::Row> = stream.try_collect().await.map_err(failed)?;
    rows.iter().map(Row::of_postgres).collect()
}

/// An open transaction. Its first statement takes a connection. Dropping it rolls it back.
pub(super) struct PostgresTransaction {
    pool: Pool,
    connection: Option<PooledConnection>,
    /// `None` if there is no time limit.
    ends_at: Option<Instant>,
}

impl PostgresTransaction {
    pub(super) async fn execute(
        &mut self,
        sql: &'static str,
        parameters: Vec<Vec<Value>>,
    ) -> Result<u64, DatabaseError> {
        let execute = async |connection: &Object| {
            let statement = connection.prepare_cached(&spell(sql)).await.map_err(failed)?;
            let changed = parameters.iter().map(|parameters| connection.execute_raw(&statement, parameters));
            Ok(pipelined(changed).await.map_err(failed)?.into_iter().sum())
        };
        self.exchange(size(&parameters), execute).await
    }

    pub(super) async fn execute_script(&mut self, sql: &'static str) -> Result<(), DatabaseError> {
        self.exchange(0, async |connection| connection.batch_execute(&spell(sql)).await.map_err(failed)).await
    }

    pub(super) async fn query(
        &mut self,
        sql: &'static str,
        parameters: Vec<Vec<Value>>,
    ) -> Result<Vec<Vec<Row>>, DatabaseError> {
        let query = async |connection: &Object| {
            let statement = connection.prepare_cached(&spell(sql)).await.map_err(failed)?;
            pipelined(parameters.iter().map(|parameters| rows(connection, &statement, parameters))).await
        };
        self.exchange(size(&parameters), query).await
    }

    /// Uses a short lock timeout: a statement that waits for a lock for half a second fails.
    pub(super) async fn wait_briefly(&mut self) -> Result<(), DatabaseError> {
        self.connection().await?.send("SET LOCAL lock_timeout = '500ms'");
        Ok(())
    }

    /// Disables the time limits of this transaction's statements.
    pub(super) async fn wait_as_long_as_it_takes(&mut self) -> Result<(), DatabaseError> {
        self.ends_at = None;
        self.connection().await?.send("SET LOCAL lock_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0");
        Ok(())
    }

    pub(super) async fn commit(mut self, changes: &[Change]) -> Result<(), DatabaseError> {
        if self.connection.is_none() {
            return Ok(());
        }
        let payload = changes::payload(changes);
        let commit = async |connection: &Object| {
            if changes.is_empty() {
                return connection.batch_execute("COMMIT").await.map_err(failed);
            }
            let notify = connection.prepare_cached(NOTIFY).await.map_err(failed)?;
            let commit = connection.batch_execute("COMMIT");
            let (notified, committed) = join(connection.execute(&notify, &[&CHANNEL, &payload]), commit).await;
            // If the notification failed, COMMIT has rolled back without an error.
            notified.map_err(failed)?;
            committed.map_err(failed)
        };
        self.exchange(0, commit).await?;
        self.connection().await?.end_transaction();
        Ok(())
    }

    /// Sends a request with `bytes` of parameters, and waits for its answer.
    async fn exchange<T>(
        &mut self,
        bytes: usize,
        request: impl AsyncFnOnce(&Object) -> Result<T, DatabaseError>,
    ) -> Result<T, DatabaseError> {
        let time = self.ends_at.map_or(Duration::MAX, |ends_at| {
            let time = ANSWER_TIMEOUT + Duration::from_secs((bytes / SLOWEST) as u64);
            time.min(ends_at.saturating_duration_since(Instant::now()))
        });
        self.connection().await?.exchange(time, request).await
    }

    async fn connection(&mut self) -> Result<&mut PooledConnection, DatabaseError> {
        let connection = match self.connection.take() {
            Some(connection) => connection,
            None => {
                let mut connection = self.pool.connection().await?;
                connection.send(BEGIN);
                connection
            }
        };
        Ok(self.connection.insert(connection))
    }
}

impl std::fmt::Debug for PostgresTransaction {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("PostgresTransaction").finish_non_exhaustive()
    }
}

/// The size of large parameters, in bytes.
fn size(parameters: &[Vec<Value>]) -> usize {
    let bytes = |value: &Value| if let Value::Bytes(bytes) = value { bytes.len() } else { 0 };
    parameters.iter().flatten().map(bytes).sum()
}

fn spell(sql: &str) -> Cow<'_, str> {
    if !sql.contains('{') {
        return Cow::Borrowed(sql);
    }
    let spelled = sql
        .replace("{bytes}", "BYTEA")
        .replace("{numbered}", "BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY")
        .replace("{unlogged}", "UNLOGGED")
        .replace("{skip_locked}", "FOR UPDATE SKIP LOCKED")
        .replace("{for_update}", "FOR UPDATE");
    Cow::Owned(spelled)
}

/// Converts an error of the driver to the error for the caller.
fn failed(error: tokio_postgres::Error) -> DatabaseError {
    let Some(state) = error.code() else {
        // The error does not come from the server: the connection is lost, or the driver rejected a parameter.
        let cause = std::error::Error::source(&error);
        let lost = error.is_closed() || cause.is_some_and(<dyn std::error::Error>::is::<std::io::Error>);
        return if lost { DatabaseError::Unreachable(error.into()) } else { DatabaseError::Postgres(error) };
    };
    match *state {
        SqlState::LOCK_NOT_AVAILABLE => DatabaseError::LockTimeout,
        SqlState::T_R_DEADLOCK_DETECTED | SqlState::T_R_SERIALIZATION_FAILURE => DatabaseError::Conflict(error),
        SqlState::ADMIN_SHUTDOWN | SqlState::CRASH_SHUTDOWN | SqlState::CANNOT_CONNECT_NOW => {
            DatabaseError::Unreachable(error.into())
        }
        // A connection exception: a pooler reports one when its own connection breaks.
        _ if state.code().starts_with("08") => DatabaseError::Unreachable(error.into()),
        _ => DatabaseError::Postgres(error),
    }
}
