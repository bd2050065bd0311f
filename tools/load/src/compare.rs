//! Runs the SQLite limit (the baseline) and one or more builds of Restante in turn, and prints a
//! table.

use std::path::Path;

use crate::figures::{grouped, median};
use crate::limit;
use crate::options::{Compare, Traffic};
use crate::sending::{Outcome, Recipients, Run};
use crate::server::{Server, pin_load, runtime};

/// The inboxes that receive the mail in turn.
const INBOXES: u64 = 1_000;

/// The programs that are measured.
#[derive(Clone, Copy)]
enum Subject<'a> {
    Limit,
    Restante(&'a Path),
}

/// The figures of one program with one workload, one per run.
#[derive(Default)]
struct Figures {
    rate: Vec<f64>,
    processor: Vec<f64>,
    switches: Vec<f64>,
    frames: Vec<f64>,
}

pub(crate) fn run(options: &Compare) -> bool {
    pin_load(&options.place);
    println!(
        "medians of {} rounds; processor time, context switches and log frames of the server\n",
        options.rounds
    );
    println!(
        "| sessions | inboxes | server | messages/s | of the limit | µs a message | of the limit | switches | frames |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    let mut complete = true;
    for &sessions in &options.sessions {
        for new_inboxes in [false, true] {
            complete &= workload(options, sessions, new_inboxes);
        }
    }
    complete
}

fn workload(options: &Compare, sessions: usize, new_inboxes: bool) -> bool {
    let mut subjects: Vec<_> = options
        .restante
        .iter()
        .map(|path| Subject::Restante(path))
        .collect();
    subjects.insert(0, Subject::Limit);
    let mut figures: Vec<Figures> = subjects.iter().map(|_| Figures::default()).collect();
    let mut complete = true;
    for _ in 0..options.rounds {
        for (subject, figures) in subjects.iter().zip(&mut figures) {
            let outcome = measure(options, *subject, sessions, new_inboxes);
            if let Some(failure) = &outcome.failure {
                println!(
                    "FAILED: {} messages were not accepted, the first because {failure}",
                    outcome.failed
                );
                complete = false;
            }
            figures.add(&outcome);
        }
    }
    let limit = figures[0].medians();
    let inboxes = if new_inboxes { "new" } else { "1,000" };
    for (subject, figures) in subjects.iter().zip(&figures) {
        let [rate, processor, switches, frames] = figures.medians();
        let of_rate = rate / limit[0];
        let of_processor = processor / limit[1];
        let name = subject.name();
        let rate = grouped(rate);
        print!("| {sessions} | {inboxes} | {name} | {rate} | {of_rate:.2} ");
        println!("| {processor:.0} | {of_processor:.2} | {switches:.2} | {frames:.2} |");
    }
    complete
}

fn measure(options: &Compare, subject: Subject<'_>, sessions: usize, new_inboxes: bool) -> Outcome {
    let server = match subject {
        Subject::Limit => limit::start(&options.place),
        Subject::Restante(program) => Server::start(&options.place, program, &[]),
    };
    runtime().block_on(async {
        let rotation = || Recipients::rotation(INBOXES, "restante.example.com");
        let recipients = if new_inboxes {
            Recipients::new_inboxes("restante.example.com")
        } else {
            rotation()
        };
        if !new_inboxes {
            // The inboxes exist before the measurement starts.
            Run::new(
                &Traffic::count(sessions, INBOXES),
                server.smtp.clone(),
                rotation(),
            )
            .send(Vec::new())
            .await;
        }
        let run = Run::new(
            &Traffic::flat_out(sessions, options.seconds),
            server.smtp.clone(),
            recipients,
        );
        server.measure(run.send(Vec::new())).await
    })
}

impl Subject<'_> {
    fn name(&self) -> String {
        match self {
            Self::Limit => "SQLite limit".to_owned(),
            Self::Restante(path) => path.display().to_string(),
        }
    }
}

impl Figures {
    fn add(&mut self, outcome: &Outcome) {
        let each = |figure: f64| figure / outcome.taken as f64;
        self.rate.push(outcome.rate());
        self.processor.push(each(outcome.processor * 1e6));
        self.switches.push(each(outcome.switches as f64));
        self.frames.push(
            outcome
                .frames
                .map_or(f64::NAN, |frames| each(frames as f64)),
        );
    }

    fn medians(&self) -> [f64; 4] {
        [&self.rate, &self.processor, &self.switches, &self.frames]
            .map(|figures| median(figures.clone()))
    }
}
