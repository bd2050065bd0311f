//! Reads while many messages are stored: one message, and the list of an inbox with ten.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use crate::figures::{Sample, grouped};
use crate::http::{Http, parsed};
use crate::options::{Reads, Traffic};
use crate::sending::{Recipients, Run};
use crate::server::{KEY, Server, pin_load, runtime};

const MESSAGES_AN_INBOX: u64 = 10;
/// Sessions that send the messages.
const SESSIONS: usize = 100;
/// The inboxes whose messages are read, spread over all inboxes.
const INBOXES_READ: usize = 500;

pub(crate) fn run(options: &Reads) -> bool {
    pin_load(&options.program.place);
    runtime().block_on(measure(options))
}

async fn measure(options: &Reads) -> bool {
    let server = Server::start(&options.program.place, &options.program.restante, &[]);
    let inboxes = options.messages.div_ceil(MESSAGES_AN_INBOX);
    let traffic = Traffic::count(SESSIONS, options.messages);
    let recipients = Recipients::rotation(inboxes, "restante.example.com");
    let outcome = Run::new(&traffic, server.smtp.clone(), recipients.clone())
        .send(Vec::new())
        .await
        .outcome();
    println!("{} messages held", grouped(outcome.taken as f64));

    let read = (0..inboxes).step_by((inboxes as usize).div_ceil(INBOXES_READ));
    let lists: Arc<[String]> = read
        .map(|number| format!("/v1/inboxes/{}/messages", recipients.inbox(number)))
        .collect();
    let messages = messages_of(&server, &lists).await;
    print_rate(
        "one message",
        &read_all(options, &server.http, &messages).await,
    );
    print_rate(
        "the list of an inbox with ten",
        &read_all(options, &server.http, &lists).await,
    );
    outcome.failed == 0
}

/// The paths of all messages in these lists.
async fn messages_of(server: &Server, lists: &[String]) -> Arc<[String]> {
    let mut http = Http::connect(&server.http).await.unwrap();
    let mut paths = Vec::new();
    for list in lists {
        let (_, body) = http.ask("GET", list, KEY).await.unwrap();
        let ids = parsed(&body)["messages"].as_array().unwrap().clone();
        paths.extend(
            ids.iter()
                .map(|message| format!("/v1/messages/{}", message["id"].as_str().unwrap())),
        );
    }
    paths.into()
}

/// Sends one request after the other on kept connections.
async fn read_all(options: &Reads, address: &str, paths: &Arc<[String]>) -> (u64, Sample) {
    let started = Instant::now();
    let next = Arc::new(AtomicU64::new(0));
    let end = started + Duration::from_secs(options.seconds);
    let mut tasks = JoinSet::new();
    for _ in 0..options.connections {
        let paths = Arc::clone(paths);
        let next = Arc::clone(&next);
        let address = address.to_owned();
        tasks.spawn(async move {
            let mut http = Http::connect(&address).await.unwrap();
            let mut took = Vec::new();
            while Instant::now() < end {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let path = &paths[(number as usize).wrapping_mul(7_919) % paths.len()];
                let asked = Instant::now();
                let (status, body) = http.ask("GET", path, KEY).await.unwrap();
                assert!(
                    status == 200 && body.len() > 1_000,
                    "{status} {}",
                    String::from_utf8_lossy(&body)
                );
                took.push(asked.elapsed());
            }
            took
        });
    }
    let took: Vec<Duration> = tasks.join_all().await.into_iter().flatten().collect();
    (
        (took.len() as f64 / started.elapsed().as_secs_f64()) as u64,
        Sample::new(took),
    )
}

fn print_rate(what: &str, (rate, took): &(u64, Sample)) {
    println!(
        "  {what:<30} {:>8} a second   {}",
        grouped(*rate as f64),
        took.line()
    );
}
