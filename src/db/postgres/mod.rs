//! PostgreSQL behind the seam: a pool of connections for statements, and one session of the node's own for what other
//! nodes announce and for locks.
//!
//! Statements are prepared once a connection. What goes to the server together is sent before the first answer is
//! awaited, so that a batch costs a few round trips whatever its size.

mod connect;
mod pipeline;
mod session;
mod tls;
mod types;

use std::borrow::Cow;
use std::time::Duration;

use deadpool_postgres::{Hook, HookError, Manager, ManagerConfig, Object, Pool, RecyclingMethod, Runtime};
use futures_util::future::join;
use futures_util::{FutureExt, TryStreamExt};
use tokio_postgres::Statement;
use tokio_postgres::error::SqlState;

use super::announcer::Announcer;
use super::{DatabaseError, Notice, Row, Value};
use crate::config::PostgresUrl;
use connect::{Target, prepare_session};
use pipeline::pipelined;
pub(super) use session::Session;

/// Connections for statements that one node opens at most, beside its session.
const CONNECTIONS: usize = 16;
/// How long a statement waits for a connection.
const POOL_TIMEOUT: Duration = Duration::from_secs(5);
/// Where nodes announce to each other what they have committed.
const CHANNEL: &str = "restante_changes";
/// Stands between the keys of one announcement; no key has it.
const SEPARATOR: char = '\n';
/// The longest announcement that the server takes, less one octet.
const LONGEST_PAYLOAD: usize = 7_999;

const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED";
const NOTIFY: &str = "SELECT pg_notify($1, $2)";

/// A database on a server.
#[derive(Debug)]
pub(super) struct Postgres {
    pool: Pool,
    session: Session,
}

impl Postgres {
    pub(super) async fn open(url: &PostgresUrl, announcer: Announcer) -> Result<Self, DatabaseError> {
        let target = Target::new(url, |name| std::env::var(name).ok().filter(|text| !text.is_empty()))?;
        let session = Session::start(target.clone(), announcer).await?;
        Ok(Self { pool: pool(target)?, session })
    }

    /// A reading statement that finds its connection lost is sent again: after a restart of the server, every connection
    /// of the pool is.
    pub(super) async fn query(&self, sql: &'static str, parameters: Vec<Value>) -> Result<Vec<Row>, DatabaseError> {
        for _ in 0..CONNECTIONS {
            let connection = connection(&self.pool).await?;
            match query_on(&connection, sql, &parameters).await {
                Err(DatabaseError::Unreachable(_)) => {}
                answered => return answered,
            }
        }
        query_on(&connection(&self.pool).await?, sql, &parameters).await
    }

    pub(super) fn begin(&self) -> PostgresTransaction {
        PostgresTransaction { pool: self.pool.clone(), connection: None }
    }

    /// Closes the pool.
    pub(super) fn close(&self) {
        self.pool.close();
    }

    pub(super) fn session(&self) -> Session {
        self.session.clone()
    }
}

fn pool(target: Target) -> Result<Pool, DatabaseError> {
    let settings = ManagerConfig { recycling_method: RecyclingMethod::Fast };
    let manager = Manager::from_config(target.options, target.tls, settings);
    let prepared = Hook::async_fn(|client: &mut deadpool_postgres::ClientWrapper, _| {
        prepare_session(client).map(|told| told.map_err(HookError::Backend)).boxed()
    });
    let builder = Pool::builder(manager).max_size(CONNECTIONS).runtime(Runtime::Tokio1).post_create(prepared);
    let builder = builder.timeouts(deadpool_postgres::Timeouts {
        wait: Some(POOL_TIMEOUT),
        create: Some(POOL_TIMEOUT),
        recycle: Some(POOL_TIMEOUT),
    });
    builder.build().map_err(|error| DatabaseError::Unreachable(error.into()))
}

async fn connection(pool: &Pool) -> Result<Object, DatabaseError> {
    pool.get().await.map_err(|error| DatabaseError::Unreachable(error.into()))
}

async fn query_on(connection: &Object, sql: &'static str, parameters: &[Value]) -> Result<Vec<Row>, DatabaseError> {
    let statement = connection.prepare_cached(&spell(sql)).await.map_err(failed)?;
    rows(connection, &statement, parameters).await
}

async fn rows(connection: &Object, statement: &Statement, parameters: &[Value]) -> Result<Vec<Row>, DatabaseError> {
    let stream = connection.query_raw(statement, parameters).await.map_err(failed)?;
    let rows: Vec<tokio_postgres::Row> = stream.try_collect().await.map_err(failed)?;
    rows.iter().map(Row::of_postgres).collect()
}

/// An open transaction; it takes a connection with its first statement.
pub(super) struct PostgresTransaction {
    pool: Pool,
    connection: Option<Object>,
}

impl PostgresTransaction {
    pub(super) async fn execute(
        &mut self,
        sql: &'static str,
        parameters: Vec<Vec<Value>>,
    ) -> Result<u64, DatabaseError> {
        let connection = self.connection().await?;
        let statement = connection.prepare_cached(&spell(sql)).await.map_err(failed)?;
        let changed = parameters.iter().map(|parameters| connection.execute_raw(&statement, parameters));
        Ok(pipelined(changed).await.map_err(failed)?.into_iter().sum())
    }

    pub(super) async fn execute_script(&mut self, sql: &'static str) -> Result<(), DatabaseError> {
        self.connection().await?.batch_execute(&spell(sql)).await.map_err(failed)
    }

    pub(super) async fn query(
        &mut self,
        sql: &'static str,
        parameters: Vec<Vec<Value>>,
    ) -> Result<Vec<Vec<Row>>, DatabaseError> {
        let connection = self.connection().await?;
        let statement = connection.prepare_cached(&spell(sql)).await.map_err(failed)?;
        pipelined(parameters.iter().map(|parameters| rows(connection, &statement, parameters))).await
    }

    pub(super) async fn commit(mut self, notices: &[Notice]) -> Result<(), DatabaseError> {
        let Some(connection) = &self.connection else { return Ok(()) };
        if notices.is_empty() {
            connection.batch_execute("COMMIT").await.map_err(failed)?;
        } else {
            let notify = connection.prepare_cached(NOTIFY).await.map_err(failed)?;
            let (payload, commit) = (payload(notices), connection.batch_execute("COMMIT"));
            let (notified, committed) = join(connection.execute(&notify, &[&CHANNEL, &payload]), commit).await;
            // Where the first one failed, the second one has rolled back without a complaint.
            notified.map_err(failed)?;
            committed.map_err(failed)?;
        }
        self.connection = None;
        Ok(())
    }

    async fn connection(&mut self) -> Result<&Object, DatabaseError> {
        let connection = match self.connection.take() {
            Some(connection) => connection,
            None => begun(connection(&self.pool).await?),
        };
        Ok(self.connection.insert(connection))
    }
}

/// Sends BEGIN without waiting for its answer: where it fails, so does the statement behind it.
fn begun(connection: Object) -> Object {
    drop(connection.batch_execute(BEGIN).now_or_never());
    connection
}

impl Drop for PostgresTransaction {
    /// Sends ROLLBACK without waiting for its answer: whoever has the connection next sends behind it.
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            drop(connection.batch_execute("ROLLBACK").now_or_never());
        }
    }
}

impl std::fmt::Debug for PostgresTransaction {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("PostgresTransaction").finish_non_exhaustive()
    }
}

/// The keys of an announcement; empty where they are too many to be named or something unnamed has changed.
fn payload(notices: &[Notice]) -> String {
    let mut payload = String::new();
    for notice in notices {
        let Notice::Key(key) = notice else { return String::new() };
        if payload.len() + 1 + key.len() > LONGEST_PAYLOAD {
            return String::new();
        }
        if !payload.is_empty() {
            payload.push(SEPARATOR);
        }
        payload.push_str(key);
    }
    payload
}

fn spell(sql: &str) -> Cow<'_, str> {
    if !sql.contains('{') {
        return Cow::Borrowed(sql);
    }
    let spelled = sql
        .replace("{bytes}", "BYTEA")
        .replace("{numbered}", "BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY")
        .replace("{skip_locked}", "FOR UPDATE SKIP LOCKED")
        .replace("{for_update}", "FOR UPDATE");
    Cow::Owned(spelled)
}

/// Sorts what the driver says by what it means for the caller.
fn failed(error: tokio_postgres::Error) -> DatabaseError {
    let Some(state) = error.code() else {
        // Without a word of the server: the connection is gone, or the driver refused what it was given.
        let cause = std::error::Error::source(&error);
        let lost = error.is_closed() || cause.is_some_and(<dyn std::error::Error>::is::<std::io::Error>);
        return if lost { DatabaseError::Unreachable(error.into()) } else { DatabaseError::Postgres(error) };
    };
    match *state {
        SqlState::T_R_DEADLOCK_DETECTED | SqlState::T_R_SERIALIZATION_FAILURE => DatabaseError::Conflict(error),
        SqlState::ADMIN_SHUTDOWN | SqlState::CRASH_SHUTDOWN | SqlState::CANNOT_CONNECT_NOW => {
            DatabaseError::Unreachable(error.into())
        }
        // A connection exception, which a pooler reports whose own connection broke.
        _ if state.code().starts_with("08") => DatabaseError::Unreachable(error.into()),
        _ => DatabaseError::Postgres(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_announcement_names_its_keys_or_none() {
        let keys = |count: usize, length: usize| vec![Notice::Key("k".repeat(length)); count];
        assert_eq!(payload(&[Notice::Key("a".to_owned()), Notice::Key("b".to_owned())]), "a\nb");
        assert_eq!(payload(&[Notice::Key("a".to_owned()), Notice::Lost]), "");
        assert_eq!(payload(&keys(256, 16)).len(), 256 * 17 - 1);
        assert_eq!(payload(&keys(256, 64)), "");
    }
}
