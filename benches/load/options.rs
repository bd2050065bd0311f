//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// Offers load to Restante, or to another SMTP server, and prints what came of it.
#[derive(Debug, Parser)]
#[command(name = "load")]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Sends mail; at the end every message that was answered with 250 is looked for.
    Ingest(Ingest),
    /// Sends the same mail to the limit: a bare SMTP dialogue that commits groups of messages to SQLite, or to a log.
    Limit(Limit),
    /// Runs the limit and Restante in turn and prints a table.
    Compare(Compare),
    /// Holds many waits, wakes one, then all.
    Waits(Waits),
    /// Reads single messages and lists of ten while many are held, beside a handler with a fixed body.
    Reads(Reads),
    /// Sends at a steady rate for minutes and prints each minute.
    Soak(Soak),
    /// What the server takes at rest, with open connections, and with open waits.
    Idle(Idle),
    #[command(hide = true)]
    LimitServer(LimitServer),
    #[command(hide = true)]
    FixedServer,
}

/// The server that is started, and where.
#[derive(Args, Clone, Debug)]
pub(crate) struct Place {
    /// The program that is measured.
    #[arg(long, default_value = env!("CARGO_BIN_EXE_restante"))]
    pub(crate) restante: PathBuf,
    /// Processors of the server; they and the others are left open where there are only two.
    #[arg(long, default_value = "0,1")]
    pub(crate) server_cpus: String,
    /// Processors of the load.
    #[arg(long, default_value = "2,3")]
    pub(crate) load_cpus: String,
    /// Where the server's data directory is made.
    #[arg(long, default_value_os_t = std::env::temp_dir())]
    pub(crate) directory: PathBuf,
}

/// What is sent, and how.
#[derive(Args, Clone, Debug)]
pub(crate) struct Traffic {
    /// SMTP sessions at once.
    #[arg(long, default_value_t = 20)]
    pub(crate) sessions: usize,
    /// Messages in all.
    #[arg(long, default_value_t = 20_000)]
    pub(crate) messages: u64,
    /// Stops after so many seconds.
    #[arg(long)]
    pub(crate) seconds: Option<u64>,
    /// Octets of a message.
    #[arg(long, default_value_t = 4_096)]
    pub(crate) size: usize,
    /// A message of 36 KB with text, HTML and an image.
    #[arg(long)]
    pub(crate) multipart: bool,
    /// Most of the message is an attachment.
    #[arg(long)]
    pub(crate) attachment: bool,
    /// The message to send; its Subject is replaced.
    #[arg(long)]
    pub(crate) file: Option<PathBuf>,
    /// Messages offered a second; as many as go without it.
    #[arg(long)]
    pub(crate) rate: Option<u64>,
    /// Opens a connection for each message.
    #[arg(long)]
    pub(crate) new_connection: bool,
    /// Sends MAIL, RCPT and DATA at once.
    #[arg(long)]
    pub(crate) pipelining: bool,
    /// Encrypts the sessions; no certificate is checked.
    #[arg(long)]
    pub(crate) starttls: bool,
    /// Inboxes that the mail is spread over; one a session, and one for 5,000 messages at least.
    #[arg(long)]
    pub(crate) inboxes: Option<usize>,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Ingest {
    #[command(flatten)]
    pub(crate) place: Place,
    #[command(flatten)]
    pub(crate) traffic: Traffic,
    /// Another server, which is already running.
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) smtp: Option<String>,
    /// The domain that another server takes mail for.
    #[arg(long, default_value = "restante.test")]
    pub(crate) domain: String,
    /// Waits for every message, one open request behind the other for each session.
    #[arg(long)]
    pub(crate) follow: bool,
    /// Waits that stay open meanwhile.
    #[arg(long, default_value_t = 0)]
    pub(crate) waits: usize,
    /// Repeats the run; the medians stand at the end.
    #[arg(long, default_value_t = 1)]
    pub(crate) runs: usize,
    /// Prints JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Limit {
    #[command(flatten)]
    pub(crate) place: Place,
    #[command(flatten)]
    pub(crate) traffic: Traffic,
    /// Commits to an append-only file in place of SQLite.
    #[arg(long)]
    pub(crate) log: bool,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Compare {
    #[command(flatten)]
    pub(crate) place: Place,
    /// Runs of each kind.
    #[arg(long, default_value_t = 3)]
    pub(crate) runs: usize,
    /// Seconds of each run.
    #[arg(long, default_value_t = 6)]
    pub(crate) seconds: u64,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Waits {
    #[command(flatten)]
    pub(crate) place: Place,
    /// Open waits, four of each key.
    #[arg(long, default_value_t = 10_000)]
    pub(crate) waits: usize,
    /// SMTP sessions that send the messages.
    #[arg(long, default_value_t = 20)]
    pub(crate) sessions: usize,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Reads {
    #[command(flatten)]
    pub(crate) place: Place,
    /// Messages held, ten an inbox; several numbers are held by one server each.
    #[arg(long, value_delimiter = ',', default_value = "10000")]
    pub(crate) messages: Vec<usize>,
    /// Reads from all of them in turn, so often; the medians stand at the end.
    #[arg(long, default_value_t = 1)]
    pub(crate) runs: usize,
    /// Kept connections.
    #[arg(long, default_value_t = 32)]
    pub(crate) connections: usize,
    /// Seconds of each measurement.
    #[arg(long, default_value_t = 5)]
    pub(crate) seconds: u64,
    /// Also sends in 20 sessions, alone and beside readers of so many messages a second.
    #[arg(long, value_name = "READS_A_SECOND")]
    pub(crate) beside_ingest: Option<u64>,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Soak {
    #[command(flatten)]
    pub(crate) place: Place,
    /// How long.
    #[arg(long, default_value_t = 10)]
    pub(crate) minutes: u64,
    /// Messages a second, each to a new inbox.
    #[arg(long, default_value_t = 1_000)]
    pub(crate) rate: u64,
    /// How long an inbox lives.
    #[arg(long, default_value = "60s")]
    pub(crate) inbox_lifetime: String,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Idle {
    #[command(flatten)]
    pub(crate) place: Place,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct LimitServer {
    #[arg(long)]
    pub(crate) data_dir: PathBuf,
    #[arg(long)]
    pub(crate) log: bool,
}
