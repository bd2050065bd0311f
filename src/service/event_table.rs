//! The recorded events of all nodes of a shared database. Each node writes its waits, its claims
//! and its failed SMTP sessions in the background, in batches, to a table that needs no flush, and
//! readers use this table. Sessions that stored a message are only in the memory of their node: the
//! message shows them, and each would cost a row.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt as _};
use tokio::sync::Notify;
use uuid::Uuid;

use super::event_log::{Events, lock};
use super::event_memory::{KEPT_OF_INBOX, OPEN_SHOWN, Sessions, newest_first};
use super::quotas::{Quota, Quotas};
use crate::model::{Inbox, InboxClaim, InboxId, ProjectId, SmtpSession, Timestamp, WaitRecord};
use crate::store::{Store, StoreError};

/// The pause between two writes, and the maximum number of events of each kind in one.
const PAUSE: Duration = Duration::from_millis(200);
const BATCH: usize = 256;
/// Maximum number of events of each kind in the queue, and of those of one project. More are not
/// recorded.
const QUEUE: usize = 10_000;
const QUEUED_OF_PROJECT: usize = 2_000;
/// The number of writes after which old events are deleted.
const WRITES_PER_SWEEP: u32 = 100;

/// The table, and what is not written to it.
#[derive(Debug)]
pub(super) struct TableEvents {
    store: Store,
    own_sessions: Mutex<Sessions>,
    waits: Mutex<HashMap<Uuid, WaitRecord>>,
    claims: Mutex<Vec<InboxClaim>>,
    /// Each with its project; `None` if it concerns several.
    sessions: Mutex<Vec<(Arc<SmtpSession>, Option<ProjectId>)>>,
    quotas: Quotas<(Kind, Option<ProjectId>)>,
    added: Notify,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Wait,
    Claim,
    Session,
}

impl TableEvents {
    pub(super) fn new(store: Store) -> Self {
        Self {
            store,
            own_sessions: Mutex::default(),
            waits: Mutex::default(),
            claims: Mutex::default(),
            sessions: Mutex::default(),
            quotas: Quotas::new(),
            added: Notify::new(),
        }
    }

    /// Writes what was noted while it is polled.
    pub(super) async fn write(self: Arc<Self>) {
        for writes in 1_u32.. {
            self.added.notified().await;
            while self.write_some().await {}
            if writes % WRITES_PER_SWEEP == 0
                && let Err(error) = self.store.forget_events().await
            {
                tracing::debug!(%error, "cannot delete old events");
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Writes one batch. Returns whether there was one.
    async fn write_some(&self) -> bool {
        let waits = take_some(&mut lock(&self.waits));
        let claims = take_first(&mut lock(&self.claims));
        let sessions = take_first(&mut lock(&self.sessions));
        if waits.is_empty() && claims.is_empty() && sessions.is_empty() {
            return false;
        }
        let quotas = waits
            .iter()
            .map(|wait| quota(Kind::Wait, Some(wait.project)));
        let quotas = quotas.chain(
            claims
                .iter()
                .map(|claim| quota(Kind::Claim, Some(claim.project))),
        );
        let quotas = quotas.chain(
            sessions
                .iter()
                .map(|(_, project)| quota(Kind::Session, *project)),
        );
        self.quotas.give_back(&quotas.collect::<Vec<_>>());
        if let Err(error) = self.store.record_events(&waits, &claims, &sessions).await {
            tracing::debug!(%error, "cannot record events");
        }
        true
    }

    fn push<T>(&self, list: &Mutex<Vec<T>>, item: T, kind: Kind, project: Option<ProjectId>) {
        let mut list = lock(list);
        if list.len() < QUEUE && self.quotas.take(&[quota(kind, project)]) {
            list.push(item);
            self.added.notify_one();
        }
    }
}

impl Events for TableEvents {
    fn note_wait(&self, wait: &WaitRecord) {
        let mut waits = lock(&self.waits);
        let is_queued = waits.contains_key(&wait.id);
        let has_room =
            || waits.len() < QUEUE && self.quotas.take(&[quota(Kind::Wait, Some(wait.project))]);
        if is_queued || has_room() {
            waits.insert(wait.id, wait.clone());
            self.added.notify_one();
        }
    }

    fn note_claim(&self, claim: &InboxClaim) {
        self.push(
            &self.claims,
            claim.clone(),
            Kind::Claim,
            Some(claim.project),
        );
    }

    fn note_session(&self, session: &Arc<SmtpSession>, projects: &[ProjectId]) {
        lock(&self.own_sessions).note(session, projects);
        if session.has_failed {
            let project = if let [project] = projects {
                Some(*project)
            } else {
                None
            };
            self.push(
                &self.sessions,
                (Arc::clone(session), project),
                Kind::Session,
                project,
            );
        }
    }

    fn waits_of<'a>(
        &'a self,
        inbox: &'a Inbox,
    ) -> BoxFuture<'a, Result<Vec<WaitRecord>, StoreError>> {
        self.store.waits_of_inbox(inbox, OPEN_SHOWN).boxed()
    }

    fn open_waits(&self, project: ProjectId) -> BoxFuture<'_, Result<Vec<WaitRecord>, StoreError>> {
        self.store.open_waits(project, OPEN_SHOWN).boxed()
    }

    fn claims_of<'a>(
        &'a self,
        inbox: &'a Inbox,
    ) -> BoxFuture<'a, Result<Vec<Timestamp>, StoreError>> {
        self.store.claims_of(inbox, KEPT_OF_INBOX).boxed()
    }

    fn sessions_of<'a>(
        &'a self,
        project: ProjectId,
        named: &'a str,
        until: Timestamp,
    ) -> BoxFuture<'a, Result<Vec<SmtpSession>, StoreError>> {
        let mut all = lock(&self.own_sessions).of(project, named, until);
        async move {
            all.extend(
                self.store
                    .sessions_of(project, named, until, KEPT_OF_INBOX)
                    .await?,
            );
            Ok(all)
        }
        .boxed()
    }

    fn mark<'a>(
        &'a self,
        project: ProjectId,
        inbox: Option<&'a InboxId>,
    ) -> BoxFuture<'a, Result<String, StoreError>> {
        self.store.waits_mark(project, inbox).boxed()
    }
}

fn quota(kind: Kind, project: Option<ProjectId>) -> Quota<(Kind, Option<ProjectId>)> {
    ((kind, project), QUEUED_OF_PROJECT)
}

fn take_some(queue: &mut HashMap<Uuid, WaitRecord>) -> Vec<WaitRecord> {
    let ids: Vec<Uuid> = queue.keys().take(BATCH).copied().collect();
    // In a fixed order, so that two nodes do not deadlock.
    newest_first(ids.into_iter().filter_map(|id| queue.remove(&id)).collect())
}

/// The first of a list.
fn take_first<T>(list: &mut Vec<T>) -> Vec<T> {
    let count = list.len().min(BATCH);
    list.drain(..count).collect()
}
