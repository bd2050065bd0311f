//! `restante migrate`: updates the schema of a database. Every start of a server does the same.

use clap::Args;

use super::error::CliError;
use super::{database, output};
use crate::config::Data;
use crate::service::DatabaseContents;

/// The database to migrate.
#[derive(Args, Debug)]
pub(super) struct MigrateCommand {
    #[command(flatten)]
    data: Data,
}

/// Runs the command.
///
/// # Errors
/// [`CliError`] if the database cannot be used, or its schema is newer than this program.
pub(super) fn run(command: &MigrateCommand) -> Result<(), CliError> {
    let url = command.data.url();
    database::refuse_absent(&url)?;
    let shown = url.to_string();
    database::with(url, DatabaseContents::migrate, async |_| {
        output::note(&format!(
            "The database {shown} has schema version {}.",
            DatabaseContents::SCHEMA_VERSION
        ));
        Ok(())
    })
}
