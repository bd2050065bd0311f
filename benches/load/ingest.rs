//! Mail in: sessions that send, the waits that follow them, and the search for every message that was taken.

use std::collections::HashSet;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use tokio::task::{JoinHandle, JoinSet};

use crate::figures::{Sample, grouped, mebibytes, median};
use crate::http::{Http, create_inboxes, parsed};
use crate::mail::{Template, number};
use crate::options::{Ingest, Traffic};
use crate::server::{Process, Server, new_data_dir, pin_load, runtime};
use crate::session::{Sent, Session};
use crate::store::create_keys;

/// So many messages fit into an inbox, with room for a second of delay.
const MESSAGES_AN_INBOX: u64 = 5_000;
const WAITS_A_KEY: usize = 4;

/// What one run came to.
pub(crate) struct Outcome {
    pub(crate) taken: u64,
    pub(crate) failed: usize,
    /// Why the first of those failed.
    pub(crate) failure: Option<String>,
    pub(crate) elapsed: Duration,
    pub(crate) octets: u64,
    pub(crate) ack: Sample,
    /// Behind the due time, where there was a rate.
    pub(crate) late: Sample,
    pub(crate) dot_to_answer: Sample,
    pub(crate) ack_to_answer: Sample,
    pub(crate) processor: f64,
    pub(crate) peak: u64,
    pub(crate) files: u64,
    /// Taken, and not there at the end.
    pub(crate) missing: Option<usize>,
}

pub(crate) fn run(options: &Ingest) -> bool {
    pin_load(&options.place);
    let outcomes: Vec<Outcome> = (0..options.runs).map(|_| measure(options)).collect();
    for outcome in &outcomes {
        outcome.print(options.json);
    }
    if options.runs > 1 && !options.json {
        println!("median: {} messages a second", grouped(median(outcomes.iter().map(Outcome::rate).collect())));
    }
    outcomes.iter().all(|outcome| outcome.missing.unwrap_or(0) == 0 && outcome.failed == 0)
}

/// One run.
pub(crate) fn measure(options: &Ingest) -> Outcome {
    runtime().block_on(one_run(options))
}

async fn one_run(options: &Ingest) -> Outcome {
    let Some(address) = &options.smtp else { return against_restante(options).await };
    let count = inboxes_of(&options.traffic);
    let addresses = (0..count).map(|number| format!("load{number}@{}", options.domain)).collect();
    Run::new(&options.traffic, address.clone(), addresses).send(Vec::new()).await.outcome()
}

async fn against_restante(options: &Ingest) -> Outcome {
    let (data, count) = (new_data_dir(&options.place), inboxes_of(&options.traffic));
    let keys = create_keys(data.path(), (count + options.waits).div_ceil(WAITS_A_KEY)).await;
    let server = Server::start_on(&options.place, data, &[]);
    let key = |inbox: usize| keys[inbox / WAITS_A_KEY].as_str();
    let inboxes = create_inboxes(&server.http, (0..count + options.waits).map(key)).await;
    let _held = hold(&server.http, inboxes[count..].iter().zip((count..).map(key))).await;
    let followed = inboxes.iter().take(if options.follow { options.traffic.sessions } else { 0 });
    let followers = followed.zip((0..).map(key)).map(|(inbox, key)| Follower::new(&server.http, inbox, key)).collect();

    let addresses = inboxes[..count].iter().map(|inbox| format!("{inbox}@restante.test")).collect();
    let run = Run::new(&options.traffic, server.smtp.clone(), addresses);
    let (process, before) = (server.process(), server.process().processor_time());
    let sending = run.send(followers).await;
    let (mut outcome, taken) = (sending.outcome(), sending.taken());
    outcome.add_process(process, before);
    outcome.files = server.files();
    outcome.missing = Some(missing(&server.http, inboxes[..count].iter().zip((0..).map(key)), taken).await);
    outcome
}

pub(crate) fn inboxes_of(traffic: &Traffic) -> usize {
    let most = traffic.seconds.map_or(traffic.messages, |seconds| seconds * traffic.rate.unwrap_or(20_000));
    let needed = usize::try_from(most / MESSAGES_AN_INBOX).unwrap() + 1;
    traffic.inboxes.unwrap_or(traffic.sessions.max(needed))
}

/// Opens waits that nothing is sent to.
pub(crate) async fn hold<'a>(http: &str, waits: impl Iterator<Item = (&'a String, &'a str)>) -> Vec<Http> {
    let mut held = Vec::new();
    for (inbox, key) in waits {
        let mut connection = Http::connect(http).await.unwrap();
        connection.write("GET", &format!("/v1/inboxes/{inbox}/messages/wait?timeout=120000"), key).await.unwrap();
        held.push(connection);
    }
    held
}

/// How many of these messages are in no inbox.
async fn missing<'a>(
    http: &str,
    inboxes: impl Iterator<Item = (&'a String, &'a str)>,
    mut taken: HashSet<u64>,
) -> usize {
    let mut http = Http::connect(http).await.unwrap();
    for (inbox, key) in inboxes {
        let (_, body) = http.ask("GET", &format!("/v1/inboxes/{inbox}/messages"), key).await.unwrap();
        for message in parsed(&body)["messages"].as_array().unwrap() {
            number(message["subject"].as_str().unwrap()).map(|number| taken.remove(&number));
        }
    }
    taken.len()
}

/// Waits for every message of one session.
pub(crate) struct Follower {
    http: String,
    inbox: String,
    key: String,
}

impl Follower {
    fn new(http: &str, inbox: &str, key: &str) -> Self {
        Self { http: http.to_owned(), inbox: inbox.to_owned(), key: key.to_owned() }
    }

    /// When each message came, until there were as many as were sent.
    async fn follow(self, mut sent: oneshot::Receiver<usize>) -> Vec<Instant> {
        let mut http = Http::connect(&self.http).await.unwrap();
        let (mut answers, mut after, mut expected) = (Vec::new(), String::new(), None);
        while expected != Some(answers.len()) {
            let path = format!("/v1/inboxes/{}/messages/wait?timeout=30000{after}", self.inbox);
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
    address: String,
    recipients: Vec<String>,
    begun: Instant,
    next: AtomicU64,
    stopped: AtomicBool,
}

/// What one session did: number, due time, and what came of it.
type Log = Vec<(u64, Duration, Sent)>;

/// What all sessions did: their logs, why messages failed, and when their followers had each message.
pub(crate) struct Sending {
    pub(crate) begun: Instant,
    size: u64,
    logs: Vec<(Log, Vec<io::Error>, Vec<Instant>)>,
}

impl Run {
    pub(crate) fn new(traffic: &Traffic, address: String, recipients: Vec<String>) -> Self {
        let (template, begun) = (Template::new(traffic), Instant::now());
        let (next, stopped) = (AtomicU64::new(0), AtomicBool::new(false));
        Self { traffic: traffic.clone(), template, address, recipients, begun, next, stopped }
    }

    pub(crate) async fn send(mut self, followers: Vec<Follower>) -> Sending {
        let (count, mut followers) = (self.traffic.sessions, followers.into_iter());
        let (mut sessions, mut tasks) = (Vec::new(), JoinSet::new());
        for _ in 0..count {
            sessions.push(Session::open(&self.address, self.traffic.starttls).await.unwrap());
        }
        self.begun = Instant::now();
        let run = Arc::new(self);
        for (index, session) in sessions.into_iter().enumerate() {
            let (told, sent) = oneshot::channel();
            let following = followers.next().map(|follower| tokio::spawn(follower.follow(sent)));
            tasks.spawn(Arc::clone(&run).serve(index, session, told, following));
        }
        let logs = tasks.join_all().await;
        Sending { begun: run.begun, size: run.template.size() as u64, logs }
    }

    /// One session, from its first message to its last, and what its follower saw.
    async fn serve(
        self: Arc<Self>,
        index: usize,
        session: Session,
        told: oneshot::Sender<usize>,
        following: Option<JoinHandle<Vec<Instant>>>,
    ) -> (Log, Vec<io::Error>, Vec<Instant>) {
        let (mut log, mut failures) = (Log::new(), Vec::new());
        let (mut session, mut template) = (Some(session), self.template.clone());
        while let Some((number, due)) = self.take().await {
            let recipient = self.recipient(index, number, following.is_some());
            let mut open = match session.take().filter(|_| !self.traffic.new_connection || log.is_empty()) {
                Some(open) => open,
                None => Session::open(&self.address, self.traffic.starttls).await.unwrap(),
            };
            match open.send(&mut template, number, recipient, self.traffic.pipelining).await {
                Ok(sent) => {
                    log.push((number, due, sent));
                    session = Some(open);
                }
                Err(error) => failures.push(error),
            }
        }
        // Nobody follows where nobody listens.
        let _ = told.send(log.len());
        let answers = match following {
            Some(following) => following.await.unwrap(),
            None => Vec::new(),
        };
        (log, failures, answers)
    }

    fn recipient(&self, session: usize, number: u64, followed: bool) -> &str {
        let index = if followed { session } else { usize::try_from(number).unwrap() };
        &self.recipients[index % self.recipients.len()]
    }

    /// The next message, once it is due.
    async fn take(&self) -> Option<(u64, Duration)> {
        if let Some(seconds) = self.traffic.seconds
            && self.begun.elapsed() >= Duration::from_secs(seconds)
        {
            self.stopped.store(true, Ordering::Relaxed);
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let enough = self.traffic.seconds.is_none() && number >= self.traffic.messages;
        if enough || self.stopped.load(Ordering::Relaxed) {
            return None;
        }
        let Some(rate) = self.traffic.rate else { return Some((number, Duration::ZERO)) };
        let due = Duration::from_secs_f64(number as f64 / rate as f64);
        tokio::time::sleep_until((self.begun + due).into()).await;
        Some((number, due))
    }
}

impl Sending {
    /// Every message that was taken: its number, when it was due, and what came of it.
    pub(crate) fn sent(&self) -> impl Iterator<Item = &(u64, Duration, Sent)> {
        self.logs.iter().flat_map(|(log, ..)| log)
    }

    fn taken(&self) -> HashSet<u64> {
        self.sent().map(|(number, ..)| *number).collect()
    }

    pub(crate) fn outcome(&self) -> Outcome {
        let last = self.sent().map(|(.., sent)| sent.answered).max().unwrap_or(self.begun);
        let paced = self.sent().any(|(_, due, _)| !due.is_zero());
        let late = |(_, due, sent): &(u64, Duration, Sent)| sent.dot.saturating_duration_since(self.begun + *due);
        let answered = |from: fn(&Sent) -> Instant| {
            let pairs = self.logs.iter().flat_map(|(log, _, answers)| log.iter().zip(answers));
            Sample::new(pairs.map(|((.., sent), at)| at.saturating_duration_since(from(sent))).collect())
        };
        let taken = self.sent().count() as u64;
        let failures = || self.logs.iter().flat_map(|(_, failures, _)| failures);
        Outcome {
            taken,
            failed: failures().count(),
            failure: failures().next().map(ToString::to_string),
            elapsed: last - self.begun,
            octets: self.size * taken,
            ack: Sample::new(self.sent().map(|(.., sent)| sent.answered - sent.dot).collect()),
            late: Sample::new(self.sent().filter(|_| paced).map(late).collect()),
            dot_to_answer: answered(|sent| sent.dot),
            ack_to_answer: answered(|sent| sent.answered),
            processor: 0.0,
            peak: 0,
            files: 0,
            missing: None,
        }
    }
}

impl Outcome {
    pub(crate) fn add_process(&mut self, process: Process, before: f64) {
        self.processor = process.processor_time() - before;
        self.peak = process.peak();
    }

    pub(crate) fn rate(&self) -> f64 {
        self.taken as f64 / self.elapsed.as_secs_f64()
    }

    pub(crate) fn print(&self, json: bool) {
        if json {
            return println!("{}", self.json());
        }
        let (rate, seconds) = (self.rate(), self.elapsed.as_secs_f64());
        let rate_of_octets = self.octets as f64 / 1e6 / seconds;
        println!("{} messages in {seconds:.1} s: {} a second, {rate_of_octets:.1} MB/s", self.taken, grouped(rate));
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
            let each = self.processor * 1e6 / self.taken as f64;
            let (peak, files) = (mebibytes(self.peak), mebibytes(self.files));
            println!("  processor {:.1} s ({each:.0} µs a message), peak memory {peak}, files {files}", self.processor);
        }
        match self.missing {
            Some(0) => println!("  every message that was answered with 250 is there"),
            Some(missing) => println!("  MISSING: {missing} messages that were answered with 250"),
            None => {}
        }
        if let Some(failure) = &self.failure {
            println!("  FAILED: {} messages were not taken, the first because {failure}", self.failed);
        }
    }

    fn json(&self) -> serde_json::Value {
        serde_json::json!({
            "messages": self.taken, "failed": self.failed, "missing": self.missing, "per_second": self.rate(),
            "seconds": self.elapsed.as_secs_f64(), "octets": self.octets, "processor_seconds": self.processor,
            "peak_octets": self.peak, "file_octets": self.files, "dot_to_250": self.ack.json(),
            "due_to_dot": self.late.json(), "dot_to_answer": self.dot_to_answer.json(),
            "250_to_answer": self.ack_to_answer.json(),
        })
    }
}
