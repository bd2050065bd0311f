//! Fault injection: a test makes the mail server fail for one of its inboxes.
//!
//! A fault at RCPT TO must work on every node when the request that sets it is answered. So each
//! node announces that it has received a change of faults, and the request waits for these
//! announcements.

use std::collections::HashSet;
use std::time::Duration;

use tokio::sync::{broadcast, mpsc};
use uuid::Uuid;

use super::{Service, ServiceError};
use crate::model::{Fault, FaultState, Inbox};
use crate::store::{Change, Store, StoreError};

/// How long a change of faults waits for its own announcement.
const ANNOUNCED_WITHIN: Duration = Duration::from_secs(1);
/// How long it then waits for the other nodes. One of them may have ended.
const KNOWN_WITHIN: Duration = Duration::from_millis(200);
/// Maximum number of announcements that are queued, for a slow listener and to be sent. Others are
/// lost, and the requests that wait for them take [`KNOWN_WITHIN`].
const MAX_QUEUED: usize = 1_024;

/// A change of faults, and a node that has received it.
type Known = (Uuid, Uuid);

/// Announces what this node has received, and passes on what the others have.
#[derive(Debug)]
pub(super) struct FaultNews {
    received: mpsc::Sender<Uuid>,
    known: broadcast::Sender<Known>,
}

impl FaultNews {
    /// Returns it with the changes for [`announce`].
    pub(super) fn new() -> (Self, mpsc::Receiver<Uuid>) {
        let (received, changes) = mpsc::channel(MAX_QUEUED);
        (
            Self {
                received,
                known: broadcast::Sender::new(MAX_QUEUED),
            },
            changes,
        )
    }

    /// Reads changes after commits.
    pub(super) fn follow(&self, changes: &[Change]) {
        for change in changes {
            match change {
                // If the queue is full, the request stops waiting in a moment.
                Change::Faults(_, change) => drop(self.received.try_send(*change)),
                // An error means that no request waits.
                Change::FaultsKnown { change, node } => drop(self.known.send((*change, *node))),
                _ => {}
            }
        }
    }
}

/// Announces to the other nodes that this one has received these changes of faults.
pub(super) async fn announce(store: Store, node: Uuid, mut changes: mpsc::Receiver<Uuid>) {
    let mut batch = Vec::new();
    while changes.recv_many(&mut batch, MAX_QUEUED).await > 0 {
        let known = batch
            .drain(..)
            .map(|change| Change::FaultsKnown { change, node })
            .collect();
        if let Err(error) = store.announce(known).await {
            tracing::debug!(%error, "cannot announce that this node knows of faults");
        }
    }
}

impl Service {
    /// Replaces the faults of an inbox, and returns the new ones. When this returns, they apply to
    /// the next message, at all nodes that answer.
    ///
    /// # Errors
    /// [`ServiceError::InboxNotFound`] if the inbox has ended.
    pub async fn set_faults(
        &self,
        inbox: &Inbox,
        faults: &[Fault],
    ) -> Result<Vec<FaultState>, ServiceError> {
        let others = self.0.activity.other_nodes(self.store()).await?;
        let mut known = self.0.fault_news.known.subscribe();
        let mut announced = self.0.hub.register(&inbox.id);
        let change = self.store().set_faults(inbox, faults, self.now()).await?;
        let change = change.ok_or(ServiceError::InboxNotFound)?;
        self.0.exceptions.inbox_has_faults(&inbox.id);
        let _ = tokio::time::timeout(ANNOUNCED_WITHIN, announced.changed()).await;
        let _ = tokio::time::timeout(KNOWN_WITHIN, until_known(&mut known, change, others)).await;
        Ok(faults
            .iter()
            .map(|fault| FaultState {
                fault: fault.clone(),
                uses: Vec::new(),
            })
            .collect())
    }

    /// The faults of an inbox with their uses.
    pub async fn faults(&self, inbox: &Inbox) -> Result<Vec<FaultState>, StoreError> {
        self.store().faults(inbox, self.now()).await
    }
}

/// Returns when all these nodes have received the change.
async fn until_known(
    known: &mut broadcast::Receiver<Known>,
    change: Uuid,
    mut nodes: HashSet<Uuid>,
) {
    while !nodes.is_empty() {
        match known.recv().await {
            Ok((received, node)) if received == change => _ = nodes.remove(&node),
            Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => {}
            Err(broadcast::error::RecvError::Closed) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn an_earlier_change_of_the_same_inbox_does_not_count() {
        let known = broadcast::Sender::new(MAX_QUEUED);
        let earlier = Uuid::now_v7();
        let change = Uuid::now_v7();
        let nodes = [Uuid::now_v7(), Uuid::now_v7()];
        let mut receiver = known.subscribe();
        let mut waiting = Box::pin(until_known(&mut receiver, change, nodes.into()));
        for received in [(earlier, nodes[0]), (earlier, nodes[1]), (change, nodes[0])] {
            known.send(received).unwrap();
            assert!(waiting.as_mut().now_or_never().is_none());
        }
        known.send((change, nodes[1])).unwrap();
        assert!(waiting.now_or_never().is_some());
    }
}
