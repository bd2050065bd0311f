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
    /// Where the store fails.
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
        for refused in by_recipient(refused) {
            let (inbox, owner) = addressed_inbox(store, &refused.recipient).await?;
            refusals.push((project.or(owner).unwrap_or(default_project), RefusedMail { inbox, ..refused }));
        }
    }
    store.add_refusals(&refusals).await
}

/// The refusal of a message as one of each recipient, so that each owner sees only their own.
fn by_recipient(refused: RefusedMail) -> Vec<RefusedMail> {
    // A path that a client wrote itself may have spaces in it.
    if refused.recipient.starts_with('<') || !refused.recipient.contains(' ') {
        return vec![refused];
    }
    let of = |recipient: &str| RefusedMail { recipient: recipient.to_owned(), ..refused.clone() };
    refused.recipient.split_whitespace().map(of).collect()
}

/// The inbox that a recipient names, and the owner of its address. A tag counts only if an inbox has it.
async fn addressed_inbox(store: &Store, recipient: &str) -> Result<(Option<InboxId>, Option<ProjectId>), StoreError> {
    let address = EmailAddress::parse(recipient.trim_start_matches('<').trim_end_matches('>'));
    let Ok(inbox) = address.map(|address| InboxId::of(&address)) else { return Ok((None, None)) };
    let owner = store.owner_of_address(&inbox).await?;
    if owner.is_none()
        && let Some(base) = inbox.without_tag()
        && let Some(owner) = store.owner_of_address(&base).await?
    {
        return Ok((Some(base), Some(owner)));
    }
    Ok((Some(inbox), owner))
}
