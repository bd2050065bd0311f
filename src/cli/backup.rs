//! `restante backup`: copies a SQLite database to a file, whether or not a server is running.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use clap::Args;

use super::error::CliError;
use super::output::ProgressLine;
use super::{database, output};
use crate::config::{Data, DatabaseUrl, SettingsError};
use crate::db::{self, BackupError};
use crate::os;

/// The database to copy, and the file to write.
#[derive(Args, Debug)]
pub(super) struct BackupCommand {
    /// The file to write, which must not exist
    ///
    /// To look into it, start a server on a copy with `--database sqlite:FILE`: a server deletes
    /// expired messages.
    #[arg(value_name = "FILE")]
    target: PathBuf,
    #[command(flatten)]
    data: Data,
}

/// Why the backup failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum BackupCommandError {
    #[error("{} already exists: choose another file name", .0.display())]
    Exists(PathBuf),
    #[error("cannot write {}", path.display())]
    Create { path: PathBuf, source: io::Error },
    #[error("cannot copy the database to {}", path.display())]
    Copy { path: PathBuf, source: BackupError },
}

/// Runs the command.
///
/// # Errors
/// [`CliError`]; then the file is removed, unless it existed before.
pub(super) fn run(command: &BackupCommand) -> Result<(), CliError> {
    let url = command.data.url();
    database::refuse_absent(&url)?;
    let DatabaseUrl::Sqlite(source) = &url else {
        return Err(SettingsError::new(
            "--database",
            "`restante backup` supports only SQLite",
            "Use pg_dump for PostgreSQL",
        )
        .into());
    };
    let target = &command.target;
    create(target)?;
    let mut line = ProgressLine::new();
    let copied = db::backup(source, target, |pages, all| {
        let percent = pages.saturating_mul(100).checked_div(all).unwrap_or(100);
        line.show(&format!("{percent} % of {all} pages"), pages == all);
    });
    line.clear();
    if let Err(source) = copied {
        // An incomplete copy is useless.
        let _ = fs::remove_file(target);
        return Err(BackupCommandError::Copy {
            path: target.clone(),
            source,
        }
        .into());
    }
    output::note(&format!("Copied {url} to {}.", target.display()));
    Ok(())
}

/// Creates a file that is accessible only to its owner, like the database.
fn create(path: &Path) -> Result<(), BackupCommandError> {
    let created = os::private_file(File::options().write(true).create_new(true)).open(path);
    created.map(drop).map_err(|source| match source.kind() {
        io::ErrorKind::AlreadyExists => BackupCommandError::Exists(path.to_owned()),
        _ => BackupCommandError::Create {
            path: path.to_owned(),
            source,
        },
    })
}
