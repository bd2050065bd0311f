//! Clients that disconnect at random moments leak nothing: no slot of a wait or a send, no database
//! connection, no place.

use std::time::Duration;

use futures_util::future::join_all;
use rand::RngExt;
use tokio::time::sleep;

use super::server::{LONG, Server};
use testkit::{Engine, within};

const CLIENTS: usize = 500;
/// Clients at once.
const BESIDE: usize = 50;

/// Sends a request, or a part of it, and disconnects shortly after.
async fn hang_up(server: &Server, inbox: &str) {
    let body = format!(r#"{{"to":"{inbox}@restante.example.com","subject":"Hello"}}"#);
    let messages = format!("/v1/inboxes/{inbox}/messages");
    let (request, part, pause) = {
        let mut random = rand::rng();
        let request = match random.random_range(0..5) {
            0 => format!("{}\r\n", server.head("GET", &messages)),
            1 => format!("{}\r\n", server.head("POST", "/v1/inboxes")),
            2 => format!(
                "{}Content-Length: {}\r\n\r\n{body}",
                server.head("POST", &messages),
                body.len()
            ),
            _ => format!(
                "{}\r\n",
                server.head(
                    "GET",
                    &format!("{messages}/wait?subject=none&timeout=120000")
                )
            ),
        };
        let part = if random.random_range(0..5) == 0 {
            random.random_range(1..request.len())
        } else {
            request.len()
        };
        (
            request,
            part,
            Duration::from_micros(random.random_range(0..5_000)),
        )
    };
    let mut client = server.connect().await;
    client.write(&request.as_bytes()[..part]).await;
    sleep(pause).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_left_behind_on_sqlite() {
    nothing_is_left_behind(Engine::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_left_behind_on_postgres() {
    nothing_is_left_behind(Engine::Postgres).await;
}

async fn nothing_is_left_behind(engine: Engine) {
    let server = Server::start(engine, LONG).await;
    let inbox = server.api.create_inbox().await;
    for _ in 0..CLIENTS / BESIDE {
        within(join_all((0..BESIDE).map(|_| hang_up(&server, &inbox)))).await;
    }
    // No connection was leaked: more requests at once than the pool has connections are all
    // answered.
    let answers = join_all((0..100).map(|_| server.api.get("/v1/inboxes/nobody")));
    assert!(
        within(answers)
            .await
            .iter()
            .all(|answer| answer.status == 404)
    );
    // The server must notice the ends of the last streams; nothing else has to happen.
    let one_more = async || server.api.time_out(&inbox, "subject=none").await.status;
    within(async { while one_more().await != 408 {} }).await;
    within(async {
        while !server.api.service.jobs().are_idle() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    within(server.four_waits()).await;
}
