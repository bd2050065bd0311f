//! Fault injection: a test makes the mail server fail for one of its inboxes.
//!
//! A fault at RCPT TO must work on every node when the request that sets it is answered. So each node announces that it
//! has received a change of faults, and the request waits for these announcements.

use std::collections::HashSet;
use std::time::Duration;

use tokio::sync::{broadcast, mpsc};
use uuid::Uuid;

use super::{Service, ServiceError};
use crate::model::{Fault, FaultState, Inbox, InboxId};
use crate::store::{Change, Store, StoreError};

/// How long a change of faults waits for its own announcement.
const ANNOUNCED_WITHIN: Duration = Duration::from_secs(1);
/// How long it then waits for the other nodes. One of them may have ended.
const KNOWN_WITHIN: Duration = Duration::from_millis(200);
/// Maximum number of announcements that are queued, for a slow listener and to be sent. Others are lost, and the requests
/// that wait for them take [`KNOWN_WITHIN`].
const MAX_QUEUED: usize = 1_024;

/// Announces what this node has received, and passes on what the others have.
#[derive(Debug)]
pub(super) struct FaultNews {
    received: mpsc::Sender<InboxId>,
    known: broadcast::Sender<(InboxId, Uuid)>,
}

impl FaultNews {
    /// Returns it with the inboxes for [`announce`].
    pub(super) fn new() -> (Self, mpsc::Receiver<InboxId>) {
        let (received, inboxes) = mpsc::channel(MAX_QUEUED);
        (Self { received, known: broadcast::Sender::new(MAX_QUEUED) }, inboxes)
    }

    /// Reads changes after commits.
    pub(super) fn follow(&self, changes: &[Change]) {
        for change in changes {
            match change {
                // If the queue is full, the request stops waiting in a moment.
                Change::Faults(inbox) => drop(self.received.try_send(inbox.clone())),
                // An error means that no request waits.
                Change::FaultsKnown(inbox, node) => drop(self.known.send((inbox.clone(), *node))),
                _ => {}
            }
        }
    }
}

/// Announces to the other nodes that this one knows the faults of these inboxes.
pub(super) async fn announce(store: Store, node: Uuid, mut inboxes: mpsc::Receiver<InboxId>) {
    let mut batch = Vec::new();
    while inboxes.recv_many(&mut batch, MAX_QUEUED).await > 0 {
        let known = batch.drain(..).map(|inbox| Change::FaultsKnown(inbox, node)).collect();
        if let Err(error) = store.announce(known).await {
            tracing::debug!(%error, "cannot announce that this node knows of faults");
        }
    }
}

impl Service {
    /// Replaces the faults of an inbox, and returns the new ones. When this returns, they apply to the next message,
    /// at all nodes that answer.
    ///
    /// # Errors
    /// [`ServiceError::InboxNotFound`] if the inbox has ended.
    pub async fn set_faults(&self, inbox: &Inbox, faults: &[Fault]) -> Result<Vec<FaultState>, ServiceError> {
        let others = self.0.activity.other_nodes(&self.0.store).await?;
        let mut known = self.0.fault_news.known.subscribe();
        let mut announced = self.0.hub.register(&inbox.id);
        if !self.0.store.set_faults(inbox, faults, self.0.clock.now()).await? {
            return Err(ServiceError::InboxNotFound);
        }
        self.0.exceptions.inbox_has_faults(&inbox.id);
        let _ = tokio::time::timeout(ANNOUNCED_WITHIN, announced.changed()).await;
        let _ = tokio::time::timeout(KNOWN_WITHIN, until_known(&mut known, &inbox.id, others)).await;
        Ok(faults.iter().map(|fault| FaultState { fault: fault.clone(), uses: Vec::new() }).collect())
    }

    /// The faults of an inbox with their uses.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn faults(&self, inbox: &Inbox) -> Result<Vec<FaultState>, StoreError> {
        self.0.store.faults(inbox, self.0.clock.now()).await
    }
}

/// Returns when all these nodes know the faults of the inbox.
async fn until_known(known: &mut broadcast::Receiver<(InboxId, Uuid)>, inbox: &InboxId, mut nodes: HashSet<Uuid>) {
    while !nodes.is_empty() {
        match known.recv().await {
            Ok((id, node)) if id == *inbox => _ = nodes.remove(&node),
            Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => {}
            Err(broadcast::error::RecvError::Closed) => return,
        }
    }
}
