//! The session of this node, its control connection to PostgreSQL, separate from the pool: it receives the
//! notifications of all nodes and holds the locks of this node.
//!
//! When the node dies, PostgreSQL ends the session and frees its locks. If the session is lost or does not answer, the
//! node opens a new one, with bounded backoff. It then takes the locks that are still wanted again, and announces
//! [`Change::Unknown`], because notifications may have been missed.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::time::Duration;

use futures_util::stream::FuturesUnordered;
use futures_util::{StreamExt, poll};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, sleep, timeout};
use tokio_postgres::types::ToSql;
use tokio_postgres::{AsyncMessage, Client, Statement};

use super::changes::announced;
use super::connect::{Target, prepare_session};
use super::{CHANNEL, CONNECTIONS, failed};
use crate::db::DatabaseError;
use crate::db::announcer::Announcer;
use crate::model::Change;

/// How long a caller waits for the answer to a lock request.
const LOCK_TIMEOUT: Duration = Duration::from_secs(2);
/// How often an open session is probed, and how long the server may take to answer.
const PROBE_PAUSE: Duration = Duration::from_secs(2);
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);
const OPEN_TIMEOUT: Duration = Duration::from_secs(10);
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const MAX_PAUSE: Duration = Duration::from_secs(2);
/// How often a lock that was lost with a session is requested again.
const RETAKEN_EVERY: Duration = Duration::from_millis(50);

const LOCK: &str = "SELECT pg_try_advisory_lock($1)";
const UNLOCK: &str = "SELECT pg_advisory_unlock($1)";

/// The server's encoding, and the number of locks per connection for which it has memory.
const SERVER: &str = "
    SELECT current_setting('server_encoding'), CAST(current_setting('max_locks_per_transaction') AS BIGINT)";

/// Sends lock requests to the session. The session ends when the last clone is dropped.
#[derive(Clone, Debug)]
pub(in crate::db) struct NodeSession {
    commands: mpsc::UnboundedSender<LockCommand>,
    most_locks: usize,
}

#[derive(Debug)]
enum LockCommand {
    Lock { name: i64, reply: oneshot::Sender<Result<bool, DatabaseError>> },
    Unlock { name: i64, reply: oneshot::Sender<()> },
}

impl NodeSession {
    /// Connects and listens. The session runs until the last clone is dropped.
    pub(super) async fn start(target: Target, announcer: Announcer) -> Result<Self, DatabaseError> {
        let link = Link::connect(&target, &announcer).await?;
        let most_locks = link.requests.check_server().await?;
        let (sender, commands) = mpsc::unbounded_channel();
        tokio::spawn(Keeper { target, announcer, commands, held: HashSet::new(), lost: HashSet::new() }.keep(link));
        Ok(Self { commands: sender, most_locks })
    }

    /// How many locks this node may have. The server's lock table has space for `max_locks_per_transaction` per
    /// connection. A node uses the space of its pool's connections; the space of the session's own connection is left
    /// for statements.
    pub(in crate::db) fn most_locks(&self) -> usize {
        self.most_locks
    }

    /// Takes a lock; `false` if another node has it. This node must not already have it.
    pub(in crate::db) async fn lock(&self, name: i64) -> Result<bool, DatabaseError> {
        let (reply, answer) = oneshot::channel();
        self.commands.send(LockCommand::Lock { name, reply }).map_err(|_| DatabaseError::SessionLost)?;
        let answer = timeout(LOCK_TIMEOUT, answer).await.map_err(|_| DatabaseError::Silent)?;
        answer.map_err(|_| DatabaseError::SessionLost)?
    }

    /// Frees a lock. Later requests of this node can take it immediately. Returns when every other node can take it
    /// too.
    pub(in crate::db) fn unlock(&self, name: i64) -> impl Future<Output = ()> + use<> {
        let (reply, freed) = oneshot::channel();
        // A lost session holds no locks.
        drop(self.commands.send(LockCommand::Unlock { name, reply }));
        async move { drop(timeout(LOCK_TIMEOUT, freed).await) }
    }
}

struct Keeper {
    target: Target,
    announcer: Announcer,
    commands: mpsc::UnboundedReceiver<LockCommand>,
    held: HashSet<i64>,
    /// Locks that this node had in a lost session and has not taken again: another node was faster, or the server has
    /// not yet detected that the old session has ended.
    lost: HashSet<i64>,
}

impl Keeper {
    async fn keep(mut self, mut link: Link) {
        while self.serve(link).await.is_continue() {
            tracing::warn!("lost the control connection to the database; reconnecting");
            link = match self.connect_again().await {
                ControlFlow::Continue(link) => link,
                ControlFlow::Break(()) => return,
            };
            tracing::info!("the control connection to the database is restored");
            self.announcer.announce(&[Change::Unknown]);
        }
    }

    /// Runs commands until the link is lost or every [`NodeSession`] is dropped. Commands are sent in the order in
    /// which they arrive, without waiting for earlier answers.
    async fn serve(&mut self, mut link: Link) -> ControlFlow<()> {
        let requests = &link.requests;
        let mut running = FuturesUnordered::new();
        let silent = requests.until_silent();
        tokio::pin!(silent);
        // Commands do not restart this interval, so even a busy node takes its locks again.
        let mut retake = tokio::time::interval(RETAKEN_EVERY);
        retake.set_missed_tick_behavior(MissedTickBehavior::Delay);
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
                _ = retake.tick(), if !self.lost.is_empty() => {
                    if self.take_again(requests).await.is_err() {
                        return ControlFlow::Continue(());
                    }
                }
                () = &mut silent => return ControlFlow::Continue(()),
                _ = &mut link.ended => return ControlFlow::Continue(()),
            }
        }
    }

    /// Records that a lock is no longer wanted. A lost lock needs nothing else; any other command is returned.
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

    async fn take_again(&mut self, requests: &Requests) -> Result<(), DatabaseError> {
        for name in self.lost.clone() {
            if requests.lock(name).await? {
                self.lost.remove(&name);
                self.held.insert(name);
            }
        }
        Ok(())
    }

    async fn connect_again(&mut self) -> ControlFlow<(), Link> {
        self.lost.extend(self.held.drain());
        let (target, announcer) = (self.target.clone(), self.announcer.clone());
        let mut pause = FIRST_PAUSE;
        loop {
            match self.refuse_until(Link::connect(&target, &announcer)).await? {
                Ok(link) => return ControlFlow::Continue(link),
                Err(error) => tracing::warn!(%error, ?pause, "the database cannot be reached; trying again"),
            }
            self.refuse_until(sleep(pause.mul_f64(rand::random_range(0.5..1.0)))).await?;
            pause = (pause * 2).min(MAX_PAUSE);
        }
    }

    /// Rejects lock requests until `end` is ready. A server may accept a connection and then not answer.
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

/// An open session.
struct Link {
    requests: Requests,
    /// The task that reads from the connection; it ends when the connection ends.
    ended: JoinHandle<()>,
}

struct Requests {
    client: Client,
    lock: Statement,
    unlock: Statement,
}

impl Link {
    async fn connect(target: &Target, announcer: &Announcer) -> Result<Self, DatabaseError> {
        let link = timeout(OPEN_TIMEOUT, Self::open(target, announcer)).await;
        link.unwrap_or(Err(DatabaseError::Silent))
    }

    async fn open(target: &Target, announcer: &Announcer) -> Result<Self, DatabaseError> {
        let connected = target.options.connect(target.tls.clone()).await;
        let (client, mut connection) = connected.map_err(|error| DatabaseError::Unreachable(error.into()))?;
        let announcer = announcer.clone();
        let ended = tokio::spawn(async move {
            let mut messages = Box::pin(futures_util::stream::poll_fn(move |context| connection.poll_message(context)));
            while let Some(Ok(message)) = messages.next().await {
                if let AsyncMessage::Notification(notification) = message {
                    announcer.announce(&announced(notification.payload()));
                }
            }
        });
        let requests = Requests::prepare(client).await?;
        Ok(Self { requests, ended })
    }
}

impl Requests {
    async fn prepare(client: Client) -> Result<Self, DatabaseError> {
        prepare_session(&client).await.map_err(failed)?;
        client.batch_execute(&format!("LISTEN {CHANNEL}")).await.map_err(failed)?;
        let lock = client.prepare(LOCK).await.map_err(failed)?;
        let unlock = client.prepare(UNLOCK).await.map_err(failed)?;
        Ok(Self { client, lock, unlock })
    }

    /// Rejects a database that cannot store every message. Returns how many locks this node may have.
    async fn check_server(&self) -> Result<usize, DatabaseError> {
        let row = self.client.query_one(SERVER, &[]).await.map_err(failed)?;
        let (encoding, locks): (String, i64) = (row.try_get(0).map_err(failed)?, row.try_get(1).map_err(failed)?);
        if encoding != "UTF8" {
            return Err(DatabaseError::Encoding(encoding));
        }
        Ok(usize::try_from(locks).unwrap_or_default() * CONNECTIONS)
    }

    /// Returns when the server no longer answers.
    async fn until_silent(&self) {
        loop {
            sleep(PROBE_PAUSE).await;
            if !matches!(timeout(PROBE_TIMEOUT, self.client.batch_execute("")).await, Ok(Ok(()))) {
                return;
            }
        }
    }

    async fn lock(&self, name: i64) -> Result<bool, DatabaseError> {
        let parameters: [&(dyn ToSql + Sync); 1] = [&name];
        let row = timeout(PROBE_TIMEOUT, self.client.query_one(&self.lock, &parameters)).await;
        row.map_err(|_| DatabaseError::Silent)?.and_then(|row| row.try_get(0)).map_err(failed)
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
                if let Err(error) = self.client.execute(&self.unlock, &[&name]).await {
                    tracing::debug!(%error, "the lock was lost with its session");
                }
                // The caller may have stopped waiting.
                let _ = reply.send(());
                None
            }
        }
    }
}
