//! Creates, finds, lists and deletes inboxes. `addresses.rs` has those with chosen addresses.

use super::{Caller, Service, ServiceError};
use crate::model::{
    Inbox, InboxEnd, InboxFilter, InboxId, InboxKind, InboxSummary, InboxTotals, ProjectId,
    generate_inbox_id,
};
use crate::store::StoreError;

impl Service {
    /// Creates a temporary inbox with an address that was never used before.
    pub async fn create_inbox(&self, caller: &Caller) -> Result<Inbox, ServiceError> {
        self.create_labelled_inbox(caller, None).await
    }

    /// Like [`Service::create_inbox`], with a label that the dashboard shows.
    pub async fn create_labelled_inbox(
        &self,
        caller: &Caller,
        label: Option<&str>,
    ) -> Result<Inbox, ServiceError> {
        loop {
            let created_at = self.now();
            let inbox = Inbox {
                id: generate_inbox_id(),
                shared: None,
                project: caller.project,
                kind: InboxKind::Temporary,
                created_at,
                expires_at: Some(created_at.after(self.0.options.limits.inbox_lifetime)),
            };
            // There are 10^23 ids, so a second attempt is practically never needed. It guarantees
            // that an id in use is never returned.
            if self.store().create_labelled_inbox(&inbox, label).await? {
                return Ok(inbox);
            }
        }
    }

    /// The label of an inbox, if it has one.
    pub async fn label(&self, inbox: &Inbox) -> Result<Option<String>, StoreError> {
        self.store().label(inbox).await
    }

    /// The project of the live inbox `id`, for the administrator.
    ///
    /// # Errors
    /// [`ServiceError::InboxNotFound`].
    pub async fn project_of_inbox(&self, id: &str) -> Result<ProjectId, ServiceError> {
        let id = InboxId::parse(id).map_err(|_| ServiceError::InboxNotFound)?;
        let inbox = self.store().live_inbox(&id, self.now()).await?;
        inbox
            .map(|inbox| inbox.project)
            .ok_or(ServiceError::InboxNotFound)
    }

    /// Returns the caller's live inbox `id` (case-insensitive).
    ///
    /// # Errors
    /// [`ServiceError::InboxNotFound`].
    pub async fn inbox(&self, caller: &Caller, id: &str) -> Result<Inbox, ServiceError> {
        let id = InboxId::parse(id).map_err(|_| ServiceError::InboxNotFound)?;
        self.own_inbox(caller, &id).await
    }

    /// At most `limit` live inboxes of a project, those with the latest activity first.
    pub async fn list_inboxes(
        &self,
        project: ProjectId,
        filter: &InboxFilter,
        limit: i64,
    ) -> Result<Vec<InboxSummary>, StoreError> {
        self.store()
            .list_inboxes(project, filter, limit, self.now())
            .await
    }

    /// The number of live inboxes of a project, and other totals.
    pub async fn inbox_totals(&self, project: ProjectId) -> Result<InboxTotals, StoreError> {
        self.store().inbox_totals(project, self.now()).await
    }

    /// The inbox `id` of a project, also if it has ended and its address is still reserved, and how
    /// it ended.
    pub async fn inbox_or_end(
        &self,
        project: ProjectId,
        id: &str,
    ) -> Result<Option<(Inbox, Option<InboxEnd>)>, StoreError> {
        let Ok(id) = InboxId::parse(id) else {
            return Ok(None);
        };
        self.store().inbox_or_end(project, &id, self.now()).await
    }

    /// Deletes a temporary inbox of the caller. When this returns, its messages are deleted and its
    /// waits have been woken.
    ///
    /// # Errors
    /// [`ServiceError::InboxNotFound`], [`ServiceError::PermanentInbox`].
    pub async fn delete_inbox(&self, caller: &Caller, id: &str) -> Result<(), ServiceError> {
        let inbox = self.inbox(caller, id).await?;
        if inbox.kind == InboxKind::Permanent {
            return Err(ServiceError::PermanentInbox);
        }
        self.end_inbox(&inbox).await
    }

    /// Deletes an inbox of any kind. When this returns, its messages are deleted and its waits have
    /// been woken.
    ///
    /// # Errors
    /// [`ServiceError::InboxNotFound`] if it has ended since it was found.
    pub async fn end_inbox(&self, inbox: &Inbox) -> Result<(), ServiceError> {
        if self.store().end_inbox(inbox, self.now()).await? {
            Ok(())
        } else {
            Err(ServiceError::InboxNotFound)
        }
    }

    /// Deletes those of these inboxes that the caller has.
    pub async fn end_inboxes(&self, caller: &Caller, ids: &[&str]) -> Result<(), ServiceError> {
        for id in ids {
            let inbox = match self.inbox(caller, id).await {
                Err(ServiceError::InboxNotFound) => continue,
                inbox => inbox?,
            };
            // `false` if it has ended in the meantime.
            self.store().end_inbox(&inbox, self.now()).await?;
        }
        Ok(())
    }

    /// Deletes the messages that an inbox has now. Their ids remain valid as cursors.
    pub async fn empty_inbox(&self, inbox: &Inbox) -> Result<(), ServiceError> {
        Ok(self.store().empty_inbox(inbox, self.now()).await?)
    }

    pub(super) async fn own_inbox(
        &self,
        caller: &Caller,
        id: &InboxId,
    ) -> Result<Inbox, ServiceError> {
        let found = self.store().inbox(caller.project, id, self.now()).await?;
        found.ok_or(ServiceError::InboxNotFound)
    }
}
