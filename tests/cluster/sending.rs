//! Outgoing mail while each node is killed as it sends, every connection to PostgreSQL is closed,
//! and PostgreSQL itself crashes. Every accepted message (202) is sent, by another node if its own
//! was killed. A message is sent twice only after a kill or the crash.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, RwLock};
use std::thread;

use serde_json::json;

use super::node::{Client, KEY, Node, eventually};
use super::relay::{Relay, Taken};
use testkit::postgres::{Cluster, TestDatabase};

const WRITERS: usize = 4;
/// Messages that are sent between two faults.
const PEACE: usize = 150;
/// How many queued messages the writers may be ahead.
const BACKLOG: usize = 200;

/// The installation, and the record of what happened.
struct World {
    relay: Relay,
    nodes: [RwLock<Option<Node>>; 3],
    inbox: String,
    /// The ids of accepted messages (202).
    acknowledged: Mutex<HashSet<String>>,
    calm: AtomicBool,
    // Dropped last, and the cluster after its database.
    database: TestDatabase,
    cluster: Cluster,
}

#[test]
fn an_accepted_message_is_sent_even_if_processes_die() {
    let cluster = Cluster::start(&["fsync = on"]);
    let database = TestDatabase::create_in(cluster.url.clone());
    let relay = Relay::start();
    let nodes = [0, 1, 2].map(|index| RwLock::new(Some(start(&database, &relay, index))));
    let inbox = nodes[0]
        .read()
        .unwrap()
        .as_ref()
        .unwrap()
        .client()
        .create_inbox();
    let (acknowledged, calm) = Default::default();
    let world = World {
        relay,
        nodes,
        inbox,
        acknowledged,
        calm,
        database,
        cluster,
    };
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            let world = &world;
            scope.spawn(move || world.write(writer));
        }
        // Also if the test fails, so that the writers end.
        let _calm = Calm(&world.calm);
        world.let_die();
    });
    world.finish();
    let copies = world.check();
    println!(
        "{} accepted, none lost, {copies} additional copies",
        world.acknowledged.lock().unwrap().len()
    );
}

fn start(database: &TestDatabase, relay: &Relay, index: usize) -> Node {
    let flags = [
        "--api-key",
        KEY,
        "--relay",
        &relay.url(),
        "--smtp-hello",
        &name(index),
    ];
    Node::start_with(
        &format!("{}&application_name={}", database.text(), name(index)),
        &flags,
    )
}

/// The name of a node at the relay and in the database.
fn name(index: usize) -> String {
    format!("node{index}.example")
}

struct Calm<'a>(&'a AtomicBool);

impl Drop for Calm<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl World {
    fn let_die(&self) {
        self.peace();
        for index in 0..self.nodes.len() {
            self.let_a_sender_die(index);
            self.peace();
        }
        self.database.end_connections();
        self.peace();
        self.cluster.kill();
        // A node may not be able to record that it has sent a message.
        self.relay.count_death();
        self.cluster.resume();
        self.peace();
    }

    /// Kills a node whose message was accepted before it received the reply: another node sends it
    /// again.
    fn let_a_sender_die(&self, index: usize) {
        let held = self.relay.hold(&name(index));
        self.kill(index);
        self.relay.count_death();
        self.let_leases_end(&format!("message_id = '{}'", held.message_id));
        let copy = |taken: &Taken| taken.message_id == held.message_id && taken.node != held.node;
        drop(self.relay.wait_until(|state| state.taken.iter().any(copy)));
        *self.nodes[index].write().unwrap() = Some(start(&self.database, &self.relay, index));
    }

    /// Kills a node. Returns when the database has also detected it.
    fn kill(&self, index: usize) {
        let killed = self.nodes[index].write().unwrap().take();
        killed.unwrap().server.kill();
        let sessions = format!(
            "SELECT count(*)::text FROM pg_stat_activity WHERE application_name = '{}'",
            name(index)
        );
        eventually("its sessions have ended", || {
            self.database.run(&sessions) == ["0"]
        });
    }

    /// Advances the clock past the lease of a killed node, and past the pause after its attempt.
    fn let_leases_end(&self, of: &str) {
        let sql = "UPDATE outgoing SET leased_until = created_at, due_at = created_at WHERE status = 'queued' AND ";
        self.database.run(&format!("{sql}{of}"));
    }

    /// Waits until the load has made some progress.
    fn peace(&self) {
        let until = self.relay.state().taken.len() + PEACE;
        drop(self.relay.wait_until(|state| state.taken.len() >= until));
    }

    /// Sends until the faults are over. If a node fails, the next one is used.
    fn write(&self, writer: usize) {
        let mut turn = writer;
        for number in 0.. {
            if self.calm.load(Ordering::SeqCst) {
                return;
            }
            let client = self.nodes[turn % self.nodes.len()]
                .read()
                .unwrap()
                .as_ref()
                .map(Node::client);
            match client.and_then(|client| self.send(&client, number)) {
                Some(id) => self.acknowledge(id),
                None => turn += 1,
            }
        }
    }

    /// The id of the item, if the message was accepted.
    fn send(&self, client: &Client, number: usize) -> Option<String> {
        let body = json!({"to": format!("a@d{}.example", number % 3), "subject": "Welcome", "text": "Hello"});
        let (status, answer) = client
            .try_post(&format!("/v1/inboxes/{}/messages", self.inbox), &body)
            .ok()?;
        assert!(matches!(status, 202 | 500 | 503), "{status} {answer}");
        (status == 202).then(|| answer["id"].as_str().unwrap().to_owned())
    }

    fn acknowledge(&self, id: String) {
        let acknowledged = {
            let mut acknowledged = self.acknowledged.lock().unwrap();
            acknowledged.insert(id);
            acknowledged.len()
        };
        let is_calm = || self.calm.load(Ordering::SeqCst);
        drop(
            self.relay
                .wait_until(|state| state.taken.len() + BACKLOG >= acknowledged || is_calm()),
        );
    }

    /// Kills all nodes at once. A new node sends the rest.
    fn finish(&self) {
        (0..self.nodes.len()).for_each(|index| self.kill(index));
        self.relay.count_death();
        self.let_leases_end("TRUE");
        let _last = start(&self.database, &self.relay, self.nodes.len());
        eventually("everything is sent", || {
            self.database
                .run("SELECT count(*)::text FROM outgoing WHERE status <> 'sent'")
                == ["0"]
        });
    }

    /// Checks the messages at the relay. Returns how many of them are copies.
    fn check(&self) -> usize {
        let rows = self
            .database
            .run("SELECT encode(id, 'hex') || ' ' || message_id FROM outgoing");
        let message_ids: HashMap<&str, &str> = rows
            .iter()
            .map(|row| row.split_once(' ').unwrap())
            .collect();
        let mut deaths: HashMap<&str, Vec<usize>> = HashMap::new();
        let state = self.relay.state();
        for taken in &state.taken {
            deaths
                .entry(&taken.message_id)
                .or_default()
                .push(taken.deaths);
        }
        let acknowledged = self.acknowledged.lock().unwrap();
        let lost = |id: &&String| !deaths.contains_key(message_ids[id.replace('-', "").as_str()]);
        assert_eq!(acknowledged.iter().find(lost), None, "lost");
        // A copy is allowed only after a kill or the crash.
        let twice = |(_, deaths): &(_, &Vec<usize>)| !deaths.is_sorted_by(|one, next| one < next);
        assert_eq!(
            deaths.iter().find(twice),
            None,
            "sent twice without a kill or a crash"
        );
        let copies = state.taken.len() - deaths.len();
        assert!(
            copies >= self.nodes.len(),
            "each node that died had sent a message without receiving the reply"
        );
        copies
    }
}
