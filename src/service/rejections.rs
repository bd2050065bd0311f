//! Rejections over SMTP and over the APIs for sending, so that users can find out why a message did
//! not arrive: whom each concerns, and lists of them.

use super::{EntryFilter, Service, ServiceError};
use crate::evidence::{Entry, NewEntry};
use crate::model::{EmailAddress, Inbox, InboxId, ProjectId, RefusedMail, SharedAddress};
use crate::store::StoreError;

/// Maximum number of rejections that are returned.
pub const MAX_REFUSALS_SHOWN: usize = 200;
/// Maximum number of rejections that are returned for one inbox.
pub const REFUSALS_OF_INBOX: usize = 20;

impl Service {
    /// The latest rejections that match a filter, newest first, each with its project.
    pub async fn refusals(
        &self,
        filter: &EntryFilter,
    ) -> Result<Vec<(ProjectId, RefusedMail)>, StoreError> {
        self.found(filter, MAX_REFUSALS_SHOWN).await
    }

    /// The latest rejections of mail to an inbox since it was created, newest first.
    pub async fn refusals_of_inbox(&self, inbox: &Inbox) -> Result<Vec<RefusedMail>, StoreError> {
        let times = (inbox.created_at, self.now());
        let store = self.store();
        store.about(inbox, times, REFUSALS_OF_INBOX).await
    }

    /// The entries of a rejection, for each inbox that it concerns.
    pub(super) async fn of_rejection(
        &self,
        refused: &RefusedMail,
        project: Option<ProjectId>,
    ) -> Result<Vec<NewEntry>, ServiceError> {
        let concerned = self.concerned(refused.recipient_address(), project).await?;
        let entry = |(inbox, owner): (Option<InboxId>, Option<ProjectId>)| NewEntry {
            project: project.or(owner).unwrap_or(self.0.default_project),
            subject: inbox.as_ref().map_or_else(String::new, InboxId::to_string),
            entry: Entry::Refused(RefusedMail {
                inbox,
                ..refused.clone()
            }),
        };
        Ok(concerned.into_iter().map(entry).collect())
    }

    /// The inboxes that a refusal concerns, each with the owner of its address; at least one entry.
    /// A client with a key concerns only its own project.
    async fn concerned(
        &self,
        recipient: &str,
        project: Option<ProjectId>,
    ) -> Result<Vec<(Option<InboxId>, Option<ProjectId>)>, StoreError> {
        let Ok(address) = EmailAddress::parse(recipient) else {
            return Ok(vec![(None, None)]);
        };
        if *address.domain() != self.0.options.mail_domain {
            let sharing = self.sharing(&SharedAddress::of(&address), project).await?;
            if !sharing.is_empty() {
                return Ok(sharing
                    .into_iter()
                    .map(|(inbox, owner)| (Some(inbox), Some(owner)))
                    .collect());
            }
            if self.0.options.accepted.accept(address.domain()) {
                // No inbox has the whole address as its id. An inbox on the mail domain with the
                // same local part has nothing to do with it, and a refusal without an id would be
                // shown for every inbox.
                return Ok(vec![(
                    Some(InboxId::from_stored(address.to_string())),
                    None,
                )]);
            }
        }
        Ok(vec![self.addressed_inbox(&address).await?])
    }

    /// The inboxes with a shared address: all live ones, or if there is none, the only one that has
    /// ended.
    async fn sharing(
        &self,
        address: &SharedAddress,
        project: Option<ProjectId>,
    ) -> Result<Vec<(InboxId, ProjectId)>, StoreError> {
        for meant in address.meant() {
            let holders = self
                .store()
                .holders_of_address(&meant, project, self.now())
                .await?;
            let (live, ended): (Vec<_>, Vec<_>) =
                holders.into_iter().partition(|holder| holder.is_live);
            let concerned = if live.is_empty() && ended.len() == 1 {
                ended
            } else {
                live
            };
            if !concerned.is_empty() {
                return Ok(concerned
                    .into_iter()
                    .map(|holder| (holder.inbox, holder.project))
                    .collect());
            }
        }
        Ok(Vec::new())
    }

    /// The inbox with the local part of a recipient, and the owner of the address. A tag counts
    /// only if an inbox has it.
    async fn addressed_inbox(
        &self,
        address: &EmailAddress,
    ) -> Result<(Option<InboxId>, Option<ProjectId>), StoreError> {
        let inbox = InboxId::of(address);
        for id in inbox.meant() {
            if let Some(owner) = self.store().owner_of_address(&id).await? {
                return Ok((
                    Some(id),
                    Some(owner).filter(|_| *address.domain() == self.0.options.mail_domain),
                ));
            }
        }
        Ok((Some(inbox), None))
    }
}
