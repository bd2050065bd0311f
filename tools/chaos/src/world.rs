//! What all threads of a run share: the nodes, whether anything fails at the moment, and what was
//! found.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::contract::Contract;
use crate::http::Http;
use crate::mail::Outcome;
use crate::nodes::Nodes;
use crate::options::Options;

/// How long after a failure an answer may still be its consequence.
const RECOVERY: Duration = Duration::from_secs(3);
/// How long after a promotion every node stores mail.
const MAX_MOVE: Duration = Duration::from_secs(10);

/// A promise that was broken.
#[derive(Debug)]
pub(crate) struct Finding {
    pub(crate) promise: &'static str,
    pub(crate) detail: String,
    /// Since the start of the run.
    pub(crate) at: Duration,
}

pub(crate) struct World {
    pub(crate) seed: u64,
    pub(crate) nodes: Nodes,
    pub(crate) contract: Contract,
    /// Those of the clients, and that of the neighbour as the last.
    pub(crate) keys: Vec<String>,
    /// Ids of inboxes with the number of their client, for attempts on other projects' inboxes.
    pub(crate) foreign: Mutex<Vec<(usize, String)>>,
    untimed: bool,
    start: Instant,
    end: Instant,
    calm: AtomicBool,
    /// Odd while something fails.
    failures: AtomicU64,
    /// When the last failure ended, in milliseconds since the start.
    recovered: AtomicU64,
    findings: Mutex<Vec<Finding>>,
    counts: Mutex<BTreeMap<&'static str, u64>>,
    log: Option<File>,
    /// How long after each promotion every node stored mail.
    moves: Mutex<Vec<Duration>>,
}

/// The moment before a request, to judge its answer by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    failures: u64,
    peaceful: bool,
}

impl World {
    pub(crate) fn start(options: &Options) -> Self {
        let (nodes, keys) = Nodes::start(options, options.clients + 1);
        let contract = Contract::read(
            &Http::new(),
            &nodes
                .with(0, |node| node.url.clone())
                .expect("it was started"),
        );
        let start = Instant::now();
        Self {
            seed: options.seed,
            nodes,
            contract,
            keys,
            foreign: Mutex::default(),
            untimed: options.untimed,
            start,
            end: start + Duration::from_secs(options.seconds),
            calm: AtomicBool::new(false),
            failures: AtomicU64::new(0),
            recovered: AtomicU64::new(0),
            findings: Mutex::default(),
            counts: Mutex::default(),
            log: options
                .log
                .as_ref()
                .map(|path| File::create(path).expect("the log can be written")),
            moves: Mutex::default(),
        }
    }

    /// Whether the clients go on.
    pub(crate) fn goes_on(&self) -> bool {
        Instant::now() < self.end
    }

    /// Nothing fails from now on.
    pub(crate) fn end_failures(&self) {
        self.calm.store(true, Ordering::SeqCst);
    }

    pub(crate) fn failures_ended(&self) -> bool {
        self.calm.load(Ordering::SeqCst)
    }

    /// Makes something fail while `failure` runs.
    pub(crate) fn fail(&self, name: &'static str, failure: impl FnOnce()) {
        self.count(name);
        self.note(name);
        self.failures.fetch_add(1, Ordering::SeqCst);
        failure();
        self.note(&format!("{name}: over"));
        let now = u64::try_from(self.start.elapsed().as_millis()).unwrap();
        self.recovered.store(now, Ordering::SeqCst);
        self.failures.fetch_add(1, Ordering::SeqCst);
    }

    pub(crate) fn moment(&self) -> Moment {
        let failures = self.failures.load(Ordering::SeqCst);
        let since = self
            .start
            .elapsed()
            .saturating_sub(Duration::from_millis(self.recovered.load(Ordering::SeqCst)));
        Moment {
            failures,
            peaceful: !self.untimed
                && failures.is_multiple_of(2)
                && (failures == 0 || since > RECOVERY),
        }
    }

    /// Whether nothing failed from `before` until now, so that no failure explains what happened in
    /// between.
    pub(crate) fn peaceful_since(&self, before: Moment) -> bool {
        before.peaceful && self.failures.load(Ordering::SeqCst) == before.failures
    }

    /// Runs a delivery to a node, and notes its outcome.
    pub(crate) fn deliver(&self, node: usize, deliver: impl FnOnce() -> Outcome) -> Outcome {
        let outcome = self.nodes.deliveries(node).deliver(deliver);
        self.note(&format!(
            "node {} mail {outcome:?}",
            node % self.nodes.count()
        ));
        outcome
    }

    pub(crate) fn is_untimed(&self) -> bool {
        self.untimed
    }

    /// Writes a line of the log.
    pub(crate) fn note(&self, what: &str) {
        if let Some(mut log) = self.log.as_ref() {
            writeln!(log, "{:9.3} {what}", self.start.elapsed().as_secs_f64())
                .expect("the log can be written");
        }
    }

    /// Every node stored mail so long after the primary had ended in this way, and the standby was
    /// promoted.
    pub(crate) fn moved(&self, death: &str, took: Duration) {
        self.note(&format!(
            "mail is stored {took:?} after the promotion; the primary was {death}"
        ));
        self.moves.lock().unwrap().push(took);
        if took > MAX_MOVE && !self.untimed {
            self.find(
                "mail is stored soon after a promotion",
                format!("{took:?}; the primary was {death}"),
            );
        }
    }

    pub(crate) fn moves(&self) -> Vec<Duration> {
        self.moves.lock().unwrap().clone()
    }

    pub(crate) fn find(&self, promise: &'static str, detail: impl Into<String>) {
        let finding = Finding {
            promise,
            detail: detail.into(),
            at: self.start.elapsed(),
        };
        self.findings.lock().unwrap().push(finding);
    }

    /// Counts something for the report.
    pub(crate) fn count(&self, what: &'static str) {
        *self.counts.lock().unwrap().entry(what).or_default() += 1;
    }

    pub(crate) fn counts(&self) -> BTreeMap<&'static str, u64> {
        self.counts.lock().unwrap().clone()
    }

    pub(crate) fn findings(&self) -> std::sync::MutexGuard<'_, Vec<Finding>> {
        self.findings.lock().unwrap()
    }
}
