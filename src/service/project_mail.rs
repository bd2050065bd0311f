//! The messages of a project as one list, for the API of Mailpit.

use super::{Caller, Service, ServiceError};
use crate::model::{MailChange, MailQuery, MessageId, ProjectId};
use crate::store::{Head, MailEntries, StoreError};

impl Service {
    /// A caller without a key, who may use the default project. All such callers share one caller's
    /// limits.
    #[must_use]
    pub fn anyone(&self) -> Caller {
        Caller::anyone(self.0.default_project)
    }

    /// The messages of the caller's project that a query finds, without the first `start`,
    /// and at most `limit`; `None` if they cannot be found in time.
    ///
    /// # Errors
    /// [`ServiceError::Busy`], or if the store fails.
    pub async fn project_mail(
        &self,
        caller: &Caller,
        query: MailQuery,
        (start, limit): (usize, usize),
    ) -> Result<Option<MailEntries>, ServiceError> {
        let _scan = self.0.jobs.scan(caller.project.0).await?;
        let now = self.now();
        Ok(self
            .store()
            .project_mail(caller.project, query, (start, limit), now)
            .await?)
    }

    /// The number of messages of the caller's project, at most 100,000, and of the unread ones.
    pub async fn count_mail(&self, caller: &Caller) -> Result<(u64, u64), StoreError> {
        self.store().count_mail(caller.project, self.now()).await
    }

    /// The recipients of a message in the inboxes of the caller's project.
    pub async fn recipients_of_message(
        &self,
        caller: &Caller,
        message: &Head,
    ) -> Result<Vec<String>, StoreError> {
        let now = self.now();
        let store = self.store();
        let inboxes = store.reached(caller.project, message, now).await?;
        Ok(inboxes
            .iter()
            .flat_map(|reached| reached.addresses(self.mail_domain()))
            .collect())
    }

    /// The id that a message has in the list of a project, by default of the default project.
    pub async fn listed_id(
        &self,
        project: Option<ProjectId>,
        id: MessageId,
    ) -> Result<MessageId, StoreError> {
        let project = project.unwrap_or(self.0.default_project);
        let now = self.now();
        self.store().listed_id(project, id, now).await
    }

    /// Deletes or marks messages of the caller's project in all its inboxes. Unknown ids are left
    /// out.
    pub async fn change_mail(
        &self,
        caller: &Caller,
        ids: &[MessageId],
        change: MailChange,
    ) -> Result<u64, StoreError> {
        self.store()
            .change_mail(caller.project, ids, change, self.now())
            .await
    }

    /// Deletes or marks the messages of the caller's project that a query finds.
    pub async fn change_found_mail(
        &self,
        caller: &Caller,
        query: MailQuery,
        change: MailChange,
    ) -> Result<u64, ServiceError> {
        let _scan = self.0.jobs.scan(caller.project.0).await?;
        Ok(self
            .store()
            .change_found_mail(caller.project, query, change, self.now())
            .await?)
    }
}
