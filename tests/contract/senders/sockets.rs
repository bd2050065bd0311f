//! The APIs on a real socket: bodies that stall, places that are taken, and connections that end
//! after an answer.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::time::{advance, pause, resume};

use super::requests::{API, Api, Letter};
use super::{Post, address, messages};
use crate::server::{Client, LONG, Server};
use restante::large::SMALL;
use testkit::{Answer, Engine, within};

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
async fn past_two_large_bodies_another_is_an_error_that_clients_repeat() {
    let server = Server::start(Engine::Sqlite, LONG).await;
    let inbox = server.api.create_inbox().await;
    let large = Letter {
        text: "a b\n".repeat(25_000),
        ..Letter::to(&address(&inbox))
    };
    let posts = API.each_ref().map(|one| (one.request)(&large));
    let jobs = server.api.service.jobs();
    // All clients without a key are one.
    let mut both = [jobs.job([0; 32]), jobs.job([0; 32])];
    for job in &mut both {
        job.take_place(2 * SMALL).await.unwrap();
    }
    let mut clients = Vec::new();
    for post in &posts {
        let mut client = connect(&server, post, "Authorization: Bearer any\r\n").await;
        client.write(&post.body).await;
        clients.push(client);
    }
    // They wait at the same time, in real time: nothing shows when the last of them begins to.
    let refused = within(join_all(clients.iter_mut().map(Client::read))).await;
    for (one, answer) in API.iter().zip(&refused) {
        assert_eq!(answer.status, 429, "{}", one.name);
        assert!(answer.body.contains("too many requests run"), "{answer:?}");
    }
    drop(both);
    for (one, post) in API.iter().zip(&posts) {
        assert!(post.send(&server.api).await.status < 300, "{}", one.name);
    }
    assert_eq!(messages(&server.api, &inbox).await.len(), API.len());
}

/// Nothing is taken for what has not arrived.
#[tokio::test]
async fn bodies_that_stall_after_70_kb_keep_nobody_from_sending() {
    let server = Server::start(Engine::Sqlite, LONG).await;
    let inbox = server.api.create_inbox().await;
    let large = Letter {
        text: "a b\n".repeat(25_000),
        ..Letter::to(&address(&inbox))
    };
    let posts = API.each_ref().map(|one| (one.request)(&large));
    let _stalled = join_all(
        posts
            .iter()
            .map(|post| stalled_after(&server, post, 70_000)),
    )
    .await;
    for (one, post) in API.iter().zip(&posts) {
        let sent = within(post.send(&server.api)).await;
        assert!(sent.status < 300, "{}: {sent:?}", one.name);
    }
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
