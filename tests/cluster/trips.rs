//! How many round trips to PostgreSQL a message and a list cost: with a database on another host,
//! they are the time it takes.

use std::time::{Duration, Instant};

use axum::body::Body;
use restante::clock::Clock;
use restante::http::router;
use restante::model::ApiKey;
use restante::service::Service;

use super::bed::{mail, service};
use super::proxy::{Link, Proxy};
use testkit::postgres::TestDatabase;
use testkit::{answer, app, request};

/// The control connection is probed in between, so the lowest of several counts is right.
const TRIES: usize = 8;

async fn trips(proxy: &Proxy, node: &Service, inbox: impl Fn(usize) -> String) -> usize {
    let mut fewest = usize::MAX;
    for number in 0..TRIES {
        let before = proxy.flights();
        node.deliver(mail(&inbox(number), "counted")).await.unwrap();
        fewest = fewest.min(proxy.flights() - before);
    }
    fewest
}

/// One thread: the statements of a flight are queued before the first of them is sent.
#[tokio::test]
async fn a_message_costs_two_round_trips_to_a_known_a_new_and_a_reopened_inbox() {
    let database = TestDatabase::create();
    let proxy = Proxy::start(&database).await;
    let node = service(&proxy.url, Clock::system()).await;
    let known = trips(&proxy, &node, |_| "a".to_owned()).await;
    let new = trips(&proxy, &node, |number| format!("new-{number}")).await;
    database.run("UPDATE inboxes SET closed = 1");
    let reopened = trips(&proxy, &node, |number| format!("new-{number}")).await;
    assert_eq!((known, new, reopened), (2, 2, 2));
}

/// One finds the inbox, and one reads the messages with their contents. A key that is not cached
/// costs another.
#[tokio::test]
async fn a_list_costs_two_round_trips() {
    let database = TestDatabase::create();
    let proxy = Proxy::start(&database).await;
    let node = service(&proxy.url, Clock::system()).await;
    let key = ApiKey::generate();
    node.projects().prepare_default(Some(&key)).await.unwrap();
    let router = router(app(&node));
    let mut fewest = Vec::new();
    for messages in 1..5 {
        node.deliver(mail("a", "counted")).await.unwrap();
        let mut trips = usize::MAX;
        for _ in 0..TRIES {
            let list = request(&key, "GET", "/v1/inboxes/a/messages", Body::empty());
            let before = proxy.flights();
            let listed = answer(router.clone(), list).await;
            trips = trips.min(proxy.flights() - before);
            assert_eq!(
                (
                    listed.status,
                    listed.body.matches("\"subject\":\"counted\"").count()
                ),
                (200, messages)
            );
        }
        fewest.push(trips);
    }
    assert_eq!(fewest, [2; 4]);
}

/// A round trip takes four milliseconds. The time is printed; the number of round trips is what
/// counts.
#[tokio::test]
async fn a_message_to_a_distant_database_takes_two_round_trips() {
    let database = TestDatabase::create();
    let proxy = Proxy::start_with(&database, Link::delayed_by(Duration::from_millis(4))).await;
    let node = service(&proxy.url, Clock::system()).await;
    for inbox in ["a", "new"] {
        let mut fewest = usize::MAX;
        let mut times = Vec::new();
        for number in 0..4 * TRIES {
            let inbox = if inbox == "new" {
                format!("new-{number}")
            } else {
                inbox.to_owned()
            };
            let before = proxy.flights();
            let start = Instant::now();
            node.deliver(mail(&inbox, "counted")).await.unwrap();
            times.push(start.elapsed());
            fewest = fewest.min(proxy.flights() - before);
        }
        times.sort_unstable();
        let fast = times[times.len() / 10];
        let median = times[times.len() / 2];
        println!(
            "{inbox}: {fewest} round trips of 4 ms, 10th percentile {fast:?}, median {median:?}"
        );
        assert_eq!(fewest, 2, "{inbox}");
    }
}
