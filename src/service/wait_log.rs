//! Records waits, so that the dashboard can show what tests wait for and how their last waits ended.
//!
//! A wait is never delayed by its record. On SQLite the records are in memory, and their number is limited. On
//! PostgreSQL each node writes its records in the background, in batches, to a table that needs no flush. Pages read
//! this table, so every node shows the waits on all nodes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use uuid::Uuid;

use super::hub::Hub;
use super::wait_memory::{ANSWERED, KEPT_OF_INBOX, OPEN_SHOWN, WaitMemory, newest_first};
use super::{Caller, Service};
use crate::clock::Clock;
use crate::model::{Inbox, InboxId, MessageFilter, ProjectId, Timestamp, WaitEnd, WaitRecord};
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
pub(super) struct WaitLog {
    hub: Hub,
    clock: Clock,
    records: Arc<Records>,
}

#[derive(Debug)]
enum Records {
    /// All records, in memory.
    Memory(Mutex<WaitMemory>),
    /// The records that are not written yet.
    Shared { queue: Mutex<HashMap<Uuid, WaitRecord>>, added: Notify },
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
