//! Opening a database for the commands that work on it without a server.

use std::future::Future;
use std::io;
use std::path::PathBuf;

use super::data_dir::DataDirError;
use super::error::CliError;
use crate::config::DatabaseUrl;
use crate::db::{Database, DatabaseError};
use crate::store::{CopyError, Store, StoreError};

/// Why a command could not do its work on a database.
#[derive(Debug, thiserror::Error)]
pub(super) enum DatabaseCommandError {
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    #[error("there is no database at {}: name another with --from", .0.display())]
    NoSource(PathBuf),
    #[error("cannot open the database {url}")]
    Open { url: DatabaseUrl, source: DatabaseError },
    #[error("cannot use the database {url}")]
    Prepare { url: DatabaseUrl, source: StoreError },
    #[error("nothing was copied")]
    Copy(#[source] CopyError),
    #[error("cannot start the runtime")]
    Runtime(#[source] io::Error),
}

/// Runs a command's work to its end.
pub(super) fn block_on<T>(work: impl Future<Output = Result<T, CliError>>) -> Result<T, CliError> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.map_err(DatabaseCommandError::Runtime)?.block_on(work)
}

/// Opens a database and brings its schema up to date.
pub(super) async fn open(url: &DatabaseUrl) -> Result<Store, DatabaseCommandError> {
    let opened = Database::open(url).await;
    let database = opened.map_err(|source| DatabaseCommandError::Open { url: url.clone(), source })?;
    let store = Store::open(database).await;
    store.map_err(|source| DatabaseCommandError::Prepare { url: url.clone(), source })
}
