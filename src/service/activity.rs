//! Counts the use of SMTP and of the APIs for sending in memory at this node. On a shared database,
//! reports it to the other nodes.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use tokio::sync::Notify;
use uuid::Uuid;

use super::Service;
use crate::clock::Clock;
use crate::model::{SendApisUse, SmtpUse, Timestamp, TotalUse, Via};
use crate::store::{Store, StoreError};

/// Minimum time between two reports.
const PAUSE: Duration = Duration::from_secs(2);
/// A node reports at least this often.
const HEARTBEAT: Duration = Duration::from_secs(10);
/// A node that has not reported for this long counts as having ended.
const ALIVE: Duration = Duration::from_secs(30);
/// A node that has not reported for this long is deleted.
const REMEMBERED: Duration = Duration::from_secs(24 * 60 * 60);

/// The use at this node. Clones share the same state.
#[derive(Clone, Debug)]
pub(super) struct Activity(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    node: Uuid,
    clock: Clock,
    started_at: Timestamp,
    /// Whether there may be other nodes.
    is_shared: bool,
    connections_open: AtomicI64,
    /// Milliseconds; 0 before the first.
    last_connection_at: AtomicI64,
    last_message_at: AtomicI64,
    /// The last use of each of [`Via::SEND_APIS`].
    send_apis: [AtomicI64; Via::SEND_APIS.len()],
    changed: Notify,
}

/// An open SMTP connection. Dropping it ends the count.
#[derive(Debug)]
pub struct SmtpConnection(Activity);

impl Activity {
    pub(super) fn new(clock: Clock, is_shared: bool) -> Self {
        Self(Arc::new(Inner {
            node: Uuid::now_v7(),
            started_at: clock.now(),
            clock,
            is_shared,
            connections_open: AtomicI64::new(0),
            last_connection_at: AtomicI64::new(0),
            last_message_at: AtomicI64::new(0),
            send_apis: Default::default(),
            changed: Notify::new(),
        }))
    }

    fn connect(&self) -> SmtpConnection {
        self.0.connections_open.fetch_add(1, Ordering::Relaxed);
        self.note(&self.0.last_connection_at);
        SmtpConnection(self.clone())
    }

    pub(super) fn message_stored(&self) {
        self.note(&self.0.last_message_at);
    }

    fn send_api_used(&self, via: Via) {
        let used = Via::SEND_APIS
            .into_iter()
            .zip(&self.0.send_apis)
            .filter(|(known, _)| *known == via);
        used.for_each(|(_, last)| self.note(last));
    }

    fn note(&self, instant: &AtomicI64) {
        instant.store(self.0.clock.now().as_millis(), Ordering::Relaxed);
        self.notify();
    }

    fn notify(&self) {
        if self.0.is_shared {
            self.0.changed.notify_one();
        }
    }

    /// The use at this node, and on a shared database at all nodes.
    pub(super) async fn at_all_nodes(&self, store: &Store) -> Result<TotalUse, StoreError> {
        // Not bounded by the current time, because the clock of another node may be a little ahead.
        self.and_other_nodes(store, self.at_this_node(), Timestamp::MAX)
            .await
    }

    /// The use at this node.
    pub(super) fn at_this_node(&self) -> TotalUse {
        let instant = |millis: &AtomicI64| {
            Some(millis.load(Ordering::Relaxed))
                .filter(|millis| *millis > 0)
                .map(Timestamp::from_millis)
        };
        TotalUse {
            used: SmtpUse {
                connections_open: self.0.connections_open.load(Ordering::Relaxed),
                last_connection_at: instant(&self.0.last_connection_at),
                last_message_at: instant(&self.0.last_message_at),
            },
            send_apis: SendApisUse(self.0.send_apis.each_ref().map(instant)),
            since: self.0.started_at,
        }
    }

    /// `own`, and on a shared database also the use at all other nodes, each until `until`.
    pub(super) async fn and_other_nodes(
        &self,
        store: &Store,
        own: TotalUse,
        until: Timestamp,
    ) -> Result<TotalUse, StoreError> {
        if !self.0.is_shared {
            return Ok(own);
        }
        let alive_since = self.0.clock.now().before(ALIVE);
        let others = store.use_of_other_nodes(self.0.node, alive_since, until);
        Ok(own.and(others.await?))
    }

    /// The id of this node.
    pub(super) fn node(&self) -> Uuid {
        self.0.node
    }

    /// The other nodes that have reported lately.
    pub(super) async fn other_nodes(&self, store: &Store) -> Result<HashSet<Uuid>, StoreError> {
        if !self.0.is_shared {
            return Ok(HashSet::new());
        }
        store
            .other_nodes(self.0.node, self.0.clock.now().before(ALIVE))
            .await
    }

    /// Reports to the other nodes, so that they know that this one is running.
    pub(super) async fn report(&self, store: &Store) -> Result<(), StoreError> {
        let now = self.0.clock.now();
        let total = self.at_this_node();
        store
            .report_node(self.0.node, total, now.before(REMEMBERED), now)
            .await
    }

    /// Reports while it is polled: after each change, and as a heartbeat.
    pub(super) async fn keep_reporting(self, store: Store) {
        loop {
            tokio::time::sleep(PAUSE).await;
            drop(tokio::time::timeout(HEARTBEAT, self.0.changed.notified()).await);
            if let Err(error) = self.report(&store).await {
                tracing::debug!(%error, "cannot report the use of SMTP");
                self.notify();
            }
        }
    }
}

impl Drop for SmtpConnection {
    fn drop(&mut self) {
        self.0.0.connections_open.fetch_sub(1, Ordering::Relaxed);
        self.0.notify();
    }
}

impl Service {
    /// Counts an SMTP connection as open until the returned value is dropped.
    #[must_use]
    pub fn smtp_connected(&self) -> SmtpConnection {
        self.0.activity.connect()
    }

    /// Records that a client has used an API for sending.
    pub fn send_api_used(&self, via: Via) {
        self.0.activity.send_api_used(via);
    }
}
