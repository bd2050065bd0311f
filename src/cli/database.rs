//! Working on the database without the service, beside a running one or without.

use std::io;
use std::path::PathBuf;

use super::error::CliError;
use crate::config::DatabaseUrl;
use crate::db::{Database, DatabaseError};
use crate::store::StoreError;

/// Why the database cannot be worked on.
#[derive(Debug, thiserror::Error)]
pub(super) enum DatabaseCommandError {
    #[error(
        "there is no database at {}: start `restante serve` or create a project there first, or name another place \
         with --data-dir or --database", .0.display()
    )]
    Absent(PathBuf),
    #[error("cannot open the database {url}")]
    Open { url: DatabaseUrl, source: DatabaseError },
    #[error("cannot use the database {url}")]
    Prepare { url: DatabaseUrl, source: StoreError },
    #[error("cannot start the runtime")]
    Runtime(#[source] io::Error),
}

/// Opening a database makes it, and nobody wants the list of the projects of a mistyped directory.
///
/// # Errors
/// [`DatabaseCommandError::Absent`].
pub(super) fn refuse_absent(DatabaseUrl::Sqlite(path): &DatabaseUrl) -> Result<(), DatabaseCommandError> {
    if path.exists() { Ok(()) } else { Err(DatabaseCommandError::Absent(path.clone())) }
}

/// Opens the database, prepares what `work` wants of it, and does the work, on a runtime of its own.
///
/// # Errors
/// [`DatabaseCommandError`] where the database cannot be used; whatever the work fails with.
pub(super) fn with<T>(
    url: DatabaseUrl,
    prepare: impl AsyncFnOnce(Database) -> Result<T, StoreError>,
    work: impl AsyncFnOnce(T) -> Result<(), CliError>,
) -> Result<(), CliError> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.map_err(DatabaseCommandError::Runtime)?.block_on(async {
        let prepared = match Database::open(&url).await {
            Err(source) => return Err(DatabaseCommandError::Open { url, source }.into()),
            Ok(database) => prepare(database).await,
        };
        work(prepared.map_err(|source| DatabaseCommandError::Prepare { url, source })?).await
    })
}
