//! Keeps what was refused over SMTP, for whoever asks why a mail did not come.
//!
//! Whoever refuses says so and goes on: refusals are written in the background, many at a time and with a rest between,
//! and past a bound they are dropped rather than waited for.

use std::time::Duration;

use tokio::sync::mpsc;

use super::Service;
use crate::model::{EmailAddress, InboxId, ProjectId, RefusedMail};
use crate::store::{Store, StoreError};

/// Refusals that wait to be written.
const QUEUE: usize = 1_024;
/// Refusals in one batch.
const BATCH: usize = 256;
/// Between two batches, so that deliveries come first.
const REST: Duration = Duration::from_millis(200);
/// Refusals that are shown.
const SHOWN: i64 = 200;

/// A refusal, and by what its project is found.
#[derive(Debug)]
struct Report {
    refused: RefusedMail,
    project: Option<ProjectId>,
}

/// Takes refusals.
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
    /// Keeps a refusal. It belongs to `project`, whose key the client authenticated with; else to the owner of the
    /// recipient's address; else to the default project.
    pub fn record_refusal(&self, refused: RefusedMail, project: Option<ProjectId>) {
        // What does not fit into the queue is part of a flood of which there is enough to see.
        let _ = self.0.refusals.0.try_send(Report { refused, project });
    }

    /// The latest refusals, the newest first: of one project, or with `None` of all.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn refusals(&self, project: Option<ProjectId>) -> Result<Vec<RefusedMail>, StoreError> {
        self.0.store.refusals(project, SHOWN).await
    }
}

/// Writes until the service is dropped or stops.
async fn run(store: Store, default_project: ProjectId, mut reports: mpsc::Receiver<Report>) {
    let mut batch = Vec::with_capacity(BATCH);
    while reports.recv_many(&mut batch, BATCH).await > 0 {
        if let Err(error) = write(&store, default_project, std::mem::take(&mut batch)).await {
            tracing::warn!(%error, "cannot keep what was refused");
        }
        tokio::time::sleep(REST).await;
    }
}

async fn write(store: &Store, default_project: ProjectId, batch: Vec<Report>) -> Result<(), StoreError> {
    let mut refusals = Vec::with_capacity(batch.len());
    for Report { refused, project } in batch {
        let project = match (project, addressed_inbox(&refused.recipient)) {
            (Some(project), _) => Some(project),
            (None, Some(inbox)) => store.owner_of_address(&inbox).await?,
            (None, None) => None,
        };
        refusals.push((project.unwrap_or(default_project), refused));
    }
    store.add_refusals(&refusals).await
}

/// The inbox that the first of the recipients names.
fn addressed_inbox(recipients: &str) -> Option<InboxId> {
    let first = recipients.split_whitespace().next()?.trim_start_matches('<').trim_end_matches('>');
    EmailAddress::parse(first).ok().map(|address| InboxId::of(&address))
}
