//! Records what is in no other table: waits and SMTP sessions. The dashboard shows what tests wait for, the timeline of
//! an inbox shows both, and stories are based on them.
//!
//! No wait and no session is delayed by its record. The records are in memory, and their number is limited. On a shared
//! database, each node also writes waits and failed sessions in the background, in batches, to a table that needs no
//! flush; readers use it, so every node shows those of all nodes. Sessions that stored a message are not written: the
//! message shows them, and each would cost a row.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use uuid::Uuid;

use super::event_memory::{EventMemory, KEPT_OF_INBOX, OPEN_SHOWN, newest_first};
use super::hub::Hub;
use super::{Caller, Service};
use crate::clock::Clock;
use crate::model::{
    Inbox, InboxId, MessageFilter, ProjectId, SharedAddress, SmtpSession, Timestamp, WaitEnd, WaitRecord,
};
use crate::store::{Store, StoreError};

/// The pause between two writes to a shared database, and the most waits in one.
const PAUSE: Duration = Duration::from_millis(200);
const BATCH: usize = 256;
/// Maximum number of waits in the queue. More are not recorded.
const QUEUE: usize = 10_000;
/// The number of writes after which old waits are deleted.
const WRITES_PER_SWEEP: u32 = 100;
/// An open wait of a node that has died is shown as ended this long after its deadline.
const GRACE: Duration = Duration::from_secs(10);

/// The waits of an inbox, newest first.
#[derive(Clone, Debug, Default)]
pub struct Waits {
    /// The open waits.
    pub open: Vec<WaitRecord>,
    /// The latest waits that have ended.
    pub ended: Vec<WaitRecord>,
}

/// The records. Clones share the same state.
#[derive(Clone, Debug)]
pub(super) struct EventLog {
    hub: Hub,
    clock: Clock,
    records: Arc<Records>,
}

#[derive(Debug)]
struct Records {
    memory: Mutex<EventMemory>,
    /// What is not written yet; `None` if the database is not shared.
    queue: Option<Queue>,
}

#[derive(Debug, Default)]
struct Queue {
    waits: Mutex<HashMap<Uuid, WaitRecord>>,
    sessions: Mutex<Vec<Arc<SmtpSession>>>,
    added: Notify,
}

/// An open wait. If it is dropped without an end, its client has disconnected.
pub(super) struct OpenRecord {
    log: EventLog,
    record: WaitRecord,
}

impl EventLog {
    pub(super) fn new(hub: Hub, clock: Clock, is_shared: bool) -> Self {
        let records = Records { memory: Mutex::default(), queue: is_shared.then(Queue::default) };
        Self { hub, clock, records: Arc::new(records) }
    }

    /// Records that a wait starts.
    pub(super) fn start(
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
        self.note(&record);
        OpenRecord { log: self.clone(), record }
    }

    fn note(&self, record: &WaitRecord) {
        let Some(Queue { waits, added, .. }) = &self.records.queue else {
            lock(&self.records.memory).note(record.clone());
            return self.hub.announce(&[]);
        };
        let mut waits = lock(waits);
        if waits.len() < QUEUE || waits.contains_key(&record.id) {
            waits.insert(record.id, record.clone());
            added.notify_one();
        }
    }

    /// Records an SMTP session.
    fn note_session(&self, session: &Arc<SmtpSession>) {
        lock(&self.records.memory).note_session(session);
        let Some(Queue { sessions, added, .. }) = self.records.queue.as_ref().filter(|_| session.has_failed) else {
            return;
        };
        let mut sessions = lock(sessions);
        if sessions.len() < QUEUE {
            sessions.push(Arc::clone(session));
            added.notify_one();
        }
    }

    /// Writes records to a shared database while it is polled.
    pub(super) async fn write(self, store: Store) {
        let Some(Queue { waits, sessions, added }) = &self.records.queue else { return };
        for writes in 1_u32.. {
            added.notified().await;
            loop {
                let some = take_some(&mut lock(waits));
                let failed = take_first(&mut lock(sessions));
                if some.is_empty() && failed.is_empty() {
                    break;
                }
                if let Err(error) = store.record_events(&some, &failed).await {
                    tracing::debug!(%error, "cannot record events");
                }
            }
            if writes % WRITES_PER_SWEEP == 0
                && let Err(error) = store.forget_events().await
            {
                tracing::debug!(%error, "cannot delete old events");
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// The SMTP sessions that named an inbox and concern its project, oldest first.
    pub(super) async fn sessions_of(&self, store: &Store, inbox: &Inbox) -> Result<Vec<SmtpSession>, StoreError> {
        let named = inbox.shared.as_ref().map_or_else(|| inbox.id.to_string(), SharedAddress::to_string);
        let mut all = self.sessions_named(store, &named).await?;
        // The address may have belonged to another project before, or a client of another project may have tried it.
        all.retain(|session| {
            session.ended_at >= inbox.created_at && session.project.is_none_or(|project| project == inbox.project)
        });
        Ok(all)
    }

    /// The SMTP sessions that named an address, of all projects, oldest first: the caller checks who may see them.
    /// `named` is the id of an inbox, or a whole address that is not on the mail domain.
    pub(super) async fn sessions_named(&self, store: &Store, named: &str) -> Result<Vec<SmtpSession>, StoreError> {
        let own = lock(&self.records.memory).sessions_of(named);
        let mut all: Vec<SmtpSession> = own.iter().map(|session| (**session).clone()).collect();
        if self.records.queue.is_some() {
            all.extend(store.sessions_of(named, KEPT_OF_INBOX).await?);
        }
        all.sort_by_key(|session| session.id);
        all.dedup_by_key(|session| session.id);
        Ok(all)
    }

    async fn of_inbox(&self, store: &Store, inbox: &Inbox) -> Result<Waits, StoreError> {
        let all = match &self.records.queue {
            None => lock(&self.records.memory).of_inbox(inbox),
            Some(_) => store.waits_of_inbox(inbox, OPEN_SHOWN).await?,
        };
        let now = self.clock.now();
        let all = all.into_iter().map(|wait| without_lost(wait, now));
        let (open, mut ended): (Vec<_>, Vec<_>) = all.partition(|wait| wait.end.is_none());
        ended.truncate(KEPT_OF_INBOX);
        Ok(Waits { open, ended })
    }

    async fn open_of(&self, store: &Store, project: ProjectId) -> Result<Vec<WaitRecord>, StoreError> {
        let open = match &self.records.queue {
            None => lock(&self.records.memory).open_of(project),
            Some(_) => store.open_waits(project, OPEN_SHOWN).await?,
        };
        let now = self.clock.now();
        Ok(open.into_iter().filter(|wait| !is_lost(wait, now)).collect())
    }

    /// The mark of the waits of a project, or of one of its inboxes: it changes when they change.
    pub(super) async fn mark(
        &self,
        store: &Store,
        project: ProjectId,
        inbox: Option<&InboxId>,
    ) -> Result<String, StoreError> {
        match &self.records.queue {
            None => Ok(lock(&self.records.memory).mark(project, inbox)),
            Some(_) => store.waits_mark(project, inbox).await,
        }
    }
}

/// Whether the node of an open wait has died.
fn is_lost(wait: &WaitRecord, now: Timestamp) -> bool {
    wait.end.is_none() && wait.deadline().after(GRACE) < now
}

/// Shows an open wait of a node that died as ended.
pub(super) fn without_lost(wait: WaitRecord, now: Timestamp) -> WaitRecord {
    if is_lost(&wait, now) {
        return WaitRecord { end: Some((wait.deadline(), WaitEnd::Failed)), ..wait };
    }
    wait
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

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
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
        self.log.note(&self.record);
    }
}

impl Service {
    /// Records an SMTP session that named inboxes.
    pub fn record_session(&self, session: SmtpSession) {
        self.0.event_log.note_session(&Arc::new(session));
    }

    /// The waits on an inbox: the open ones, and the latest that have ended.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn waits_of_inbox(&self, inbox: &Inbox) -> Result<Waits, StoreError> {
        self.0.event_log.of_inbox(&self.0.store, inbox).await
    }

    /// The open waits on inboxes of a project, newest first.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn open_waits(&self, project: ProjectId) -> Result<Vec<WaitRecord>, StoreError> {
        self.0.event_log.open_of(&self.0.store, project).await
    }
}
