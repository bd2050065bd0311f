//! The order of messages in one inbox over all nodes: a reader that follows with `after` sees each
//! message once and in order.
//!
//! `RESTANTE_TEST_ORDER_MESSAGES` is the number of messages.

use std::collections::HashMap;
use std::thread;
use std::time::{Duration, Instant};

use super::node::{Client, Node, Sender};
use testkit::postgres::TestDatabase;

const VARIABLE: &str = "RESTANTE_TEST_ORDER_MESSAGES";
const MESSAGES: usize = 3_000;
const WRITERS: usize = 8;

#[test]
fn a_reader_sees_what_eight_writers_on_two_nodes_write_once_and_in_order() {
    let messages = std::env::var(VARIABLE).map_or(MESSAGES, |text| text.parse().unwrap());
    let each = messages / WRITERS;
    let database = TestDatabase::create();
    let nodes = [(); 2].map(|()| Node::start(&database.text()));
    let reader = Node::start(&database.text());
    let inbox = reader.client().create_inbox();
    let start = Instant::now();
    let written = thread::scope(|scope| {
        let writers = [0, 1, 2, 3, 4, 5, 6, 7].map(|writer| {
            let mut sender = Sender::new(nodes[writer % 2].smtp());
            let inbox = &inbox;
            scope.spawn(move || {
                for number in 0..each {
                    let reply = sender.send(inbox, &format!("{writer}-{number}")).unwrap();
                    assert!(reply.starts_with("250"), "{reply}");
                }
                start.elapsed()
            })
        });
        follow(&reader.client(), &inbox, each);
        writers
            .map(|writer| writer.join().unwrap())
            .into_iter()
            .max()
            .unwrap()
    });
    let followed = start.elapsed();
    println!(
        "{} messages, written in {written:.1?}, followed one by one in {followed:.1?}",
        each * WRITERS
    );
}

/// Reads `each` messages of every writer with `after`, and checks that the messages of each writer
/// are in order.
fn follow(client: &Client, inbox: &str, each: usize) {
    let mut next: HashMap<String, usize> = HashMap::new();
    let mut after: Option<String> = None;
    for _ in 0..each * WRITERS {
        let (status, message) = client
            .wait(inbox, after.as_deref(), Duration::from_secs(30))
            .unwrap();
        assert_eq!(status, 200, "{message}: {next:?}");
        let (writer, number) = message["subject"]
            .as_str()
            .unwrap()
            .split_once('-')
            .unwrap();
        let expected = next.entry(writer.to_owned()).or_default();
        assert_eq!(
            number.parse::<usize>().unwrap(),
            *expected,
            "of writer {writer}"
        );
        *expected += 1;
        after = message["id"].as_str().map(str::to_owned);
    }
    let end = client
        .wait(inbox, after.as_deref(), Duration::ZERO)
        .unwrap();
    assert_eq!(end.1["error"], "no matching message");
}
