//! The load generator: offers mail, waits and reads to a running server and prints what came of it.
//!
//! `cargo bench --bench load -- ingest` starts the server of this build; `--smtp HOST:PORT` measures any other SMTP server.
//! `limit` offers the same mail to the smallest durable server that can be written, so that a figure has something to
//! stand beside. `docs/performance.md` says which command gave which figure.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a benchmark fails by panicking")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "printing is what it is for")]
#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "figures are rounded, and never negative")]

mod compare;
mod figures;
mod http;
mod idle;
mod ingest;
mod limit;
mod mail;
mod options;
mod reads;
mod server;
mod session;
mod soak;
mod store;
mod waits;

use clap::{CommandFactory, Parser};

use options::{Cli, Command};

fn main() {
    // cargo adds a flag of its own.
    let arguments = std::env::args().filter(|argument| argument != "--bench");
    let cli = Cli::parse_from(arguments);
    let Some(command) = cli.command else {
        return Cli::command().print_help().unwrap();
    };
    raise_file_limit();
    let ok = match command {
        Command::Ingest(options) => ingest::run(&options),
        Command::Limit(options) => limit::run(&options),
        Command::Compare(options) => compare::run(&options),
        Command::Waits(options) => waits::run(&options),
        Command::Reads(options) => reads::run(&options),
        Command::Soak(options) => soak::run(&options),
        Command::Idle(options) => idle::run(&options),
        Command::LimitServer(options) => limit::serve(&options),
        Command::FixedServer => reads::serve_fixed(),
    };
    if !ok {
        std::process::exit(1);
    }
}

/// Every session and every wait is an open file, here and in the server, which inherits the limit.
fn raise_file_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum }).unwrap();
}
