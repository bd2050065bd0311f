//! The APIs on a real socket: bodies that stall, memory that is used up, and connections that end
//! after an answer.

use std::net::Ipv4Addr;
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::time::{advance, pause, resume};

use super::requests::{API, Api, Letter};
use super::{Post, address, messages};
use crate::server::{Client, LONG, Server};
use testkit::{Answer, Engine, within};

/// More than this part of a body needs memory of the budget.
const UNCOUNTED: usize = 64 * 1024;

/// A connection with the head of a request.
async fn connect(server: &Server, post: &Post, fields: &str) -> Client {
    let mut client = server.connect().await;
    let head = format!(
        "POST {} HTTP/1.1\r\nHost: 127.0.0.1:8025\r\nContent-Type: {}\r\nContent-Length: {}\r\n{fields}\r\n",
        post.path,
        post.content_type,
        post.body.len()
    );
    client.write(head.as_bytes()).await;
    client
}

/// A connection on which the server has read this much of a request's body, and waits for more.
async fn stalled_after(server: &Server, post: &Post, bytes: usize) -> Client {
    let mut client = connect(
        server,
        post,
        "Authorization: Bearer any\r\nExpect: 100-continue\r\n",
    )
    .await;
    assert_eq!(within(client.read()).await.status, 100);
    client.write(&post.body[..bytes]).await;
    client
}

/// The provider's error that its clients repeat, after which the connection ends.
async fn assert_later(one: &Api, answer: &Answer, text: &str, client: &mut Client) {
    assert_eq!(
        (answer.status, &answer.headers["connection"]),
        (429, &"close".parse().unwrap()),
        "{}",
        one.name
    );
    let json = || serde_json::from_str::<Value>(&answer.body).unwrap();
    match one.via {
        "resend" => assert_eq!(
            json(),
            json!({"statusCode": 429, "name": "rate_limit_exceeded", "message": text})
        ),
        "sendgrid" => assert_eq!(
            json(),
            json!({"errors": [{"message": text, "field": null, "help": null}]})
        ),
        "postmark" => assert_eq!(json(), json!({"ErrorCode": 429, "Message": text})),
        "mailgun" => assert_eq!(json(), json!({"message": text})),
        _ if one.name.starts_with("ses v1") => {
            let error = format!("<Code>Throttling</Code><Message>{text}</Message>");
            assert!(answer.body.contains(&error), "{answer:?}");
        }
        _ => {
            assert_eq!(json(), json!({"message": text}));
            assert_eq!(
                answer.headers["x-amzn-errortype"],
                "TooManyRequestsException"
            );
        }
    }
    assert_eq!(client.read_to_end().await, "", "{}", one.name);
}

#[tokio::test]
async fn a_body_that_stalls_is_an_error_that_clients_repeat() {
    let server = Server::start(Engine::Sqlite, LONG).await;
    let inbox = server.api.create_inbox().await;
    let posts = API
        .each_ref()
        .map(|one| (one.request)(&Letter::to(&address(&inbox))));
    let mut clients = join_all(posts.iter().map(|post| stalled_after(&server, post, 10))).await;
    pause();
    advance(Duration::from_secs(60)).await;
    resume();
    for (one, client) in API.iter().zip(&mut clients) {
        let refused = within(client.read()).await;
        assert_later(one, &refused, "421 4.4.2 Timed out", client).await;
    }
    assert!(messages(&server.api, &inbox).await.is_empty());
}

#[tokio::test]
async fn past_the_memory_budget_a_large_body_is_an_error_that_clients_repeat() {
    let server = Server::start(Engine::Sqlite, LONG).await;
    let inbox = server.api.create_inbox().await;
    let large = Letter {
        text: "a b\n".repeat(25_000),
        ..Letter::to(&address(&inbox))
    };
    let posts = API.each_ref().map(|one| (one.request)(&large));
    let budget = server.api.service.budget();
    // The clients of a network without a key share one holder.
    let mut holder = [0; 32];
    holder[..16].copy_from_slice(&Ipv4Addr::LOCALHOST.to_ipv6_mapped().to_bits().to_be_bytes());
    let all = budget.reserve(holder, budget.share()).await.unwrap();
    let mut clients = join_all(
        posts
            .iter()
            .map(|post| stalled_after(&server, post, UNCOUNTED + 1)),
    )
    .await;
    // They wait for memory at the same time, in real time: nothing shows when the last of them
    // begins to.
    let refused = within(join_all(clients.iter_mut().map(Client::read))).await;
    for ((one, answer), client) in API.iter().zip(&refused).zip(&mut clients) {
        let text = "451 4.3.0 Storage failure, try again later: out of memory for requests";
        assert_later(one, answer, text, client).await;
    }
    // Those of another network still have memory.
    for (one, post) in API.iter().zip(&posts) {
        assert!(post.send(&server.api).await.status < 300, "{}", one.name);
    }
    drop(all);
    let free = budget.free();
    for (one, post) in API.iter().zip(&posts) {
        let mut client = connect(&server, post, "Authorization: Bearer any\r\n").await;
        client.write(&post.body).await;
        assert!(within(client.read()).await.status < 300, "{}", one.name);
    }
    assert_eq!(
        (messages(&server.api, &inbox).await.len(), budget.free()),
        (2 * API.len(), free)
    );
}

#[tokio::test]
async fn a_connection_ends_after_an_answer_to_a_request_whose_body_was_not_read() {
    let server = Server::start(Engine::Sqlite, LONG).await;
    for one in &API {
        let post = (one.request)(&Letter::to(&address("inbox")));
        let mut client =
            connect(&server, &post, "Authorization: Bearer rst_live_unknown\r\n").await;
        let refused = within(client.read()).await;
        assert_eq!(
            refused.status,
            if one.via == "ses" { 403 } else { 401 },
            "{refused:?}"
        );
        assert_eq!(refused.headers["connection"], "close", "{}", one.name);
        assert_eq!(client.read_to_end().await, "");
        // After a body that was read, it does not end.
        let mut client = connect(&server, &post, "Authorization: Bearer any\r\n").await;
        client.write(&post.body).await;
        let sent = within(client.read()).await;
        assert!(
            sent.status < 300 && !sent.headers.contains_key("connection"),
            "{}: {sent:?}",
            one.name
        );
    }
}
