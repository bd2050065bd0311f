//! `restante completions` and `restante man`: shell completions and manual pages.

use std::fs;
use std::io;
use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

use super::error::CliError;
use super::output;

/// The shell to complete in.
#[derive(Args, Debug)]
pub(super) struct CompletionsFlags {
    /// The shell
    shell: Shell,
}

/// The directory for the pages.
#[derive(Args, Debug)]
pub(super) struct ManFlags {
    /// The directory; created if missing
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

#[derive(Debug, thiserror::Error)]
#[error("cannot write the manual pages to {}", directory.display())]
struct PagesError {
    directory: PathBuf,
    source: io::Error,
}

/// Prints a completion script.
///
/// # Errors
/// If standard output cannot be written to.
pub(super) fn completions(
    flags: &CompletionsFlags,
    mut command: clap::Command,
) -> Result<(), CliError> {
    let mut script = Vec::new();
    clap_complete::generate(flags.shell, &mut command, "restante", &mut script);
    Ok(output::line(String::from_utf8_lossy(&script).trim_end())?)
}

/// Writes a manual page for each command.
///
/// # Errors
/// If the directory cannot be written to.
pub(super) fn man(flags: &ManFlags, command: clap::Command) -> Result<(), CliError> {
    let directory = &flags.directory;
    let written =
        fs::create_dir_all(directory).and_then(|()| clap_mangen::generate_to(command, directory));
    written.map_err(|source| {
        CliError::other(PagesError {
            directory: directory.clone(),
            source,
        })
    })
}
