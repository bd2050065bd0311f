//! The recorded events of a node, in memory: the open waits, the waits that have ended, claims of
//! inboxes, and SMTP sessions. Each inbox and each project has its share, so that no project
//! displaces the events of another.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use futures_util::future::{BoxFuture, FutureExt as _, ready};
use uuid::Uuid;

use super::event_log::{Events, lock};
use super::hub::Hub;
use crate::model::{
    Inbox, InboxClaim, InboxId, ProjectId, SmtpSession, Timestamp, WaitEnd, WaitRecord,
};
use crate::store::StoreError;

/// Maximum number of ended waits, of claims and of SMTP sessions that are kept per inbox.
pub(super) const KEPT_OF_INBOX: usize = 50;
/// Maximum numbers of a project, and of all projects. If all have more, the largest project loses
/// its oldest.
const WAITS: Limits = Limits {
    project: 5_000,
    all: 20_000,
};
const CLAIMS: Limits = Limits {
    project: 1_000,
    all: 10_000,
};
const SESSIONS: Limits = Limits {
    project: 2_000,
    all: 10_000,
};
/// Maximum number of open waits that a page shows.
pub(super) const OPEN_SHOWN: usize = 200;

/// The events of the only node.
#[derive(Debug)]
pub(super) struct MemoryEvents {
    hub: Hub,
    memory: Mutex<EventMemory>,
}

#[derive(Debug)]
struct EventMemory {
    open: HashMap<Uuid, WaitRecord>,
    ended: Recent<WaitRecord>,
    claims: Recent<Timestamp>,
    sessions: Sessions,
    /// The number of changes so far, and the last change of each project.
    changes: u64,
    last_changes: HashMap<ProjectId, u64>,
}

/// The SMTP sessions of a node, by the inboxes that they named.
#[derive(Debug)]
pub(super) struct Sessions(Recent<Arc<SmtpSession>>);

#[derive(Clone, Copy, Debug)]
struct Limits {
    project: usize,
    all: usize,
}

/// The latest items of each project.
#[derive(Debug)]
struct Recent<T> {
    projects: HashMap<ProjectId, OfProject<T>>,
    numbered: u64,
    limits: Limits,
}

/// The latest items of a project, by the inbox that they concern.
#[derive(Debug)]
struct OfProject<T> {
    /// Newest first, each with its number.
    items: HashMap<String, VecDeque<(u64, T)>>,
    /// The inbox of each item, by its number. It has exactly the numbers in `items`.
    order: BTreeMap<u64, String>,
}

impl<T> OfProject<T> {
    fn add(&mut self, inbox: &str, number: u64, item: T) {
        let items = self.items.entry(inbox.to_owned()).or_default();
        items.push_front((number, item));
        self.order.insert(number, inbox.to_owned());
        for (displaced, _) in items.drain(KEPT_OF_INBOX.min(items.len())..) {
            self.order.remove(&displaced);
        }
    }

    fn remove(&mut self, number: u64) {
        let Some(inbox) = self.order.remove(&number) else {
            return;
        };
        let Some(items) = self.items.get_mut(&inbox) else {
            return;
        };
        items.retain(|(known, _)| *known != number);
        if items.is_empty() {
            self.items.remove(&inbox);
        }
    }

    fn forget_oldest(&mut self) {
        if let Some((oldest, _)) = self.order.first_key_value() {
            self.remove(*oldest);
        }
    }
}

impl<T> Recent<T> {
    fn new(limits: Limits) -> Self {
        Self {
            projects: HashMap::new(),
            numbered: 0,
            limits,
        }
    }

    fn add(&mut self, project: ProjectId, inbox: &str, item: T) {
        self.numbered += 1;
        let own = self.projects.entry(project);
        let own = own.or_insert_with(|| OfProject {
            items: HashMap::new(),
            order: BTreeMap::new(),
        });
        own.add(inbox, self.numbered, item);
        if own.order.len() > self.limits.project {
            own.forget_oldest();
        }
        if self.len() > self.limits.all
            && let Some(largest) = self
                .projects
                .values_mut()
                .max_by_key(|project| project.order.len())
        {
            largest.forget_oldest();
        }
    }

    /// Removes the newest item of an inbox with this property.
    fn remove(&mut self, project: ProjectId, inbox: &str, is_meant: impl Fn(&T) -> bool) {
        let Some(own) = self.projects.get_mut(&project) else {
            return;
        };
        let items = own.items.get(inbox).into_iter().flatten();
        let found = items
            .filter(|(_, item)| is_meant(item))
            .map(|(number, _)| *number)
            .next();
        if let Some(number) = found {
            own.remove(number);
        }
    }

    fn len(&self) -> usize {
        self.projects
            .values()
            .map(|project| project.order.len())
            .sum()
    }

    fn of(&self, project: ProjectId, inbox: &str) -> impl Iterator<Item = &T> {
        let own = self.projects.get(&project);
        own.and_then(|own| own.items.get(inbox))
            .into_iter()
            .flatten()
            .map(|(_, item)| item)
    }
}

impl Default for Sessions {
    fn default() -> Self {
        Self(Recent::new(SESSIONS))
    }
}

impl Sessions {
    /// Records a session for these projects.
    pub(super) fn note(&mut self, session: &Arc<SmtpSession>, projects: &[ProjectId]) {
        for project in projects {
            for named in &session.named {
                self.0.add(*project, named, Arc::clone(session));
            }
        }
    }

    /// The sessions that named an inbox and ended until then, newest first.
    pub(super) fn of(&self, project: ProjectId, named: &str, until: Timestamp) -> Vec<SmtpSession> {
        let sessions = self
            .0
            .of(project, named)
            .filter(|session| session.ended_at <= until);
        sessions.map(|session| (**session).clone()).collect()
    }
}

impl Default for EventMemory {
    fn default() -> Self {
        Self {
            open: HashMap::new(),
            ended: Recent::new(WAITS),
            claims: Recent::new(CLAIMS),
            sessions: Sessions::default(),
            changes: 0,
            last_changes: HashMap::new(),
        }
    }
}

impl EventMemory {
    /// Records a wait as it is now.
    fn note(&mut self, record: WaitRecord) {
        self.changes += 1;
        self.last_changes.insert(record.project, self.changes);
        if record.end.is_none() {
            self.open.insert(record.id, record);
            return;
        }
        self.open.remove(&record.id);
        let project = record.project;
        let inbox = record.inbox.to_string();
        // Clients repeat a refused wait. The latest stands for all, so that they displace no other
        // waits.
        if is_refused(&record) {
            self.ended.remove(project, &inbox, is_refused);
        }
        self.ended.add(project, &inbox, record);
    }

    fn mark(&self, project: ProjectId, inbox: Option<&InboxId>) -> String {
        let Some(inbox) = inbox else {
            return self.last_changes.get(&project).unwrap_or(&0).to_string();
        };
        let newest_open = self
            .open
            .values()
            .filter(|wait| wait.inbox == *inbox)
            .map(|wait| wait.id)
            .max();
        let newest_ended = self
            .ended
            .of(project, inbox.as_str())
            .next()
            .map(|wait| wait.id);
        let simple = |id: Option<Uuid>| id.unwrap_or_default().simple();
        format!("{}-{}", simple(newest_open), simple(newest_ended))
    }

    fn of_inbox(&self, inbox: &Inbox) -> Vec<WaitRecord> {
        let open = self
            .open
            .values()
            .filter(|wait| wait.inbox == inbox.id && wait.project == inbox.project);
        let ended = self.ended.of(inbox.project, inbox.id.as_str());
        let is_own = |wait: &&WaitRecord| wait.inbox_created_at == inbox.created_at;
        newest_first(open.chain(ended).filter(is_own).cloned().collect())
    }

    fn open_of(&self, project: ProjectId) -> Vec<WaitRecord> {
        let mut open = newest_first(
            self.open
                .values()
                .filter(|wait| wait.project == project)
                .cloned()
                .collect(),
        );
        open.truncate(OPEN_SHOWN);
        open
    }
}

impl MemoryEvents {
    pub(super) fn new(hub: Hub) -> Self {
        Self {
            hub,
            memory: Mutex::default(),
        }
    }
}

impl Events for MemoryEvents {
    fn note_wait(&self, wait: &WaitRecord) {
        lock(&self.memory).note(wait.clone());
        self.hub.announce(&[]);
    }

    fn note_claim(&self, claim: &InboxClaim) {
        lock(&self.memory)
            .claims
            .add(claim.project, claim.inbox.as_str(), claim.at);
    }

    fn note_session(&self, session: &Arc<SmtpSession>, projects: &[ProjectId]) {
        lock(&self.memory).sessions.note(session, projects);
    }

    fn waits_of<'a>(
        &'a self,
        inbox: &'a Inbox,
    ) -> BoxFuture<'a, Result<Vec<WaitRecord>, StoreError>> {
        ready(Ok(lock(&self.memory).of_inbox(inbox))).boxed()
    }

    fn open_waits(&self, project: ProjectId) -> BoxFuture<'_, Result<Vec<WaitRecord>, StoreError>> {
        ready(Ok(lock(&self.memory).open_of(project))).boxed()
    }

    fn claims_of<'a>(
        &'a self,
        inbox: &'a Inbox,
    ) -> BoxFuture<'a, Result<Vec<Timestamp>, StoreError>> {
        ready(Ok(lock(&self.memory)
            .claims
            .of(inbox.project, inbox.id.as_str())
            .copied()
            .collect()))
        .boxed()
    }

    fn sessions_of<'a>(
        &'a self,
        project: ProjectId,
        named: &'a str,
        until: Timestamp,
    ) -> BoxFuture<'a, Result<Vec<SmtpSession>, StoreError>> {
        ready(Ok(lock(&self.memory).sessions.of(project, named, until))).boxed()
    }

    fn mark<'a>(
        &'a self,
        project: ProjectId,
        inbox: Option<&'a InboxId>,
    ) -> BoxFuture<'a, Result<String, StoreError>> {
        ready(Ok(lock(&self.memory).mark(project, inbox))).boxed()
    }
}

pub(super) fn newest_first(mut waits: Vec<WaitRecord>) -> Vec<WaitRecord> {
    waits.sort_by_key(|wait| std::cmp::Reverse(wait.id));
    waits
}

fn is_refused(wait: &WaitRecord) -> bool {
    matches!(wait.end, Some((_, WaitEnd::TooMany)))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::model::{InboxKind, MessageFilter, Timestamp};
    use crate::service::event_log::without_lost;

    const START: Timestamp = Timestamp::from_millis(1_000_000);

    fn inbox(id: &str) -> Inbox {
        let project = ProjectId(Uuid::nil());
        let id = InboxId::parse(id).unwrap();
        Inbox {
            id,
            shared: None,
            project,
            kind: InboxKind::Temporary,
            created_at: START,
            expires_at: None,
        }
    }

    fn wait(memory: &mut EventMemory, inbox: &Inbox, end: Option<WaitEnd>) -> WaitRecord {
        let record = WaitRecord {
            id: Uuid::now_v7(),
            project: inbox.project,
            inbox: inbox.id.clone(),
            shared: None,
            inbox_created_at: inbox.created_at,
            filter: MessageFilter::default(),
            started_at: START,
            timeout: Duration::from_secs(1),
            end: end.map(|end| (START, end)),
        };
        memory.note(record.clone());
        record
    }

    #[test]
    fn an_inbox_has_its_latest_waits() {
        let mut memory = EventMemory::default();
        let one = inbox("one");
        let other = inbox("other");
        let open = wait(&mut memory, &one, None);
        for _ in 0..KEPT_OF_INBOX + 10 {
            wait(&mut memory, &one, Some(WaitEnd::Timeout));
        }
        let last = wait(&mut memory, &one, Some(WaitEnd::TooMany));
        wait(&mut memory, &other, Some(WaitEnd::Timeout));
        let waits = memory.of_inbox(&one);
        assert_eq!((waits.len(), &waits[0]), (KEPT_OF_INBOX + 1, &last));
        assert!(memory.open_of(one.project).iter().eq([&open]));
        memory.note(WaitRecord {
            end: Some((START, WaitEnd::Left)),
            ..open
        });
        assert!(memory.open_of(one.project).is_empty());
        let later = Inbox {
            created_at: START.after(Duration::from_secs(1)),
            ..one
        };
        assert!(
            memory.of_inbox(&later).is_empty(),
            "another inbox with the same address"
        );
    }

    #[test]
    fn refused_waits_displace_no_others() {
        let mut memory = EventMemory::default();
        let one = inbox("one");
        let timed_out = wait(&mut memory, &one, Some(WaitEnd::Timeout));
        wait(&mut memory, &one, Some(WaitEnd::TooMany));
        let left = wait(&mut memory, &one, Some(WaitEnd::Left));
        for _ in 0..WAITS.project {
            wait(&mut memory, &one, Some(WaitEnd::TooMany));
        }
        let refused = wait(&mut memory, &one, Some(WaitEnd::TooMany));
        assert_eq!(memory.of_inbox(&one), [refused, left, timed_out]);
        assert_eq!(memory.ended.len(), 3);
    }

    #[test]
    fn no_project_displaces_the_waits_of_another() {
        let mut memory = EventMemory::default();
        let one = inbox("one");
        let quiet = inbox("quiet");
        let quiet = Inbox {
            project: ProjectId(Uuid::max()),
            ..quiet
        };
        let waited = wait(&mut memory, &quiet, Some(WaitEnd::Timeout));
        // On one inbox, then on many.
        for _ in 0..WAITS.all {
            wait(&mut memory, &one, Some(WaitEnd::Timeout));
        }
        assert_eq!(memory.ended.len(), KEPT_OF_INBOX + 1);
        for number in 0..WAITS.all {
            wait(
                &mut memory,
                &inbox(&format!("i{number}")),
                Some(WaitEnd::Timeout),
            );
        }
        assert_eq!(memory.ended.len(), WAITS.project + 1);
        // Many projects.
        for number in 1..20 {
            let project = ProjectId(Uuid::from_u128(number));
            for number in 0..WAITS.project {
                let other = Inbox {
                    project,
                    ..inbox(&format!("i{number}"))
                };
                wait(&mut memory, &other, Some(WaitEnd::Timeout));
            }
        }
        assert_eq!(memory.ended.len(), WAITS.all);
        assert_eq!(memory.of_inbox(&quiet), [waited]);
        let items = memory
            .ended
            .projects
            .values()
            .flat_map(|project| project.items.values())
            .flatten()
            .count();
        assert_eq!(items, WAITS.all, "nothing is left of what was displaced");
    }

    #[test]
    fn a_wait_of_a_dead_node_has_ended() {
        let open = wait(&mut EventMemory::default(), &inbox("one"), None);
        assert_eq!(
            without_lost(open.clone(), START.after(Duration::from_secs(5))).end,
            None
        );
        let lost = without_lost(open, START.after(Duration::from_secs(60)));
        assert_eq!(
            lost.end,
            Some((START.after(Duration::from_secs(1)), WaitEnd::Failed))
        );
    }
}
