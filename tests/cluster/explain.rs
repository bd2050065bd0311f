//! Explanations whose data is on another node.

use serde_json::Value;

use super::node::{KEY, Node, eventually};
use testkit::http;
use testkit::postgres::TestDatabase;
use testkit::smtp::Smtp;

#[test]
fn a_node_explains_what_happened_at_another() {
    let database = TestDatabase::create();
    let one = Node::start(&database.text());
    let other = Node::start(&database.text());
    let client = one.client();
    let mut smtp = Smtp::connect(&other.smtp()).unwrap();
    let inbox = client.create_inbox();
    let explained = |inbox: &str| -> Value {
        let (status, explained) = client.get(&format!("/v1/inboxes/{inbox}/explain?subject=code"));
        assert_eq!(status, 200, "{explained}");
        explained
    };
    let says =
        |inbox: &str, part: &str| explained(inbox)["summary"].as_str().unwrap().contains(part);

    // The connection was opened before the inbox was created, but is still open.
    eventually("the other node's connection is known", || {
        explained(&inbox)["smtp"]["connections_open"] == 1
    });
    assert!(says(&inbox, "Clients use SMTP, but nothing arrived for"));

    let typo = format!("{inbox}u");
    assert!(
        smtp.send(&format!("{typo}@restante.example.com"), "Welcome", "text")
            .unwrap()
            .starts_with("250")
    );
    let explanation = explained(&inbox);
    assert!(says(&inbox, "Is the address mistyped?"), "{explanation}");
    eventually("the message is known", || {
        !explained(&inbox)["smtp"]["last_message_at"].is_null()
    });

    smtp.say("MAIL FROM:<app@example.com>").unwrap();
    assert!(
        smtp.say(&format!("RCPT TO:<{inbox}@else.example>"))
            .unwrap()
            .starts_with("550 5.7.1")
    );
    eventually("the refusal is known", || says(&inbox, "was rejected"));
    smtp.say("RSET").unwrap();

    assert!(
        smtp.send(&format!("{inbox}@restante.example.com"), "Welcome", "text")
            .unwrap()
            .starts_with("250")
    );
    assert!(says(
        &inbox,
        "Expected subject \"code\"; arrived: \"Welcome\""
    ));
}

#[test]
fn a_session_that_failed_at_another_node_is_explained() {
    let database = TestDatabase::create();
    let one = Node::start(&database.text());
    let other = Node::start(&database.text());
    let client = one.client();
    let inbox = client.create_inbox();
    let mut smtp = Smtp::connect(&other.smtp()).unwrap();
    assert!(smtp.say("QUIT").unwrap().starts_with("221"));
    let summary = || {
        let (_, explained): (_, Value) = client.get(&format!("/v1/inboxes/{inbox}/explain"));
        explained["summary"].as_str().unwrap().to_owned()
    };
    eventually("the session is known", || {
        summary().contains("the client greeted the server and left")
    });
}

/// The story of the last request, which another node answers, replaces that of the first.
#[test]
fn the_requests_of_a_wait_at_two_nodes_are_one_failure() {
    let database = TestDatabase::create();
    let one = Node::start(&database.text());
    let other = Node::start(&database.text());
    let client = one.client();
    let inbox = client.create_inbox();
    let story_of_wait_at = |node: &Node| {
        let url = &node.server.url;
        let url = format!("{url}/v1/inboxes/{inbox}/messages/wait?subject=code&timeout=500");
        let request = http::get(url)
            .header("x-api-key", KEY)
            .header("x-restante-wait", "one");
        let request = request.any_status();
        let answer = request.call().unwrap();
        let link = answer.headers()["link"].to_str().unwrap();
        let (_, id) = link.split_once("/failures/").unwrap();
        id.to_owned()
    };
    let cause = || {
        let path = format!("/v1/inboxes/{inbox}/explain?subject=code");
        client.get(&path).1["cause"].clone()
    };
    let first = story_of_wait_at(&one);
    assert_eq!(cause(), "nothing_connected");
    let mut smtp = Smtp::connect(&other.smtp()).unwrap();
    let address = format!("{inbox}@restante.example.com");
    assert!(
        smtp.send(&address, "Welcome", "text")
            .unwrap()
            .starts_with("250")
    );
    assert_eq!(story_of_wait_at(&other), first);
    eventually("the story is of both requests", || {
        cause() == "filter_missed"
    });
    let (_, timeline) = client.get(&format!("/v1/inboxes/{inbox}/events"));
    let events = timeline["events"].as_array().unwrap();
    let outcomes: Vec<_> = events
        .iter()
        .filter_map(|event| event["outcome"].as_str())
        .collect();
    assert_eq!(outcomes, ["timeout"], "{timeline}");
}
