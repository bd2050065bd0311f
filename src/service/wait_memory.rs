//! The recorded waits of a node on SQLite: in memory, and their number is limited.

use std::collections::{HashMap, VecDeque};

use uuid::Uuid;

use crate::model::{Inbox, InboxId, ProjectId, WaitEnd, WaitRecord};

/// Maximum number of ended waits that are kept per inbox, and of all inboxes in memory.
pub(super) const KEPT_OF_INBOX: usize = 50;
const MAX_ENDED_WAITS: usize = 20_000;
/// Maximum number of open waits that a page shows.
pub(super) const OPEN_SHOWN: usize = 200;
/// Maximum number of answered waits whose times are shown.
pub(super) const ANSWERED: usize = 200;

/// The records.
#[derive(Debug, Default)]
pub(super) struct WaitMemory {
    open: HashMap<Uuid, WaitRecord>,
    ended: HashMap<InboxId, VecDeque<WaitRecord>>,
    /// The inboxes of the ended waits, oldest first.
    order: VecDeque<(InboxId, Uuid)>,
    /// The number of changes so far, and the last change of each project.
    changes: u64,
    last_changes: HashMap<ProjectId, u64>,
}

impl WaitMemory {
    pub(super) fn note(&mut self, record: WaitRecord) {
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
        if self.order.len() > MAX_ENDED_WAITS {
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

    pub(super) fn mark(&self, project: ProjectId, inbox: Option<&InboxId>) -> String {
        let Some(inbox) = inbox else { return self.last_changes.get(&project).unwrap_or(&0).to_string() };
        let newest_open = self.open.values().filter(|wait| wait.inbox == *inbox).map(|wait| wait.id).max();
        let ended = self.ended.get(inbox);
        let newest_ended = ended.and_then(|ended| ended.front()).map(|wait| wait.id);
        let simple = |id: Option<Uuid>| id.unwrap_or_default().simple();
        format!("{}-{}", simple(newest_open), simple(newest_ended))
    }

    pub(super) fn of_inbox(&self, inbox: &Inbox) -> Vec<WaitRecord> {
        let open = self.open.values().filter(|wait| wait.inbox == inbox.id);
        let ended = self.ended.get(&inbox.id).into_iter().flatten();
        let is_own = |wait: &&WaitRecord| wait.project == inbox.project && wait.inbox_created_at == inbox.created_at;
        newest_first(open.chain(ended).filter(is_own).cloned().collect())
    }

    pub(super) fn answered(&self, project: ProjectId) -> Vec<WaitRecord> {
        let ended = self.ended.values().flatten().filter(|wait| wait.project == project);
        let found = ended.filter(|wait| matches!(wait.end, Some((_, WaitEnd::Message(_)))));
        let mut found = newest_first(found.cloned().collect());
        found.truncate(ANSWERED);
        found
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
    use crate::service::wait_log::without_lost;

    const START: Timestamp = Timestamp::from_millis(1_000_000);

    fn inbox(id: &str) -> Inbox {
        let project = ProjectId(Uuid::nil());
        let id = InboxId::parse(id).unwrap();
        Inbox { id, shared: None, project, kind: InboxKind::Temporary, created_at: START, expires_at: None }
    }

    fn wait(memory: &mut WaitMemory, inbox: &Inbox, end: Option<WaitEnd>) -> WaitRecord {
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
        let (mut memory, one, other) = (WaitMemory::default(), inbox("one"), inbox("other"));
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
        let (mut memory, one) = (WaitMemory::default(), inbox("one"));
        let timed_out = wait(&mut memory, &one, Some(WaitEnd::Timeout));
        wait(&mut memory, &one, Some(WaitEnd::TooMany));
        let left = wait(&mut memory, &one, Some(WaitEnd::Left));
        for _ in 0..MAX_ENDED_WAITS {
            wait(&mut memory, &one, Some(WaitEnd::TooMany));
        }
        let refused = wait(&mut memory, &one, Some(WaitEnd::TooMany));
        assert_eq!(memory.of_inbox(&one), [refused, left, timed_out]);
        assert_eq!(memory.order.len(), 3);
    }

    #[test]
    fn memory_is_bounded() {
        let mut memory = WaitMemory::default();
        for number in 0..MAX_ENDED_WAITS + 100 {
            wait(&mut memory, &inbox(&format!("i{number}")), Some(WaitEnd::Timeout));
        }
        assert_eq!((memory.order.len(), memory.ended.len()), (MAX_ENDED_WAITS, MAX_ENDED_WAITS));
    }

    #[test]
    fn a_wait_of_a_dead_node_has_ended() {
        let open = wait(&mut WaitMemory::default(), &inbox("one"), None);
        assert_eq!(without_lost(open.clone(), START.after(Duration::from_secs(5))).end, None);
        let lost = without_lost(open, START.after(Duration::from_secs(60)));
        assert_eq!(lost.end, Some((START.after(Duration::from_secs(1)), WaitEnd::Failed)));
    }
}
