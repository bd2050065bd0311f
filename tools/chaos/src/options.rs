//! The command line.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};

/// Tests and failures at random, and a checker of what the clients were told.
#[derive(Debug, Parser)]
#[command(name = "restante-chaos")]
pub(crate) struct Options {
    /// What the clients do and what fails follows from this number.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// How long the clients work; the check afterwards takes a few more seconds.
    #[arg(long, default_value_t = 30)]
    pub(crate) seconds: u64,
    /// Running servers. With more than one, and with `--postgres`, a PostgreSQL of its own is
    /// started for the run.
    #[arg(long, default_value_t = 1)]
    pub(crate) nodes: usize,
    /// One node with PostgreSQL instead of SQLite.
    #[arg(long)]
    pub(crate) postgres: bool,
    /// Clients, each with a project of its own.
    #[arg(long, default_value_t = 8)]
    pub(crate) clients: usize,
    /// Judges nothing that depends on time, for a busy machine: what is stored and where, and who
    /// sees it, remains.
    #[arg(long)]
    pub(crate) untimed: bool,
    /// Writes the health of each node, the replies to its mail and the failures to this file, with
    /// the seconds since the start.
    #[arg(long)]
    pub(crate) log: Option<PathBuf>,
    /// The library libfaketimeMT.so.1, absolute; without it, no clock is wrong.
    #[arg(long)]
    pub(crate) faketime: Option<PathBuf>,
    /// Only these failures; by default all that apply to the database.
    #[arg(long, value_delimiter = ',')]
    pub(crate) failures: Option<Vec<Failure>>,
    /// The program.
    #[arg(long, default_value_os_t = beside_this_program())]
    pub(crate) restante: PathBuf,
}

/// What can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Failure {
    /// A node is killed and started again.
    Kill,
    /// A node is stopped in order and started again.
    Stop,
    /// A node does not run for up to three seconds.
    Freeze,
    /// Every connection to PostgreSQL is closed by it.
    Terminate,
    /// What runs in PostgreSQL is cancelled, many times.
    Cancel,
    /// Another program locks the table of messages for up to two seconds.
    Lock,
    /// PostgreSQL crashes and starts again.
    Crash,
    /// One process of PostgreSQL does not run for up to three seconds.
    FreezeBackend,
    /// A node is stopped and started again with other settings.
    Reconfigure,
    /// The primary of PostgreSQL ends or freezes, and its standby takes over; only with several
    /// nodes.
    FailOver,
    /// The wall clock of a node is two hours wrong for some seconds; only with `--faketime`.
    Clock,
    /// The disk of a node is short of space for up to two seconds, with a restart before and after.
    FullDisk,
}

impl Failure {
    /// Whether it needs PostgreSQL.
    fn needs_postgres(self) -> bool {
        matches!(
            self,
            Self::Terminate
                | Self::Cancel
                | Self::Lock
                | Self::Crash
                | Self::FreezeBackend
                | Self::FailOver
                | Self::Clock
        )
    }
}

impl Options {
    pub(crate) fn uses_postgres(&self) -> bool {
        self.postgres || self.nodes > 1
    }

    /// Whether PostgreSQL has a standby.
    pub(crate) fn has_standby(&self) -> bool {
        self.nodes > 1
    }

    /// The failures of this run.
    pub(crate) fn failures(&self) -> Vec<Failure> {
        let wanted = self
            .failures
            .clone()
            .unwrap_or_else(|| Failure::value_variants().to_vec());
        wanted
            .into_iter()
            .filter(|failure| self.can_have(*failure))
            .collect()
    }

    fn can_have(&self, failure: Failure) -> bool {
        let has_needed = match failure {
            Failure::FailOver => self.has_standby(),
            Failure::Clock => self.faketime.is_some(),
            _ => true,
        };
        has_needed && (self.uses_postgres() || !failure.needs_postgres())
    }
}

fn beside_this_program() -> PathBuf {
    std::env::current_exe()
        .map(|path| path.with_file_name("restante"))
        .unwrap_or_default()
}
