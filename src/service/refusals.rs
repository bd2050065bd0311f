//! Stores rejections over SMTP, so that users can find out why a message did not arrive.
//!
//! SMTP sessions never wait for the database: refusals are written in the background, in batches with a pause between
//! them. If the queue is full, they are dropped. A reader can wait until those in the queue are written.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::timeout;

use super::Service;
use crate::model::{EmailAddress, Inbox, InboxId, ProjectId, RefusedMail};
use crate::store::{RefusalFilter, Store, StoreError};

/// The most refusals in the queue.
const QUEUE: usize = 1_024;
/// The most refusals in one batch.
const BATCH: usize = 256;
/// The pause between two batches, so that deliveries are not delayed.
const REST: Duration = Duration::from_millis(200);
/// How long a reader waits for the queue.
const WRITTEN_WITHIN: Duration = Duration::from_secs(1);
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

#[derive(Debug)]
enum Entry {
    Refusal(Report),
    /// Dropped when the refusals before it are written.
    Reader(oneshot::Sender<()>),
}

/// The queue of refusals.
#[derive(Debug)]
pub(super) struct Recorder {
    queue: mpsc::Sender<Entry>,
    /// Ends the pause between two batches.
    reader: Arc<Notify>,
}

impl Recorder {
    pub(super) fn start(store: Store, default_project: ProjectId) -> Self {
        let (queue, entries) = mpsc::channel(QUEUE);
        let reader = Arc::new(Notify::new());
        tokio::spawn(run(store, default_project, entries, Arc::clone(&reader)));
        Self { queue, reader }
    }

    /// Returns when the refusals so far are written, or after a second if the database is slow.
    pub(super) async fn written(&self) {
        let written = async {
            let (entry, written) = oneshot::channel();
            if self.queue.send(Entry::Reader(entry)).await.is_ok() {
                self.reader.notify_one();
                let _ = written.await;
            }
        };
        let _ = timeout(WRITTEN_WITHIN, written).await;
    }
}

impl Service {
    /// Stores a refusal. It belongs to `project`, whose key the client authenticated with; if `None`, to the owner of
    /// the recipient's address; if the address has no owner, to the default project.
    pub fn record_refusal(&self, refused: RefusedMail, project: Option<ProjectId>) {
        // If the queue is full, there are already enough refusals to see the cause.
        let _ = self.0.refusals.queue.try_send(Entry::Refusal(Report { refused, project }));
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
async fn run(store: Store, default_project: ProjectId, mut entries: mpsc::Receiver<Entry>, reader: Arc<Notify>) {
    let mut batch = Vec::with_capacity(BATCH);
    while entries.recv_many(&mut batch, BATCH).await > 0 {
        let (mut reports, mut readers) = (Vec::with_capacity(batch.len()), Vec::new());
        for entry in batch.drain(..) {
            match entry {
                Entry::Refusal(report) => reports.push(report),
                Entry::Reader(waiting) => readers.push(waiting),
            }
        }
        if let Err(error) = write(&store, default_project, reports).await {
            tracing::warn!(%error, "cannot store refusals");
        }
        drop(readers);
        let _ = timeout(REST, reader.notified()).await;
    }
}

async fn write(store: &Store, default_project: ProjectId, batch: Vec<Report>) -> Result<(), StoreError> {
    let mut refusals = Vec::with_capacity(batch.len());
    for Report { refused, project } in batch {
        let (inbox, owner) = addressed_inbox(store, refused.recipient_address()).await?;
        refusals.push((project.or(owner).unwrap_or(default_project), RefusedMail { inbox, ..refused }));
    }
    if refusals.is_empty() { Ok(()) } else { store.add_refusals(&refusals).await }
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
