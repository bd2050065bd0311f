//! While PostgreSQL is unavailable, every client gets an error. Afterwards, the nodes recover
//! automatically.

use std::thread;
use std::time::{Duration, Instant};

use super::node::{Node, Sender, eventually};
use super::proxy::{Manner, Proxy};
use testkit::postgres::{Cluster, TestDatabase};

#[test]
fn a_service_without_its_database_says_so_and_recovers() {
    let cluster = Cluster::start(&[]);
    let database = TestDatabase::create_in(cluster.url.clone());
    let nodes = [(); 2].map(|()| Node::start(&database.text()));
    let [one, two] = nodes.each_ref().map(Node::client);
    let inbox = one.create_inbox();
    let parked = thread::spawn({
        let two = two.clone();
        let inbox = inbox.clone();
        move || two.wait(&inbox, None, Duration::from_secs(60)).unwrap()
    });
    eventually("the wait is parked", || database.named_locks(true) == 1);

    cluster.kill();
    let mut sender = Sender::new(nodes[0].smtp());
    let refused = sender.send(&inbox, "while it is unavailable").unwrap();
    assert!(refused.starts_with("451"), "{refused}");
    let unhealthy = (500, Some("unhealthy: the database is unavailable"));
    for (path, expected) in [
        ("/v1/health", unhealthy),
        ("/v1/inboxes/nobody", (503, Some("database unavailable"))),
    ] {
        let (status, body) = one.get(path);
        assert_eq!((status, body["error"].as_str()), expected, "{path}");
    }
    assert!(!parked.is_finished());

    cluster.resume();
    eventually("both nodes are healthy", || {
        one.get("/v1/health").0 == 200 && two.get("/v1/health").0 == 200
    });
    eventually("mail is taken again", || {
        sender
            .send(&inbox, "it is back")
            .unwrap()
            .starts_with("250")
    });
    let (status, message) = parked.join().unwrap();
    assert_eq!(
        (status, message["subject"].as_str()),
        (200, Some("it is back"))
    );
}

/// A restart on a busy machine may take longer than a node waits, so one of several has to be
/// bridged.
#[test]
fn a_short_restart_delays_a_request_and_mail() {
    const RESTARTS: usize = 5;
    let cluster = Cluster::start(&[]);
    let database = TestDatabase::create_in(cluster.url.clone());
    let node = Node::start(&database.text());
    let inbox = node.client().create_inbox();
    let is_bridged = (0..RESTARTS).any(|_| {
        cluster.stop();
        let (created, sent) = thread::scope(|scope| {
            let created = scope.spawn(|| {
                node.client()
                    .try_post("/v1/inboxes", &serde_json::json!({}))
                    .unwrap()
            });
            let sent = scope.spawn(|| {
                Sender::new(node.smtp())
                    .send(&inbox, "during the restart")
                    .unwrap()
            });
            thread::sleep(Duration::from_millis(500));
            cluster.resume();
            (created.join().unwrap(), sent.join().unwrap())
        });
        println!("{} {sent}", created.0);
        created.0 == 201 && sent.starts_with("250")
    });
    assert!(is_bridged);
}

/// The node's connections are silent, as with a firewall that drops all packets.
#[tokio::test(flavor = "multi_thread")]
async fn while_the_database_is_silent_every_request_is_answered_in_time() {
    let database = TestDatabase::create();
    let proxy = Proxy::start(&database).await;
    let asking = tokio::task::spawn_blocking(move || {
        let node = Node::start(&proxy.url);
        let client = node.client();
        let wait = format!(
            "/v1/inboxes/{}/messages/wait?timeout=1000",
            client.create_inbox()
        );
        proxy.behave(Manner::Silent);
        // Without these limits, the health check would end after 5 s at the earliest, and the wait
        // after 8 s.
        for (path, seconds) in [("/v1/health", 4), (&wait, 8), ("/v1/health", 4)] {
            let start = Instant::now();
            let (status, _) = client.get(path);
            assert!([408, 500, 503].contains(&status), "{path}: {status}");
            assert!(
                start.elapsed() < Duration::from_secs(seconds),
                "{path} took {:?}",
                start.elapsed()
            );
        }
        proxy.behave(Manner::Plain);
        eventually("the node is healthy", || client.get("/v1/health").0 == 200);
    });
    asking.await.unwrap();
}
