//! The load generator: starts a server, sends mail, waits and reads, and prints the results.
//!
//! ```text
//! cargo build --release && cargo run --release -p restante-load -- compare --pin
//! ```
//!
//! `compare` runs the server and the SQLite limit in turn; the limit is the baseline, a minimal
//! server that stores mail durably in SQLite. Compare a figure only with the limit's figure of the
//! same run.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a measurement fails by panicking"
)]
#![allow(clippy::print_stdout, reason = "printing is what it is for")]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "figures are rounded, and never negative"
)]

mod apis;
mod compare;
mod figures;
mod frames;
mod http;
mod idle;
mod ingest;
mod limit;
mod mail;
mod options;
mod reads;
mod search;
mod sending;
mod server;
mod session;
mod soak;
mod store;
mod waits;

use clap::Parser;

use options::{Cli, Command};

fn main() {
    raise_file_limit();
    let ok = match Cli::parse().command {
        Command::Compare(options) => compare::run(&options),
        Command::Ingest(options) => ingest::run(&options),
        Command::Apis(options) => apis::run(&options),
        Command::Waits(options) => waits::run(&options),
        Command::Reads(options) => reads::run(&options),
        Command::Search(options) => search::run(&options),
        Command::Soak(options) => soak::run(&options),
        Command::Idle(options) => idle::run(&options),
        Command::LimitServer(options) => limit::serve(&options),
    };
    if !ok {
        std::process::exit(1);
    }
}

/// Every session and every wait needs an open file, here and in the server, which inherits the
/// limit.
fn raise_file_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    setrlimit(
        Resource::Nofile,
        Rlimit {
            current: limit.maximum,
            maximum: limit.maximum,
        },
    )
    .unwrap();
}
