//! The pool of connections. Every request has a time limit. If it is exceeded, the connection is
//! closed, its statement is cancelled, and the next caller gets a new connection. The same happens
//! if a caller stops waiting and the answer does not arrive soon afterwards.
//!
//! It is written here, and not taken from a library, because a connection must not be used again
//! before the answer to its ROLLBACK has shown that its transaction has ended.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Statement};

use super::failure::failed;
use super::hosts::{Connected, Hosts, Server};
use crate::db::DatabaseError;

/// Maximum number of connections for statements that one node opens, in addition to its control
/// connection.
pub(super) const CONNECTIONS: usize = 16;
/// How long a statement waits for a connection: longer than a short restart of the server takes,
/// and not so long that clients give up.
const POOL_TIMEOUT: Duration = Duration::from_secs(7);
/// The pause before a server that cannot be reached is tried again.
const CONNECT_PAUSE: Duration = Duration::from_millis(250);
/// How long a connection may take to answer after its caller stopped waiting, before it is removed.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(1);
const CANCEL_TIMEOUT: Duration = Duration::from_secs(5);
/// A connection that was not used for this long is closed, so that nodes can share a small server
/// or pooler.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// The pool. Cheap to clone.
#[derive(Clone)]
pub(super) struct Pool(Arc<Inner>);

struct Inner {
    hosts: Hosts,
    servers: Arc<Semaphore>,
    /// The one that was used last is at the end.
    idle: Mutex<Vec<(Connection, Instant)>>,
}

/// A connection and the statements that it has prepared.
pub(super) struct Connection {
    pub(super) client: Client,
    statements: Mutex<HashMap<&'static str, Statement>>,
    server: Server,
    moves: watch::Receiver<Option<Server>>,
}

impl Connection {
    /// The prepared statement; prepares it at its first use.
    pub(super) async fn statement(&self, sql: &'static str) -> Result<Statement, DatabaseError> {
        if let Some(statement) = lock(&self.statements).get(sql) {
            return Ok(statement.clone());
        }
        let statement = self.client.prepare(&spell(sql)).await.map_err(failed)?;
        lock(&self.statements).insert(sql, statement.clone());
        Ok(statement)
    }

    /// Whether it is open, and the node has not moved to another host since.
    fn is_current(&self) -> bool {
        let has_moved = self.moves.has_changed().unwrap_or(true)
            && self.moves.borrow().as_ref() != Some(&self.server);
        !self.client.is_closed() && !has_moved
    }
}

impl Pool {
    pub(super) fn new(hosts: Hosts) -> Self {
        let inner = Inner {
            hosts,
            servers: Arc::new(Semaphore::new(CONNECTIONS)),
            idle: Mutex::default(),
        };
        let inner = Arc::new(inner);
        tokio::spawn(close_idle(Arc::downgrade(&inner)));
        Self(inner)
    }

    /// Returns an idle connection, or a new one.
    pub(super) async fn connection(&self) -> Result<PooledConnection, DatabaseError> {
        let end = Instant::now() + POOL_TIMEOUT;
        timeout_at(end, self.take(end))
            .await
            .map_err(|_| DatabaseError::Silent)?
    }

    async fn take(&self, end: Instant) -> Result<PooledConnection, DatabaseError> {
        let servers = Arc::clone(&self.0.servers);
        let server = servers
            .acquire_owned()
            .await
            .map_err(|_| DatabaseError::Closed)?;
        let idle =
            std::iter::from_fn(|| lock(&self.0.idle).pop()).map(|(connection, _)| connection);
        let mut current = idle.filter(Connection::is_current);
        let connection = match current.next() {
            Some(connection) => connection,
            None => self.connect(end).await?,
        };
        let pool = self.clone();
        Ok(PooledConnection {
            pool,
            connection: Some(connection),
            server: Some(server),
            in_transaction: false,
            is_waiting: false,
        })
    }

    /// Opens a connection. While the server restarts, or until a standby is promoted, it is tried
    /// again; the last error before `end` is the result.
    async fn connect(&self, end: Instant) -> Result<Connection, DatabaseError> {
        let moves = self.0.hosts.moves();
        loop {
            match self.0.hosts.connect(|_| {}).await {
                Ok(Connected { client, server, .. }) => {
                    return Ok(Connection {
                        client,
                        statements: Mutex::default(),
                        server,
                        moves,
                    });
                }
                Err(error)
                    if may_pass(&error)
                        && !self.0.servers.is_closed()
                        && Instant::now() + CONNECT_PAUSE < end =>
                {
                    sleep(CONNECT_PAUSE).await;
                }
                Err(error) => return Err(error),
            }
        }
    }

    pub(super) fn close(&self) {
        self.0.servers.close();
        self.forget_idle();
    }

    /// Closes the idle connections, because they have probably failed too.
    fn forget_idle(&self) {
        let idle = std::mem::take(&mut *lock(&self.0.idle));
        drop(idle);
    }

    fn put_back(&self, connection: Connection) {
        if !self.0.servers.is_closed() && connection.is_current() {
            lock(&self.0.idle).push((connection, Instant::now()));
        }
    }

    fn give_up(&self, connection: Connection) {
        let cancel = connection.client.cancel_token();
        let tls = self.0.hosts.tls();
        drop(connection);
        self.forget_idle();
        tracing::warn!("the database does not answer; the connection is closed");
        spawn(async move { drop(timeout(CANCEL_TIMEOUT, cancel.cancel_query(tls)).await) });
    }
}

/// Closes connections that are not used, while the pool exists.
async fn close_idle(pool: Weak<Inner>) {
    loop {
        sleep(IDLE_TIMEOUT / 4).await;
        let Some(pool) = pool.upgrade() else { return };
        let now = Instant::now();
        lock(&pool.idle).retain(|(_, since)| now.duration_since(*since) < IDLE_TIMEOUT);
    }
}

/// A connection that returns to the pool when it is dropped.
pub(super) struct PooledConnection {
    pool: Pool,
    /// `None` after it was closed.
    connection: Option<Connection>,
    /// `None` if it is returning to the pool.
    server: Option<OwnedSemaphorePermit>,
    in_transaction: bool,
    /// Whether an answer is outstanding.
    is_waiting: bool,
}

impl PooledConnection {
    /// Sends a request and waits for its answer.
    pub(super) async fn exchange<T>(
        &mut self,
        time: Duration,
        request: impl AsyncFnOnce(&Connection) -> Result<T, DatabaseError>,
    ) -> Result<T, DatabaseError> {
        let connection = self.connection.as_ref().ok_or(DatabaseError::Silent)?;
        let moved = until_moved(connection.moves.clone(), connection.server.clone());
        self.is_waiting = true;
        let answer = tokio::select! {
            biased;
            answer = timeout(time, request(connection)) => answer.ok(),
            () = moved => None,
        };
        self.is_waiting = false;
        let Some(answer) = answer else {
            self.connection
                .take()
                .into_iter()
                .for_each(|connection| self.pool.give_up(connection));
            return Err(DatabaseError::Silent);
        };
        // Another host may be the primary now, or only the sessions that are open are still
        // read-only.
        if matches!(
            answer,
            Err(DatabaseError::Unreachable(_) | DatabaseError::ReadOnly)
        ) {
            self.close();
            self.pool.forget_idle();
        }
        answer
    }

    /// Marks that the connection has a transaction, or may have one.
    pub(super) fn start_transaction(&mut self) {
        self.in_transaction = true;
    }

    /// Marks the transaction as ended.
    pub(super) fn end_transaction(&mut self) {
        self.in_transaction = false;
    }

    pub(super) fn close(&mut self) {
        self.connection = None;
    }
}

impl Drop for PooledConnection {
    /// Ends an open transaction. The connection is used again only after its answer.
    fn drop(&mut self) {
        let Some(connection) = self.connection.take() else {
            return;
        };
        let pool = self.pool.clone();
        if !self.is_waiting && !self.in_transaction {
            return pool.put_back(connection);
        }
        let end = if self.in_transaction { "ROLLBACK" } else { "" };
        let server = self.server.take();
        spawn(async move {
            match timeout(SETTLE_TIMEOUT, connection.client.batch_execute(end)).await {
                Ok(Ok(())) => pool.put_back(connection),
                Ok(Err(_)) => drop(connection),
                Err(_) => pool.give_up(connection),
            }
            drop(server);
        });
    }
}

/// Returns when the node has moved to another host than `place`.
pub(super) async fn until_moved(mut moves: watch::Receiver<Option<Server>>, server: Server) {
    while moves.changed().await.is_ok() {
        if moves.borrow_and_update().as_ref() != Some(&server) {
            return;
        }
    }
}

/// Whether the next attempt to connect may succeed. A server that rejects the password or the
/// database says so.
fn may_pass(error: &DatabaseError) -> bool {
    match error {
        DatabaseError::Standby => true,
        DatabaseError::Unreachable(cause) => {
            let rejected = cause.downcast_ref().and_then(tokio_postgres::Error::code);
            rejected.is_none_or(|state| {
                [SqlState::CANNOT_CONNECT_NOW, SqlState::ADMIN_SHUTDOWN].contains(state)
            })
        }
        _ => false,
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // The mutex is not poisoned: no code panics while it is locked.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `work` as a task. Without a runtime the program is ending, and the server detects that on
/// its own.
fn spawn(work: impl Future<Output = ()> + Send + 'static) {
    if let Ok(runtime) = tokio::runtime::Handle::try_current() {
        drop(runtime.spawn(work));
    }
}

/// Replaces the placeholders for what differs between the engines.
pub(super) fn spell(sql: &str) -> Cow<'_, str> {
    if !sql.contains('{') {
        return Cow::Borrowed(sql);
    }
    let spelled = sql
        .replace("{bytes}", "BYTEA")
        .replace(
            "{numbered}",
            "BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY",
        )
        .replace("{skip_locked}", "FOR UPDATE SKIP LOCKED")
        .replace("{for_update}", "FOR UPDATE");
    Cow::Owned(spelled)
}
