//! Under load, every node is killed once, every connection to PostgreSQL is closed once, and
//! PostgreSQL itself crashes once. No message with a reply 250 is missing, no wait misses its
//! message, and no slot is leaked.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, RwLock};
use std::thread;
use std::time::{Duration, Instant};

use super::node::{Client, Node, Sender, eventually};
use testkit::postgres::{Cluster, TestDatabase};

const WRITERS: usize = 4;
const INBOXES: usize = 3;
/// Messages that are acknowledged and read between two faults.
const PEACE: usize = 150;

/// Longer than any pause of the load.
const LONG: Duration = Duration::from_secs(60);

/// The installation, and the record of what happened.
struct World {
    nodes: [RwLock<Option<Node>>; 3],
    inboxes: Vec<String>,
    acknowledged: Mutex<HashSet<String>>,
    read: Mutex<HashSet<String>>,
    /// Notified of each acknowledged message.
    more: Condvar,
    calm: AtomicBool,
    // Dropped last, and the cluster after its database.
    database: TestDatabase,
    cluster: Cluster,
}

#[test]
fn an_acknowledged_message_is_read_even_if_processes_die() {
    let cluster = Cluster::start(&["fsync = on"]);
    let database = TestDatabase::create_in(cluster.url.clone());
    let nodes = [(); 3].map(|()| RwLock::new(Some(Node::start(&database.text()))));
    let first = nodes[0].read().unwrap().as_ref().unwrap().client();
    let world = World {
        inboxes: (0..INBOXES).map(|_| first.create_inbox()).collect(),
        cluster,
        database,
        nodes,
        acknowledged: Mutex::default(),
        read: Mutex::default(),
        more: Condvar::new(),
        calm: AtomicBool::new(false),
    };
    thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                scope.spawn({
                    let world = &world;
                    move || world.write(writer)
                })
            })
            .collect();
        for reader in 0..INBOXES {
            let world = &world;
            scope.spawn(move || world.follow(reader));
        }
        world.let_die();
        world.calm.store(true, Ordering::SeqCst);
        writers
            .into_iter()
            .for_each(|writer| writer.join().unwrap());
    });
    let acknowledged = world.acknowledged.lock().unwrap();
    let read = world.read.lock().unwrap();
    assert!(
        acknowledged.is_subset(&read),
        "lost: {:?}",
        acknowledged.difference(&read).collect::<Vec<_>>()
    );
    drop((acknowledged, read));
    world.check_slots();
}

impl World {
    fn let_die(&self) {
        self.peace();
        for node in &self.nodes {
            let killed = node.write().unwrap().take();
            killed.unwrap().server.kill();
            self.peace();
            *node.write().unwrap() = Some(Node::start(&self.database.text()));
        }
        self.database.end_connections();
        self.peace();
        self.cluster.kill();
        self.cluster.resume();
        self.peace();
    }

    /// Waits until the load has made some progress.
    fn peace(&self) {
        let acknowledged = self.acknowledged.lock().unwrap();
        let until = acknowledged.len() + PEACE;
        let waited = self
            .more
            .wait_timeout_while(acknowledged, LONG, |acknowledged| {
                acknowledged.len() < until
            });
        assert!(!waited.unwrap().1.timed_out(), "the load does not go on");
    }

    /// The first running node, starting at `index`.
    fn node<T>(&self, index: usize, of: impl Fn(&Node) -> T) -> Option<T> {
        self.nodes[index % self.nodes.len()]
            .read()
            .unwrap()
            .as_ref()
            .map(of)
    }

    /// Sends until the faults are over. If a node fails, the next one is used.
    fn write(&self, writer: usize) {
        let mut turn = writer;
        let mut sender: Option<Sender> = None;
        for number in 0.. {
            if self.calm.load(Ordering::SeqCst) {
                return;
            }
            let inbox = &self.inboxes[number % INBOXES];
            let subject = format!("{writer}-{number}");
            if sender.is_none() {
                sender = self.node(turn, Node::smtp).map(Sender::new);
            }
            let reply = sender.as_mut().map(|sender| sender.send(inbox, &subject));
            if matches!(&reply, Some(Ok(reply)) if reply.starts_with("250")) {
                self.acknowledged.lock().unwrap().insert(subject);
                self.more.notify_all();
            } else {
                turn += 1;
                sender = None;
            }
        }
    }

    /// Follows one inbox until all acknowledged messages have been read. If a node fails, the next
    /// one is used.
    fn follow(&self, reader: usize) {
        let mut turn = reader + 1;
        let mut after = None::<String>;
        // Since then, all waits were refused.
        let mut refused = Instant::now();
        loop {
            let calm = self.calm.load(Ordering::SeqCst);
            let answer = self
                .node(turn, Node::client)
                .map(|client| self.next(&client, reader, after.as_deref()));
            match answer {
                Some(Some((200, message))) => {
                    let subject = message["subject"].as_str().unwrap().to_owned();
                    self.read.lock().unwrap().insert(subject);
                    after = message["id"].as_str().map(str::to_owned);
                }
                Some(Some((408, _))) if calm => return,
                Some(Some((408, _))) => {}
                // PostgreSQL may not have freed the slots of the node that died.
                Some(Some((429, _))) if refused.elapsed() < LONG => {
                    thread::sleep(Duration::from_millis(50));
                    continue;
                }
                Some(Some((500 | 503, _)) | None) | None => turn += 1,
                Some(Some((status, body))) => panic!("{status} {body}"),
            }
            refused = Instant::now();
        }
    }

    fn next(
        &self,
        client: &Client,
        reader: usize,
        after: Option<&str>,
    ) -> Option<(u16, serde_json::Value)> {
        client
            .wait(&self.inboxes[reader], after, Duration::from_secs(2))
            .ok()
    }

    /// A key can open exactly four waits, on any node.
    fn check_slots(&self) {
        let client = self.node(0, Node::client).unwrap();
        let empty = client.create_inbox();
        eventually("no lock is left", || self.database.named_locks(true) == 0);
        let waits: Vec<_> = (0..5)
            .map(|number| {
                let client = self.node(number, Node::client).unwrap();
                let empty = empty.clone();
                thread::spawn(move || client.wait(&empty, None, Duration::from_secs(5)).unwrap().0)
            })
            .collect();
        let mut statuses: Vec<u16> = waits.into_iter().map(|wait| wait.join().unwrap()).collect();
        statuses.sort_unstable();
        assert_eq!(statuses, [408, 408, 408, 408, 429]);
    }
}
