//! Shared addresses: the inboxes with them, and whose inbox gets a message.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    Address, Facts, InboxId, ProjectId, Recipient, Refusal, Request, SharedAddress, Source, Verdict,
};

/// The inboxes with shared addresses, live or reserved: at most one for each address and project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SharedInboxes {
    by_address: BTreeMap<SharedAddress, BTreeMap<ProjectId, InboxId>>,
    by_id: BTreeMap<InboxId, (SharedAddress, ProjectId)>,
}

/// Where a message to a shared address goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Destination {
    /// To this inbox, live or reserved.
    Inbox(InboxId),
    /// To a new inbox of this project.
    New(ProjectId),
}

impl SharedInboxes {
    /// Adds the inbox of a project with an address.
    pub fn insert(&mut self, address: SharedAddress, project: ProjectId, inbox: InboxId) {
        self.by_id.insert(inbox.clone(), (address.clone(), project));
        self.by_address
            .entry(address)
            .or_default()
            .insert(project, inbox);
    }

    /// Removes an inbox.
    pub(crate) fn remove(&mut self, inbox: &InboxId) {
        if let Some((address, project)) = self.by_id.remove(inbox)
            && let Some(inboxes) = self.by_address.get_mut(&address)
        {
            inboxes.remove(&project);
        }
    }

    /// The inbox of a project with an address.
    #[must_use]
    pub fn inbox(&self, address: &SharedAddress, project: ProjectId) -> Option<&InboxId> {
        self.by_address.get(address)?.get(&project)
    }

    /// The address and the project of an inbox; `None` if its address is on the mail domain.
    #[must_use]
    pub fn holder(&self, inbox: &InboxId) -> Option<&(SharedAddress, ProjectId)> {
        self.by_id.get(inbox)
    }

    fn inboxes(&self, address: &SharedAddress) -> impl Iterator<Item = (ProjectId, &InboxId)> {
        self.by_address
            .get(address)
            .into_iter()
            .flatten()
            .map(|(project, inbox)| (*project, inbox))
    }
}

impl Facts {
    /// The inboxes that these requests may change. The caller locks them, and updates their facts,
    /// before it decides. The facts have the inboxes of the shared addresses (see
    /// [`Request::shared_addresses`]) as they were read without locks.
    pub fn inboxes<'a>(
        &self,
        requests: impl IntoIterator<Item = &'a Request>,
    ) -> BTreeSet<InboxId> {
        let mut needed = BTreeSet::new();
        for request in requests {
            for recipient in &request.recipients {
                match recipient {
                    Recipient::Inbox(id) => needed.extend(id.meant()),
                    Recipient::Shared(address) => {
                        needed.extend(self.inboxes_of(address, &request.source));
                    }
                }
            }
        }
        needed
    }

    /// The inbox that a message goes to now. If that changes before it is locked, the message goes
    /// to another inbox of this list, or to a new one.
    fn inboxes_of(&self, address: &SharedAddress, source: &Source) -> Vec<InboxId> {
        let owner = source.project().unwrap_or(self.policy.default_project);
        let mut inboxes: Vec<InboxId> = address
            .meant()
            .filter_map(|meant| self.shared.inbox(&meant, owner).cloned())
            .collect();
        if let Ok(Destination::Inbox(inbox)) = self.destination(address, source) {
            inboxes.push(inbox);
        }
        inboxes
    }

    /// Where a message to a shared address goes.
    ///
    /// With a key, it is an inbox of the key's project. Without, it is a live inbox of the only
    /// project that has one with the address or with the address without its tag; if there is none,
    /// an inbox of the only project that had one, or else of the default project.
    pub(crate) fn destination(
        &self,
        address: &SharedAddress,
        source: &Source,
    ) -> Result<Destination, Verdict> {
        let mut live = Vec::new();
        for meant in address.meant() {
            live.extend(self.live(&meant, source.project())?);
        }
        if let Some((owner, inbox)) = live.first() {
            return if live.iter().all(|(other, _)| other == owner) {
                Ok(Destination::Inbox(inbox.clone()))
            } else {
                Err(Verdict::Refused(Refusal::Ambiguous(address.clone())))
            };
        }
        let owner = match source {
            Source::Service { .. } => {
                return Err(Verdict::Refused(Refusal::NoInbox(Recipient::Shared(
                    address.clone(),
                ))));
            }
            Source::Client { project, .. } => project.unwrap_or_else(|| self.last_owner(address)),
        };
        Ok(self
            .shared
            .inbox(address, owner)
            .map_or(Destination::New(owner), |inbox| {
                Destination::Inbox(inbox.clone())
            }))
    }

    /// The live inboxes with an address, of one project or of all.
    fn live(
        &self,
        address: &SharedAddress,
        project: Option<ProjectId>,
    ) -> Result<Vec<(ProjectId, InboxId)>, Verdict> {
        let mut live = Vec::new();
        for (owner, inbox) in self.shared.inboxes(address) {
            match self.addresses.get(inbox) {
                _ if project.is_some_and(|project| project != owner) => {}
                Some(Address::Live(_)) => live.push((owner, inbox.clone())),
                Some(Address::Locked) => {
                    return Err(Verdict::Conflict(Recipient::Shared(address.clone())));
                }
                Some(Address::Reserved(_)) | None => {}
            }
        }
        Ok(live)
    }

    /// The project that had an address, with its tag or without, if it is only one; otherwise the
    /// default project. A project that was deleted keeps no shared address from the others.
    fn last_owner(&self, address: &SharedAddress) -> ProjectId {
        let mut owners = BTreeSet::new();
        for meant in address.meant() {
            for (owner, inbox) in self.shared.inboxes(&meant) {
                if let Some(Address::Reserved(reservation)) = self.addresses.get(inbox)
                    && !reservation.owner_is_deleted
                {
                    owners.insert(owner);
                }
            }
        }
        match (owners.pop_first(), owners.pop_first()) {
            (Some(owner), None) => owner,
            _ => self.policy.default_project,
        }
    }
}
