//! Large messages over a slow network: each is stored on its own, so that none waits for all of them.

use std::time::Instant;

use futures_util::future::join_all;
use rand::Rng;
use restante::clock::Clock;
use restante::model::EmailAddress;
use restante::service::Incoming;

use super::bed::{mail, scale, service};
use super::proxy::{Link, Proxy};
use testkit::postgres::TestDatabase;

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
    let start = Instant::now();
    let deliver = async |number| {
        node.deliver(large(number)).await.unwrap();
        start.elapsed()
    };
    let mut times = join_all((0..MESSAGES).map(deliver)).await;
    times.sort_unstable();
    println!("{MESSAGES} messages of {size} bytes at {speed} bytes per second: {times:?}");
    assert!(times[0] * 2 < times[MESSAGES - 1], "the first did not wait for all: {times:?}");
    assert_eq!(database.run("SELECT count(*)::text FROM messages"), [MESSAGES.to_string()]);
    node.check_health().await.unwrap();
}
