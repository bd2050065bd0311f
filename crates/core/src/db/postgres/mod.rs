//! The PostgreSQL engine: a pool of connections for statements, and one control connection for
//! notifications and locks.
//!
//! Statements are prepared once per connection. The statements of a batch are sent before the first
//! answer is awaited, so a batch of any size costs only a few round trips.

mod changes;
mod connect;
mod failure;
mod hosts;
mod numbers;
mod passwords;
mod pipeline;
mod pool;
mod requests;
mod schema;
mod session;
mod tls;
mod transaction;
mod types;

use std::sync::Arc;
use std::time::Duration;

use super::announcer::Announcer;
use super::{DatabaseError, Row, Value};
use crate::db::PostgresUrl;
use connect::Target;
use hosts::Hosts;
use numbers::Numbers;
use pool::Pool;
use requests::{Request, send};
use schema::Schema;
pub(super) use session::NodeSession;
pub(super) use transaction::PostgresTransaction;

/// How long the server may take to answer. It is longer than the server waits for a lock.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(8);
/// How often a query is sent if its connection is lost: the connections in the pool may all be.
const QUERY_ATTEMPTS: usize = 3;

/// A database on a PostgreSQL server.
pub(super) struct Postgres {
    pool: Pool,
    session: NodeSession,
    schema: Arc<Schema>,
    numbers: Arc<Numbers>,
}

impl Postgres {
    pub(super) async fn open(
        url: &PostgresUrl,
        announcer: Announcer,
    ) -> Result<Self, DatabaseError> {
        let target = Target::new(url, |name| {
            std::env::var(name).ok().filter(|text| !text.is_empty())
        })?;
        let hosts = Hosts::new(target);
        let pool = Pool::new(hosts.clone());
        let (session, schema) = NodeSession::start(hosts, &pool, announcer).await?;
        Ok(Self {
            pool,
            session,
            schema,
            numbers: Arc::default(),
        })
    }

    /// Sends a query, again if its connection was lost or an administrator has cancelled it. Its
    /// rows are read until they have `max_bytes`.
    pub(super) async fn query(
        &self,
        sql: &'static str,
        parameters: Vec<Value>,
        max_bytes: usize,
    ) -> Result<Vec<Row>, DatabaseError> {
        let request = [Request {
            sql,
            parameters: vec![parameters],
            max_bytes,
        }];
        for _ in 1..QUERY_ATTEMPTS {
            match self.query_once(&request).await {
                Err(DatabaseError::Unreachable(_) | DatabaseError::Cancelled) => {}
                answered => return answered,
            }
        }
        self.query_once(&request).await
    }

    async fn query_once(&self, request: &[Request]) -> Result<Vec<Row>, DatabaseError> {
        let query = async |connection: &pool::Connection| send(connection, "", request, "").await;
        let mut answers = self
            .pool
            .connection()
            .await?
            .exchange(ANSWER_TIMEOUT, query)
            .await?;
        Ok(answers.pop().ok_or(DatabaseError::NoRow)?.rows)
    }

    pub(super) async fn check_writable(&self) -> Result<(), DatabaseError> {
        let check =
            async |connection: &pool::Connection| hosts::check_writable(&connection.client).await;
        self.pool
            .connection()
            .await?
            .exchange(ANSWER_TIMEOUT, check)
            .await
    }

    pub(super) fn begin(&self) -> PostgresTransaction {
        PostgresTransaction::new(
            self.pool.clone(),
            Arc::clone(&self.schema),
            Arc::clone(&self.numbers),
        )
    }

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
