//! PostgreSQL is restarted while clients wait, list and create: nobody gets a 500, and no wait is
//! lost.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use restante::clock::Clock;
use restante::db::Database;
use restante::service::Projects;
use serde_json::json;

use super::bed::scale;
use super::node::{Answer, Client, Node, Sender, eventually};
use testkit::postgres::{Cluster, TestDatabase};

/// Each key may have four open waits.
const KEYS: usize = 10;
const WAITS_PER_KEY: usize = 4;

/// How often each kind of request got each status.
type Statuses = Mutex<BTreeMap<(&'static str, u16), usize>>;

#[test]
fn restarts_of_the_database_cause_no_internal_error_and_lose_no_wait() {
    let restarts = scale("RESTANTE_TEST_RESTARTS", 3);
    let down = scale("RESTANTE_TEST_DOWN_MILLISECONDS", 0);
    let cluster = Cluster::start(&[]);
    let database = TestDatabase::create_in(cluster.url.clone());
    let nodes = [(); 2].map(|()| Node::start(&database.text()));
    let parked = park(&database, &nodes);
    eventually("the waits are parked", || {
        database.named_locks(true) == KEYS * WAITS_PER_KEY
    });
    let empty = nodes[0].client().create_inbox();
    let waits = |node: &Node| {
        node.client()
            .wait(&empty, None, Duration::from_millis(1))
            .is_ok_and(|(status, _)| status == 408)
    };

    let statuses = Statuses::default();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for node in &nodes {
            for request in ["wait", "list", "create"] {
                let client = node.client();
                let statuses = &statuses;
                let is_over = &is_over;
                scope.spawn(move || repeat(&client, request, statuses, is_over));
            }
        }
        let restarted = scope.spawn(|| {
            for number in 0..restarts {
                let end = if number % 2 == 0 {
                    Cluster::stop
                } else {
                    Cluster::kill
                };
                end(&cluster);
                thread::sleep(Duration::from_millis(down));
                cluster.resume();
                eventually("both nodes serve waits again", || nodes.iter().all(waits));
            }
        });
        let restarted = restarted.join();
        is_over.store(true, Ordering::SeqCst);
        restarted.unwrap();
    });
    let statuses = statuses.into_inner().unwrap();
    println!("{restarts} restarts: {statuses:?}");
    assert!(
        !statuses.keys().any(|(_, status)| *status == 500),
        "{statuses:?}"
    );
    assert!(
        [("wait", 408), ("list", 200), ("create", 201)]
            .iter()
            .all(|works| statuses.contains_key(works))
    );
    let mut sender = Sender::new(nodes[0].smtp());
    for (inbox, wait) in parked {
        eventually("mail is taken", || {
            sender
                .send(&inbox, &inbox)
                .is_ok_and(|reply| reply.starts_with("250"))
        });
        let (status, message) = wait.join().unwrap();
        assert_eq!(
            (status, message["subject"].as_str()),
            (200, Some(inbox.as_str()))
        );
    }
}

/// Opens the waits of all keys, half of them at each node. Returns each with its inbox.
fn park(database: &TestDatabase, nodes: &[Node; 2]) -> Vec<(String, JoinHandle<Answer>)> {
    let mut parked = Vec::new();
    for key in keys(database) {
        for number in 0..WAITS_PER_KEY {
            let client = nodes[number % 2].client().with_key(&key);
            let inbox = client.create_inbox();
            let waited = inbox.clone();
            let wait = move || {
                client
                    .wait(&waited, None, Duration::from_secs(240))
                    .unwrap()
            };
            parked.push((inbox, thread::spawn(wait)));
        }
    }
    parked
}

#[tokio::main(flavor = "current_thread")]
async fn keys(database: &TestDatabase) -> Vec<String> {
    let database = Database::open(&database.url()).await.unwrap();
    let projects = Projects::open(database, Clock::system()).await.unwrap();
    let mut keys = Vec::new();
    for number in 0..KEYS {
        keys.push(
            projects
                .create(&format!("project-{number}"))
                .await
                .unwrap()
                .as_str()
                .to_owned(),
        );
    }
    keys
}

/// Sends one kind of request until the restarts are over. A connection that breaks has no status.
fn repeat(client: &Client, request: &'static str, statuses: &Statuses, is_over: &AtomicBool) {
    let mut inbox = None::<String>;
    while !is_over.load(Ordering::SeqCst) {
        let answer = match (request, &inbox) {
            ("wait", Some(id)) => client.wait(id, None, Duration::from_millis(100)),
            ("list", Some(id)) => client.try_get(&format!("/v1/inboxes/{id}/messages")),
            _ => client.try_post("/v1/inboxes", &json!({})),
        };
        let Ok((status, body)) = answer else { continue };
        if status == 201 {
            inbox = body["id"].as_str().map(str::to_owned);
        }
        *statuses
            .lock()
            .unwrap()
            .entry((request, status))
            .or_default() += 1;
    }
}
