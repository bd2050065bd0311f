//! Creates, finds and deletes inboxes of a caller.

use super::{Caller, Service, ServiceError};
use crate::model::{EmailAddress, Inbox, InboxId, InboxKind};

impl Service {
    /// Creates a temporary inbox with an address that was never used before.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn create_inbox(&self, caller: &Caller) -> Result<Inbox, ServiceError> {
        loop {
            let created_at = self.0.clock.now();
            let inbox = Inbox {
                id: InboxId::generate(),
                project: caller.project,
                kind: InboxKind::Temporary,
                created_at,
                expires_at: Some(created_at.after(self.0.options.inbox_lifetime)),
            };
            // There are 10^23 ids, so a second attempt is practically never needed. It guarantees that an id in use is
            // never returned.
            if self.0.store.create_inbox(&inbox).await? {
                return Ok(inbox);
            }
        }
    }

    /// Returns the caller's live inbox `id` (case-insensitive).
    ///
    /// # Errors
    /// [`ServiceError::InboxNotFound`].
    pub async fn inbox(&self, caller: &Caller, id: &str) -> Result<Inbox, ServiceError> {
        let id = InboxId::parse(id).map_err(|_| ServiceError::InboxNotFound)?;
        self.own_inbox(caller, &id).await
    }

    /// Returns the caller's live inbox with this address (case-insensitive).
    ///
    /// # Errors
    /// [`ServiceError::InboxNotFound`], even for an invalid address or another domain.
    pub async fn inbox_by_address(&self, caller: &Caller, address: &str) -> Result<Inbox, ServiceError> {
        self.own_inbox(caller, &self.id_of_address(address)?).await
    }

    /// The inbox id that an address names, in any case.
    ///
    /// # Errors
    /// [`ServiceError::InboxNotFound`] for an invalid address or another domain.
    pub fn id_of_address(&self, address: &str) -> Result<InboxId, ServiceError> {
        let address = EmailAddress::parse(address.trim()).ok().filter(|address| address.domain() == self.mail_domain());
        address.map(|address| InboxId::of(&address)).ok_or(ServiceError::InboxNotFound)
    }

    /// Deletes a temporary inbox of the caller. When this returns, its messages are deleted and its waits have been
    /// woken.
    ///
    /// # Errors
    /// [`ServiceError::InboxNotFound`], [`ServiceError::PermanentInbox`].
    pub async fn delete_inbox(&self, caller: &Caller, id: &str) -> Result<(), ServiceError> {
        let inbox = self.inbox(caller, id).await?;
        if inbox.kind == InboxKind::Permanent {
            return Err(ServiceError::PermanentInbox);
        }
        let ended = self.0.store.end_inbox(&inbox, self.0.clock.now()).await?;
        // It may have expired after it was found.
        if ended { Ok(()) } else { Err(ServiceError::InboxNotFound) }
    }

    async fn own_inbox(&self, caller: &Caller, id: &InboxId) -> Result<Inbox, ServiceError> {
        let found = self.0.store.inbox(caller.project, id, self.0.clock.now()).await?;
        found.ok_or(ServiceError::InboxNotFound)
    }
}
