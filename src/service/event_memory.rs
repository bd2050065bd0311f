//! The recorded events of a node, in memory: the open waits, the waits that have ended, and SMTP sessions. Their number
//! is limited, in all and for each inbox.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use uuid::Uuid;

use crate::model::{Inbox, InboxId, ProjectId, SmtpSession, WaitEnd, WaitRecord};

/// Maximum number of ended waits, and of SMTP sessions, that are kept per inbox.
pub(super) const KEPT_OF_INBOX: usize = 50;
/// Maximum number of ended waits and of SMTP sessions of all inboxes.
const MAX_ENDED_WAITS: usize = 20_000;
const MAX_SESSIONS: usize = 5_000;
/// Maximum number of open waits that a page shows.
pub(super) const OPEN_SHOWN: usize = 200;

/// The events.
#[derive(Debug)]
pub(super) struct EventMemory {
    open: HashMap<Uuid, WaitRecord>,
    ended: Recent<WaitRecord>,
    sessions: Recent<Arc<SmtpSession>>,
    /// The number of changes so far, and the last change of each project.
    changes: u64,
    last_changes: HashMap<ProjectId, u64>,
}

/// The latest items, by the inbox that they concern.
#[derive(Debug)]
struct Recent<T> {
    /// Newest first, each with its number.
    items: HashMap<String, VecDeque<(u64, T)>>,
    /// The inboxes of the items, oldest first.
    order: VecDeque<(String, u64)>,
    numbered: u64,
    most: usize,
}

impl<T> Recent<T> {
    fn new(most: usize) -> Self {
        Self { items: HashMap::new(), order: VecDeque::new(), numbered: 0, most }
    }

    fn add(&mut self, inbox: &str, item: T) {
        self.numbered += 1;
        let items = self.items.entry(inbox.to_owned()).or_default();
        items.push_front((self.numbered, item));
        items.truncate(KEPT_OF_INBOX);
        self.order.push_back((inbox.to_owned(), self.numbered));
        if self.order.len() > self.most {
            self.forget_oldest();
        }
    }

    /// Removes the newest item of an inbox with this property.
    fn remove(&mut self, inbox: &str, is_meant: impl Fn(&T) -> bool) {
        let Some(items) = self.items.get_mut(inbox) else { return };
        let Some(place) = items.iter().position(|(_, item)| is_meant(item)) else { return };
        let removed = items.remove(place);
        let number = removed.map(|(number, _)| number);
        if let Some(place) = self.order.iter().rposition(|(_, known)| Some(*known) == number) {
            self.order.remove(place);
        }
    }

    fn forget_oldest(&mut self) {
        let Some((inbox, number)) = self.order.pop_front() else { return };
        let Some(items) = self.items.get_mut(&inbox) else { return };
        if items.back().is_some_and(|(oldest, _)| *oldest == number) {
            items.pop_back();
        }
        if items.is_empty() {
            self.items.remove(&inbox);
        }
    }

    fn of(&self, inbox: &str) -> impl Iterator<Item = &T> {
        self.items.get(inbox).into_iter().flatten().map(|(_, item)| item)
    }
}

impl Default for EventMemory {
    fn default() -> Self {
        Self {
            open: HashMap::new(),
            ended: Recent::new(MAX_ENDED_WAITS),
            sessions: Recent::new(MAX_SESSIONS),
            changes: 0,
            last_changes: HashMap::new(),
        }
    }
}

impl EventMemory {
    /// Records a wait as it is now.
    pub(super) fn note(&mut self, record: WaitRecord) {
        self.changes += 1;
        self.last_changes.insert(record.project, self.changes);
        if record.end.is_none() {
            self.open.insert(record.id, record);
            return;
        }
        self.open.remove(&record.id);
        let inbox = record.inbox.to_string();
        // Clients repeat a refused wait. The latest stands for all, so that they displace no other waits.
        if is_refused(&record) {
            self.ended.remove(&inbox, is_refused);
        }
        self.ended.add(&inbox, record);
    }

    /// Records an SMTP session.
    pub(super) fn note_session(&mut self, session: &Arc<SmtpSession>) {
        for named in &session.named {
            self.sessions.add(named, Arc::clone(session));
        }
    }

    pub(super) fn mark(&self, project: ProjectId, inbox: Option<&InboxId>) -> String {
        let Some(inbox) = inbox else { return self.last_changes.get(&project).unwrap_or(&0).to_string() };
        let newest_open = self.open.values().filter(|wait| wait.inbox == *inbox).map(|wait| wait.id).max();
        let newest_ended = self.ended.of(inbox.as_str()).next().map(|wait| wait.id);
        let simple = |id: Option<Uuid>| id.unwrap_or_default().simple();
        format!("{}-{}", simple(newest_open), simple(newest_ended))
    }

    pub(super) fn of_inbox(&self, inbox: &Inbox) -> Vec<WaitRecord> {
        let open = self.open.values().filter(|wait| wait.inbox == inbox.id);
        let ended = self.ended.of(inbox.id.as_str());
        let is_own = |wait: &&WaitRecord| wait.project == inbox.project && wait.inbox_created_at == inbox.created_at;
        newest_first(open.chain(ended).filter(is_own).cloned().collect())
    }

    /// The sessions that named an inbox, newest first.
    pub(super) fn sessions_of(&self, named: &str) -> Vec<Arc<SmtpSession>> {
        self.sessions.of(named).cloned().collect()
    }

    pub(super) fn open_of(&self, project: ProjectId) -> Vec<WaitRecord> {
        let mut open = newest_first(self.open.values().filter(|wait| wait.project == project).cloned().collect());
        open.truncate(OPEN_SHOWN);
        open
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
        Inbox { id, shared: None, project, kind: InboxKind::Temporary, created_at: START, expires_at: None }
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
        let (mut memory, one, other) = (EventMemory::default(), inbox("one"), inbox("other"));
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
        let (mut memory, one) = (EventMemory::default(), inbox("one"));
        let timed_out = wait(&mut memory, &one, Some(WaitEnd::Timeout));
        wait(&mut memory, &one, Some(WaitEnd::TooMany));
        let left = wait(&mut memory, &one, Some(WaitEnd::Left));
        for _ in 0..MAX_ENDED_WAITS {
            wait(&mut memory, &one, Some(WaitEnd::TooMany));
        }
        let refused = wait(&mut memory, &one, Some(WaitEnd::TooMany));
        assert_eq!(memory.of_inbox(&one), [refused, left, timed_out]);
        assert_eq!(memory.ended.order.len(), 3);
    }

    #[test]
    fn memory_is_bounded() {
        let mut memory = EventMemory::default();
        for number in 0..MAX_ENDED_WAITS + 100 {
            wait(&mut memory, &inbox(&format!("i{number}")), Some(WaitEnd::Timeout));
        }
        assert_eq!((memory.ended.order.len(), memory.ended.items.len()), (MAX_ENDED_WAITS, MAX_ENDED_WAITS));
    }

    #[test]
    fn a_wait_of_a_dead_node_has_ended() {
        let open = wait(&mut EventMemory::default(), &inbox("one"), None);
        assert_eq!(without_lost(open.clone(), START.after(Duration::from_secs(5))).end, None);
        let lost = without_lost(open, START.after(Duration::from_secs(60)));
        assert_eq!(lost.end, Some((START.after(Duration::from_secs(1)), WaitEnd::Failed)));
    }
}
