//! The pool of connections. Every statement has a time limit. If it is exceeded, the connection is removed from the
//! pool, its statement is cancelled, and the next caller gets a new connection. The same happens if a caller stops
//! waiting and the answer does not arrive soon afterwards.

use std::time::Duration;

use deadpool_postgres::{Hook, HookError, Manager, ManagerConfig, Object, RecyclingMethod};
use futures_util::FutureExt;
use tokio::time::timeout;
use tokio_postgres_rustls::MakeRustlsConnect;

use super::connect::{Target, prepare_session};
use crate::db::DatabaseError;

/// Maximum number of connections for statements that one node opens, in addition to its control connection.
pub(super) const CONNECTIONS: usize = 16;
/// How long a statement waits for a connection.
const POOL_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a connection may take to answer after its caller stopped waiting, before it is removed.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(1);
const CANCEL_TIMEOUT: Duration = Duration::from_secs(5);

/// The pool. Cheap to clone.
#[derive(Clone)]
pub(super) struct Pool {
    connections: deadpool_postgres::Pool,
    tls: MakeRustlsConnect,
}

impl Pool {
    pub(super) fn new(target: Target) -> Result<Self, DatabaseError> {
        let settings = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let tls = target.tls.clone();
        let manager = Manager::from_config(target.options, target.tls, settings);
        let prepare = Hook::async_fn(|client: &mut deadpool_postgres::ClientWrapper, _| {
            prepare_session(client).map(|prepared| prepared.map_err(HookError::Backend)).boxed()
        });
        let builder = deadpool_postgres::Pool::builder(manager).max_size(CONNECTIONS).post_create(prepare);
        let connections = builder.build().map_err(|error| DatabaseError::Unreachable(error.into()))?;
        Ok(Self { connections, tls })
    }

    /// Returns an idle connection, or a new one.
    pub(super) async fn connection(&self) -> Result<PooledConnection, DatabaseError> {
        let taken = timeout(POOL_TIMEOUT, self.connections.get()).await.map_err(|_| DatabaseError::Silent)?;
        let object = taken.map_err(|error| DatabaseError::Unreachable(error.into()))?;
        Ok(PooledConnection { pool: self.clone(), object: Some(object), in_transaction: false, is_waiting: false })
    }

    pub(super) fn close(&self) {
        self.connections.close();
    }

    fn give_up(&self, object: Object) {
        let (cancel, tls) = (object.cancel_token(), self.tls.clone());
        drop(Object::take(object));
        // The idle connections may have failed too.
        self.connections.retain(|_, _| false);
        tracing::warn!("the database does not answer; the connection is closed");
        spawn(async move { drop(timeout(CANCEL_TIMEOUT, cancel.cancel_query(tls)).await) });
    }
}

/// A connection that returns to the pool when it is dropped.
pub(super) struct PooledConnection {
    pool: Pool,
    /// `None` after it was removed from the pool.
    object: Option<Object>,
    in_transaction: bool,
    /// Whether an answer is outstanding.
    is_waiting: bool,
}

impl PooledConnection {
    /// Sends a request and waits for its answer.
    pub(super) async fn exchange<T>(
        &mut self,
        time: Duration,
        request: impl AsyncFnOnce(&Object) -> Result<T, DatabaseError>,
    ) -> Result<T, DatabaseError> {
        let object = self.object.as_ref().ok_or(DatabaseError::Silent)?;
        self.is_waiting = true;
        let answer = timeout(time, request(object)).await;
        self.is_waiting = false;
        answer.unwrap_or_else(|_| {
            if let Some(object) = self.object.take() {
                self.pool.give_up(object);
            }
            Err(DatabaseError::Silent)
        })
    }

    /// Sends a statement of a transaction without waiting for its answer. If it fails, so does the next one.
    pub(super) fn send(&mut self, sql: &str) {
        self.in_transaction = true;
        if let Some(object) = &self.object {
            drop(object.batch_execute(sql).now_or_never());
        }
    }

    /// Marks the transaction as ended.
    pub(super) fn end_transaction(&mut self) {
        self.in_transaction = false;
    }
}

impl Drop for PooledConnection {
    /// Rolls back an open transaction. The next user's statements are sent after the rollback.
    fn drop(&mut self) {
        let Some(object) = self.object.take() else { return };
        let end = if self.in_transaction { "ROLLBACK" } else { "" };
        if self.is_waiting {
            let pool = self.pool.clone();
            spawn(async move {
                if !matches!(timeout(SETTLE_TIMEOUT, object.batch_execute(end)).await, Ok(Ok(()))) {
                    pool.give_up(object);
                }
            });
        } else if self.in_transaction {
            drop(object.batch_execute(end).now_or_never());
        }
    }
}

/// Runs `work` as a task. Without a runtime the program is ending, and the server detects that on its own.
fn spawn(work: impl Future<Output = ()> + Send + 'static) {
    if let Ok(runtime) = tokio::runtime::Handle::try_current() {
        drop(runtime.spawn(work));
    }
}
