//! Sends mail: many sessions at once, the waits that follow them, and the result of each message.

use std::collections::HashSet;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use tokio::task::{JoinHandle, JoinSet};

use crate::figures::{Sample, grouped, mebibytes};
use crate::http::{Http, parsed};
use crate::mail::Template;
use crate::options::Traffic;
use crate::session::{Sent, Session};

/// The result of one run.
pub(crate) struct Outcome {
    pub(crate) taken: u64,
    pub(crate) failed: usize,
    /// Why the first of the failed messages failed.
    pub(crate) failure: Option<String>,
    elapsed: Duration,
    bytes: u64,
    ack: Sample,
    /// From the due time, if there is a rate.
    late: Sample,
    dot_to_answer: Sample,
    ack_to_answer: Sample,
    /// Seconds of the server's processor time.
    pub(crate) processor: f64,
    /// Context switches of the server.
    pub(crate) switches: u64,
    /// Frames that the server wrote to SQLite's log.
    pub(crate) frames: Option<u64>,
    pub(crate) peak: u64,
    pub(crate) files: u64,
    /// Accepted, but not stored at the end.
    pub(crate) missing: Option<usize>,
}

/// The recipients of the messages.
#[derive(Clone, Debug)]
pub(crate) enum Recipients {
    /// One of these addresses, in turn.
    Each(Arc<[String]>),
    /// A new inbox in this domain for each message.
    New(Arc<str>),
}

impl Recipients {
    /// This many inboxes in turn.
    pub(crate) fn rotation(count: u64, domain: &str) -> Self {
        Self::Each(
            (0..count)
                .map(|number| format!("load{number}@{domain}"))
                .collect(),
        )
    }

    pub(crate) fn new_inboxes(domain: &str) -> Self {
        Self::New(domain.into())
    }

    /// The address of message `number`.
    pub(crate) fn address(&self, number: u64) -> String {
        match self {
            Self::Each(addresses) => addresses[number as usize % addresses.len()].clone(),
            // Random like real ids. Inboxes with consecutive ids would share pages of the index.
            Self::New(domain) => format!(
                "n{:016x}@{domain}",
                number.wrapping_mul(0x9e37_79b9_7f4a_7c15)
            ),
        }
    }

    /// The inbox of message `number`.
    pub(crate) fn inbox(&self, number: u64) -> String {
        let address = self.address(number);
        address.split('@').next().unwrap_or_default().to_owned()
    }
}

/// Waits for every message of one session.
pub(crate) struct Follower {
    http: String,
    inbox: String,
    key: String,
}

impl Follower {
    pub(crate) fn new(http: &str, inbox: &str, key: &str) -> Self {
        Self {
            http: http.to_owned(),
            inbox: inbox.to_owned(),
            key: key.to_owned(),
        }
    }

    fn address(&self) -> String {
        format!("{}@restante.example.com", self.inbox)
    }

    /// The time when each message arrived, until all sent messages have arrived.
    async fn follow(self, mut sent: oneshot::Receiver<usize>) -> Vec<Instant> {
        let mut http = Http::connect(&self.http).await.unwrap();
        let mut answers = Vec::new();
        let mut after = String::new();
        let mut expected = None;
        while expected != Some(answers.len()) {
            let path = format!(
                "/v1/inboxes/{}/messages/wait?timeout=30000{after}",
                self.inbox
            );
            let answer = http.ask("GET", &path, &self.key);
            tokio::pin!(answer);
            let (status, body) = loop {
                tokio::select! {
                    answer = &mut answer => break answer.unwrap(),
                    count = &mut sent, if expected.is_none() => {
                        expected = Some(count.unwrap());
                        if expected == Some(answers.len()) {
                            return answers;
                        }
                    }
                }
            };
            if status == 200 {
                answers.push(Instant::now());
                after = format!("&after={}", parsed(&body)["id"].as_str().unwrap());
            }
        }
        answers
    }
}

/// One run of all sessions.
pub(crate) struct Run {
    traffic: Traffic,
    template: Template,
    /// The servers; the sessions take them in turn.
    addresses: Vec<String>,
    recipients: Recipients,
    started: Instant,
    next: AtomicU64,
    stopped: AtomicBool,
}

/// The log of one session: number, due time, and result of each message.
type Log = Vec<(u64, Duration, Sent)>;

/// The results of all sessions: their logs, the reasons for failures, and when the followers
/// received each message.
pub(crate) struct Sending {
    pub(crate) started: Instant,
    size: u64,
    logs: Vec<(Log, Vec<io::Error>, Vec<Instant>)>,
}

impl Run {
    pub(crate) fn new(traffic: &Traffic, address: String, recipients: Recipients) -> Self {
        Self::among(traffic, vec![address], recipients)
    }

    pub(crate) fn among(traffic: &Traffic, addresses: Vec<String>, recipients: Recipients) -> Self {
        let template = Template::new(traffic.size);
        let started = Instant::now();
        let next = AtomicU64::new(0);
        let stopped = AtomicBool::new(false);
        Self {
            traffic: traffic.clone(),
            template,
            addresses,
            recipients,
            started,
            next,
            stopped,
        }
    }

    pub(crate) fn recipients(&self) -> Recipients {
        self.recipients.clone()
    }

    pub(crate) async fn send(mut self, followers: Vec<Follower>) -> Sending {
        let count = self.traffic.sessions;
        let mut followers = followers.into_iter();
        let mut sessions = Vec::new();
        let mut tasks = JoinSet::new();
        for address in self.addresses.iter().cycle().take(count) {
            sessions.push((address.clone(), Session::open(address).await.unwrap()));
        }
        self.started = Instant::now();
        let run = Arc::new(self);
        for (address, session) in sessions {
            let (told, sent) = oneshot::channel();
            let following = followers
                .next()
                .map(|follower| (follower.address(), tokio::spawn(follower.follow(sent))));
            tasks.spawn(Arc::clone(&run).serve(address, session, told, following));
        }
        let logs = tasks.join_all().await;
        Sending {
            started: run.started,
            size: run.template.size() as u64,
            logs,
        }
    }

    /// One session, from its first message to its last, and the messages that its follower
    /// received.
    async fn serve(
        self: Arc<Self>,
        address: String,
        session: Session,
        told: oneshot::Sender<usize>,
        following: Option<(String, JoinHandle<Vec<Instant>>)>,
    ) -> (Log, Vec<io::Error>, Vec<Instant>) {
        let mut log = Log::new();
        let mut failures = Vec::new();
        let mut session = Some(session);
        let mut template = self.template.clone();
        while let Some((number, due)) = self.take().await {
            let followed = following.as_ref().map(|(address, _)| address.clone());
            let recipient = followed.unwrap_or_else(|| self.recipients.address(number));
            let mut open = match session.take() {
                Some(open) => open,
                None => Session::open(&address).await.unwrap(),
            };
            match open
                .send(&mut template, number, &recipient, self.traffic.pipelining)
                .await
            {
                Ok(sent) => {
                    log.push((number, due, sent));
                    session = Some(open);
                }
                Err(error) => failures.push(error),
            }
        }
        // Without a follower there is no receiver.
        let _ = told.send(log.len());
        let answers = match following {
            Some((_, following)) => following.await.unwrap(),
            None => Vec::new(),
        };
        (log, failures, answers)
    }

    /// The next message, when it is due.
    async fn take(&self) -> Option<(u64, Duration)> {
        if self.started.elapsed() >= Duration::from_secs(self.traffic.seconds) {
            self.stopped.store(true, Ordering::Relaxed);
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let enough = self
            .traffic
            .messages
            .is_some_and(|messages| number >= messages);
        if enough || self.stopped.load(Ordering::Relaxed) {
            return None;
        }
        let Some(rate) = self.traffic.rate else {
            return Some((number, Duration::ZERO));
        };
        let due = Duration::from_secs_f64(number as f64 / rate as f64);
        tokio::time::sleep_until((self.started + due).into()).await;
        Some((number, due))
    }
}

impl Sending {
    /// Every accepted message: its number, when it was due, and its result.
    pub(crate) fn sent(&self) -> impl Iterator<Item = &(u64, Duration, Sent)> {
        self.logs.iter().flat_map(|(log, ..)| log)
    }

    pub(crate) fn taken(&self) -> HashSet<u64> {
        self.sent().map(|(number, ..)| *number).collect()
    }

    pub(crate) fn outcome(&self) -> Outcome {
        let last = self
            .sent()
            .map(|(.., sent)| sent.answered)
            .max()
            .unwrap_or(self.started);
        let paced = self.sent().any(|(_, due, _)| !due.is_zero());
        let late = |(_, due, sent): &(u64, Duration, Sent)| {
            sent.dot.saturating_duration_since(self.started + *due)
        };
        let answered = |from: fn(&Sent) -> Instant| {
            let pairs = self
                .logs
                .iter()
                .flat_map(|(log, _, answers)| log.iter().zip(answers));
            Sample::new(
                pairs
                    .map(|((.., sent), at)| at.saturating_duration_since(from(sent)))
                    .collect(),
            )
        };
        let taken = self.sent().count() as u64;
        let failures = || self.logs.iter().flat_map(|(_, failures, _)| failures);
        Outcome {
            taken,
            failed: failures().count(),
            failure: failures().next().map(ToString::to_string),
            elapsed: last - self.started,
            bytes: self.size * taken,
            ack: Sample::new(
                self.sent()
                    .map(|(.., sent)| sent.answered - sent.dot)
                    .collect(),
            ),
            late: Sample::new(self.sent().filter(|_| paced).map(late).collect()),
            dot_to_answer: answered(|sent| sent.dot),
            ack_to_answer: answered(|sent| sent.answered),
            processor: 0.0,
            switches: 0,
            frames: None,
            peak: 0,
            files: 0,
            missing: None,
        }
    }
}

impl Outcome {
    pub(crate) fn rate(&self) -> f64 {
        self.taken as f64 / self.elapsed.as_secs_f64()
    }

    pub(crate) fn print(&self) {
        let rate = self.rate();
        let seconds = self.elapsed.as_secs_f64();
        let rate_of_bytes = self.bytes as f64 / 1e6 / seconds;
        println!(
            "{} messages in {seconds:.1} s: {} per second, {rate_of_bytes:.1} MB/s",
            self.taken,
            grouped(rate)
        );
        println!("  final dot to 250      {}", self.ack.line());
        for (label, sample) in [
            ("due to final dot", &self.late),
            ("final dot to answer", &self.dot_to_answer),
            ("250 to answer", &self.ack_to_answer),
        ] {
            if !sample.is_empty() {
                println!("  {label:<21} {}", sample.line());
            }
        }
        if self.peak > 0 {
            let each = |figure: f64| figure / self.taken as f64;
            let processor = each(self.processor * 1e6);
            let switches = each(self.switches as f64);
            let frames = self.frames.map_or("?".to_owned(), |frames| {
                format!("{:.2}", each(frames as f64))
            });
            println!(
                "  a message: {processor:.0} µs of processor, {switches:.2} switches, {frames} log frames"
            );
            println!(
                "  peak memory {}, files {}",
                mebibytes(self.peak),
                mebibytes(self.files)
            );
        }
        match self.missing {
            Some(0) => println!("  every message with a reply 250 is stored"),
            Some(missing) => println!("  MISSING: {missing} messages with a reply 250"),
            None => {}
        }
        if let Some(failure) = &self.failure {
            println!(
                "  FAILED: {} messages were not accepted, the first because {failure}",
                self.failed
            );
        }
    }
}
