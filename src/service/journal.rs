//! Records what happened to addresses and is in no other table: claims, waits, SMTP sessions,
//! rejections, and why waits timed out.
//!
//! Nobody waits for an entry: it goes into a queue of limited length in which each project has its
//! quota, and one task writes the queue, in batches. A reader can wait until the queued entries of a
//! project are written. Sessions that stored a message are only in the memory of their node: the
//! message shows them, and each would cost a row.

use std::collections::{HashMap, HashSet, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};
use uuid::Uuid;

use super::barrier::{Barrier, BarrierWriter, barrier};
use super::failures::{self, LATE_WITHIN};
use super::quotas::{Quota, Quotas, in_turns};
use super::{Asked, Caller, Inner, MAX_WAIT, Service};
use crate::evidence::{Entry, EntryFilter, NewEntry, Recorded};
use crate::metrics;
use crate::model::{
    Inbox, InboxClaim, ProjectId, RefusedMail, SharedAddress, SmtpSession, Timestamp, WaitEnd,
    WaitRecord, fold_case,
};
use crate::store::StoreError;
use crate::tcp::client_of;

/// Maximum number of items in the queue, and of those of one project.
const QUEUE: usize = 8_192;
const QUEUED_OF_PROJECT: usize = 1_024;
/// Maximum number of those whose project is not known yet: in all, of one client, and of one
/// address.
const QUEUED_WITHOUT_PROJECT: usize = 4_096;
const QUEUED_OF_CLIENT: usize = 2_048;
const QUEUED_OF_ADDRESS: usize = 256;
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
/// Maximum number of ended waits, of claims and of SMTP sessions that are shown of an inbox.
const SHOWN_OF_INBOX: usize = 50;
/// Maximum number of open waits that a page shows.
const OPEN_SHOWN: usize = 200;
/// Maximum number of entries in which a text is looked for.
const SEARCHED: usize = 5_000;
/// An open wait of a node that has died is shown as ended this long after its deadline.
const GRACE: Duration = Duration::from_secs(10);

/// Something to record.
#[derive(Debug)]
enum Item {
    Claimed(InboxClaim),
    Wait(Box<WaitRecord>),
    Smtp(SmtpSession),
    /// A rejection, with the project of the client's key.
    Refused(RefusedMail, Option<ProjectId>),
    /// A wait timed out.
    TimedOut(Box<failures::Draft>),
}

/// Who has a quota of the queue. The project of a client without a key is looked up later, so the
/// address that it names has a quota, and all that it names together.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Owner {
    Project(ProjectId),
    /// All whose project is not known yet.
    Unknown,
    Client(String),
    Address(String),
}

impl Item {
    fn quotas(&self) -> Vec<Quota<Owner>> {
        let (project, named, client) = match self {
            Self::Claimed(claim) => (Some(claim.project), "", ""),
            Self::Wait(wait) => (Some(wait.project), "", ""),
            Self::TimedOut(draft) => (Some(draft.wait.project), "", ""),
            Self::Smtp(session) => {
                let named = session.named.first().map_or("", String::as_str);
                (session.project, named, session.client.as_str())
            }
            Self::Refused(refused, project) => {
                (*project, refused.recipient_address(), refused.peer.as_str())
            }
        };
        if let Some(project) = project {
            return vec![(Owner::Project(project), QUEUED_OF_PROJECT)];
        }
        let mut quotas = vec![
            (Owner::Client(network(client)), QUEUED_OF_CLIENT),
            (Owner::Unknown, QUEUED_WITHOUT_PROJECT),
        ];
        if !named.is_empty() {
            let address = Owner::Address(named.to_ascii_lowercase());
            quotas.push((address, QUEUED_OF_ADDRESS));
        }
        quotas
    }

    /// Who takes turns with the others.
    fn owner(&self) -> Option<Owner> {
        self.quotas().into_iter().next().map(|(owner, _)| owner)
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
    queue: mpsc::Sender<Item>,
    quotas: Quotas<Owner>,
    barrier: Barrier,
    /// The latest sessions that stored a message, each with a project that it concerns.
    recent: Mutex<VecDeque<(ProjectId, SmtpSession)>>,
    /// Mail up to then was compared with the waits of these stories.
    compared: Mutex<HashMap<String, Timestamp>>,
}

/// The other end of the queue.
pub(super) struct Writer {
    queue: mpsc::Receiver<Item>,
    quotas: Quotas<Owner>,
    writing: BarrierWriter,
}

pub(super) fn journal() -> (Journal, Writer) {
    let (sender, receiver) = mpsc::channel(QUEUE);
    let (barrier, writing) = barrier();
    let quotas = Quotas::new();
    let journal = Journal {
        queue: sender,
        quotas: quotas.clone(),
        barrier,
        recent: Mutex::default(),
        compared: Mutex::default(),
    };
    let writer = Writer {
        queue: receiver,
        quotas,
        writing,
    };
    (journal, writer)
}

impl Journal {
    /// Queues an item. Returns whether there was room.
    fn add(&self, item: Item) -> bool {
        let quotas = item.quotas();
        if !self.quotas.take(&quotas) {
            metrics::not_recorded(1);
            return false;
        }
        let is_added = self.queue.try_send(item).is_ok();
        if !is_added {
            self.quotas.withdraw(&quotas);
            metrics::not_recorded(1);
        }
        is_added
    }

    /// Returns when what this node has queued so far and may concern a project, or any, is written,
    /// or could not be, or after a second.
    pub(super) async fn written(&self, project: Option<ProjectId>) {
        let concerns = |owner: &Owner| match (owner, project) {
            (Owner::Project(owner), Some(project)) => *owner == project,
            _ => true,
        };
        self.barrier.wait(&self.quotas, concerns).await;
    }

    /// Records that an inbox that existed was claimed again.
    pub(super) fn claimed(&self, inbox: &Inbox, at: Timestamp) {
        self.add(Item::Claimed(InboxClaim {
            inbox: inbox.id.clone(),
            project: inbox.project,
            inbox_created_at: inbox.created_at,
            at,
        }));
    }

    /// Records why a wait timed out. Returns whether there was room.
    pub(super) fn timed_out(&self, draft: failures::Draft) -> bool {
        self.add(Item::TimedOut(Box::new(draft)))
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
        self.service.0.journal.add(Item::Wait(record));
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
    /// Writes until the service is dropped. After waits have timed out, looks for late messages for
    /// a while, so that they are found even if nobody reads the story before the inbox ends.
    pub(super) async fn run(mut self, service: Weak<Inner>) {
        let mut items = Vec::new();
        let mut watch_until = Instant::now();
        let mut next_look = watch_until;
        let mut surplus = Surplus::default();
        loop {
            let is_watching = Instant::now() < watch_until;
            let pause = if is_watching {
                next_look.saturating_duration_since(Instant::now())
            } else {
                Duration::MAX
            };
            let ended = self.receive(&mut items, pause).await;
            let Some(service) = service.upgrade().map(Service).filter(|_| !ended) else {
                return;
            };
            if is_watching && Instant::now() >= next_look {
                next_look = Instant::now() + PAUSE_BETWEEN_LOOKS;
                if let Err(error) = service.amend_stories(None).await {
                    tracing::debug!(%error, "cannot look for late messages");
                }
            }
            if items.is_empty() {
                continue;
            }
            in_turns(&mut items, Item::owner);
            let batch: Vec<Item> = items.drain(..items.len().min(BATCH)).collect();
            if batch.iter().any(|item| matches!(item, Item::TimedOut(_))) {
                watch_until = Instant::now() + 2 * LATE_WITHIN;
            }
            self.write(&service, batch, &mut surplus).await;
            surplus.forget(&service).await;
            drop(service);
            if items.is_empty() {
                self.writing.pause(PAUSE).await;
            }
        }
    }

    /// Takes what is queued; if there is nothing at all, waits for the first item, at most for
    /// `pause`. Returns whether there will be no others.
    async fn receive(&mut self, items: &mut Vec<Item>, pause: Duration) -> bool {
        while items.len() < QUEUE
            && let Ok(item) = self.queue.try_recv()
        {
            items.push(item);
        }
        items.is_empty() && timeout(pause, self.queue.recv_many(items, QUEUE)).await == Ok(0)
    }

    /// Writes a batch. The stories are last, because they are based on the other entries.
    async fn write(&self, service: &Service, batch: Vec<Item>, surplus: &mut Surplus) {
        let is_story = |item: &Item| matches!(item, Item::TimedOut(_));
        let (mut stories, others): (Vec<Item>, Vec<Item>) = batch.into_iter().partition(is_story);
        let mut parts = vec![others];
        while !stories.is_empty() {
            parts.push(stories.drain(..stories.len().min(STORIES)).collect());
        }
        for part in parts {
            let quotas: Vec<_> = part.iter().flat_map(Item::quotas).collect();
            let entries = service.entries_of(part).await;
            surplus.note(&entries);
            let count = entries.len();
            if count > 0
                && let Err(error) = service.0.store.append(entries).await
            {
                tracing::warn!(%error, count, "cannot write the journal");
                metrics::not_recorded(count);
            }
            self.quotas.give_back(&quotas);
            self.writing.done();
        }
    }
}

/// The kinds of entries that projects have got since surplus ones were deleted.
#[derive(Default)]
struct Surplus {
    batches: u32,
    kinds: HashSet<(ProjectId, &'static str)>,
}

impl Surplus {
    fn note(&mut self, entries: &[NewEntry]) {
        let kinds = entries.iter().map(|new| (new.project, new.entry.kind()));
        self.kinds.extend(kinds);
    }

    /// Deletes surplus entries once in a number of batches.
    async fn forget(&mut self, service: &Service) {
        self.batches += 1;
        if self.batches < BATCHES_PER_SWEEP {
            return;
        }
        let kinds = std::mem::take(self).kinds;
        if let Err(error) = service.0.store.forget_surplus(kinds).await {
            tracing::debug!(%error, "cannot delete old entries of the journal");
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
            match item {
                Item::Claimed(claim) => {
                    let inbox = claim.inbox.clone();
                    entries.push(NewEntry::of(claim.project, &inbox, Entry::Claimed(claim)));
                }
                Item::Wait(wait) => {
                    let inbox = wait.inbox.clone();
                    entries.push(NewEntry::of(wait.project, &inbox, Entry::Wait(wait)));
                }
                Item::Smtp(session) => entries.extend(self.of_session(&session, &owners)),
                Item::Refused(refused, project) => {
                    match self.of_rejection(&refused, project).await {
                        Ok(rejections) => entries.extend(rejections),
                        Err(error) => {
                            tracing::warn!(%error, "cannot record a rejection");
                            metrics::not_recorded(1);
                        }
                    }
                }
                Item::TimedOut(draft) => entries.extend(self.story_of(*draft).await),
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
        let owners = self.0.store.owners_of(&names).await;
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
        let mut all: Vec<WaitRecord> = self.about(inbox, OPEN_SHOWN).await?;
        all.retain(|wait| wait.inbox_created_at == inbox.created_at);
        let now = self.0.clock.now();
        let all = joined(all).into_iter().rev();
        let all = all.map(|wait| without_lost(wait, now));
        let (open, mut ended): (Vec<_>, Vec<_>) = all.partition(|wait| wait.end.is_none());
        ended.truncate(SHOWN_OF_INBOX);
        Ok(Waits { open, ended })
    }

    /// The open waits on inboxes of a project, newest first.
    pub async fn open_waits(&self, project: ProjectId) -> Result<Vec<WaitRecord>, StoreError> {
        self.0.journal.written(Some(project)).await;
        let now = self.0.clock.now();
        let filter = EntryFilter {
            project: Some(project),
            word: Entry::OPEN,
            since: now.before(MAX_WAIT + GRACE),
            ..EntryFilter::default()
        };
        let open: Vec<(_, WaitRecord)> = self.0.store.recorded(filter, OPEN_SHOWN).await?;
        let open = joined(open.into_iter().map(|(_, wait)| wait).collect());
        let newest_first = open.into_iter().rev();
        Ok(newest_first.filter(|wait| !is_lost(wait, now)).collect())
    }

    /// When an inbox was claimed.
    pub(super) async fn claims_of(&self, inbox: &Inbox) -> Result<Vec<Timestamp>, StoreError> {
        let claims: Vec<InboxClaim> = self.about(inbox, SHOWN_OF_INBOX).await?;
        Ok(claims.into_iter().map(|claim| claim.at).collect())
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
        let times = (Timestamp::from_millis(0), until);
        let store = &self.0.store;
        let mut all: Vec<SmtpSession> = store
            .recorded_about(project, named, times, SHOWN_OF_INBOX)
            .await?;
        all.extend(self.0.journal.kept(project, named, until));
        all.sort_by_key(|session| session.id);
        all.drain(..all.len().saturating_sub(SHOWN_OF_INBOX));
        Ok(all)
    }

    /// The latest entries that `selected` selects with a text in a field: at most `limit`. Whether
    /// an entry has the text is asked of `has_text`, which has the comparison for each field.
    pub(super) async fn with_text<T: Recorded>(
        &self,
        selected: EntryFilter<'_>,
        (text, has_text): (&str, impl Fn(&T, &dyn Fn(&str) -> bool) -> bool),
        limit: usize,
    ) -> Result<Vec<(ProjectId, T)>, StoreError> {
        let text = fold_case(text);
        let most = if text.is_empty() { limit } else { SEARCHED };
        let is_in = |field: &str| fold_case(field).contains(&*text);
        let mut found = self.0.store.recorded(selected, most).await?;
        found.retain(|(_, entry)| has_text(entry, &is_in));
        found.truncate(limit);
        Ok(found)
    }

    async fn about<T: Recorded>(&self, inbox: &Inbox, most: usize) -> Result<Vec<T>, StoreError> {
        let times = (inbox.created_at, Timestamp::from_millis(i64::MAX));
        self.0
            .store
            .recorded_about(inbox.project, inbox.id.as_str(), times, most)
            .await
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

/// Whether the node of an open wait has died.
fn is_lost(wait: &WaitRecord, now: Timestamp) -> bool {
    wait.end.is_none() && wait.deadline().after(GRACE) < now
}

/// Shows an open wait of a node that died as ended.
fn without_lost(wait: WaitRecord, now: Timestamp) -> WaitRecord {
    if is_lost(&wait, now) {
        return WaitRecord {
            end: Some((wait.deadline(), WaitEnd::Failed)),
            ..wait
        };
    }
    wait
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // The mutex is not poisoned: no code panics while it is locked.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
