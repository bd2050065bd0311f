//! Large messages over a slow network: each is stored on its own, so that none waits for all of them.

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

#[tokio::test(flavor = "multi_thread")]
async fn large_messages_are_stored_one_after_another() {
    let size = usize::try_from(scale("RESTANTE_TEST_MESSAGE_MIB", 2)).unwrap() << 20;
    let speed = u32::try_from(scale("RESTANTE_TEST_LINK_MIB", 8)).unwrap() << 20;
    let database = TestDatabase::create();
    let proxy = Proxy::start_with(&database, Link::with_speed(speed)).await;
    let node = service(&proxy.url, Clock::system()).await;
    let mut noise = vec![0; size];
    rand::rng().fill_bytes(&mut noise);
    let large = |number: usize| Incoming {
        raw: [format!("Subject: {number}\r\n\r\n").as_bytes(), &noise].concat(),
        recipients: vec![EmailAddress::parse(&format!("inbox-{number}@restante.example.com")).unwrap()],
        ..mail("a", "")
    };
    let (start, is_over) = (Instant::now(), AtomicBool::new(false));
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
    assert_eq!(database.run("SELECT count(DISTINCT xmin::text)::text FROM messages"), [MESSAGES.to_string()]);
    assert_eq!(database.run("SELECT count(*)::text FROM messages"), [MESSAGES.to_string()]);
    node.check_health().await.unwrap();
}

/// As their senders see it: nobody has to send such a message a second time.
#[tokio::test(flavor = "multi_thread")]
async fn large_messages_are_acknowledged_at_the_first_attempt() {
    let size = usize::try_from(scale("RESTANTE_TEST_MESSAGE_MIB", 2)).unwrap() << 20;
    let speed = u32::try_from(scale("RESTANTE_TEST_LINK_MIB", 8)).unwrap() << 20;
    let database = TestDatabase::create();
    let proxy = Proxy::start_with(&database, Link::with_speed(speed)).await;
    let url = proxy.url.clone();
    let node = tokio::task::spawn_blocking(move || Node::start(&url)).await.unwrap();
    let mut noise = vec![0; size / 2];
    rand::rng().fill_bytes(&mut noise);
    // In lines of 64 characters, which cannot be compressed by much.
    let text: Vec<String> =
        noise.chunks(32).map(|line| line.iter().map(|byte| format!("{byte:02x}")).collect()).collect();
    let (text, start) = (text.join("\r\n"), Instant::now());
    let send = |number: usize| {
        let (smtp, text) = (node.smtp(), text.clone());
        tokio::task::spawn_blocking(move || {
            let to = format!("inbox-{number}@restante.example.com");
            let reply = Smtp::connect(&smtp).unwrap().send(&to, "large", &text).unwrap();
            (reply, start.elapsed())
        })
    };
    let replies: Vec<_> = join_all((0..MESSAGES).map(send)).await.into_iter().map(Result::unwrap).collect();
    println!("{MESSAGES} messages of {size} bytes at {speed} bytes per second: {replies:?}");
    assert!(replies.iter().all(|(reply, _)| reply.starts_with("250")), "{replies:?}");
    assert_eq!(database.run("SELECT count(*)::text FROM messages"), [MESSAGES.to_string()]);
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
