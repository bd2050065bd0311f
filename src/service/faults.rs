//! Fault injection: a test makes the mail server fail for one of its inboxes.

use std::time::Duration;

use super::{Service, ServiceError};
use crate::model::{Fault, FaultState, Inbox};
use crate::store::StoreError;

/// How long a change of faults waits for its own announcement.
const ANNOUNCED_WITHIN: Duration = Duration::from_secs(1);

impl Service {
    /// Replaces the faults of an inbox, and returns the new ones. When this returns, they apply to the next message.
    ///
    /// # Errors
    /// [`ServiceError::InboxNotFound`] if the inbox has ended.
    pub async fn set_faults(&self, inbox: &Inbox, faults: &[Fault]) -> Result<Vec<FaultState>, ServiceError> {
        let mut announced = self.0.hub.register(&inbox.id);
        if !self.0.store.set_faults(inbox, faults, self.0.clock.now()).await? {
            return Err(ServiceError::InboxNotFound);
        }
        self.0.exceptions.inbox_has_faults(&inbox.id);
        // When this node has received the announcement, other nodes have most probably received it too.
        let _ = tokio::time::timeout(ANNOUNCED_WITHIN, announced.changed()).await;
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
