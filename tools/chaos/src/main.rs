//! Runs many tests at once against a server that is killed, frozen and cut off from its database,
//! and checks what the clients were told.
//!
//! Each client has a project of its own and knows what it was told: which mail was acknowledged,
//! which inbox was deleted. From that alone it decides whether an answer is right ([`client`]).
//! [`disturbance`] makes things fail, and [`neighbour`] measures what a project without load
//! notices. The seed decides what each client does and what fails in which order, but not how
//! threads and processes interleave, so a finding may need several runs.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line program"
)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a tool for tests fails by panicking"
)]
#![allow(missing_docs, reason = "not a library")]

mod asker;
mod client;
mod contract;
mod dashboard;
mod deliveries;
mod disturbance;
mod health;
mod http;
mod journal;
mod mail;
mod neighbour;
mod nodes;
mod options;
mod postgres;
mod report;
mod scenarios;
mod world;

use std::process::ExitCode;
use std::thread;

use clap::Parser;

use client::Client;
use disturbance::Disturber;
use health::watch;
use neighbour::Neighbour;
use options::Options;
use world::World;

fn main() -> ExitCode {
    let options = Options::parse();
    let world = World::start(&options);
    let (latencies, told) = thread::scope(|scope| {
        let clients: Vec<_> = (0..options.clients)
            .map(|number| {
                scope.spawn({
                    let world = &world;
                    move || Client::new(world, number).run()
                })
            })
            .collect();
        (0..options.nodes).for_each(|node| {
            scope.spawn({
                let world = &world;
                move || watch(world, node)
            });
        });
        let quiet = scope.spawn(|| Neighbour::new(&world).run());
        Disturber::new(&world, &options).run();
        let told = clients
            .into_iter()
            .map(|client| client.join().expect("a client does not panic"))
            .collect();
        (quiet.join().expect("the neighbour does not panic"), told)
    });
    let checked: Vec<_> = told;
    let rest = Neighbour::new(&world).rest();
    report::print(&options, &world, &checked, latencies, rest)
}
