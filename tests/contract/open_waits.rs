//! A connection with an open wait stays an ordinary connection: it can be used after the answer,
//! and pipelined requests are answered.

use futures_util::future::select_all;

use super::server::{Client, LONG, Server};
use testkit::{Engine, within};

/// Four clients with open waits, each with its own inbox. Their requests also have these header
/// `fields`.
async fn four_waiting(server: &Server, version: &str, fields: &str) -> Vec<(Client, String)> {
    let mut clients = Vec::new();
    for _ in 0..5 {
        let mut client = server.connect().await;
        let inbox = server.api.create_inbox().await;
        client
            .write(
                wait(server, &inbox, fields)
                    .replace("HTTP/1.1", version)
                    .as_bytes(),
            )
            .await;
        clients.push((client, inbox));
    }
    // A key has four slots: when one wait is refused, the others are open.
    let answers = select_all(
        clients
            .iter_mut()
            .map(|(client, _)| Box::pin(client.read())),
    );
    let (refused, position, _) = within(answers).await;
    assert_eq!(refused.status, 429);
    clients.swap_remove(position);
    clients
}

fn wait(server: &Server, inbox: &str, fields: &str) -> String {
    format!(
        "{}{fields}\r\n",
        server.head(
            "GET",
            &format!("/v1/inboxes/{inbox}/messages/wait?timeout=120000")
        )
    )
}

fn health(server: &Server) -> String {
    format!("{}\r\n", server.head("GET", "/v1/health"))
}

#[testkit::each_engine]
async fn the_connection_stays_open_after_the_answer(engine: Engine) {
    let server = Server::start(engine, LONG).await;
    for (mut client, inbox) in four_waiting(&server, "HTTP/1.1", "").await {
        for subject in ["one", "two"] {
            server.api.deliver(&inbox, subject).await;
        }
        assert_eq!(within(client.read()).await.text("subject"), "one");
        client.write(health(&server).as_bytes()).await;
        assert_eq!(within(client.read()).await.status, 200);
    }
}

#[testkit::each_engine]
async fn the_connection_closes_after_the_answer_if_the_client_asks(engine: Engine) {
    let server = Server::start(engine, LONG).await;
    for (version, fields) in [("HTTP/1.1", "Connection: close\r\n"), ("HTTP/1.0", "")] {
        for (mut client, inbox) in four_waiting(&server, version, fields).await {
            server.api.deliver(&inbox, "Hello").await;
            let answer = client.read_to_end().await;
            assert!(
                answer.starts_with(&format!("{version} 200 OK\r\n")),
                "{answer}"
            );
            assert!(answer.contains("\"subject\":\"Hello\""), "{answer}");
        }
    }
    for (mut client, inbox) in
        four_waiting(&server, "HTTP/1.0", "Connection: Keep-Alive, x\r\n").await
    {
        server.api.deliver(&inbox, "Hello").await;
        assert_eq!(
            within(client.read()).await.headers["connection"],
            "keep-alive"
        );
        client.write(health(&server).as_bytes()).await;
        assert_eq!(within(client.read()).await.status, 200);
    }
}

#[testkit::each_engine]
async fn what_was_sent_ahead_is_answered_in_order(engine: Engine) {
    let server = Server::start(engine, LONG).await;
    // Together with the wait, and while it is open.
    for (mut client, inbox) in four_waiting(&server, "HTTP/1.1", "").await {
        client
            .write(
                format!(
                    "{}{}",
                    health(&server),
                    wait(&server, &inbox, "X-Second: yes\r\n")
                )
                .as_bytes(),
            )
            .await;
        server.api.deliver(&inbox, "Hello").await;
        assert_eq!(within(client.read()).await.text("subject"), "Hello");
        assert_eq!(within(client.read()).await.text("status"), "ok");
        assert_eq!(within(client.read()).await.text("subject"), "Hello");

        let inbox = server.api.create_inbox().await;
        let other = health(&server);
        client
            .write(format!("{}{other}{other}", wait(&server, &inbox, "")).as_bytes())
            .await;
        server.api.deliver(&inbox, "Hello").await;
        assert_eq!(within(client.read()).await.text("subject"), "Hello");
        assert_eq!(within(client.read()).await.text("status"), "ok");
        assert_eq!(within(client.read()).await.text("status"), "ok");
    }
}

#[testkit::each_engine]
async fn an_earlier_answer_that_is_not_read_yet_is_not_lost(engine: Engine) {
    let server = Server::start(engine, LONG).await;
    let full = server.api.create_inbox().await;
    let empty = server.api.create_inbox().await;
    // More than the buffers of a socket hold.
    let raw = format!(
        "Subject: large\r\n\r\n{}",
        "0123456789abcde\r\n".repeat(500_000)
    );
    let id = server.api.deliver_raw(&full, &raw).await;
    let mut client = server.connect().await;
    let show = server.head("GET", &format!("/v1/messages/{id}"));
    client
        .write(format!("{show}\r\n{}", wait(&server, &empty, "")).as_bytes())
        .await;
    server.api.deliver(&empty, "Hello").await;
    let large = within(client.read()).await;
    assert_eq!(
        (large.text("subject"), large.text("text").len()),
        ("large".to_owned(), 7_999_999)
    );
    assert_eq!(within(client.read()).await.text("subject"), "Hello");
}

#[testkit::each_engine]
async fn at_a_stop_the_answer_says_that_it_is_the_last(engine: Engine) {
    let server = Server::start(engine, LONG).await;
    let clients = four_waiting(&server, "HTTP/1.1", "").await;
    server.stop();
    for (mut client, _) in clients {
        let answer = client.read_to_end().await;
        assert!(
            answer.starts_with("HTTP/1.1 503 Service Unavailable\r\n"),
            "{answer}"
        );
        assert!(answer.contains("connection: close\r\n"), "{answer}");
    }
}
