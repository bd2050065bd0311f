//! Fault injection: faults are set on one node and used on both.

use serde_json::{Value, json};

use super::node::{Client, KEY, Node};
use testkit::http;
use testkit::postgres::TestDatabase;
use testkit::smtp::Smtp;

fn set(node: &Node, inbox: &str, faults: &Value) {
    let url = format!("{}/v1/inboxes/{inbox}/faults", node.server.url);
    http::put(url)
        .header("x-api-key", KEY)
        .send(json!({"faults": faults}).to_string())
        .unwrap();
}

fn shown(client: &Client, inbox: &str) -> Value {
    let (status, faults) = client.get(&format!("/v1/inboxes/{inbox}/faults"));
    assert_eq!(status, 200, "{faults}");
    faults["faults"].clone()
}

#[test]
fn a_count_holds_over_nodes() {
    let database = TestDatabase::create();
    let nodes = [Node::start(&database.text()), Node::start(&database.text())];
    let client = nodes[0].client();
    let inbox = client.create_inbox();
    let recipient = format!("RCPT TO:<{inbox}@restante.example.com>");
    let mut smtp = nodes
        .each_ref()
        .map(|node| Smtp::connect(&node.smtp()).unwrap());
    for number in 0..60 {
        set(
            &nodes[number % 2],
            &inbox,
            &json!([{"at": "rcpt", "do": "defer"}]),
        );
        let reply = at_rcpt(&mut smtp[(number + 1) % 2], &recipient);
        assert!(
            reply.starts_with("451"),
            "{number}: the other node knows the fault: {reply}"
        );
    }
    for (at, times) in [("rcpt", 40), ("data", 40)] {
        set(
            &nodes[0],
            &inbox,
            &json!([{"at": at, "do": "defer", "times": times}]),
        );
        let clients = nodes.iter().chain(&nodes).map(|node| {
            let smtp = node.smtp();
            let inbox = inbox.clone();
            let recipient = recipient.clone();
            std::thread::spawn(move || refusals(&smtp, &inbox, &recipient, at))
        });
        let clients: Vec<_> = clients.collect();
        let refused = clients
            .into_iter()
            .map(|client| client.join().unwrap())
            .sum::<u64>();
        let fault = shown(&nodes[1].client(), &inbox)[0].clone();
        assert_eq!(
            (refused, &fault["used"], &fault["left"]),
            (times, &json!(times), &json!(0)),
            "{at}"
        );
        assert_eq!(fault["uses"].as_array().unwrap().len() as u64, times);
    }
    let mut other = Smtp::connect(&nodes[1].smtp()).unwrap();
    // What waits for the message is read with the inbox, so no node misses it.
    for _ in 0..5 {
        set(&nodes[0], &inbox, &json!([{"at": "data", "do": "reject"}]));
        let reply = other
            .send(&format!("{inbox}@restante.example.com"), "Hello", "text")
            .unwrap();
        assert!(
            reply.starts_with("550 5.1.1 Rejected on request"),
            "{reply}"
        );
    }
}

/// The reply to a recipient.
fn at_rcpt(smtp: &mut Smtp, recipient: &str) -> String {
    smtp.say("RSET").unwrap();
    smtp.say("MAIL FROM:<>").unwrap();
    smtp.say(recipient).unwrap()
}

/// Sends until something is accepted, and returns how often it was refused before.
fn refusals(smtp: &str, inbox: &str, recipient: &str, at: &str) -> u64 {
    let mut smtp = Smtp::connect(smtp).unwrap();
    for refused in 0.. {
        let reply = if at == "rcpt" {
            at_rcpt(&mut smtp, recipient)
        } else {
            smtp.send(&format!("{inbox}@restante.example.com"), "Hello", "text")
                .unwrap()
        };
        if reply.starts_with("250") {
            return refused;
        }
        assert!(reply.starts_with("451 4.3.0 Deferred"), "{reply}");
    }
    unreachable!("the loop ends with a reply")
}

#[test]
fn a_node_that_starts_later_knows_the_faults() {
    let database = TestDatabase::create();
    let node = Node::start(&database.text());
    let inbox = node.client().create_inbox();
    set(
        &node,
        &inbox,
        &json!([{"at": "rcpt", "do": "defer"}, {"at": "data", "do": "bounce"}]),
    );
    let later = Node::start(&database.text());
    let mut smtp = Smtp::connect(&later.smtp()).unwrap();
    smtp.say("MAIL FROM:<>").unwrap();
    assert!(
        smtp.say(&format!("RCPT TO:<{inbox}@restante.example.com>"))
            .unwrap()
            .starts_with("451")
    );
    smtp.say("RSET").unwrap();

    // A bounce to an inbox here is delivered once, by one of the two mail workers.
    let sender = node.client().create_inbox();
    let from = format!("MAIL FROM:<{sender}@restante.example.com>");
    for line in [
        from.as_str(),
        &format!("RCPT TO:<{inbox}@restante.example.com>"),
        "DATA",
    ] {
        smtp.say(line).unwrap();
    }
    assert_eq!(
        smtp.say("Subject: Hello\r\n\r\ntext\r\n.").unwrap(),
        "250 2.0.0 OK"
    );
    let (status, bounce) = node
        .client()
        .wait(&sender, None, std::time::Duration::from_secs(30))
        .unwrap();
    assert_eq!(
        (status, &bounce["subject"]),
        (200, &json!("Undelivered Mail: Hello"))
    );
    let (_, list) = node.client().get(&format!("/v1/inboxes/{sender}/messages"));
    assert_eq!(list["messages"].as_array().unwrap().len(), 1);
}
