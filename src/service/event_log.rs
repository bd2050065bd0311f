//! Records what is in no other table: waits, claims and SMTP sessions. The dashboard shows what
//! tests wait for, the timeline of an inbox shows all of them, and stories are based on them.
//!
//! No wait and no session is delayed by its record. [`Events`] keeps a limited number: in memory,
//! or on a shared database in a table, so that every node shows those of all nodes. A session needs
//! the owners of the addresses that it named, which a background task looks up. In its queue, each
//! project and each client has a share.

use std::fmt::Debug;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::mpsc;
use uuid::Uuid;

use super::barrier::{Barrier, BarrierWriter, barrier};
use super::event_memory::{KEPT_OF_INBOX, MemoryEvents};
use super::event_table::TableEvents;
use super::hub::Hub;
use super::quotas::{Quota, Quotas};
use super::{Caller, Service};
use crate::clock::Clock;
use crate::model::{
    Inbox, InboxClaim, InboxId, MessageFilter, ProjectId, SharedAddress, SmtpSession, Timestamp,
    WaitEnd, WaitRecord,
};
use crate::store::{Store, StoreError};
use crate::tcp::client_of;

/// Maximum number of sessions whose owners are looked up later. More are not recorded.
const QUEUE: usize = 5_000;
/// Maximum number of sessions in the queue of one project, of one address, and of one client; and
/// of all sessions whose project is not known yet.
const QUEUED_OF_OWNER: usize = 500;
const QUEUED_OF_CLIENT: usize = 1_000;
const QUEUED_WITHOUT_PROJECT: usize = 2_500;
/// Maximum number of sessions whose owners are looked up together.
const BATCH: usize = 256;
/// An open wait of a node that has died is shown as ended this long after its deadline.
const GRACE: Duration = Duration::from_secs(10);

/// Where the events are.
pub(super) trait Events: Debug + Send + Sync {
    /// Records a wait as it is now.
    fn note_wait(&self, wait: &WaitRecord);

    /// Records that an inbox that existed was claimed again.
    fn note_claim(&self, claim: &InboxClaim);

    /// Records an SMTP session for the projects that it concerns.
    fn note_session(&self, session: &Arc<SmtpSession>, projects: &[ProjectId]);

    /// The waits on an inbox, newest first.
    fn waits_of<'a>(
        &'a self,
        inbox: &'a Inbox,
    ) -> BoxFuture<'a, Result<Vec<WaitRecord>, StoreError>>;

    /// The open waits on inboxes of a project, newest first.
    fn open_waits(&self, project: ProjectId) -> BoxFuture<'_, Result<Vec<WaitRecord>, StoreError>>;

    /// When an inbox was claimed.
    fn claims_of<'a>(
        &'a self,
        inbox: &'a Inbox,
    ) -> BoxFuture<'a, Result<Vec<Timestamp>, StoreError>>;

    /// The sessions of a project that named an inbox and ended until then. One may be there twice.
    fn sessions_of<'a>(
        &'a self,
        project: ProjectId,
        named: &'a str,
        until: Timestamp,
    ) -> BoxFuture<'a, Result<Vec<SmtpSession>, StoreError>>;

    /// The mark of the waits of a project, or of one of its inboxes: it changes when they change.
    fn mark<'a>(
        &'a self,
        project: ProjectId,
        inbox: Option<&'a InboxId>,
    ) -> BoxFuture<'a, Result<String, StoreError>>;
}

/// The waits of an inbox, newest first.
#[derive(Clone, Debug, Default)]
pub struct Waits {
    pub open: Vec<WaitRecord>,
    /// The latest waits that have ended.
    pub ended: Vec<WaitRecord>,
}

/// The records. Clones share the same state.
#[derive(Clone, Debug)]
pub(super) struct EventLog {
    clock: Clock,
    events: Arc<dyn Events>,
    sessions: mpsc::Sender<Arc<SmtpSession>>,
    quotas: Quotas<Owner>,
    barrier: Arc<Barrier>,
}

/// Who has a share of the queue.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Owner {
    Project(ProjectId),
    Address(Option<String>),
    Client(String),
    /// All sessions whose project is not known yet.
    Unknown,
}

impl Owner {
    /// Whether its sessions may be of a project. Those whose project is not known yet may be of
    /// any.
    fn may_concern(&self, project: ProjectId) -> bool {
        match self {
            Self::Project(owner) => *owner == project,
            Self::Unknown => true,
            // Their sessions also have an unknown project.
            Self::Address(_) | Self::Client(_) => false,
        }
    }
}

/// An open wait. If it is dropped without an end, its client has disconnected.
pub(super) struct OpenRecord {
    log: EventLog,
    record: WaitRecord,
}

impl EventLog {
    /// Starts a task that ends with the last clone. With a shared database, `background` also gets
    /// the task that writes.
    pub(super) fn start(
        store: &Store,
        hub: Hub,
        clock: Clock,
        default_project: ProjectId,
        background: impl FnOnce(BoxFuture<'static, ()>),
    ) -> Self {
        let events: Arc<dyn Events> = if store.is_shared() {
            let table = Arc::new(TableEvents::new(store.clone()));
            background(Box::pin(Arc::clone(&table).write()));
            table
        } else {
            Arc::new(MemoryEvents::new(hub))
        };
        let (sessions, received) = mpsc::channel(QUEUE);
        let (barrier, writing) = barrier();
        let quotas = Quotas::new();
        let noted = (Arc::clone(&events), quotas.clone());
        tokio::spawn(note_sessions(
            received,
            store.clone(),
            default_project,
            noted,
            writing,
        ));
        Self {
            clock,
            events,
            sessions,
            quotas,
            barrier: Arc::new(barrier),
        }
    }

    /// Records that a wait starts.
    pub(super) fn wait_starts(
        &self,
        caller: &Caller,
        inbox: &Inbox,
        filter: &MessageFilter,
        timeout: Duration,
    ) -> OpenRecord {
        let record = WaitRecord {
            id: Uuid::now_v7(),
            project: caller.project,
            inbox: inbox.id.clone(),
            shared: inbox.shared.clone(),
            inbox_created_at: inbox.created_at,
            filter: filter.clone(),
            started_at: self.clock.now(),
            timeout,
            end: None,
        };
        self.events.note_wait(&record);
        OpenRecord {
            log: self.clone(),
            record,
        }
    }

    /// Records that an inbox that existed was claimed again.
    pub(super) fn claimed(&self, inbox: &Inbox) {
        let (inbox, project, created_at) = (inbox.id.clone(), inbox.project, inbox.created_at);
        self.events.note_claim(&InboxClaim {
            inbox,
            project,
            inbox_created_at: created_at,
            at: self.clock.now(),
        });
    }

    /// When an inbox was claimed.
    pub(super) async fn claims_of(&self, inbox: &Inbox) -> Result<Vec<Timestamp>, StoreError> {
        let mut claims = self.events.claims_of(inbox).await?;
        claims.retain(|at| *at >= inbox.created_at);
        Ok(claims)
    }

    /// The SMTP sessions that named an inbox, concern its project and ended until then, oldest
    /// first.
    pub(super) async fn sessions_of(
        &self,
        inbox: &Inbox,
        until: Timestamp,
    ) -> Result<Vec<SmtpSession>, StoreError> {
        let named = inbox
            .shared
            .as_ref()
            .map_or_else(|| inbox.id.to_string(), SharedAddress::to_string);
        let mut all = self.sessions_named(inbox.project, &named, until).await?;
        // The address may have belonged to another project before, or a client of another project
        // may have tried it.
        all.retain(|session| {
            session.ended_at >= inbox.created_at
                && session
                    .project
                    .is_none_or(|project| project == inbox.project)
        });
        Ok(all)
    }

    /// The SMTP sessions that named an address, were recorded for a project and ended until then,
    /// oldest first. `named` is the id of an inbox, or a whole address that is not on the mail
    /// domain.
    pub(super) async fn sessions_named(
        &self,
        project: ProjectId,
        named: &str,
        until: Timestamp,
    ) -> Result<Vec<SmtpSession>, StoreError> {
        self.barrier
            .wait(&self.quotas, |owner| owner.may_concern(project))
            .await;
        let mut all = self.events.sessions_of(project, named, until).await?;
        all.sort_by_key(|session| session.id);
        all.dedup_by_key(|session| session.id);
        Ok(all)
    }

    async fn of_inbox(&self, inbox: &Inbox) -> Result<Waits, StoreError> {
        let all = self.events.waits_of(inbox).await?;
        let now = self.clock.now();
        let all = all.into_iter().map(|wait| without_lost(wait, now));
        let (open, mut ended): (Vec<_>, Vec<_>) = all.partition(|wait| wait.end.is_none());
        ended.truncate(KEPT_OF_INBOX);
        Ok(Waits { open, ended })
    }

    async fn open_of(&self, project: ProjectId) -> Result<Vec<WaitRecord>, StoreError> {
        let open = self.events.open_waits(project).await?;
        let now = self.clock.now();
        Ok(open
            .into_iter()
            .filter(|wait| !is_lost(wait, now))
            .collect())
    }

    /// The mark of the waits of a project, or of one of its inboxes: it changes when they change.
    pub(super) async fn mark(
        &self,
        project: ProjectId,
        inbox: Option<&InboxId>,
    ) -> Result<String, StoreError> {
        self.events.mark(project, inbox).await
    }
}

/// Records sessions for the owners of the addresses that they named.
async fn note_sessions(
    mut received: mpsc::Receiver<Arc<SmtpSession>>,
    store: Store,
    default_project: ProjectId,
    (events, quotas): (Arc<dyn Events>, Quotas<Owner>),
    writing: BarrierWriter,
) {
    let mut batch = Vec::with_capacity(BATCH);
    while received.recv_many(&mut batch, BATCH).await > 0 {
        let taken: Vec<_> = batch
            .iter()
            .flat_map(|session| quotas_of(session))
            .collect();
        let unknown = batch.iter().filter(|session| session.project.is_none());
        let mut names: Vec<String> = unknown.flat_map(|session| session.named.clone()).collect();
        names.sort_unstable();
        names.dedup();
        let owners = store.owners_of(&names).await.unwrap_or_else(|error| {
            tracing::debug!(%error, "cannot find the projects of SMTP sessions");
            Vec::new()
        });
        for session in batch.drain(..) {
            let owns = |(name, project): &(String, ProjectId)| {
                session.named.contains(name).then_some(*project)
            };
            let mut projects: Vec<_> = match session.project {
                Some(project) => vec![project],
                None => owners.iter().filter_map(owns).collect(),
            };
            projects.sort_unstable_by_key(|project| project.0);
            projects.dedup();
            if projects.is_empty() {
                projects.push(default_project);
            }
            events.note_session(&session, &projects);
        }
        quotas.give_back(&taken);
        writing.done();
    }
}

/// Where a session needs room.
fn quotas_of(session: &SmtpSession) -> Vec<Quota<Owner>> {
    if let Some(project) = session.project {
        return vec![(Owner::Project(project), QUEUED_OF_OWNER)];
    }
    let client: Result<IpAddr, _> = session.client.parse();
    let client = client.map_or_else(
        |_| session.client.clone(),
        |client| client_of(client).to_string(),
    );
    vec![
        (Owner::Unknown, QUEUED_WITHOUT_PROJECT),
        (
            Owner::Address(session.named.first().cloned()),
            QUEUED_OF_OWNER,
        ),
        (Owner::Client(client), QUEUED_OF_CLIENT),
    ]
}

/// Whether the node of an open wait has died.
fn is_lost(wait: &WaitRecord, now: Timestamp) -> bool {
    wait.end.is_none() && wait.deadline().after(GRACE) < now
}

/// Shows an open wait of a node that died as ended.
pub(super) fn without_lost(wait: WaitRecord, now: Timestamp) -> WaitRecord {
    if is_lost(&wait, now) {
        return WaitRecord {
            end: Some((wait.deadline(), WaitEnd::Failed)),
            ..wait
        };
    }
    wait
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // The mutex is not poisoned: no code panics while it is locked.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl OpenRecord {
    /// The wait has ended. Returns its record.
    pub(super) fn end(mut self, end: WaitEnd) -> WaitRecord {
        self.record.end = Some((self.log.clock.now(), end));
        self.record.clone()
    }
}

impl Drop for OpenRecord {
    fn drop(&mut self) {
        let now = self.log.clock.now();
        self.record.end.get_or_insert((now, WaitEnd::Left));
        self.log.events.note_wait(&self.record);
    }
}

impl Service {
    /// Records an SMTP session that named inboxes.
    pub fn record_session(&self, session: SmtpSession) {
        let log = &self.0.event_log;
        let quotas = quotas_of(&session);
        if !log.quotas.take(&quotas) {
            return;
        }
        if log.sessions.try_send(Arc::new(session)).is_err() {
            log.quotas.withdraw(&quotas);
        }
    }

    /// The waits on an inbox: the open ones, and the latest that have ended.
    pub async fn waits_of_inbox(&self, inbox: &Inbox) -> Result<Waits, StoreError> {
        self.0.event_log.of_inbox(inbox).await
    }

    /// The open waits on inboxes of a project, newest first.
    pub async fn open_waits(&self, project: ProjectId) -> Result<Vec<WaitRecord>, StoreError> {
        self.0.event_log.open_of(project).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeline_waits_for_its_project_and_for_what_has_none_yet() {
        let [own, other] = [1, 2].map(|number| ProjectId(Uuid::from_u128(number)));
        assert!(Owner::Project(own).may_concern(own) && Owner::Unknown.may_concern(own));
        assert!(!Owner::Project(other).may_concern(own));
        // Each session without a project also counts as unknown.
        assert!(
            !Owner::Address(None).may_concern(own)
                && !Owner::Client("::1".to_owned()).may_concern(own)
        );
    }
}
