//! What the clients saw of the mail of one node: since when some waits or fails, although none is
//! acknowledged.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::mail::Outcome;

/// After a failure and this time without another delivery, it is not known whether the next one
/// would fail.
const FAILING: Duration = Duration::from_secs(2);

pub(crate) struct Deliveries(Mutex<State>);

struct State {
    /// When mail was last acknowledged, or the node was started.
    stored: Instant,
    /// When each delivery without an outcome began.
    waiting: BTreeMap<u64, Instant>,
    next: u64,
    /// The first start and the last end of deliveries that have failed since then.
    failing: Option<(Instant, Instant)>,
}

impl Deliveries {
    pub(crate) fn new() -> Self {
        let state = State {
            stored: Instant::now(),
            waiting: BTreeMap::new(),
            next: 0,
            failing: None,
        };
        Self(Mutex::new(state))
    }

    /// The node was started.
    pub(crate) fn restart(&self) {
        self.stored();
        self.0.lock().unwrap().waiting.clear();
    }

    /// Mail was acknowledged.
    pub(crate) fn stored(&self) {
        let mut state = self.0.lock().unwrap();
        (state.stored, state.failing) = (Instant::now(), None);
    }

    /// Runs a delivery, and notes its outcome.
    pub(crate) fn deliver(&self, deliver: impl FnOnce() -> Outcome) -> Outcome {
        let (started, number) = self.begin();
        let outcome = deliver();
        self.0.lock().unwrap().waiting.remove(&number);
        match &outcome {
            Outcome::Accepted => self.stored(),
            Outcome::Reply(reply) if reply.starts_with('4') => self.failed(started),
            // It says nothing about the database: the node may have been killed.
            Outcome::Reply(_) | Outcome::NotSent | Outcome::NoReply => {}
        }
        outcome
    }

    fn begin(&self) -> (Instant, u64) {
        let mut state = self.0.lock().unwrap();
        let started = Instant::now();
        let number = state.next;
        state.next += 1;
        state.waiting.insert(number, started);
        (started, number)
    }

    fn failed(&self, started: Instant) {
        let mut state = self.0.lock().unwrap();
        let since = state
            .failing
            .map_or_else(|| started.max(state.stored), |(since, _)| since);
        state.failing = Some((since, Instant::now()));
    }

    /// How long, at this moment, deliveries have been waiting or failing while none was
    /// acknowledged.
    pub(crate) fn stuck_for(&self, moment: Instant) -> Duration {
        let state = self.0.lock().unwrap();
        let waiting = state
            .waiting
            .values()
            .min()
            .map(|started| state.stored.max(*started));
        let failing = state
            .failing
            .filter(|(_, last)| *last + FAILING > moment)
            .map(|(since, _)| since);
        let since = waiting.into_iter().chain(failing).min();
        since.map_or(Duration::ZERO, |since| {
            moment.saturating_duration_since(since)
        })
    }
}
