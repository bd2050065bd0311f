//! Stores rejections over SMTP, so that users can find out why a message did not arrive.
//!
//! Callers never wait for the database: refusals are written in the background, in batches with a pause between them.
//! If the queue is full, they are dropped.

use std::time::Duration;

use tokio::sync::mpsc;

use super::Service;
use crate::model::{EmailAddress, Inbox, InboxId, ProjectId, RefusedMail};
use crate::store::{RefusalFilter, Store, StoreError};

/// The most refusals in the queue.
const QUEUE: usize = 1_024;
/// The most refusals in one batch.
const BATCH: usize = 256;
/// The pause between two batches, so that deliveries are not delayed.
const REST: Duration = Duration::from_millis(200);
/// The most refusals that are returned.
const SHOWN: usize = 200;
/// The most refusals that are returned for one inbox.
pub const REFUSALS_OF_INBOX: usize = 20;

/// A refusal, and the project of the client's key.
#[derive(Debug)]
struct Report {
    refused: RefusedMail,
    project: Option<ProjectId>,
}

/// The queue of refusals.
#[derive(Debug)]
pub(super) struct Recorder(mpsc::Sender<Report>);

impl Recorder {
    pub(super) fn start(store: Store, default_project: ProjectId) -> Self {
        let (queue, reports) = mpsc::channel(QUEUE);
        tokio::spawn(run(store, default_project, reports));
        Self(queue)
    }
}

impl Service {
    /// Stores a refusal. It belongs to `project`, whose key the client authenticated with; if `None`, to the owner of
    /// the recipient's address; if the address has no owner, to the default project.
    pub fn record_refusal(&self, refused: RefusedMail, project: Option<ProjectId>) {
        // If the queue is full, there are already enough refusals to see the cause.
        let _ = self.0.refusals.0.try_send(Report { refused, project });
    }

    /// The latest refusals that match a filter, newest first, each with its project.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn refusals(&self, filter: &RefusalFilter) -> Result<Vec<(ProjectId, RefusedMail)>, StoreError> {
        self.0.store.find_refusals(filter, SHOWN).await
    }

    /// The latest refusals of mail to an inbox since it was created, newest first.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn refusals_of_inbox(&self, inbox: &Inbox) -> Result<Vec<RefusedMail>, StoreError> {
        let projects = [inbox.project, self.0.default_project];
        let refused = self.0.store.refusals_of(&inbox.id, projects, inbox.created_at, REFUSALS_OF_INBOX).await?;
        Ok(refused.into_iter().filter(|refused| refused.inbox.as_ref() == Some(&inbox.id)).collect())
    }
}

/// Writes until the service is dropped or stops.
async fn run(store: Store, default_project: ProjectId, mut reports: mpsc::Receiver<Report>) {
    let mut batch = Vec::with_capacity(BATCH);
    while reports.recv_many(&mut batch, BATCH).await > 0 {
        if let Err(error) = write(&store, default_project, std::mem::take(&mut batch)).await {
            tracing::warn!(%error, "cannot store refusals");
        }
        tokio::time::sleep(REST).await;
    }
}

async fn write(store: &Store, default_project: ProjectId, batch: Vec<Report>) -> Result<(), StoreError> {
    let mut refusals = Vec::with_capacity(batch.len());
    for Report { refused, project } in batch {
        let (inbox, owner) = addressed_inbox(store, refused.recipient_address()).await?;
        refusals.push((project.or(owner).unwrap_or(default_project), RefusedMail { inbox, ..refused }));
    }
    store.add_refusals(&refusals).await
}

/// The inbox to which a recipient address leads, and the owner of the address. A tag counts only if an inbox has it.
async fn addressed_inbox(store: &Store, recipient: &str) -> Result<(Option<InboxId>, Option<ProjectId>), StoreError> {
    let address = EmailAddress::parse(recipient);
    let Ok(inbox) = address.map(|address| InboxId::of(&address)) else { return Ok((None, None)) };
    for id in inbox.meant() {
        if let Some(owner) = store.owner_of_address(&id).await? {
            return Ok((Some(id), Some(owner)));
        }
    }
    Ok((Some(inbox), None))
}
