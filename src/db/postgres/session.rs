//! The node's own session beside the pool: it hears the announcements of all nodes, and it holds this node's locks.
//!
//! When the node dies, the server ends the session and with it the locks. When the session is lost, it is made again
//! with bounded backoff; it then takes again the locks that are still wanted, and says [`Notice::Lost`], because
//! announcements may have been missed.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::time::Duration;

use futures_util::stream::FuturesUnordered;
use futures_util::{StreamExt, poll};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::MissedTickBehavior;
use tokio_postgres::{AsyncMessage, Client, Statement};

use super::connect::{Target, prepare_session};
use super::{CHANNEL, SEPARATOR, failed};
use crate::db::announcer::Announcer;
use crate::db::{DatabaseError, Notice};

const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// How often a lock that was lost with a session is asked for again.
const RETAKEN_EVERY: Duration = Duration::from_millis(50);

const LOCK: &str = "SELECT pg_try_advisory_lock($1)";
const UNLOCK: &str = "SELECT pg_advisory_unlock($1)";

/// Asks the session for locks. The session ends with the last clone.
#[derive(Clone, Debug)]
pub(in crate::db) struct Session(mpsc::UnboundedSender<Command>);

#[derive(Debug)]
enum Command {
    Lock { name: i64, reply: oneshot::Sender<Result<bool, DatabaseError>> },
    Unlock { name: i64, reply: oneshot::Sender<()> },
}

impl Session {
    /// Connects, listens, and goes on for as long as there is a clone.
    pub(super) async fn start(target: Target, announcer: Announcer) -> Result<Self, DatabaseError> {
        let link = Link::connect(&target, &announcer).await?;
        let (session, commands) = mpsc::unbounded_channel();
        tokio::spawn(Keeper { target, announcer, commands, held: HashSet::new(), lost: HashSet::new() }.keep(link));
        Ok(Self(session))
    }

    /// Whether the lock was free and is now held by this node. It must not ask for what it holds.
    pub(in crate::db) async fn lock(&self, name: i64) -> Result<bool, DatabaseError> {
        let (reply, answer) = oneshot::channel();
        self.0.send(Command::Lock { name, reply }).map_err(|_| DatabaseError::SessionLost)?;
        answer.await.map_err(|_| DatabaseError::SessionLost)?
    }

    /// Frees a lock. Whoever asks for it on this node from now on finds it free; the receiver is told once every other
    /// node does, too.
    pub(in crate::db) fn unlock(&self, name: i64) -> oneshot::Receiver<()> {
        let (reply, freed) = oneshot::channel();
        // A session that has ended holds no locks.
        drop(self.0.send(Command::Unlock { name, reply }));
        freed
    }
}

struct Keeper {
    target: Target,
    announcer: Announcer,
    commands: mpsc::UnboundedReceiver<Command>,
    held: HashSet<i64>,
    /// What this node held before its session was lost, and somebody else has meanwhile: another node that was faster, or
    /// this node's former session, whose end the server has not noticed yet.
    lost: HashSet<i64>,
}

impl Keeper {
    async fn keep(mut self, mut link: Link) {
        while self.serve(link).await.is_continue() {
            tracing::warn!("lost the session with the database; connecting again");
            link = match self.connect_again().await {
                ControlFlow::Continue(link) => link,
                ControlFlow::Break(()) => return,
            };
            tracing::info!("the session with the database is back");
            self.announcer.announce(&[Notice::Lost]);
        }
    }

    /// Carries out commands until the link is lost, or nobody is left to give any. They are sent in the order in which
    /// they come, without waiting for each other's answers.
    async fn serve(&mut self, mut link: Link) -> ControlFlow<()> {
        let requests = &link.requests;
        let mut running = FuturesUnordered::new();
        // Goes on whatever else happens, so that a busy node, too, gets its locks again.
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
                _ = &mut link.ended => return ControlFlow::Continue(()),
            }
        }
    }

    /// Notes what is no longer wanted; a lock that is lost needs no more than that.
    fn forget(&mut self, command: Command) -> Option<Command> {
        match command {
            Command::Unlock { name, reply } if self.lost.remove(&name) => {
                // Whoever no longer listens does not mind.
                let _ = reply.send(());
                None
            }
            Command::Unlock { name, reply } => {
                self.held.remove(&name);
                Some(Command::Unlock { name, reply })
            }
            Command::Lock { .. } => Some(command),
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
            self.refuse_until(tokio::time::sleep(pause.mul_f64(rand::random_range(0.5..1.0)))).await?;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Tells whoever asks that the database is away, until `end` is there: a server may take a connection and say
    /// nothing.
    async fn refuse_until<T>(&mut self, end: impl Future<Output = T>) -> ControlFlow<(), T> {
        tokio::pin!(end);
        loop {
            tokio::select! {
                ended = &mut end => return ControlFlow::Continue(ended),
                command = self.commands.recv() => match command {
                    None => return ControlFlow::Break(()),
                    // Whoever no longer listens does not mind.
                    Some(Command::Lock { reply, .. }) => drop(reply.send(Err(DatabaseError::SessionLost))),
                    Some(unlock) => drop(self.forget(unlock)),
                }
            }
        }
    }
}

/// An open session.
struct Link {
    requests: Requests,
    /// Reads from the connection, and ends with it.
    ended: JoinHandle<()>,
}

struct Requests {
    client: Client,
    lock: Statement,
    unlock: Statement,
}

impl Link {
    async fn connect(target: &Target, announcer: &Announcer) -> Result<Self, DatabaseError> {
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

/// What one transaction of some node has announced.
fn announced(payload: &str) -> Vec<Notice> {
    if payload.is_empty() {
        return vec![Notice::Lost];
    }
    payload.split(SEPARATOR).map(|key| Notice::Key(key.to_owned())).collect()
}

impl Requests {
    async fn prepare(client: Client) -> Result<Self, DatabaseError> {
        prepare_session(&client).await.map_err(failed)?;
        client.batch_execute(&format!("LISTEN {CHANNEL}")).await.map_err(failed)?;
        let lock = client.prepare(LOCK).await.map_err(failed)?;
        let unlock = client.prepare(UNLOCK).await.map_err(failed)?;
        Ok(Self { client, lock, unlock })
    }

    async fn lock(&self, name: i64) -> Result<bool, DatabaseError> {
        self.client.query_one(&self.lock, &[&name]).await.and_then(|row| row.try_get(0)).map_err(failed)
    }

    /// Returns the name of the lock that was granted to somebody who still wants it.
    async fn carry_out(&self, command: Command) -> Option<i64> {
        match command {
            Command::Lock { name, reply } => {
                let locked = self.lock(name).await;
                let granted = matches!(locked, Ok(true));
                (reply.send(locked).is_ok() && granted).then_some(name)
            }
            Command::Unlock { name, reply } => {
                if let Err(error) = self.client.execute(&self.unlock, &[&name]).await {
                    tracing::debug!(%error, "the lock went with its session");
                }
                // Whoever no longer listens does not mind.
                let _ = reply.send(());
                None
            }
        }
    }
}
