//! Stores rejections over SMTP, so that users can find out why a message did not arrive.
//!
//! SMTP sessions never wait for the database: refusals are written in the background, in batches
//! with a pause between them. If the queue is full, or an owner or a client has its share of it,
//! they are dropped. A reader can wait until those in the queue are written.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::sync::mpsc;

use super::barrier::{Barrier, BarrierWriter, barrier};
use super::quotas::{Quota, Quotas};
use super::{Options, Service};
use crate::clock::Clock;
use crate::model::{
    Domain, EmailAddress, Inbox, InboxId, Period, ProjectId, RefusalFilter, RefusedMail,
    SharedAddress,
};
use crate::store::{Store, StoreError};
use crate::tcp::client_of;

/// Maximum number of refusals in the queue, and of those of one owner.
const QUEUE: usize = 4_096;
const QUEUED_OF_OWNER: usize = 256;
/// Maximum number of refusals in the queue that clients without a key have caused: one client, and
/// all of them.
const QUEUED_OF_CLIENT: usize = 512;
const QUEUED_WITHOUT_KEY: usize = 2_048;
/// Maximum number of refusals in one batch.
const BATCH: usize = 256;
/// The pause between two batches, so that deliveries are not delayed.
const REST: Duration = Duration::from_millis(200);
/// Maximum number of refusals that are returned.
pub const MAX_REFUSALS_SHOWN: usize = 200;
/// Maximum number of refusals that are returned for one inbox.
pub const REFUSALS_OF_INBOX: usize = 20;

/// A refusal, and the project of the client's key.
#[derive(Debug)]
struct Report {
    refused: RefusedMail,
    project: Option<ProjectId>,
}

/// Who has a share of the queue. The project of a client without a key is not known yet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Owner {
    Project(ProjectId),
    Recipient(String),
    /// A client that has named no recipient.
    Session(String),
    Client(String),
    /// All clients without a key.
    Keyless,
}

impl Owner {
    /// Whether its refusals may be of a project. Mail for elsewhere is of the default project, and
    /// what has no recipient may concern any.
    fn may_concern(
        &self,
        project: ProjectId,
        is_default: bool,
        is_local: impl Fn(&Domain) -> bool,
    ) -> bool {
        match self {
            Self::Project(owner) => *owner == project,
            Self::Recipient(recipient) if !is_default => {
                EmailAddress::parse(recipient).map_or(true, |address| is_local(address.domain()))
            }
            Self::Recipient(_) | Self::Session(_) => true,
            // Their refusals also have a recipient or are of a session.
            Self::Client(_) | Self::Keyless => false,
        }
    }
}

impl Report {
    /// Where it needs room. One client without a key can name any number of recipients.
    fn quotas(&self) -> Vec<Quota<Owner>> {
        if let Some(project) = self.project {
            return vec![(Owner::Project(project), QUEUED_OF_OWNER)];
        }
        let recipient = self.refused.recipient_address().to_ascii_lowercase();
        let client = self.network();
        let mut quotas = vec![(Owner::Keyless, QUEUED_WITHOUT_KEY)];
        if recipient.is_empty() {
            quotas.push((Owner::Session(client), QUEUED_OF_OWNER));
        } else {
            quotas.extend([
                (Owner::Recipient(recipient), QUEUED_OF_OWNER),
                (Owner::Client(client), QUEUED_OF_CLIENT),
            ]);
        }
        quotas
    }

    /// The client, or its network.
    fn network(&self) -> String {
        let peer: Result<SocketAddr, _> = self.refused.peer.parse();
        peer.map_or_else(
            |_| self.refused.client(),
            |peer| client_of(peer.ip()).to_string(),
        )
    }
}

/// The queue of refusals.
#[derive(Debug)]
pub(super) struct Recorder {
    queue: mpsc::Sender<Report>,
    quotas: Quotas<Owner>,
    barrier: Barrier,
    default_project: ProjectId,
    options: Options,
}

impl Recorder {
    pub(super) fn start(
        store: Store,
        clock: Clock,
        default_project: ProjectId,
        options: Options,
    ) -> Self {
        let (queue, reports) = mpsc::channel(QUEUE);
        let (barrier, writing) = barrier();
        let owners = Owners {
            store,
            clock,
            default_project,
            options: options.clone(),
        };
        let quotas = Quotas::new();
        tokio::spawn(run(owners, reports, quotas.clone(), writing));
        Self {
            queue,
            quotas,
            barrier,
            default_project,
            options,
        }
    }

    fn add(&self, report: Report) {
        let quotas = report.quotas();
        // Without room, there are already enough refusals to see the cause.
        if !self.quotas.take(&quotas) {
            return;
        }
        if self.queue.try_send(report).is_err() {
            self.quotas.withdraw(&quotas);
        }
    }

    /// Returns when the refusals that this node has queued so far and that may concern a project
    /// are written, or could not be, or after a second.
    pub(super) async fn written(&self, project: ProjectId) {
        let is_default = project == self.default_project;
        let is_local = |domain: &Domain| self.options.is_local(domain);
        self.barrier
            .wait(&self.quotas, |owner| {
                owner.may_concern(project, is_default, is_local)
            })
            .await;
    }
}

/// Finds the project of a refusal.
struct Owners {
    store: Store,
    clock: Clock,
    default_project: ProjectId,
    options: Options,
}

impl Service {
    /// Stores a refusal. It belongs to `project`, whose key the client authenticated with; if
    /// `None`, to the owner of the recipient's address, or to each project with a live inbox if the
    /// address is shared; otherwise to the default project.
    pub fn record_refusal(&self, refused: RefusedMail, project: Option<ProjectId>) {
        self.0.refusals.add(Report { refused, project });
    }

    /// The latest refusals that match a filter, newest first, each with its project.
    pub async fn refusals(
        &self,
        filter: &RefusalFilter,
    ) -> Result<Vec<(ProjectId, RefusedMail)>, StoreError> {
        self.0.store.find_refusals(filter, MAX_REFUSALS_SHOWN).await
    }

    /// The latest refusals of mail to an inbox since it was created, newest first.
    pub async fn refusals_of_inbox(&self, inbox: &Inbox) -> Result<Vec<RefusedMail>, StoreError> {
        let default = self.0.default_project;
        let period = Period::of_inbox(inbox, self.0.clock.now());
        let refused = self
            .0
            .store
            .refusals_of(inbox.project, &inbox.id, default, period, REFUSALS_OF_INBOX)
            .await?;
        Ok(refused
            .into_iter()
            .filter(|refused| refused.inbox.as_ref() == Some(&inbox.id))
            .collect())
    }
}

/// Writes until the service is dropped or stops.
async fn run(
    owners: Owners,
    mut reports: mpsc::Receiver<Report>,
    quotas: Quotas<Owner>,
    mut writing: BarrierWriter,
) {
    let mut batch = Vec::with_capacity(BATCH);
    while reports.recv_many(&mut batch, BATCH).await > 0 {
        let taken: Vec<_> = batch.iter().flat_map(Report::quotas).collect();
        if let Err(error) = owners.write(std::mem::take(&mut batch)).await {
            tracing::warn!(%error, "cannot store refusals");
        }
        quotas.give_back(&taken);
        writing.done();
        writing.pause(REST).await;
    }
}

impl Owners {
    async fn write(&self, batch: Vec<Report>) -> Result<(), StoreError> {
        let mut refusals = Vec::with_capacity(batch.len());
        for Report { refused, project } in batch {
            for (inbox, owner) in self.concerned(refused.recipient_address(), project).await? {
                let refused = RefusedMail {
                    inbox,
                    ..refused.clone()
                };
                refusals.push((project.or(owner).unwrap_or(self.default_project), refused));
            }
        }
        self.store.add_refusals(&refusals).await
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
        if *address.domain() != self.options.mail_domain {
            let sharing = self.sharing(&SharedAddress::of(&address), project).await?;
            if !sharing.is_empty() {
                return Ok(sharing
                    .into_iter()
                    .map(|(inbox, owner)| (Some(inbox), Some(owner)))
                    .collect());
            }
            if self.options.accepted.accept(address.domain()) {
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
                .store
                .holders_of_address(&meant, project, self.clock.now())
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
            if let Some(owner) = self.store.owner_of_address(&id).await? {
                return Ok((
                    Some(id),
                    Some(owner).filter(|_| *address.domain() == self.options.mail_domain),
                ));
            }
        }
        Ok((Some(inbox), None))
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_project_waits_only_for_refusals_that_may_be_its_own() {
        let [own, other] = [1, 2].map(|number| ProjectId(Uuid::from_u128(number)));
        let recipient = |text: &str| Owner::Recipient(text.to_owned());
        for (owner, concerns, concerns_default) in [
            (Owner::Project(own), true, true),
            (Owner::Project(other), false, false),
            (recipient("a@local.example"), true, true),
            (recipient("a@elsewhere.example"), false, true),
            (recipient("no address"), true, true),
            (Owner::Session("192.0.2.1".to_owned()), true, true),
            (Owner::Client("192.0.2.1".to_owned()), false, false),
            (Owner::Keyless, false, false),
        ] {
            let may_concern = |is_default| {
                owner.may_concern(own, is_default, |domain| domain.as_str() == "local.example")
            };
            assert_eq!(
                (may_concern(false), may_concern(true)),
                (concerns, concerns_default),
                "{owner:?}"
            );
        }
    }
}
