//! Several nodes that start at once for the first time, and keys that stop working on all nodes.

use std::thread;
use std::time::{Duration, Instant};

use super::node::{Node, eventually};
use testkit::postgres::TestDatabase;
use testkit::server::{command, printed};

/// After 2 s, a replaced key works on no node. The rest is for a busy machine.
const STOPS_WITHIN: Duration = Duration::from_secs(15);

#[test]
fn nodes_that_start_at_once_migrate_once_and_make_one_key() {
    let database = TestDatabase::create();
    let url = database.text();
    let nodes: Vec<Node> = thread::scope(|scope| {
        let starting: Vec<_> = (0..3)
            .map(|_| scope.spawn(|| Node::start_with(&url, &[])))
            .collect();
        starting
            .into_iter()
            .map(|node| node.join().unwrap())
            .collect()
    });
    let keys: Vec<&str> = nodes
        .iter()
        .filter_map(|node| node.server.made_key())
        .collect();
    let [key] = keys[..] else {
        panic!("one first start makes one key: {keys:?}")
    };
    for node in &nodes {
        let (status, error) = node
            .client()
            .try_get_with(key, "/v1/inboxes/nobody")
            .unwrap();
        assert_eq!(
            (status, error["error"].as_str()),
            (404, Some("inbox not found"))
        );
    }
    assert_eq!(database.run("SELECT count(*)::text FROM projects"), ["1"]);
    assert_eq!(
        database.run("SELECT count(*)::text FROM schema_version"),
        ["1"]
    );
}

#[test]
fn a_rotated_key_stops_on_every_node_within_five_seconds() {
    let database = TestDatabase::create();
    let nodes = [Node::start(&database.text()), Node::start(&database.text())];
    let clients = nodes.each_ref().map(Node::client);
    let manage = |arguments: &[&str]| {
        printed(
            command(["project"])
                .args(arguments)
                .args(["--database", &database.text()]),
        )
    };
    let key = manage(&["create", "shop"]);
    let works = |key: &str, index: usize| {
        clients[index]
            .try_get_with(key, "/v1/inboxes/nobody")
            .unwrap()
            .0
            == 404
    };
    assert!(works(&key, 0) && works(&key, 1));
    let new = manage(&["rotate-key", "shop"]);
    let rotated = Instant::now();
    eventually("the old key stops", || !works(&key, 0) && !works(&key, 1));
    assert!(rotated.elapsed() < STOPS_WITHIN, "{:?}", rotated.elapsed());
    assert!(works(&new, 0) && works(&new, 1));
}
