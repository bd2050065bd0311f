//! Sends at a steady rate for minutes, each message to a new inbox that soon expires. Shows whether
//! memory and files stop growing.

use std::sync::Arc;
use std::time::Duration;

use crate::figures::{Sample, mebibytes};
use crate::options::{Soak, Traffic};
use crate::sending::{Recipients, Run, Sending};
use crate::server::{Server, pin_load, runtime};

const MINUTE: Duration = Duration::from_secs(60);
const SESSIONS: usize = 50;
/// When memory and files must have stopped growing: inboxes expire after a minute, and are then
/// swept.
const LEVEL_AFTER: usize = 3;
/// How much they may have grown after that.
const LEVEL: f64 = 1.2;

pub(crate) fn run(options: &Soak) -> bool {
    pin_load(&options.program.place);
    runtime().block_on(measure(options))
}

async fn measure(options: &Soak) -> bool {
    let place = &options.program.place;
    let program = &options.program.restante;
    let server = Arc::new(Server::start(
        place,
        program,
        &["--inbox-lifetime", &options.inbox_lifetime],
    ));
    let watch = tokio::spawn(watch(Arc::clone(&server), options.minutes));
    let traffic = Traffic {
        rate: Some(options.rate),
        ..Traffic::flat_out(SESSIONS, options.minutes * 60)
    };
    let recipients = Recipients::new_inboxes("restante.example.com");
    let sending = Run::new(&traffic, server.smtp.clone(), recipients)
        .send(Vec::new())
        .await;
    report(options, &sending, &watch.await.unwrap())
}

/// Memory and files at the end of each minute.
async fn watch(server: Arc<Server>, minutes: u64) -> Vec<(u64, u64)> {
    let mut seen = Vec::new();
    let mut ticks = tokio::time::interval(MINUTE);
    ticks.tick().await;
    for _ in 0..minutes {
        ticks.tick().await;
        seen.push((server.process().resident(), server.files()));
    }
    seen
}

fn report(options: &Soak, sending: &Sending, seen: &[(u64, u64)]) -> bool {
    let outcome = sending.outcome();
    outcome.print();
    println!(
        "\n| minute | memory | files | final dot to 250, p50 | p99 | max |\n|---|---|---|---|---|---|"
    );
    let mut acks = Vec::new();
    for (minute, (memory, files)) in seen.iter().enumerate() {
        let within = |due: Duration| due.as_secs() / 60 == minute as u64;
        let of_minute = sending.sent().filter(|(_, due, _)| within(*due));
        let ack = Sample::new(
            of_minute
                .map(|(.., sent)| sent.answered - sent.dot)
                .collect(),
        );
        let [p50, p99, most] = [50.0, 99.0, 100.0].map(|percent| ack.percentile(percent));
        println!(
            "| {} | {} | {} | {p50:.2} ms | {p99:.2} ms | {most:.1} ms |",
            minute + 1,
            mebibytes(*memory),
            mebibytes(*files)
        );
        acks.push(ack);
    }
    let level = |figure: fn(&(u64, u64)) -> u64| {
        let at = |minute: usize| seen.get(minute).map_or(0.0, |seen| figure(seen) as f64);
        at(seen.len() - 1) <= at(LEVEL_AFTER.min(seen.len() - 1)) * LEVEL
    };
    let steady =
        acks.len() < 2 || acks[acks.len() - 1].percentile(99.0) <= 2.0 * acks[1].percentile(99.0);
    let kept_up = outcome.rate() >= 0.99 * options.rate as f64;
    let verdicts = [
        (
            "every message was accepted in time",
            outcome.failed == 0 && kept_up,
        ),
        ("memory levels off", level(|seen| seen.0)),
        ("files level off", level(|seen| seen.1)),
        ("the last minute's p99 is within twice the second's", steady),
    ];
    verdicts
        .iter()
        .for_each(|(what, holds)| println!("{}: {what}", if *holds { "yes" } else { "NO" }));
    verdicts.iter().all(|(_, holds)| *holds)
}
