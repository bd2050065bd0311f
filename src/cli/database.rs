//! Opens the database for a command, with a running server or without one.

use std::path::PathBuf;

use super::error::CliError;
use crate::config::DatabaseUrl;
use crate::db::{Database, DatabaseError};
use crate::service::{CopyError, StoreError};

/// Why a command cannot use the database.
#[derive(Debug, thiserror::Error)]
pub(super) enum DatabaseCommandError {
    #[error(
        "there is no database at {}: run `restante serve` once, or check --data-dir and --database", .0.display()
    )]
    Absent(PathBuf),
    #[error("cannot open the database {url}")]
    Open {
        url: String,
        source: Box<DatabaseError>,
    },
    #[error("cannot prepare the database {url}")]
    Prepare {
        url: String,
        source: Box<StoreError>,
    },
    #[error("nothing was copied")]
    Copy(#[source] Box<CopyError>),
}

/// Returns an error if the database does not exist, because opening would create it even if the
/// path is mistyped.
///
/// # Errors
/// [`DatabaseCommandError::Absent`].
pub(super) fn refuse_absent(url: &DatabaseUrl) -> Result<(), DatabaseCommandError> {
    match url {
        DatabaseUrl::Sqlite(path) if !path.exists() => {
            Err(DatabaseCommandError::Absent(path.clone()))
        }
        _ => Ok(()),
    }
}

/// Opens the database, prepares what `work` needs, and runs `work` on a new runtime.
///
/// # Errors
/// [`DatabaseCommandError`] if the database cannot be used; otherwise the error of `work`.
pub(super) fn with<T>(
    url: DatabaseUrl,
    prepare: impl AsyncFnOnce(Database) -> Result<T, StoreError>,
    work: impl AsyncFnOnce(T) -> Result<(), CliError>,
) -> Result<(), CliError> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    runtime.map_err(CliError::Runtime)?.block_on(async {
        let prepared = open(url, prepare).await?;
        work(prepared).await
    })
}

/// Opens the database and prepares what the caller needs.
///
/// # Errors
/// [`DatabaseCommandError`] if the database cannot be used.
pub(super) async fn open<T>(
    url: DatabaseUrl,
    prepare: impl AsyncFnOnce(Database) -> Result<T, StoreError>,
) -> Result<T, DatabaseCommandError> {
    let shown = url.to_string();
    let prepared = match Database::open(&url).await {
        Ok(database) => prepare(database).await,
        Err(error) => {
            return Err(DatabaseCommandError::Open {
                url: shown,
                source: error.into(),
            });
        }
    };
    prepared.map_err(|error| DatabaseCommandError::Prepare {
        url: shown,
        source: error.into(),
    })
}
