//! Each key has four waits over all nodes, and no slot is leaked.

use std::thread;
use std::time::Duration;

use super::node::{Client, Node, eventually};
use testkit::postgres::TestDatabase;

const LONG: Duration = Duration::from_secs(100);

/// The shortest wait that has to stay open.
const SHORTEST: Duration = Duration::from_millis(1);

/// The status of a wait that needs a slot only for a moment.
fn one_more(client: &Client, inbox: &str) -> u16 {
    client.wait(inbox, None, SHORTEST).unwrap().0
}

/// Opens waits that end without a message, each on a thread that ends with its connection. A wait
/// that is refused because another has its slot at that moment is tried again.
fn park(client: &Client, inbox: &str, count: usize) {
    for _ in 0..count {
        let client = client.clone();
        let inbox = inbox.to_owned();
        thread::spawn(move || {
            while client
                .wait(&inbox, None, LONG)
                .is_ok_and(|(status, _)| status == 429)
            {}
        });
    }
}

/// Exactly four waits of the key can be open: while four are open, a fifth is refused on every
/// node.
#[test]
fn four_waits_over_all_nodes_are_free_again_when_a_node_dies() {
    let database = TestDatabase::create();
    let nodes = [(); 3].map(|()| Node::start(&database.text()));
    let [one, two, three] = nodes.each_ref().map(Node::client);
    let inbox = one.create_inbox();
    park(&one, &inbox, 2);
    park(&two, &inbox, 2);
    eventually("four waits are parked", || one_more(&three, &inbox) == 429);
    assert_eq!(one_more(&one, &inbox), 429);
    assert_eq!(one_more(&two, &inbox), 429);

    let [first, second, third] = nodes;
    first.server.kill();
    eventually("the dead node's slots are free", || {
        one_more(&three, &inbox) == 408
    });
    park(&three, &inbox, 2);
    eventually("its two slots are taken again", || {
        one_more(&two, &inbox) == 429
    });
    drop((second, third));
}

#[test]
fn a_slot_survives_its_session_and_is_free_when_its_wait_is_answered() {
    let database = TestDatabase::create();
    let nodes = [(); 2].map(|()| Node::start(&database.text()));
    let [one, two] = nodes.each_ref().map(Node::client);
    let inbox = one.create_inbox();
    park(&one, &inbox, 4);
    eventually("four waits are parked", || one_more(&two, &inbox) == 429);
    database.end_connections();
    // Both sessions come back, and the first one takes its locks again.
    eventually("the locks are held again", || {
        two.wait(&inbox, None, SHORTEST)
            .is_ok_and(|(status, _)| status == 429)
            && database.named_locks(true) == 4
    });
    let sent = super::node::Sender::new(nodes[1].smtp())
        .send(&inbox, "hello")
        .unwrap();
    assert!(sent.starts_with("250"), "{sent}");
    eventually("every slot is free", || database.named_locks(true) == 0);
    assert_eq!(one_more(&two, &inbox), 200);
}
