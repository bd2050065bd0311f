//! The limit and Restante in turn, in one run, as a table.

use crate::figures::{grouped, median};
use crate::ingest::{self, Outcome};
use crate::limit;
use crate::options::{Cli, Command, Compare, Ingest, Traffic};
use crate::server::pin_load;

use clap::Parser;

const SETTINGS: &[(&str, usize, bool)] = &[
    ("4 KiB, 1 session", 1, false),
    ("4 KiB, 20 sessions", 20, false),
    ("4 KiB, 100 sessions", 100, false),
    ("36 KB multipart, 20 sessions", 20, true),
    ("36 KB multipart, 100 sessions", 100, true),
];

pub(crate) fn run(options: &Compare) -> bool {
    pin_load(&options.place);
    println!(
        "| messages a second, medians of {} runs | log | SQLite limit | Restante | of the SQLite limit |",
        options.runs
    );
    println!("|---|---|---|---|---|");
    let mut complete = true;
    for &(label, sessions, multipart) in SETTINGS {
        let ingest = settings(options, sessions, multipart);
        let mut rates = [const { Vec::new() }; 3];
        for _ in 0..options.runs {
            let [log, sqlite, restante] = &mut rates;
            log.push(limit::measure(&ingest.place, &ingest.traffic, true).rate());
            sqlite.push(limit::measure(&ingest.place, &ingest.traffic, false).rate());
            let outcome = ingest::measure(&ingest);
            complete &= is_complete(&outcome);
            restante.push(outcome.rate());
        }
        let [log, sqlite, restante] = rates.map(median);
        let ratio = restante / sqlite;
        println!("| {label} | {} | {} | {} | {ratio:.2} |", grouped(log), grouped(sqlite), grouped(restante));
    }
    complete
}

fn is_complete(outcome: &Outcome) -> bool {
    outcome.failed == 0 && outcome.missing == Some(0)
}

fn settings(options: &Compare, sessions: usize, multipart: bool) -> Ingest {
    let Some(Command::Ingest(defaults)) = Cli::parse_from(["load", "ingest"]).command else { unreachable!() };
    let traffic = Traffic { sessions, multipart, seconds: Some(options.seconds), ..defaults.traffic.clone() };
    Ingest { place: options.place.clone(), traffic, ..defaults }
}
