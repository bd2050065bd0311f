//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// Sends load to Restante, or to another SMTP server, and prints the results.
#[derive(Debug, Parser)]
#[command(name = "restante-load", arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the SQLite limit (the baseline) and one or more builds of Restante in turn, and print a
    /// table.
    Compare(Compare),
    /// Send mail. At the end, check that every message with a reply 250 is stored.
    Ingest(Ingest),
    /// Send over the API of each provider and over SMTP at the same time. At the end, check that
    /// nothing is lost.
    Apis(Apis),
    /// Open many waits, wake one, then all.
    Waits(Waits),
    /// Read single messages and lists of ten while many messages are stored.
    Reads(Reads),
    /// Search in many messages, as the dashboard does.
    Search(Search),
    /// Send at a steady rate for minutes and print each minute.
    Soak(Soak),
    /// The memory of the server at rest, with open connections, and with open waits.
    Idle(Idle),
    #[command(hide = true)]
    LimitServer(LimitServer),
}

/// The server's processor and data directory.
#[derive(Args, Clone, Debug)]
pub(crate) struct Place {
    /// Runs the server on the first processor and the load on the others.
    #[arg(long)]
    pub(crate) pin: bool,
    /// The directory for the server's data directory.
    #[arg(long, default_value_os_t = std::env::temp_dir())]
    pub(crate) directory: PathBuf,
}

/// The program that is measured.
#[derive(Args, Clone, Debug)]
pub(crate) struct Program {
    #[command(flatten)]
    pub(crate) place: Place,
    /// The program that is measured.
    #[arg(long, default_value_os_t = beside_this_program())]
    pub(crate) restante: PathBuf,
}

/// The messages, and how they are sent.
#[derive(Args, Clone, Debug)]
pub(crate) struct Traffic {
    /// Concurrent SMTP sessions.
    #[arg(long, default_value_t = 20)]
    pub(crate) sessions: usize,
    /// Bytes of a message: prose with a code and two links.
    #[arg(long, default_value_t = 4_096)]
    pub(crate) size: usize,
    /// The number of messages; by default as many as possible in the time.
    #[arg(long)]
    pub(crate) messages: Option<u64>,
    /// Stops after this many seconds.
    #[arg(long, default_value_t = 4)]
    pub(crate) seconds: u64,
    /// Messages per second; by default as many as possible.
    #[arg(long)]
    pub(crate) rate: Option<u64>,
    /// Sends MAIL, RCPT and DATA together.
    #[arg(long)]
    pub(crate) pipelining: bool,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Compare {
    #[command(flatten)]
    pub(crate) place: Place,
    /// The programs that are measured.
    #[arg(long, num_args = 1.., default_values_os_t = [beside_this_program()])]
    pub(crate) restante: Vec<PathBuf>,
    /// The numbers of sessions.
    #[arg(long, value_delimiter = ',', default_value = "1,20,100")]
    pub(crate) sessions: Vec<usize>,
    /// Runs of each kind; the medians are printed.
    #[arg(long, default_value_t = 3)]
    pub(crate) rounds: usize,
    /// Seconds of each run.
    #[arg(long, default_value_t = 4)]
    pub(crate) seconds: u64,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Ingest {
    #[command(flatten)]
    pub(crate) program: Program,
    #[command(flatten)]
    pub(crate) traffic: Traffic,
    /// Sends each message to a new inbox.
    #[arg(long)]
    pub(crate) new_inboxes: bool,
    /// Another server, which is already running; or several nodes, among which the sessions are
    /// shared out.
    #[arg(long, value_name = "HOST:PORT", value_delimiter = ',')]
    pub(crate) smtp: Vec<String>,
    /// The domain for which the server accepts mail.
    #[arg(long, default_value = "restante.example.com")]
    pub(crate) domain: String,
    /// Waits for every message, with one request after the other for each session.
    #[arg(long)]
    pub(crate) follow: bool,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Apis {
    #[command(flatten)]
    pub(crate) program: Program,
    /// Messages per second over each API, and over SMTP.
    #[arg(long, default_value_t = 100)]
    pub(crate) rate: u64,
    /// The duration.
    #[arg(long, default_value_t = 10)]
    pub(crate) seconds: u64,
    /// Bytes of a message: prose with a code and two links.
    #[arg(long, default_value_t = 4_096)]
    pub(crate) size: usize,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Waits {
    #[command(flatten)]
    pub(crate) program: Program,
    /// Open waits, four for each key; a server accepts 5,000 connections from one address.
    #[arg(long, default_value_t = 4_000)]
    pub(crate) waits: usize,
    /// SMTP sessions that send the messages.
    #[arg(long, default_value_t = 20)]
    pub(crate) sessions: usize,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Reads {
    #[command(flatten)]
    pub(crate) program: Program,
    /// The number of stored messages, ten in an inbox. They are sent first, over SMTP.
    #[arg(long, default_value_t = 10_000)]
    pub(crate) messages: u64,
    /// Connections that read.
    #[arg(long, default_value_t = 32)]
    pub(crate) connections: usize,
    /// Seconds of each measurement.
    #[arg(long, default_value_t = 5)]
    pub(crate) seconds: u64,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Search {
    #[command(flatten)]
    pub(crate) program: Program,
    /// The number of stored messages, ten in an inbox. They are sent first, over SMTP.
    #[arg(long, default_value_t = 100_000)]
    pub(crate) messages: u64,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Soak {
    #[command(flatten)]
    pub(crate) program: Program,
    /// The duration.
    #[arg(long, default_value_t = 10)]
    pub(crate) minutes: u64,
    /// Messages per second, each to a new inbox.
    #[arg(long, default_value_t = 1_000)]
    pub(crate) rate: u64,
    /// The lifetime of an inbox.
    #[arg(long, default_value = "60s")]
    pub(crate) inbox_lifetime: String,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Idle {
    #[command(flatten)]
    pub(crate) program: Program,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct LimitServer {
    #[arg(long)]
    pub(crate) data_dir: PathBuf,
}

impl Traffic {
    /// As many messages as possible in this many seconds.
    pub(crate) fn flat_out(sessions: usize, seconds: u64) -> Self {
        Self {
            sessions,
            size: 4_096,
            messages: None,
            seconds,
            rate: None,
            pipelining: false,
        }
    }

    /// This many messages, in any time.
    pub(crate) fn count(sessions: usize, messages: u64) -> Self {
        Self {
            messages: Some(messages),
            ..Self::flat_out(sessions, u64::from(u32::MAX))
        }
    }
}

/// Cargo puts the programs of one build into the same directory.
fn beside_this_program() -> PathBuf {
    std::env::current_exe().unwrap().with_file_name("restante")
}
