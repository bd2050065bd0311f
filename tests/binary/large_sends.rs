//! The memory of the mail worker while servers accept large messages and do not read them.
//!
//! By default there are few messages;
//! `RESTANTE_TEST_LARGE_SENDS=500 cargo test --test binary large_sends -- --nocapture` sends more.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use restante::clock::Clock;
use restante::config::DatabaseUrl;
use restante::db::Database;
use restante::model::{ApiKey, EmailAddress, InboxId, OutgoingId};
use restante::service::{QUEUE_LIFETIME, Service};
use restante::store::{NewOutgoing, Store};

use testkit::server::{Server, serve};

const MESSAGES: usize = 10;
/// Attempts of one project that run at the same time.
const ATTEMPTS: usize = 50;
const MIB: usize = 1024 * 1024;
/// The process needs about 50 MiB without mail.
const PEAK_MIB: usize = 128;

#[test]
fn large_messages_that_are_being_sent_are_not_in_memory() {
    let messages = std::env::var("RESTANTE_TEST_LARGE_SENDS")
        .map_or(MESSAGES, |messages| messages.parse().unwrap());
    let data_dir = tempfile::tempdir().unwrap();
    tokio::runtime::Runtime::new()
        .unwrap()
        .block_on(fill_queue(data_dir.path(), messages));
    let (relay, transfers) = start_relay();
    let server = Server::spawn(serve(data_dir.path()).args(["--relay", &relay]));
    let transfers: Vec<TcpStream> = (0..messages.min(ATTEMPTS))
        .map(|_| transfers.recv_timeout(Duration::from_secs(60)).unwrap())
        .collect();
    let peak = server.peak_kib() / 1024;
    println!(
        "{peak} MiB with {messages} messages due and {} being sent",
        transfers.len()
    );
    assert!(
        peak < PEAK_MIB,
        "{peak} MiB while {} messages of 9 MiB are being sent",
        transfers.len()
    );
}

/// Queues large messages to different domains.
async fn fill_queue(data_dir: &Path, messages: usize) {
    let url = DatabaseUrl::Sqlite(data_dir.join("restante.db"));
    let database = Database::open(&url).await.unwrap();
    let service = Service::start(database, Clock::system(), testkit::options(1))
        .await
        .unwrap();
    let key = ApiKey::generate();
    service
        .projects()
        .prepare_default(Some(&key))
        .await
        .unwrap();
    let project = service
        .authenticate(key.as_str())
        .await
        .unwrap()
        .unwrap()
        .project;
    let store = Store::open(Database::open(&url).await.unwrap())
        .await
        .unwrap();
    let raw = format!(
        "Subject: Large\r\n\r\n{}",
        "0123456789abcd\r\n".repeat(9 * MIB / 16)
    );
    let now = Clock::system().now();
    for number in 0..messages {
        let recipient = EmailAddress::parse(&format!("a@d{number}.example")).unwrap();
        let inbox = InboxId::parse("sender").unwrap();
        let subject = "Large".to_owned();
        let item = NewOutgoing::new(
            OutgoingId::generate(),
            project,
            inbox,
            recipient.to_string(),
            subject,
            format!("<{number}@a>"),
        );
        store
            .add_outgoing(&item.queued(raw.as_bytes(), now.after(QUEUE_LIFETIME)), now)
            .await
            .unwrap();
    }
    store.close().await;
    service.stop().await;
    service.close().await;
}

/// A relay that reads nothing after the beginning of a message: its URL, and the connections that
/// are so far.
fn start_relay() -> (String, Receiver<TcpStream>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("smtp://{}", listener.local_addr().unwrap());
    let (reached, transfers) = channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let stream = stream.unwrap();
            let reached = reached.clone();
            thread::spawn(move || {
                // The test has ended if this fails.
                let _ = until_data(&stream).map(|()| reached.send(stream));
            });
        }
    });
    (url, transfers)
}

fn until_data(mut stream: &TcpStream) -> std::io::Result<()> {
    stream.write_all(b"220 relay\r\n")?;
    let mut lines = BufReader::with_capacity(64, stream.try_clone()?);
    let mut line = String::new();
    while !line.starts_with("DATA") {
        line.clear();
        lines.read_line(&mut line)?;
        stream.write_all(if line.starts_with("DATA") {
            b"354 go on\r\n"
        } else {
            b"250 ok\r\n"
        })?;
    }
    line.clear();
    lines.read_line(&mut line).map(drop)
}
