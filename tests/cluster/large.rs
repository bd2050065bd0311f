//! Large messages over a slow network: each is stored on its own, so that none waits for all of
//! them.

use std::fmt::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::{join, join_all};
use rand::Rng;
use restante::clock::Clock;
use restante::model::EmailAddress;
use restante::service::Incoming;

use super::bed::{client, mail, scale, service};
use super::node::Node;
use super::proxy::{Link, Proxy};
use testkit::postgres::TestDatabase;
use testkit::smtp::Smtp;

const MESSAGES: usize = 6;
/// Most large messages have attachments: their text is short.
const HEADER: &str = "Content-Type: application/octet-stream\r\n";

/// A database behind a slow network, and the size of a message.
struct Setting {
    size: usize,
    /// Bytes per second.
    speed: u32,
    database: TestDatabase,
    proxy: Proxy,
}

impl Setting {
    async fn new() -> Self {
        let size = usize::try_from(scale("RESTANTE_TEST_MESSAGE_MIB", 2)).unwrap() << 20;
        let speed = u32::try_from(scale("RESTANTE_TEST_LINK_MIB", 8)).unwrap() << 20;
        let database = TestDatabase::create();
        let proxy = Proxy::start_with(&database, Link::with_speed(speed)).await;
        Self {
            size,
            speed,
            database,
            proxy,
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn large_messages_are_stored_one_after_another() {
    let Setting {
        size,
        speed,
        database,
        proxy,
    } = Setting::new().await;
    let node = service(&proxy.url, Clock::system()).await;
    let mut noise = vec![0; size];
    rand::rng().fill_bytes(&mut noise);
    let large = |number: usize| Incoming {
        raw: [HEADER.as_bytes(), b"\r\n", &noise].concat(),
        recipients: vec![
            EmailAddress::parse(&format!("inbox-{number}@restante.example.com")).unwrap(),
        ],
        ..mail("a", "")
    };
    let start = Instant::now();
    let is_over = AtomicBool::new(false);
    let deliveries = async {
        let deliver = async |number| {
            node.deliver(large(number)).await.unwrap();
            start.elapsed()
        };
        let times = join_all((0..MESSAGES).map(deliver)).await;
        is_over.store(true, Ordering::SeqCst);
        times
    };
    let (times, at_once) = join(deliveries, transactions_at_once(&database, &is_over)).await;
    println!("{MESSAGES} messages of {size} bytes at {speed} bytes per second: {times:?}");
    // Another task of the node may be in a transaction too.
    assert!(at_once <= 2, "{at_once} transactions at the same time");
    assert_eq!(
        database.run("SELECT count(DISTINCT xmin::text)::text FROM messages"),
        [MESSAGES.to_string()]
    );
    assert_eq!(
        database.run("SELECT count(*)::text FROM messages"),
        [MESSAGES.to_string()]
    );
    node.check_health().await.unwrap();
}

/// As their senders see it: nobody has to send such a message a second time.
#[tokio::test(flavor = "multi_thread")]
async fn large_messages_are_acknowledged_at_the_first_attempt() {
    let Setting {
        size,
        speed,
        database,
        proxy,
    } = Setting::new().await;
    let url = proxy.url.clone();
    let node = tokio::task::spawn_blocking(move || Node::start(&url))
        .await
        .unwrap();
    let body = hexadecimal(size);
    let start = Instant::now();
    let send = |number: usize| {
        let smtp = node.smtp();
        let body = body.clone();
        tokio::task::spawn_blocking(move || {
            let mut connection = Smtp::connect(&smtp).unwrap();
            connection.say("MAIL FROM:<app@example.com>").unwrap();
            connection
                .say(&format!("RCPT TO:<inbox-{number}@restante.example.com>"))
                .unwrap();
            connection.say("DATA").unwrap();
            let reply = connection.say(&format!("{HEADER}\r\n{body}.")).unwrap();
            (reply, start.elapsed())
        })
    };
    let replies: Vec<_> = join_all((0..MESSAGES).map(send))
        .await
        .into_iter()
        .map(Result::unwrap)
        .collect();
    println!("{MESSAGES} messages of {size} bytes at {speed} bytes per second: {replies:?}");
    assert!(
        replies.iter().all(|(reply, _)| reply.starts_with("250")),
        "{replies:?}"
    );
    assert_eq!(
        database.run("SELECT count(*)::text FROM messages"),
        [MESSAGES.to_string()]
    );
}

/// Lines of random digits, which cannot be compressed by much.
fn hexadecimal(size: usize) -> String {
    let mut noise = vec![0; size / 2];
    rand::rng().fill_bytes(&mut noise);
    noise.chunks(32).fold(
        String::with_capacity(size + size / 16),
        |mut lines, line| {
            line.iter()
                .for_each(|byte| write!(lines, "{byte:02x}").unwrap());
            lines + "\r\n"
        },
    )
}

/// The maximum number of transactions in which the server waited for a statement at the same time.
async fn transactions_at_once(database: &TestDatabase, is_over: &AtomicBool) -> i64 {
    let administrator = client(database).await;
    let waiting = "SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND state = 'idle in transaction'";
    let mut most = 0;
    while !is_over.load(Ordering::SeqCst) {
        most = most.max(administrator.query_one(waiting, &[]).await.unwrap().get(0));
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    most
}
