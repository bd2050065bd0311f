//! Deletions in the dashboard, which can be undone for ten seconds.

use std::time::Duration;

use uuid::Uuid;

use super::{Caller, Service, ServiceError};
use crate::model::{Inbox, InboxId, MessageId, parse_id};
use crate::store::{StoreError, ToDelete};

/// How long a deletion can be undone.
pub const UNDO_TIME: Duration = Duration::from_secs(10);

impl Service {
    /// Deletes one message of an inbox. Returns the id with which the deletion can be undone.
    ///
    /// # Errors
    /// [`ServiceError::MessageNotFound`].
    pub async fn throw_message_away(&self, inbox: &Inbox, id: &str) -> Result<Uuid, ServiceError> {
        let id = MessageId::parse(id).map_err(|_| ServiceError::MessageNotFound)?;
        match self
            .throw_away(inbox.project, ToDelete::Message(inbox.clone(), id))
            .await?
        {
            (_, 0) => Err(ServiceError::MessageNotFound),
            (deletion, _) => Ok(deletion),
        }
    }

    /// Deletes all messages of an inbox. Returns the id with which the deletion can be undone.
    pub async fn throw_messages_away(&self, inbox: &Inbox) -> Result<Uuid, ServiceError> {
        Ok(self
            .throw_away(inbox.project, ToDelete::Messages(inbox.clone()))
            .await?
            .0)
    }

    /// Deletes inboxes of the caller and their messages, and skips unknown ones. Returns the id
    /// with which the deletion can be undone.
    ///
    /// # Errors
    /// [`ServiceError::InboxNotFound`] if none of them exists.
    pub async fn throw_inboxes_away(
        &self,
        caller: &Caller,
        ids: &[&str],
    ) -> Result<Uuid, ServiceError> {
        let ids = ids
            .iter()
            .filter_map(|id| InboxId::parse(id).ok())
            .collect();
        match self
            .throw_away(caller.project, ToDelete::Inboxes(ids))
            .await?
        {
            (_, 0) => Err(ServiceError::InboxNotFound),
            (deletion, _) => Ok(deletion),
        }
    }

    /// Whether a deletion can still be undone.
    pub async fn can_restore(&self, caller: &Caller, deletion: &str) -> Result<bool, StoreError> {
        let Ok(deletion) = parse_id(deletion) else {
            return Ok(false);
        };
        self.0
            .store
            .can_restore(caller.project, deletion, self.0.clock.now())
            .await
    }

    /// Undoes a deletion; returns `false` if it was too late.
    pub async fn restore(&self, caller: &Caller, deletion: &str) -> Result<bool, StoreError> {
        let Ok(deletion) = parse_id(deletion) else {
            return Ok(false);
        };
        Ok(self
            .0
            .store
            .restore(caller.project, deletion, self.0.clock.now())
            .await?
            > 0)
    }

    async fn throw_away(
        &self,
        project: crate::model::ProjectId,
        target: ToDelete,
    ) -> Result<(Uuid, u64), StoreError> {
        let now = self.0.clock.now();
        self.0
            .store
            .throw_away(project, &target, now, now.after(UNDO_TIME))
            .await
    }
}
