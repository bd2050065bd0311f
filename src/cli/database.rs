//! Opens the database for a command, with a running server or without one.

use std::io;
use std::path::PathBuf;

use super::data_dir::DataDirError;
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
        url: DatabaseUrl,
        source: DatabaseError,
    },
    #[error("cannot prepare the database {url}")]
    Prepare {
        url: DatabaseUrl,
        source: StoreError,
    },
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    #[error("nothing was copied")]
    Copy(#[source] CopyError),
    #[error("cannot start the runtime")]
    Runtime(#[source] io::Error),
}

impl From<DatabaseCommandError> for CliError {
    fn from(error: DatabaseCommandError) -> Self {
        Self::failed(error)
    }
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
    runtime
        .map_err(DatabaseCommandError::Runtime)?
        .block_on(async {
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
    let prepared = match Database::open(&url).await {
        Err(source) => return Err(DatabaseCommandError::Open { url, source }),
        Ok(database) => prepare(database).await,
    };
    prepared.map_err(|source| DatabaseCommandError::Prepare { url, source })
}
