//! The whole contents of a database, for the commands that migrate or copy it.

use crate::db::Database;
use crate::store::Store;

pub use crate::store::{CopyError, Progress, StoreError};

/// The contents of a database.
#[derive(Debug)]
pub struct DatabaseContents(Store);

impl DatabaseContents {
    /// The version of the schema after a migration.
    pub const SCHEMA_VERSION: usize = Store::SCHEMA_VERSION;

    /// Migrates the schema.
    ///
    /// # Errors
    /// If the database fails, or its schema is newer than this program.
    pub async fn migrate(database: Database) -> Result<Self, StoreError> {
        Store::open(database).await.map(Self)
    }

    /// Copies everything into an empty database.
    ///
    /// # Errors
    /// [`CopyError`]; then the target remains empty.
    pub async fn copy_to(
        &self,
        target: &Self,
        progress: impl FnMut(Progress) + Send + 'static,
    ) -> Result<(), CopyError> {
        self.0.copy_to(&target.0, progress).await
    }
}
