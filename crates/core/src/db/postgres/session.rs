//! The session of this node, its control connection to PostgreSQL, separate from the pool: it
//! receives the notifications of all nodes and holds the locks of this node.
//!
//! When the node dies, PostgreSQL ends the session and frees its locks. If the session is lost or
//! does not answer, the node opens a new one, with bounded backoff. It then takes the locks that
//! are still wanted again, and announces [`Change::Unknown`], because notifications may have been
//! missed.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::FuturesUnordered;
use futures_util::{StreamExt, poll};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, SimpleQueryMessage, Statement};

use super::changes::announced;
use super::failure::failed;
use super::hosts::{Hosts, Server, check_writable};
use super::pool::{CONNECTIONS, Pool, until_moved};
use super::schema::Schema;
use crate::db::DatabaseError;
use crate::db::announcer::Announcer;
use crate::model::Change;

/// How long a caller waits for the answer to a lock request.
const LOCK_TIMEOUT: Duration = Duration::from_secs(2);
/// How often an open session is probed, and how long the server may take to answer.
const PROBE_PAUSE: Duration = Duration::from_secs(2);
const PROBE_TIMEOUT: Duration = Duration::from_secs(3);
/// How long the rest of a start may take after the connection is open.
const PREPARE_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a notification of this node to itself may take at the start.
const NOTIFY_TIMEOUT: Duration = Duration::from_secs(3);
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const MAX_PAUSE: Duration = Duration::from_secs(2);
/// The pause after which locks that were lost with a session are requested again; it doubles up to
/// [`MAX_PAUSE`].
const RETAKE_PAUSE: Duration = Duration::from_millis(50);
/// The payload of the notification with which a node tests its connection. It names no change.
const HELLO: &str = "hello ";

const LOCK: &str = "SELECT pg_try_advisory_lock($1)";
const UNLOCK: &str = "SELECT pg_advisory_unlock($1)";
/// Requests many locks in one round trip; returns the names of those that were granted.
const LOCK_MANY: &str =
    "SELECT name FROM unnest($1::bigint[]) AS wanted (name) WHERE pg_try_advisory_lock(name)";

/// The server's encoding, and the number of locks per connection for which it has memory.
const SERVER: &str = "
    SELECT current_setting('server_encoding'), CAST(current_setting('max_locks_per_transaction') AS BIGINT)";

/// Sends lock requests to the session. The session ends when the last clone is dropped.
#[derive(Clone, Debug)]
pub(in crate::db) struct NodeSession {
    commands: mpsc::UnboundedSender<LockCommand>,
    max_locks: usize,
}

#[derive(Debug)]
enum LockCommand {
    Lock {
        name: i64,
        reply: oneshot::Sender<Result<bool, DatabaseError>>,
    },
    Unlock {
        name: i64,
        reply: oneshot::Sender<()>,
    },
}

impl NodeSession {
    /// Connects and listens. The session runs until the last clone is dropped.
    pub(super) async fn start(
        hosts: Hosts,
        pool: &Pool,
        announcer: Announcer,
    ) -> Result<(Self, Arc<Schema>), DatabaseError> {
        let link = Link::connect(&hosts, &announcer).await?;
        let max_locks = link.requests.check_server().await?;
        link.prove_session(pool).await?;
        let schema = Arc::clone(&link.requests.schema);
        let (sender, commands) = mpsc::unbounded_channel();
        let keeper = Keeper {
            hosts,
            announcer,
            commands,
            held: HashSet::new(),
            lost: HashSet::new(),
        };
        tokio::spawn(keeper.keep(link));
        Ok((
            Self {
                commands: sender,
                max_locks,
            },
            schema,
        ))
    }

    /// How many locks this node may have. The server's lock table has space for
    /// `max_locks_per_transaction` per connection. A node uses the space of its pool's connections;
    /// the space of the session's own connection is left for statements.
    pub(in crate::db) fn max_locks(&self) -> usize {
        self.max_locks
    }

    /// Takes a lock; `false` if another node has it. This node must not already have it.
    pub(in crate::db) async fn lock(&self, name: i64) -> Result<bool, DatabaseError> {
        let (reply, answer) = oneshot::channel();
        self.commands
            .send(LockCommand::Lock { name, reply })
            .map_err(|_| DatabaseError::SessionLost)?;
        let answer = timeout(LOCK_TIMEOUT, answer)
            .await
            .map_err(|_| DatabaseError::Silent)?;
        answer.map_err(|_| DatabaseError::SessionLost)?
    }

    /// Frees a lock. Later requests of this node can take it immediately. Returns when every other
    /// node can take it too.
    pub(in crate::db) fn unlock(&self, name: i64) -> impl Future<Output = ()> + use<> {
        let (reply, freed) = oneshot::channel();
        // A lost session holds no locks.
        drop(self.commands.send(LockCommand::Unlock { name, reply }));
        async move { drop(timeout(LOCK_TIMEOUT, freed).await) }
    }
}

struct Keeper {
    hosts: Hosts,
    announcer: Announcer,
    commands: mpsc::UnboundedReceiver<LockCommand>,
    held: HashSet<i64>,
    /// Locks that this node had in a lost session and has not taken again: another node was faster,
    /// or the server has not yet detected that the old session has ended.
    lost: HashSet<i64>,
}

impl Keeper {
    async fn keep(mut self, mut link: Link) {
        loop {
            if self.serve(link).await.is_break() {
                return;
            }
            tracing::warn!("lost the control connection to the database; reconnecting");
            link = match self.connect_again().await {
                ControlFlow::Continue(link) => link,
                ControlFlow::Break(()) => return,
            };
            tracing::info!("the control connection to the database is restored");
            self.announcer.announce(&[Change::Unknown]);
        }
    }

    /// Runs commands until the link is lost or every [`NodeSession`] is dropped. Commands are sent
    /// in the order in which they arrive, without waiting for earlier answers.
    async fn serve(&mut self, mut link: Link) -> ControlFlow<()> {
        let requests = &link.requests;
        let mut running = FuturesUnordered::new();
        let hosts = self.hosts.clone();
        let useless = requests.until_useless(&hosts);
        let moved = until_moved(link.moves.clone(), link.server.clone());
        tokio::pin!(useless, moved);
        // Commands do not restart this pause, so even a busy node takes its locks again.
        let mut pause = RETAKE_PAUSE;
        let mut retake_at = Instant::now();
        let mut retaking = FuturesUnordered::new();
        loop {
            tokio::select! {
                command = self.commands.recv() => {
                    let Some(command) = command else { return ControlFlow::Break(()) };
                    let Some(command) = self.forget(command) else { continue };
                    let mut request = Box::pin(requests.carry_out(command));
                    // The first poll sends it.
                    match poll!(request.as_mut()) {
                        std::task::Poll::Ready(granted) => self.held.extend(granted),
                        std::task::Poll::Pending => running.push(request),
                    }
                }
                Some(granted) = running.next() => self.held.extend(granted),
                () = sleep_until(retake_at), if retaking.is_empty() && !self.lost.is_empty() => {
                    let lost = self.lost.iter().copied().collect();
                    retaking.push(requests.lock_many(lost));
                }
                Some(granted) = retaking.next() => {
                    let Ok(granted) = granted else { return ControlFlow::Continue(()) };
                    for name in self.taken_again(granted) {
                        let (reply, _) = oneshot::channel();
                        running.push(Box::pin(requests.carry_out(LockCommand::Unlock { name, reply })));
                    }
                    retake_at = Instant::now() + pause.mul_f64(rand::random_range(0.5..1.0));
                    pause = (pause * 2).min(MAX_PAUSE);
                }
                () = &mut useless => return ControlFlow::Continue(()),
                () = &mut moved => return ControlFlow::Continue(()),
                _ = &mut link.ended => return ControlFlow::Continue(()),
            }
        }
    }

    /// Records that a lock is no longer wanted. A lost lock needs nothing else; any other command
    /// is returned.
    fn forget(&mut self, command: LockCommand) -> Option<LockCommand> {
        match command {
            LockCommand::Unlock { name, reply } if self.lost.remove(&name) => {
                // The caller may have stopped waiting.
                let _ = reply.send(());
                None
            }
            LockCommand::Unlock { name, reply } => {
                self.held.remove(&name);
                Some(LockCommand::Unlock { name, reply })
            }
            LockCommand::Lock { .. } => Some(command),
        }
    }

    /// Records locks that were taken again. Those that are no longer wanted are freed.
    fn taken_again(&mut self, granted: Vec<i64>) -> Vec<i64> {
        let (wanted, unwanted): (Vec<i64>, _) =
            granted.into_iter().partition(|name| self.lost.remove(name));
        self.held.extend(wanted);
        unwanted
    }

    async fn connect_again(&mut self) -> ControlFlow<(), Link> {
        self.lost.extend(self.held.drain());
        let hosts = self.hosts.clone();
        let announcer = self.announcer.clone();
        let mut pause = FIRST_PAUSE;
        loop {
            match self.refuse_until(Link::connect(&hosts, &announcer)).await? {
                Ok(link) => return ControlFlow::Continue(link),
                Err(error) => {
                    tracing::warn!(%error, ?pause, "the database cannot be reached; trying again");
                }
            }
            self.refuse_until(sleep(pause.mul_f64(rand::random_range(0.5..1.0))))
                .await?;
            pause = (pause * 2).min(MAX_PAUSE);
        }
    }

    /// Rejects lock requests until `end` is ready. A server may accept a connection and then not
    /// answer.
    async fn refuse_until<T>(&mut self, end: impl Future<Output = T>) -> ControlFlow<(), T> {
        tokio::pin!(end);
        loop {
            tokio::select! {
                ended = &mut end => return ControlFlow::Continue(ended),
                command = self.commands.recv() => match command {
                    None => return ControlFlow::Break(()),
                    // The caller may have stopped waiting.
                    Some(LockCommand::Lock { reply, .. }) => drop(reply.send(Err(DatabaseError::SessionLost))),
                    Some(unlock) => drop(self.forget(unlock)),
                }
            }
        }
    }
}

struct Link {
    requests: Requests,
    /// The task that reads from the connection; it ends when the connection ends.
    ended: JoinHandle<()>,
    server: Server,
    /// The moves of the node since before it was opened.
    moves: watch::Receiver<Option<Server>>,
    /// What this session sends to itself. Other nodes that start at the same moment send theirs.
    greeting: String,
    /// Whether it has arrived.
    greeted: watch::Receiver<bool>,
}

struct Requests {
    client: Client,
    lock: Statement,
    unlock: Statement,
    lock_many: Statement,
    schema: Arc<Schema>,
}

impl Link {
    async fn connect(hosts: &Hosts, announcer: &Announcer) -> Result<Self, DatabaseError> {
        let announcer = announcer.clone();
        let greeting = format!("{HELLO}{}", uuid::Uuid::now_v7());
        let (arrived, greeted) = watch::channel(false);
        let arrived = Arc::new(arrived);
        let own = greeting.clone();
        let notified = move |payload: &str| match payload {
            payload if payload == own => _ = arrived.send_replace(true),
            payload if payload.starts_with(HELLO) => {}
            payload => announcer.announce(&announced(payload)),
        };
        let moves = hosts.moves();
        let connected = hosts.connect(notified).await?;
        let schema = Arc::new(Schema::new(&connected.schema));
        let requests = timeout(PREPARE_TIMEOUT, Requests::prepare(connected.client, schema)).await;
        let requests = requests.unwrap_or(Err(DatabaseError::Silent))?;
        Ok(Self {
            requests,
            ended: connected.ended,
            server: connected.server,
            moves,
            greeting,
            greeted,
        })
    }

    /// Tests that this connection is a session of its own: it keeps its process while another
    /// connection has a transaction, and receives notifications. With a pooler in transaction mode,
    /// locks and notifications are lost.
    async fn prove_session(&self, pool: &Pool) -> Result<(), DatabaseError> {
        let script = format!(
            "BEGIN; SELECT pg_notify('{}', '{}'); SELECT pg_backend_pid()",
            self.requests.schema.channel, self.greeting
        );
        let before = self.requests.process().await?;
        let mut other = pool.connection().await?;
        let time = PREPARE_TIMEOUT;
        other.start_transaction();
        other
            .exchange(time, async |connection| {
                connection
                    .client
                    .batch_execute(&script)
                    .await
                    .map_err(failed)
            })
            .await?;
        let after = self.requests.process().await?;
        other
            .exchange(time, async |connection| {
                connection
                    .client
                    .batch_execute("COMMIT")
                    .await
                    .map_err(failed)
            })
            .await?;
        other.end_transaction();
        let mut greeted = self.greeted.clone();
        let heard = timeout(NOTIFY_TIMEOUT, greeted.wait_for(|greeted| *greeted)).await;
        if before == after && matches!(heard, Ok(Ok(_))) {
            Ok(())
        } else {
            Err(DatabaseError::Pooler)
        }
    }
}

impl Requests {
    async fn prepare(client: Client, schema: Arc<Schema>) -> Result<Self, DatabaseError> {
        client
            .batch_execute(&format!("LISTEN {}", schema.channel))
            .await
            .map_err(failed)?;
        let lock = client.prepare(LOCK).await.map_err(failed)?;
        let unlock = client.prepare(UNLOCK).await.map_err(failed)?;
        let lock_many = client.prepare(LOCK_MANY).await.map_err(failed)?;
        Ok(Self {
            client,
            lock,
            unlock,
            lock_many,
            schema,
        })
    }

    /// The process that serves this session.
    async fn process(&self) -> Result<Option<String>, DatabaseError> {
        let messages = timeout(
            PREPARE_TIMEOUT,
            self.client.simple_query("SELECT pg_backend_pid()"),
        )
        .await;
        let messages = messages
            .map_err(|_| DatabaseError::Silent)?
            .map_err(failed)?;
        Ok(messages.iter().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
            _ => None,
        }))
    }

    /// Rejects a database that cannot store every message. Returns how many locks this node may
    /// have.
    async fn check_server(&self) -> Result<usize, DatabaseError> {
        let row = self.client.query_one(SERVER, &[]).await.map_err(failed)?;
        let (encoding, locks): (String, i64) = (
            row.try_get(0).map_err(failed)?,
            row.try_get(1).map_err(failed)?,
        );
        if encoding != "UTF8" {
            return Err(DatabaseError::Encoding(encoding));
        }
        Ok(usize::try_from(locks).unwrap_or_default() * CONNECTIONS)
    }

    /// Returns when the server no longer answers, or rejects writes while a new connection would
    /// accept them. While no host accepts writes, the locks of a read-only session are better than
    /// none.
    async fn until_useless(&self, hosts: &Hosts) {
        loop {
            sleep(PROBE_PAUSE).await;
            match timeout(PROBE_TIMEOUT, check_writable(&self.client)).await {
                Ok(Ok(())) => {}
                Ok(Err(DatabaseError::ReadOnly)) if !hosts.accept_writes().await => {}
                _ => return,
            }
        }
    }

    async fn lock(&self, name: i64) -> Result<bool, DatabaseError> {
        let name = self.schema.lock(name);
        let parameters: [&(dyn ToSql + Sync); 1] = [&name];
        let row = timeout(
            PROBE_TIMEOUT,
            self.client.query_one(&self.lock, &parameters),
        )
        .await;
        row.map_err(|_| DatabaseError::Silent)?
            .and_then(|row| row.try_get(0))
            .map_err(failed)
    }

    /// Requests all these locks; returns those that were granted.
    async fn lock_many(&self, names: Vec<i64>) -> Result<Vec<i64>, DatabaseError> {
        let names: Vec<i64> = names
            .into_iter()
            .map(|name| self.schema.lock(name))
            .collect();
        let parameters: [&(dyn ToSql + Sync); 1] = [&names];
        let rows = timeout(
            PROBE_TIMEOUT,
            self.client.query(&self.lock_many, &parameters),
        )
        .await;
        let rows = rows.map_err(|_| DatabaseError::Silent)?.map_err(failed)?;
        let granted = rows.iter().map(|row| {
            row.try_get(0)
                .map(|name| self.schema.lock(name))
                .map_err(failed)
        });
        granted.collect()
    }

    /// Returns the name of the lock if it was granted and the caller still wants it.
    async fn carry_out(&self, command: LockCommand) -> Option<i64> {
        match command {
            LockCommand::Lock { name, reply } => {
                let locked = self.lock(name).await;
                let granted = matches!(locked, Ok(true));
                (reply.send(locked).is_ok() && granted).then_some(name)
            }
            LockCommand::Unlock { name, reply } => {
                if let Err(error) = self
                    .client
                    .execute(&self.unlock, &[&self.schema.lock(name)])
                    .await
                {
                    tracing::debug!(%error, "the lock was lost with its session");
                }
                // The caller may have stopped waiting.
                let _ = reply.send(());
                None
            }
        }
    }
}
