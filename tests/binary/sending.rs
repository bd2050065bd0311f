//! An accepted message (202) is sent, although the process is killed repeatedly while it sends.
//!
//! By default a few rounds are run;
//! `RESTANTE_KILL_ROUNDS=200 cargo test --test binary sending -- --nocapture` runs more, and prints
//! how many copies were sent.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use restante::clock::Clock;
use restante::config::{DatabaseUrl, Sending};
use restante::db::Database;
use restante::model::{OutgoingFilter, OutgoingId, OutgoingStatus};
use restante::service::{Outbox, Service};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use testkit::http;
use testkit::server::{Server, serve};
use testkit::smtp::read_message;

const KEY: &str = "rst_live_0123456789abcdef";
const KILLS: usize = 3;
/// The server is killed after at most this many SMTP commands at the relay, about ten messages.
const STEPS: usize = 50;
/// Messages that are sent in one round.
const MESSAGES: usize = 8;

#[test]
fn a_killed_worker_loses_nothing_and_repeats_at_most_what_was_under_way() {
    let kills = std::env::var("RESTANTE_KILL_ROUNDS").map_or(KILLS, |kills| kills.parse().unwrap());
    let data_dir = tempfile::tempdir().unwrap();
    let (relay, steps) = Relay::start();
    let mut acknowledged = Vec::new();
    for _ in 0..kills {
        relay.round.fetch_add(1, Ordering::SeqCst);
        acknowledged.extend(send_until_killed(data_dir.path(), relay.address, &steps));
    }
    relay.round.fetch_add(1, Ordering::SeqCst);
    let sent = tokio::runtime::Runtime::new()
        .unwrap()
        .block_on(send_the_rest(data_dir.path(), relay.address));

    let taken = relay.taken.lock().unwrap();
    let mut extra = 0;
    for id in &acknowledged {
        let message_id = sent
            .get(id)
            .unwrap_or_else(|| panic!("{id} was acknowledged and is not sent"));
        let rounds: Vec<usize> = taken
            .iter()
            .filter(|(_, taken)| taken == message_id)
            .map(|(round, _)| *round)
            .collect();
        assert!(!rounds.is_empty(), "{id} is lost");
        // A second copy is allowed only after a kill.
        assert!(
            rounds.windows(2).all(|pair| pair[0] < pair[1]),
            "{id} came twice without a kill: {rounds:?}"
        );
        extra += rounds.len() - 1;
    }
    assert!(!acknowledged.is_empty());
    println!(
        "{kills} kills, {} messages acknowledged, none lost, {extra} additional copies",
        acknowledged.len()
    );
}

/// Sends through a server until it is killed while it sends. Returns the acknowledged messages.
fn send_until_killed(data_dir: &Path, relay: SocketAddr, steps: &Receiver<()>) -> Vec<OutgoingId> {
    // Events so far belong to the previous round.
    while steps.try_recv().is_ok() {}
    let flags = [
        "--api-key",
        KEY,
        "--inbox-lifetime",
        "24h",
        "--relay",
        &format!("smtp://{relay}"),
    ];
    let server = Server::spawn(serve(data_dir).args(flags));
    let url = server.url.clone();
    let sending = thread::spawn(move || send(&url));
    let first = steps.recv_timeout(Duration::from_secs(60));
    first.expect("nothing is sent");
    for _ in 1..rand::random_range(1..=STEPS) {
        // When everything has been sent, the server cannot be interrupted.
        if steps.recv_timeout(Duration::from_millis(500)).is_err() {
            break;
        }
    }
    server.kill();
    sending.join().unwrap()
}

/// Sends until there is no answer.
fn send(url: &str) -> Vec<OutgoingId> {
    let post = |path: &str, body: &Value| -> Option<Value> {
        let request =
            http::post(format!("{url}{path}")).header("Authorization", format!("Bearer {KEY}"));
        let answer = request.send(body.to_string()).ok()?;
        serde_json::from_str(answer.body()).ok()
    };
    let Some(inbox) = post("/v1/inboxes", &json!({})) else {
        return Vec::new();
    };
    let path = format!("/v1/inboxes/{}/messages", inbox["id"].as_str().unwrap());
    let body = |number| json!({"to": format!("a@d{}.example", number % 3), "subject": "Welcome", "text": "Hello"});
    let answers = (0..MESSAGES).map_while(|number| post(&path, &body(number)));
    answers
        .map(|answer| OutgoingId::parse(answer["id"].as_str().unwrap()).unwrap())
        .collect()
}

/// Sends the rest, with a manual clock. Returns the Message-IDs of all messages that were sent.
async fn send_the_rest(data_dir: &Path, relay: SocketAddr) -> HashMap<OutgoingId, String> {
    let clock = Clock::manual(Clock::system().now());
    let database = Database::open(&DatabaseUrl::Sqlite(data_dir.join("restante.db")))
        .await
        .unwrap();
    let service = Service::start(database, clock.clone(), testkit::options(1))
        .await
        .unwrap();
    let relay = Some(format!("smtp://{relay}").parse().unwrap());
    let settings = Sending {
        relay,
        ..Sending::default()
    };
    let sender = restante::sender::Sender::new(&settings, service.clone()).unwrap();
    let stop = CancellationToken::new();
    let worker = tokio::spawn(sender.run(stop.clone(), Duration::from_secs(10)));
    let guard = Duration::from_secs(60);
    tokio::time::timeout(guard, empty_queue(&service.outbox(), &clock))
        .await
        .expect("the queue does not empty");
    stop.cancel();
    worker.await.unwrap();
    let items = service
        .outbox()
        .list(&OutgoingFilter::default(), u32::MAX)
        .await
        .unwrap();
    let sent = items
        .into_iter()
        .filter(|item| item.status == OutgoingStatus::Sent);
    sent.map(|item| (item.id, item.message_id)).collect()
}

/// Advances the clock when there is nothing to do.
async fn empty_queue(outbox: &Outbox, clock: &Clock) {
    let filter = OutgoingFilter {
        status: Some(OutgoingStatus::Queued),
        ..OutgoingFilter::default()
    };
    let changes = outbox.changes();
    loop {
        let now = clock.now();
        let queued = outbox.list(&filter, u32::MAX).await.unwrap();
        if queued.is_empty() {
            return;
        }
        // A message that a killed server was sending is leased until the lease expires.
        let at_work = |until: restante::model::Timestamp| until > now;
        let mine = queued
            .iter()
            .any(|item| item.leased_until.is_some_and(at_work) && item.attempted_at >= Some(now));
        let next = queued
            .iter()
            .filter_map(|item| item.due_at.max(item.leased_until))
            .min();
        match next.filter(|next| !mine && *next > now) {
            Some(next) => clock.advance(next.since(now)),
            None => changes.notified().await,
        }
    }
}

/// An SMTP server that accepts everything, and records the round in which each message arrived.
struct Relay {
    address: SocketAddr,
    round: Arc<AtomicUsize>,
    taken: Arc<Mutex<Vec<(usize, String)>>>,
}

impl Relay {
    /// Each command of a connection is announced.
    fn start() -> (Self, Receiver<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (announce, steps) = channel();
        let relay = Self {
            address: listener.local_addr().unwrap(),
            round: Arc::default(),
            taken: Arc::default(),
        };
        let round = Arc::clone(&relay.round);
        let taken = Arc::clone(&relay.taken);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let taken = Arc::clone(&taken);
                let announce = announce.clone();
                let round = round.load(Ordering::SeqCst);
                // A kill has closed this connection.
                thread::spawn(move || drop(converse(stream.unwrap(), round, &taken, &announce)));
            }
        });
        (relay, steps)
    }
}

fn converse(
    mut stream: TcpStream,
    round: usize,
    taken: &Mutex<Vec<(usize, String)>>,
    announce: &Sender<()>,
) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let mut reply = "220 ready\r\n";
    loop {
        // Not counted after the end of the test.
        let _ = announce.send(());
        stream.write_all(reply.as_bytes())?;
        let Some(line) = lines.next().transpose()? else {
            return Ok(());
        };
        reply = "250 ok\r\n";
        if line == "DATA" {
            stream.write_all(b"354 go on\r\n")?;
            let Some(message_id) = read_message(&mut lines)? else {
                return Ok(());
            };
            taken.lock().unwrap().push((round, message_id));
        }
    }
}
