//! Records waits, so that the dashboard can show what tests wait for and how their last waits ended.
//!
//! A wait is never delayed by its record. On SQLite the records are in memory, and their number is limited. On
//! PostgreSQL each node writes its records in the background, in batches, to a table that needs no flush. Pages read
//! this table, so every node shows the waits on all nodes.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use uuid::Uuid;

use super::hub::Hub;
use super::{Caller, MessageFilter, Service};
use crate::clock::Clock;
use crate::model::{Inbox, InboxId, ProjectId, Timestamp, WaitEnd, WaitRecord};
use crate::store::{Store, StoreError};

/// The most ended waits that are kept per inbox, and of all inboxes in memory.
const KEPT_OF_INBOX: usize = 50;
const KEPT: usize = 20_000;
/// The most open waits that a page shows.
const OPEN_SHOWN: usize = 200;
/// The most answered waits whose times are shown.
const ANSWERED: usize = 200;
/// The pause between two writes to a shared database, and the most waits in one.
const PAUSE: Duration = Duration::from_millis(200);
const BATCH: usize = 256;
/// The most waits in the queue. More are not recorded.
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
pub(super) struct WaitLog {
    hub: Hub,
    clock: Clock,
    records: Arc<Records>,
}

#[derive(Debug)]
enum Records {
    /// All records, in memory.
    Memory(Mutex<Memory>),
    /// The records that are not written yet.
    Shared { queue: Mutex<HashMap<Uuid, WaitRecord>>, added: Notify },
}

#[derive(Debug, Default)]
struct Memory {
    open: HashMap<Uuid, WaitRecord>,
    ended: HashMap<InboxId, VecDeque<WaitRecord>>,
    /// The inboxes of the ended waits, oldest first.
    order: VecDeque<(InboxId, Uuid)>,
    /// The number of changes so far, and the last change of each project.
    changes: u64,
    last_changes: HashMap<ProjectId, u64>,
}

/// An open wait. If it is dropped without an end, its client has disconnected.
pub(super) struct OpenRecord {
    log: WaitLog,
    record: WaitRecord,
}

impl WaitLog {
    pub(super) fn new(hub: Hub, clock: Clock, is_shared: bool) -> Self {
        let records = if is_shared {
            Records::Shared { queue: Mutex::default(), added: Notify::new() }
        } else {
            Records::Memory(Mutex::default())
        };
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
            inbox_created_at: inbox.created_at,
            subject: filter.subject.clone(),
            from: filter.from.clone(),
            has: filter.has,
            after: filter.after.clone(),
            started_at: self.clock.now(),
            timeout,
            end: None,
        };
        self.note(&record);
        OpenRecord { log: self.clone(), record }
    }

    fn note(&self, record: &WaitRecord) {
        match &*self.records {
            Records::Memory(memory) => {
                lock(memory).note(record.clone());
                self.hub.announce(&[]);
            }
            Records::Shared { queue, added } => {
                let mut queue = lock(queue);
                if queue.len() < QUEUE || queue.contains_key(&record.id) {
                    queue.insert(record.id, record.clone());
                    added.notify_one();
                }
            }
        }
    }

    /// Writes records to a shared database while it is polled.
    pub(super) async fn write(self, store: Store) {
        let Records::Shared { queue, added } = &*self.records else { return };
        for writes in 1_u32.. {
            added.notified().await;
            loop {
                let batch = take_some(&mut lock(queue));
                if batch.is_empty() {
                    break;
                }
                if let Err(error) = store.record_waits(&batch).await {
                    tracing::debug!(%error, "cannot record waits");
                }
            }
            if writes % WRITES_PER_SWEEP == 0
                && let Err(error) = store.forget_waits().await
            {
                tracing::debug!(%error, "cannot delete old records of waits");
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn of_inbox(&self, store: &Store, inbox: &Inbox) -> Result<Waits, StoreError> {
        let all = match &*self.records {
            Records::Memory(memory) => lock(memory).of_inbox(inbox),
            Records::Shared { .. } => store.waits_of_inbox(inbox, OPEN_SHOWN).await?,
        };
        let now = self.clock.now();
        let all = all.into_iter().map(|wait| without_lost(wait, now));
        let (open, mut ended): (Vec<_>, Vec<_>) = all.partition(|wait| wait.end.is_none());
        ended.truncate(KEPT_OF_INBOX);
        Ok(Waits { open, ended })
    }

    async fn open_of(&self, store: &Store, project: ProjectId) -> Result<Vec<WaitRecord>, StoreError> {
        let open = match &*self.records {
            Records::Memory(memory) => lock(memory).open_of(project),
            Records::Shared { .. } => store.open_waits(project, OPEN_SHOWN).await?,
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
        match &*self.records {
            Records::Memory(memory) => Ok(lock(memory).mark(project, inbox)),
            Records::Shared { .. } => store.waits_mark(project, inbox).await,
        }
    }
}

impl Memory {
    fn note(&mut self, record: WaitRecord) {
        self.changes += 1;
        self.last_changes.insert(record.project, self.changes);
        if record.end.is_none() {
            self.open.insert(record.id, record);
            return;
        }
        self.open.remove(&record.id);
        let ended = self.ended.entry(record.inbox.clone()).or_default();
        // Clients repeat a refused wait. The latest stands for all, so that they displace no other waits.
        if is_refused(&record)
            && let Some(earlier) = ended.iter().position(is_refused).and_then(|place| ended.remove(place))
            && let Some(place) = self.order.iter().rposition(|(_, id)| *id == earlier.id)
        {
            self.order.remove(place);
        }
        self.order.push_back((record.inbox.clone(), record.id));
        ended.push_front(record);
        ended.truncate(KEPT_OF_INBOX);
        if self.order.len() > KEPT {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        let Some((inbox, id)) = self.order.pop_front() else { return };
        let Some(ended) = self.ended.get_mut(&inbox) else { return };
        if ended.back().is_some_and(|oldest| oldest.id == id) {
            ended.pop_back();
        }
        if ended.is_empty() {
            self.ended.remove(&inbox);
        }
    }

    fn mark(&self, project: ProjectId, inbox: Option<&InboxId>) -> String {
        let Some(inbox) = inbox else { return self.last_changes.get(&project).unwrap_or(&0).to_string() };
        let newest_open = self.open.values().filter(|wait| wait.inbox == *inbox).map(|wait| wait.id).max();
        let ended = self.ended.get(inbox);
        let newest_ended = ended.and_then(|ended| ended.front()).map(|wait| wait.id);
        let simple = |id: Option<Uuid>| id.unwrap_or_default().simple();
        format!("{}-{}", simple(newest_open), simple(newest_ended))
    }

    fn of_inbox(&self, inbox: &Inbox) -> Vec<WaitRecord> {
        let open = self.open.values().filter(|wait| wait.inbox == inbox.id);
        let ended = self.ended.get(&inbox.id).into_iter().flatten();
        let is_own = |wait: &&WaitRecord| wait.project == inbox.project && wait.inbox_created_at == inbox.created_at;
        newest_first(open.chain(ended).filter(is_own).cloned().collect())
    }

    fn answered(&self, project: ProjectId) -> Vec<WaitRecord> {
        let ended = self.ended.values().flatten().filter(|wait| wait.project == project);
        let found = ended.filter(|wait| matches!(wait.end, Some((_, WaitEnd::Message(_)))));
        let mut found = newest_first(found.cloned().collect());
        found.truncate(ANSWERED);
        found
    }

    fn open_of(&self, project: ProjectId) -> Vec<WaitRecord> {
        let mut open = newest_first(self.open.values().filter(|wait| wait.project == project).cloned().collect());
        open.truncate(OPEN_SHOWN);
        open
    }
}

fn newest_first(mut waits: Vec<WaitRecord>) -> Vec<WaitRecord> {
    waits.sort_by_key(|wait| std::cmp::Reverse(wait.id));
    waits
}

fn is_refused(wait: &WaitRecord) -> bool {
    matches!(wait.end, Some((_, WaitEnd::TooMany)))
}

/// Whether the node of an open wait has died.
fn is_lost(wait: &WaitRecord, now: Timestamp) -> bool {
    wait.end.is_none() && wait.deadline().after(GRACE) < now
}

/// Shows an open wait of a node that died as ended.
fn without_lost(wait: WaitRecord, now: Timestamp) -> WaitRecord {
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

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // The mutex is not poisoned: no code panics while it is locked.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl OpenRecord {
    pub(super) fn end(mut self, end: WaitEnd) {
        self.record.end = Some((self.log.clock.now(), end));
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
    /// The waits on an inbox: the open ones, and the latest that have ended.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn waits_of_inbox(&self, inbox: &Inbox) -> Result<Waits, StoreError> {
        self.0.wait_log.of_inbox(&self.0.store, inbox).await
    }

    /// The latest waits on inboxes of a project that ended with a message.
    pub(super) async fn answered_waits(&self, project: ProjectId) -> Result<Vec<WaitRecord>, StoreError> {
        match &*self.0.wait_log.records {
            Records::Memory(memory) => Ok(lock(memory).answered(project)),
            Records::Shared { .. } => self.0.store.answered_waits(project, ANSWERED).await,
        }
    }

    /// The open waits on inboxes of a project, newest first.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn open_waits(&self, project: ProjectId) -> Result<Vec<WaitRecord>, StoreError> {
        self.0.wait_log.open_of(&self.0.store, project).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Features, InboxKind};

    const START: Timestamp = Timestamp::from_millis(1_000_000);

    fn inbox(id: &str) -> Inbox {
        let project = ProjectId(Uuid::nil());
        let id = InboxId::parse(id).unwrap();
        Inbox { id, project, kind: InboxKind::Temporary, created_at: START, expires_at: None }
    }

    fn wait(memory: &mut Memory, inbox: &Inbox, end: Option<WaitEnd>) -> WaitRecord {
        let record = WaitRecord {
            id: Uuid::now_v7(),
            project: inbox.project,
            inbox: inbox.id.clone(),
            inbox_created_at: inbox.created_at,
            subject: None,
            from: None,
            has: Features::default(),
            after: None,
            started_at: START,
            timeout: Duration::from_secs(1),
            end: end.map(|end| (START, end)),
        };
        memory.note(record.clone());
        record
    }

    #[test]
    fn an_inbox_has_its_latest_waits() {
        let (mut memory, one, other) = (Memory::default(), inbox("one"), inbox("other"));
        let open = wait(&mut memory, &one, None);
        for _ in 0..KEPT_OF_INBOX + 10 {
            wait(&mut memory, &one, Some(WaitEnd::Timeout));
        }
        let last = wait(&mut memory, &one, Some(WaitEnd::TooMany));
        wait(&mut memory, &other, Some(WaitEnd::Timeout));
        let waits = memory.of_inbox(&one);
        assert_eq!((waits.len(), &waits[0]), (KEPT_OF_INBOX + 1, &last));
        assert!(memory.open_of(one.project).iter().eq([&open]));
        memory.note(WaitRecord { end: Some((START, WaitEnd::Left)), ..open });
        assert!(memory.open_of(one.project).is_empty());
        let later = Inbox { created_at: START.after(Duration::from_secs(1)), ..one };
        assert!(memory.of_inbox(&later).is_empty(), "another inbox with the same address");
    }

    #[test]
    fn refused_waits_displace_no_others() {
        let (mut memory, one) = (Memory::default(), inbox("one"));
        let timed_out = wait(&mut memory, &one, Some(WaitEnd::Timeout));
        wait(&mut memory, &one, Some(WaitEnd::TooMany));
        let left = wait(&mut memory, &one, Some(WaitEnd::Left));
        for _ in 0..KEPT {
            wait(&mut memory, &one, Some(WaitEnd::TooMany));
        }
        let refused = wait(&mut memory, &one, Some(WaitEnd::TooMany));
        assert_eq!(memory.of_inbox(&one), [refused, left, timed_out]);
        assert_eq!(memory.order.len(), 3);
    }

    #[test]
    fn memory_is_bounded() {
        let mut memory = Memory::default();
        for number in 0..KEPT + 100 {
            wait(&mut memory, &inbox(&format!("i{number}")), Some(WaitEnd::Timeout));
        }
        assert_eq!((memory.order.len(), memory.ended.len()), (KEPT, KEPT));
    }

    #[test]
    fn a_wait_of_a_dead_node_has_ended() {
        let open = wait(&mut Memory::default(), &inbox("one"), None);
        assert_eq!(without_lost(open.clone(), START.after(Duration::from_secs(5))).end, None);
        let lost = without_lost(open, START.after(Duration::from_secs(60)));
        assert_eq!(lost.end, Some((START.after(Duration::from_secs(1)), WaitEnd::Failed)));
    }
}
