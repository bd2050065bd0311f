//! Facts about the installation, by name.

use bytes::Bytes;

use super::{Store, StoreError};
use crate::db::values;

impl Store {
    /// Keeps `value` under `name`, in place of what was there.
    ///
    /// # Errors
    /// Where the database fails.
    pub async fn set_setting(&self, name: &'static str, value: Bytes) -> Result<(), StoreError> {
        const SET: &str =
            "INSERT INTO settings (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = $2";
        let mut transaction = self.database.begin()?;
        transaction.execute(SET, values![name, value]).await?;
        Ok(transaction.commit().await?)
    }
}
