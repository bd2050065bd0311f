//! (sketch)
use crate::config::DatabaseUrl;
/// A database: cheap to clone.
#[derive(Clone, Debug)]
pub struct Database;
/// error
#[derive(Debug, thiserror::Error)]
#[error("database")]
pub struct DatabaseError;
impl Database {
    /// Opens (and creates) the database.
    /// # Errors
    /// cannot be opened
    pub async fn open(_url: &DatabaseUrl) -> Result<Self, DatabaseError> {
        std::future::pending().await
    }
}
