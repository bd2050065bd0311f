//! The queue of the journal, of limited length, in which each project has its quota, so that no
//! item of one displaces that of another. A reader can wait until what is queued for a project is
//! written; meanwhile the writer makes no pause.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use crate::model::ProjectId;

/// Maximum number of items in the queue.
pub(super) const QUEUE: usize = 8_192;
/// How long a reader waits at most.
const MAX_WAIT: Duration = Duration::from_secs(1);

/// Who has a quota. The project of a client without a key is looked up later, so the address that it
/// names has a quota, and all that it names together.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Owner {
    Project(ProjectId),
    /// All whose project is not known yet.
    Unknown,
    Client(String),
    Address(String),
}

impl Owner {
    /// Maximum number of its items.
    fn quota(&self) -> usize {
        match self {
            Self::Project(_) => 1_024,
            Self::Unknown => 4_096,
            Self::Client(_) => 2_048,
            Self::Address(_) => 256,
        }
    }
}

/// The side of those who record something, and of readers.
#[derive(Debug)]
pub(super) struct Queue<T> {
    /// The state bounds its length.
    items: mpsc::UnboundedSender<T>,
    state: watch::Sender<State>,
}

/// The side of the writer.
pub(super) struct QueueEnd<T> {
    pub(super) items: mpsc::UnboundedReceiver<T>,
    state: watch::Sender<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The numbers of the items of each owner that are not written yet, oldest first.
    queued: HashMap<Owner, VecDeque<u64>>,
    length: usize,
    next: u64,
    /// The readers that wait.
    readers: usize,
}

/// A reader that waits. It is counted until it is dropped, even if its request is cancelled.
struct Reader<'a>(&'a watch::Sender<State>);

pub(super) fn queue<T>() -> (Queue<T>, QueueEnd<T>) {
    let (sender, items) = mpsc::unbounded_channel();
    let state = watch::Sender::default();
    let queue = Queue {
        items: sender,
        state: state.clone(),
    };
    (queue, QueueEnd { items, state })
}

impl<T> Queue<T> {
    /// Adds an item of these owners. Returns whether there was room in the quota of each.
    pub(super) fn add(&self, owners: Vec<Owner>, item: T) -> bool {
        let mut is_added = false;
        self.state.send_if_modified(|state| {
            is_added = state.add(owners);
            // Nobody waits for that.
            false
        });
        is_added && self.items.send(item).is_ok()
    }

    /// Returns when the items that are queued now and may concern a project, or any, are written,
    /// or could not be, or after a second.
    pub(super) async fn written(&self, project: Option<ProjectId>) {
        let next = self.state.borrow().next;
        let concerns = |owner: &Owner| match (owner, project) {
            (Owner::Project(owner), Some(project)) => *owner == project,
            _ => true,
        };
        let is_written = |state: &State| {
            let oldest = state.queued.iter().filter(|(owner, _)| concerns(owner));
            let mut oldest = oldest.filter_map(|(_, numbers)| numbers.front());
            oldest.all(|number| *number >= next)
        };
        if !is_written(&self.state.borrow()) {
            let _reader = Reader::start(&self.state);
            let mut state = self.state.subscribe();
            let _ = timeout(MAX_WAIT, state.wait_for(is_written)).await;
        }
    }
}

impl<T> QueueEnd<T> {
    /// Items of these owners, the oldest that each has, were written or could not be.
    pub(super) fn wrote(&self, items: &[Vec<Owner>]) {
        self.state.send_modify(|state| {
            state.length -= items.len();
            for owner in items.iter().flatten() {
                if let Some(numbers) = state.queued.get_mut(owner) {
                    numbers.pop_front();
                }
            }
            state.queued.retain(|_, numbers| !numbers.is_empty());
        });
    }

    /// Pauses for this long, or until a reader waits.
    pub(super) async fn pause(&self, pause: Duration) {
        let mut state = self.state.subscribe();
        let _ = timeout(pause, state.wait_for(|state| state.readers > 0)).await;
    }
}

impl State {
    fn add(&mut self, owners: Vec<Owner>) -> bool {
        let has_room = |owner: &Owner| {
            let queued = self.queued.get(owner).map_or(0, VecDeque::len);
            queued < owner.quota()
        };
        if self.length >= QUEUE || !owners.iter().all(has_room) {
            return false;
        }
        for owner in owners {
            self.queued.entry(owner).or_default().push_back(self.next);
        }
        self.length += 1;
        self.next += 1;
        true
    }
}

impl<'a> Reader<'a> {
    fn start(state: &'a watch::Sender<State>) -> Self {
        // Only the first one ends a pause.
        state.send_if_modified(|state| {
            state.readers += 1;
            state.readers == 1
        });
        Self(state)
    }
}

impl Drop for Reader<'_> {
    fn drop(&mut self) {
        self.0.send_if_modified(|state| {
            state.readers -= 1;
            false
        });
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use uuid::Uuid;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_cancelled_reader_no_longer_ends_the_pause() {
        let (queue, end) = queue();
        let pauses = || Box::pin(end.pause(Duration::MAX)).now_or_never().is_none();
        assert!(queue.add(vec![Owner::Unknown], ()));
        {
            let mut reader = Box::pin(queue.written(None));
            assert!(reader.as_mut().now_or_never().is_none());
            assert!(!pauses(), "a reader waits");
        }
        assert!(pauses(), "the reader is gone");
        end.wrote(&[vec![Owner::Unknown]]);
        assert!(queue.written(None).now_or_never().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_reader_waits_for_what_concerns_its_project_and_was_queued_before() {
        let (queue, end) = queue();
        let [id, other] = [(); 2].map(|()| ProjectId(Uuid::now_v7()));
        let [a, b] = [id, other].map(|id| vec![Owner::Project(id)]);
        let add = |owners: &Vec<Owner>| queue.add(owners.clone(), ());
        let wrote = |owners: &Vec<Owner>| end.wrote(std::slice::from_ref(owners));
        assert!(add(&a) && add(&b) && add(&a));
        let mut of_a = Box::pin(queue.written(Some(id)));
        let mut of_all = Box::pin(queue.written(None));
        assert!(of_a.as_mut().now_or_never().is_none());
        assert!(of_all.as_mut().now_or_never().is_none());
        assert!(add(&a));
        wrote(&a);
        assert!(of_a.as_mut().now_or_never().is_none());
        wrote(&a);
        assert!(of_a.as_mut().now_or_never().is_some(), "the last was later");
        assert!(of_all.as_mut().now_or_never().is_none());
        wrote(&b);
        assert!(of_all.as_mut().now_or_never().is_some());
    }

    #[test]
    fn an_item_needs_room_in_the_quota_of_each_of_its_owners() {
        let (queue, end) = queue();
        let address = |number: usize| Owner::Address((number / 256).to_string());
        let owners = |number| vec![address(number), Owner::Unknown];
        let added = (0..QUEUE).filter(|number| queue.add(owners(*number), ()));
        assert_eq!(added.count(), Owner::Unknown.quota());
        let project = vec![Owner::Project(ProjectId(Uuid::now_v7()))];
        assert!(queue.add(project, ()));
        end.wrote(&[owners(0)]);
        assert!(!queue.add(owners(256), ()), "the address has none");
        assert!(queue.add(owners(0), ()) && !queue.add(owners(0), ()));
    }
}
