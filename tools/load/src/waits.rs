//! Many waits at once: their cost, whether a message wakes only its own wait, and how long it takes
//! to wake all.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use crate::figures::{Sample, mebibytes};
use crate::http::{Http, create_inboxes};
use crate::options::{Traffic, Waits};
use crate::sending::{Recipients, Run, Sending};
use crate::server::{Server, WAITS_A_KEY, new_data_dir, pin_load, runtime};
use crate::store::create_keys;

/// Within this time, woken waits have answered and new waits are registered.
const SETTLED: Duration = Duration::from_secs(1);

/// An answered wait: its number, and when its response arrived.
type Answered = (usize, Instant);

pub(crate) fn run(options: &Waits) -> bool {
    pin_load(&options.program.place);
    runtime().block_on(measure(options))
}

async fn measure(options: &Waits) -> bool {
    let place = &options.program.place;
    let program = &options.program.restante;
    let data = new_data_dir(place);
    let keys = create_keys(data.path(), options.waits.div_ceil(WAITS_A_KEY)).await;
    let server = Server::start_on(place, program, data, &[]);
    let key = |inbox: usize| keys[inbox / WAITS_A_KEY].as_str();
    let inboxes = create_inboxes(&server.http, (0..options.waits).map(key)).await;
    let addresses: Vec<String> = inboxes
        .iter()
        .map(|inbox| format!("{inbox}@restante.example.com"))
        .collect();

    let before = server.process().resident();
    let started = Instant::now();
    let mut waiting = open(&server, &inboxes, key).await;
    let opened = started.elapsed();
    tokio::time::sleep(SETTLED).await;
    let each = (server.process().resident() - before) / options.waits as u64 * 1_000;
    println!(
        "{} waits opened in {:.2} s; memory for 1,000: {}",
        options.waits,
        opened.as_secs_f64(),
        mebibytes(each)
    );

    send(&server, &addresses[..1], 1).await;
    tokio::time::sleep(SETTLED).await;
    let mut woken = Vec::new();
    while let Some(answered) = waiting.try_join_next() {
        woken.push(answered.unwrap().0);
    }
    println!("one message woke {} of them", woken.len());

    let sending = send(&server, &addresses[1..], options.sessions).await;
    let answers = waiting.join_all().await;
    report(&sending, &answers);
    woken == [0] && answers.len() == options.waits - 1
}

/// Opens every wait, each on a new connection.
async fn open<'a>(
    server: &Server,
    inboxes: &[String],
    key: impl Fn(usize) -> &'a str,
) -> JoinSet<Answered> {
    let mut waiting = JoinSet::new();
    for (number, inbox) in inboxes.iter().enumerate() {
        let mut http = Http::connect(&server.http).await.unwrap();
        http.write(
            "GET",
            &format!("/v1/inboxes/{inbox}/messages/wait?timeout=120000"),
            key(number),
        )
        .await
        .unwrap();
        waiting.spawn(async move {
            let (status, body) = http.answer().await.unwrap();
            let answered = Instant::now();
            assert_eq!(status, 200, "{}", String::from_utf8_lossy(&body));
            (number, answered)
        });
    }
    waiting
}

/// One message to each address.
async fn send(server: &Server, addresses: &[String], sessions: usize) -> Sending {
    let traffic = Traffic::count(sessions, addresses.len() as u64);
    Run::new(
        &traffic,
        server.smtp.clone(),
        Recipients::Each(addresses.into()),
    )
    .send(Vec::new())
    .await
}

fn report(sending: &Sending, answers: &[Answered]) {
    let last = answers
        .iter()
        .map(|(_, at)| *at)
        .max()
        .unwrap_or(sending.started);
    // The first address has received its message already.
    let at: HashMap<usize, Instant> = answers
        .iter()
        .map(|(number, at)| (number - 1, *at))
        .collect();
    let pairs = || {
        sending
            .sent()
            .filter_map(|(number, _, sent)| Some((sent, at.get(&usize::try_from(*number).ok()?)?)))
    };
    let dot = Sample::new(
        pairs()
            .map(|(sent, at)| at.saturating_duration_since(sent.dot))
            .collect(),
    );
    let acknowledged = Sample::new(
        pairs()
            .map(|(sent, at)| at.saturating_duration_since(sent.answered))
            .collect(),
    );
    let took = last
        .saturating_duration_since(sending.started)
        .as_secs_f64();
    println!(
        "{} messages to {} waits: all answered within {took:.2} s",
        sending.sent().count(),
        answers.len()
    );
    println!("  final dot to answer   {}", dot.line());
    println!("  250 to answer         {}", acknowledged.line());
}
