//! Records what happened to addresses and is in no other table: claims, waits, SMTP sessions,
//! rejections, and why waits failed.
//!
//! Nobody waits for an entry: it goes into a queue of limited length in which each project has its
//! quota, and one task writes the queue, in batches. A reader can wait until the queued entries of a
//! project are written. Sessions that stored a message are only in the memory of their node: the
//! message shows them, and each would cost a row.

use std::collections::{HashMap, HashSet, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::time::{Instant, timeout_at};
use uuid::Uuid;

use super::failures::{Draft, LATE_WITHIN};
use super::journal_queue::{Owner, QUEUE, Queue, QueueEnd, queue};
use super::turns::in_turns;
use super::{Asked, Caller, Inner, MAX_WAIT, Service, ServiceError};
use crate::evidence::{Entry, NewEntry, Recorded};
use crate::metrics;
use crate::model::{
    Inbox, InboxClaim, ProjectId, RefusedMail, SharedAddress, SmtpSession, Timestamp, WaitEnd,
    WaitRecord, fold_case,
};
use crate::store::StoreError;
use crate::tcp::client_of;

/// Maximum number of items that are written together.
const BATCH: usize = 256;
/// Maximum number of stories that are composed and written together: each takes several statements.
const STORIES: usize = 32;
/// The number of batches after which surplus entries are deleted.
const BATCHES_PER_SWEEP: u32 = 32;
/// The pause before the next batch, if no more items are queued, so that deliveries are not delayed.
const PAUSE: Duration = Duration::from_millis(200);
/// The pause between two looks for late messages.
const PAUSE_BETWEEN_LOOKS: Duration = Duration::from_secs(5);
/// Maximum number of sessions that stored a message and are kept in memory.
const RECENT_SESSIONS: usize = 5_000;
/// Maximum number of ended waits and of SMTP sessions that are shown of an inbox.
const SHOWN_OF_INBOX: usize = 50;
/// Maximum number of open waits that a page shows.
const OPEN_SHOWN: usize = 200;
/// Maximum number of entries in which a text is looked for.
const SEARCHED: usize = 5_000;
/// An open wait of a node that has died is shown as ended this long after its deadline.
const GRACE: Duration = Duration::from_secs(10);

/// Which failures or rejections are listed, newest first.
#[derive(Clone, Debug, Default)]
pub struct EntryFilter {
    /// Only those of this project; `None` for all projects.
    pub project: Option<ProjectId>,
    /// Only those with this cause, or this reason, unless it is empty.
    pub word: String,
    /// A substring of the address or the label, or of what is known of a rejection;
    /// case-insensitive.
    pub text: String,
    /// Only those since then.
    pub since: Option<Timestamp>,
    /// Only those before then.
    pub before: Option<Timestamp>,
}

/// Something to record.
#[derive(Debug)]
enum Item {
    /// A claim or a wait.
    Entry(NewEntry),
    Smtp(SmtpSession),
    /// A rejection, with the project of the client's key.
    Refused(RefusedMail, Option<ProjectId>),
    /// A wait failed.
    Failed(Box<Draft>),
}

impl Item {
    /// Whose quotas of the queue it takes; the first takes turns with others.
    fn owners(&self) -> Vec<Owner> {
        let (project, named, client) = match self {
            Self::Entry(entry) => return vec![Owner::Project(entry.project)],
            Self::Failed(draft) => return vec![Owner::Project(draft.wait.project)],
            Self::Smtp(session) => {
                let named = session.named.first().map_or("", String::as_str);
                (session.project, named, &session.client)
            }
            Self::Refused(refused, project) => {
                (*project, refused.recipient_address(), &refused.peer)
            }
        };
        if let Some(project) = project {
            return vec![Owner::Project(project)];
        }
        let mut owners = vec![Owner::Client(network(client)), Owner::Unknown];
        if !named.is_empty() {
            owners.push(Owner::Address(named.to_ascii_lowercase()));
        }
        owners
    }
}

/// The network of a client, from its address with or without a port.
fn network(client: &str) -> String {
    let peer: Result<SocketAddr, _> = client.parse();
    let address = peer.map_or_else(|_| client.parse(), |peer| Ok(peer.ip()));
    address.map_or_else(
        |_| client.to_owned(),
        |address: IpAddr| client_of(address).to_string(),
    )
}

/// The queue, and what is only in memory.
#[derive(Debug)]
pub(super) struct Journal {
    queue: Queue<Item>,
    /// The latest sessions that stored a message, each with a project that it concerns.
    recent: Mutex<VecDeque<(ProjectId, SmtpSession)>>,
    /// Mail up to then was compared with the waits of these stories.
    compared: Mutex<HashMap<String, Timestamp>>,
}

/// The other end of the queue.
pub(super) struct Writer {
    queue: QueueEnd<Item>,
    batches: u32,
    /// The kinds of entries that projects have got since surplus ones were deleted.
    kinds: HashSet<(ProjectId, &'static str)>,
}

pub(super) fn journal() -> (Journal, Writer) {
    let (queue, end) = queue();
    let journal = Journal {
        queue,
        recent: Mutex::default(),
        compared: Mutex::default(),
    };
    let writer = Writer {
        queue: end,
        batches: 0,
        kinds: HashSet::new(),
    };
    (journal, writer)
}

impl Journal {
    /// Queues an item. Returns whether there was room.
    fn add(&self, item: Item) -> bool {
        let is_added = self.queue.add(item.owners(), item);
        if !is_added {
            metrics::not_recorded(1);
        }
        is_added
    }

    /// Returns when what this node has queued so far and may concern a project, or any, is written,
    /// or could not be, or after a second.
    pub(super) async fn written(&self, project: Option<ProjectId>) {
        self.queue.written(project).await;
    }

    /// Records that an inbox that existed was claimed again.
    pub(super) fn claimed(&self, inbox: &Inbox, at: Timestamp) {
        let claim = Entry::Claimed(InboxClaim { at });
        self.add(Item::Entry(NewEntry::of(inbox.project, &inbox.id, claim)));
    }

    /// Records why a wait failed. Returns whether there was room.
    pub(super) fn failed(&self, draft: Draft) -> bool {
        self.add(Item::Failed(Box::new(draft)))
    }

    /// Whether mail up to `until` was compared with the wait of a story.
    pub(super) fn is_compared(&self, story: &str, until: Timestamp) -> bool {
        let compared = lock(&self.compared);
        compared.get(story).is_some_and(|known| *known >= until)
    }

    /// Mail up to `until` was compared with the wait of a story.
    pub(super) fn compared(&self, story: String, until: Timestamp) {
        let mut compared = lock(&self.compared);
        compared.retain(|_, known| until.since(*known) < 4 * LATE_WITHIN);
        compared.insert(story, until);
    }

    /// Keeps a session that stored a message.
    fn keep(&self, project: ProjectId, session: SmtpSession) {
        let mut recent = lock(&self.recent);
        if recent.len() >= RECENT_SESSIONS {
            recent.pop_front();
        }
        recent.push_back((project, session));
    }

    /// The latest of them that concern a project, named an address and ended until then.
    fn kept(&self, project: ProjectId, named: &str, until: Timestamp) -> Vec<SmtpSession> {
        let recent = lock(&self.recent);
        let is_meant = |(owner, session): &&(ProjectId, SmtpSession)| {
            *owner == project
                && session.ended_at <= until
                && session.named.iter().any(|name| name == named)
        };
        let latest = recent.iter().rev().filter(is_meant).take(SHOWN_OF_INBOX);
        latest.map(|(_, session)| session.clone()).collect()
    }
}

/// A wait. If it is dropped without an end, its client has disconnected.
pub(super) struct OpenRecord<'a> {
    service: &'a Service,
    /// `None` once its end is queued.
    record: Option<Box<WaitRecord>>,
}

impl<'a> OpenRecord<'a> {
    pub(super) fn new(
        service: &'a Service,
        caller: &Caller,
        inbox: &Inbox,
        asked: Asked<'_>,
    ) -> Self {
        let Asked {
            name,
            filter,
            timeout,
            ..
        } = asked;
        let request = Uuid::now_v7();
        let record = Some(Box::new(WaitRecord {
            id: name.map_or(request, |name| WaitRecord::id_of(inbox, name)),
            request,
            project: caller.project,
            inbox: inbox.id.clone(),
            shared: inbox.shared.clone(),
            inbox_created_at: inbox.created_at,
            filter: filter.clone(),
            started_at: service.0.clock.now(),
            timeout,
            end: None,
        }));
        Self { service, record }
    }

    /// Its request remains open. One that is answered at once is recorded only when it ends.
    pub(super) fn remains_open(&self) {
        if let Some(record) = self.record.clone() {
            self.add(record);
        }
    }

    /// The wait has ended. Returns its record if it is a failure.
    pub(super) fn end(mut self, end: WaitEnd) -> Option<WaitRecord> {
        let mut record = self.record.take()?;
        record.end = Some((self.service.0.clock.now(), end));
        let failed = end.is_failure().then(|| WaitRecord::clone(&record));
        self.add(record);
        failed
    }

    fn add(&self, record: Box<WaitRecord>) {
        let inbox = record.inbox.clone();
        let entry = NewEntry::of(record.project, &inbox, Entry::Wait(record));
        self.service.0.journal.add(Item::Entry(entry));
    }
}

impl Drop for OpenRecord<'_> {
    fn drop(&mut self) {
        if let Some(mut record) = self.record.take() {
            record.end = Some((self.service.0.clock.now(), WaitEnd::Left));
            self.add(record);
        }
    }
}

impl Writer {
    /// Writes until the service is dropped. After a wait has failed, also looks for late messages now
    /// and then, so that they are found even if nobody reads the story before the inbox ends.
    pub(super) async fn run(mut self, service: Weak<Inner>) {
        let mut items = Vec::new();
        let mut looks_until = Instant::now();
        let mut next_look = looks_until;
        loop {
            let is_looking = Instant::now() < looks_until;
            let until = is_looking.then_some(next_look);
            let is_closed = self.receive(&mut items, until).await;
            let Some(service) = service.upgrade().map(Service).filter(|_| !is_closed) else {
                return;
            };
            if is_looking && Instant::now() >= next_look {
                next_look = Instant::now() + PAUSE_BETWEEN_LOOKS;
                if let Err(error) = service.amend_stories(None).await {
                    tracing::debug!(%error, "cannot look for late messages");
                }
            }
            if items.is_empty() {
                continue;
            }
            in_turns(&mut items, |item| item.owners().into_iter().next());
            let batch: Vec<Item> = items.drain(..items.len().min(BATCH)).collect();
            if batch.iter().any(|item| matches!(item, Item::Failed(_))) {
                looks_until = Instant::now() + 2 * LATE_WITHIN;
            }
            self.write(&service, batch).await;
            self.forget_surplus(&service).await;
            drop(service);
            if items.is_empty() {
                self.queue.pause(PAUSE).await;
            }
        }
    }

    /// Takes what is queued; if there is nothing at all, waits for the first item, until then if
    /// there is a time. Returns whether there will be no others.
    async fn receive(&mut self, items: &mut Vec<Item>, until: Option<Instant>) -> bool {
        let queue = &mut self.queue.items;
        while let Ok(item) = queue.try_recv() {
            items.push(item);
        }
        if !items.is_empty() {
            return false;
        }
        let first = queue.recv_many(items, QUEUE);
        match until {
            Some(until) => timeout_at(until, first).await == Ok(0),
            None => first.await == 0,
        }
    }

    /// Writes a batch. The stories are last, because they are based on the other entries.
    async fn write(&mut self, service: &Service, batch: Vec<Item>) {
        let owners: Vec<_> = batch.iter().map(Item::owners).collect();
        let is_story = |item: &Item| matches!(item, Item::Failed(_));
        let (mut stories, others): (Vec<Item>, Vec<Item>) = batch.into_iter().partition(is_story);
        let mut parts = vec![others];
        while !stories.is_empty() {
            parts.push(stories.drain(..stories.len().min(STORIES)).collect());
        }
        for part in parts {
            let entries = service.entries_of(part).await;
            let kinds = entries.iter().map(|new| (new.project, new.entry.kind()));
            self.kinds.extend(kinds);
            let count = entries.len();
            if count > 0
                && let Err(error) = service.0.store.append(entries).await
            {
                tracing::warn!(%error, count, "cannot write the journal");
                metrics::not_recorded(count);
            }
        }
        // Not before the stories are written: they were queued between the others.
        self.queue.wrote(&owners);
    }

    /// Deletes surplus entries once in a number of batches.
    async fn forget_surplus(&mut self, service: &Service) {
        self.batches += 1;
        if self.batches.is_multiple_of(BATCHES_PER_SWEEP) {
            let kinds = std::mem::take(&mut self.kinds);
            if let Err(error) = service.store().forget_surplus(kinds).await {
                tracing::debug!(%error, "cannot delete old entries of the journal");
            }
        }
    }
}

impl Service {
    /// Records an SMTP session that named inboxes.
    pub fn record_session(&self, session: SmtpSession) {
        self.0.journal.add(Item::Smtp(session));
    }

    /// Records a rejection. It belongs to `project`, whose key the client authenticated with; if
    /// `None`, to the owner of the recipient's address, or to each project with a live inbox if the
    /// address is shared; otherwise to the default project.
    pub fn record_refusal(&self, refused: RefusedMail, project: Option<ProjectId>) {
        self.0.journal.add(Item::Refused(refused, project));
    }

    /// The entries of a part of a batch. What cannot be looked up is logged and left out.
    async fn entries_of(&self, items: Vec<Item>) -> Vec<NewEntry> {
        let owners = self.owners_of_sessions(&items).await;
        let mut entries = Vec::with_capacity(items.len());
        for item in items {
            let made = match item {
                Item::Entry(entry) => Ok(vec![entry]),
                Item::Smtp(session) => Ok(self.of_session(&session, &owners)),
                Item::Refused(refused, project) => self.of_rejection(&refused, project).await,
                Item::Failed(draft) => self.of_failure(*draft).await,
            };
            match made {
                Ok(made) => entries.extend(made),
                Err(ServiceError::Store(error)) => {
                    tracing::warn!(%error, "cannot record an entry of the journal");
                    metrics::not_recorded(1);
                }
                // The inbox of a wait, or the message of its cursor, no longer exists.
                Err(error) => tracing::debug!(%error, "cannot explain a wait"),
            }
        }
        entries
    }

    /// The projects that own the addresses that sessions without a known project named, each with
    /// the address.
    async fn owners_of_sessions(&self, items: &[Item]) -> Vec<(String, ProjectId)> {
        let names: HashSet<&String> = items
            .iter()
            .filter_map(|item| match item {
                Item::Smtp(session) if session.project.is_none() => Some(&session.named),
                _ => None,
            })
            .flatten()
            .collect();
        let names: Vec<String> = names.into_iter().cloned().collect();
        let owners = self.store().owners_of(&names).await;
        owners.unwrap_or_else(|error| {
            tracing::debug!(%error, "cannot find the projects of SMTP sessions");
            Vec::new()
        })
    }

    /// The entries of a session that failed, for each project that it concerns and each address
    /// that it named. One that stored a message is kept in memory.
    fn of_session(&self, session: &SmtpSession, owners: &[(String, ProjectId)]) -> Vec<NewEntry> {
        let mut projects: HashSet<ProjectId> = owners
            .iter()
            .filter(|(name, _)| session.named.contains(name))
            .map(|(_, project)| *project)
            .collect();
        if let Some(project) = session.project {
            projects = HashSet::from([project]);
        } else if projects.is_empty() {
            projects.insert(self.0.default_project);
        }
        let mut entries = Vec::new();
        for project in projects {
            if !session.has_failed {
                self.0.journal.keep(project, session.clone());
                continue;
            }
            entries.extend(session.named.iter().map(|named| NewEntry {
                project,
                subject: named.clone(),
                entry: Entry::Smtp(session.clone()),
            }));
        }
        entries
    }

    /// The waits on an inbox: the open ones, and the latest that have ended. Those of the queue are
    /// among them.
    pub async fn waits_of_inbox(&self, inbox: &Inbox) -> Result<Waits, StoreError> {
        self.0.journal.written(Some(inbox.project)).await;
        self.recorded_waits(inbox).await
    }

    pub(super) async fn recorded_waits(&self, inbox: &Inbox) -> Result<Waits, StoreError> {
        let times = (inbox.created_at, Timestamp::MAX);
        let all = self.store().about(inbox, times, OPEN_SHOWN).await?;
        let mut all: Vec<WaitRecord> = all;
        all.retain(|wait| wait.inbox_created_at == inbox.created_at);
        let now = self.now();
        let all = joined(all).into_iter().rev();
        let all = all.map(|wait| without_lost(wait, now));
        let (open, mut ended): (Vec<_>, Vec<_>) = all.partition(|wait| wait.end.is_none());
        ended.truncate(SHOWN_OF_INBOX);
        Ok(Waits { open, ended })
    }

    /// The open waits on inboxes of a project, newest first.
    pub async fn open_waits(&self, project: ProjectId) -> Result<Vec<WaitRecord>, StoreError> {
        self.0.journal.written(Some(project)).await;
        let now = self.now();
        let times = (now.before(MAX_WAIT + GRACE), Timestamp::MAX);
        let store = self.store();
        let open: Vec<(_, WaitRecord)> = store
            .recorded(Some(project), Entry::OPEN, times, OPEN_SHOWN)
            .await?;
        let open = joined(open.into_iter().map(|(_, wait)| wait).collect());
        let newest_first = open.into_iter().rev().map(|wait| without_lost(wait, now));
        Ok(newest_first.filter(|wait| wait.end.is_none()).collect())
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
        let times = (Timestamp::MIN, until);
        let store = self.store();
        let mut all: Vec<SmtpSession> = store
            .recorded_about(project, named, times, SHOWN_OF_INBOX)
            .await?;
        all.extend(self.0.journal.kept(project, named, until));
        all.sort_by_key(|session| session.id);
        all.drain(..all.len().saturating_sub(SHOWN_OF_INBOX));
        Ok(all)
    }

    /// The latest entries that a filter selects, each with its project: at most `limit`.
    pub(super) async fn found<T: Recorded>(
        &self,
        filter: &EntryFilter,
        limit: usize,
    ) -> Result<Vec<(ProjectId, T)>, StoreError> {
        let EntryFilter {
            project,
            word,
            since,
            before,
            ..
        } = filter;
        let until = before.map(|before| before.before(Duration::from_millis(1)));
        let times = (
            since.unwrap_or(Timestamp::MIN),
            until.unwrap_or(Timestamp::MAX),
        );
        let text = fold_case(&filter.text);
        let most = if text.is_empty() { limit } else { SEARCHED };
        let mut found: Vec<(_, T)> = self.store().recorded(*project, word, times, most).await?;
        if !text.is_empty() {
            let has_text = |field: &String| fold_case(field).contains(&text);
            found.retain(|(_, entry)| entry.texts(self.mail_domain()).iter().any(has_text));
            found.truncate(limit);
        }
        Ok(found)
    }
}

/// The waits of an inbox, newest first.
#[derive(Clone, Debug, Default)]
pub struct Waits {
    pub open: Vec<WaitRecord>,
    /// The latest waits that have ended.
    pub ended: Vec<WaitRecord>,
}

impl Waits {
    pub(super) fn with_id(&self, id: Uuid) -> Option<&WaitRecord> {
        self.open
            .iter()
            .chain(&self.ended)
            .find(|wait| wait.id == id)
    }
}

/// The requests of each wait as one, in the order in which the waits started.
fn joined(mut requests: Vec<WaitRecord>) -> Vec<WaitRecord> {
    requests.sort_by_key(|request| request.request);
    let mut waits: Vec<WaitRecord> = Vec::with_capacity(requests.len());
    for request in requests {
        match waits.iter_mut().find(|wait| wait.id == request.id) {
            Some(wait) => wait.go_on(&request),
            None => waits.push(request),
        }
    }
    waits
}

/// Shows an open wait of a node that died as ended.
fn without_lost(mut wait: WaitRecord, now: Timestamp) -> WaitRecord {
    if wait.end.is_none() && wait.deadline().after(GRACE) < now {
        wait.end = Some((wait.deadline(), WaitEnd::Failed));
    }
    wait
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // The mutex is not poisoned: no code panics while it is locked.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
