//! `restante serve --for-tests`: a server for one test run, alone or shared by its processes.
//!
//! Its settings differ from those of other servers ([`preset()`]); its data is in a directory of its
//! own ([`directory`]), which is removed at its end. It ends with the process that started it, or,
//! if it is [`shared`], with the last of its owners.

mod directory;
mod preset;
mod shared;

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use clap::Args;

use super::error::CliError;
use super::serve::{self, Host};
use super::stop;
use crate::config::{MailpitApi, Settings};
use directory::{DirectoryError, RunDirectory, UserDirectory};
pub(super) use preset::preset;
use shared::{Name, SharedError};

/// The file with the log of a server, in its directory.
const LOG: &str = "server.log";

/// A server for tests.
#[derive(Args, Clone, Debug)]
pub(super) struct ForTests {
    /// Run a server for one test run: free ports, temporary data, every domain accepted, nothing
    /// sent out; it prints one line of JSON and ends with standard input
    #[arg(long)]
    for_tests: bool,
    /// Share that server: every call with this name prints the line of the same server, which ends
    /// with the last owner
    #[arg(long, value_name = "NAME", requires = "for_tests", conflicts_with_all = ["data_dir", "database"])]
    shared: Option<Name>,
    /// Own the shared server until the process with this ID ends, and return when the line is
    /// printed [default: until standard input ends]
    #[arg(long, value_name = "PID", requires = "shared")]
    owner: Option<u32>,
    /// What the command runs for itself: a process that owns the server for `--owner`
    #[arg(long, hide = true, requires = "owner")]
    background: bool,
    /// What the command runs for itself: the shared server
    #[arg(long, hide = true, value_name = "DIR", requires = "shared")]
    directory: Option<PathBuf>,
}

/// Why a server for tests did not start.
#[derive(Debug, thiserror::Error)]
pub(super) enum ForTestsError {
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    #[error(transparent)]
    Shared(#[from] SharedError),
    #[error("standard input cannot be watched")]
    Stdin(#[source] io::Error),
}

impl ForTests {
    pub(super) fn is_wanted(&self) -> bool {
        self.for_tests
    }
}

/// Runs a server for tests, or owns one, until it is no longer needed.
///
/// # Errors
/// [`CliError`] if it does not start.
pub(super) fn run(settings: &Settings, flags: &ForTests) -> Result<(), CliError> {
    let Some(name) = &flags.shared else {
        return alone(settings);
    };
    if let Some(directory) = &flags.directory {
        return keep(settings, name, directory);
    }
    let owned = match flags.owner {
        Some(process) if flags.background => shared::own_for(name, process),
        Some(_) => shared::own_in_background(),
        None => shared::own_until_stdin_ends(name),
    };
    owned.map_err(|error| ForTestsError::from(error).into())
}

/// A server for the process that started this one.
fn alone(settings: &Settings) -> Result<(), CliError> {
    let directory = UserDirectory::enter()
        .and_then(|user| user.create()?.occupy())
        .map_err(ForTestsError::Directory)?;
    let ended = stop::end_of_stdin().map_err(ForTestsError::Stdin)?;
    serve_in(settings, &directory, ended)
}

/// The server that others share, in the directory that the first of them has made.
fn keep(settings: &Settings, name: &Name, directory: &Path) -> Result<(), CliError> {
    let directory = RunDirectory::at(directory)
        .occupy()
        .map_err(ForTestsError::Directory)?;
    let ended = shared::end_of_owners(name, &directory).map_err(ForTestsError::Shared)?;
    serve_in(settings, &directory, ended)
}

/// A runner that got Ctrl-C needs the server while it cleans up, and Ctrl-C goes to all processes
/// of a terminal.
fn is_for_a_runner() -> bool {
    !io::stdin().is_terminal()
}

fn serve_in(
    settings: &Settings,
    directory: &RunDirectory,
    ended: stop::Ended,
) -> Result<(), CliError> {
    let mut settings = settings.clone();
    settings.process.print_json = true;
    if settings.data.data_dir == Path::new(preset::TEMPORARY) {
        settings.data.data_dir = directory.path().join("data");
    }
    if !settings.listeners.http_listen.ip().is_loopback()
        && settings.listeners.mailpit_api == MailpitApi::Open
    {
        settings.listeners.mailpit_api = MailpitApi::Key;
    }
    serve::host(
        &settings,
        Host {
            log: Some(directory.path().join(LOG)),
            ended: Some(ended),
            ignores_interrupt: is_for_a_runner(),
        },
    )
}
