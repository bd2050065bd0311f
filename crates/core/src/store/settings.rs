//! Settings of the installation, by name.

use bytes::Bytes;

use super::{Store, StoreError};
use crate::db::values;

impl Store {
    /// The value of `name`.
    pub async fn setting(&self, name: &'static str) -> Result<Option<Bytes>, StoreError> {
        let rows = self
            .database
            .look_up("SELECT value FROM settings WHERE name = $1", values![name])
            .await?;
        Ok(rows
            .into_iter()
            .next()
            .map(|mut row| row.bytes())
            .transpose()?)
    }

    /// Stores `value` under `name`, and replaces an older value.
    pub async fn set_setting(&self, name: &'static str, value: Bytes) -> Result<(), StoreError> {
        const SET: &str = "INSERT INTO settings (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = $2";
        self.change(SET, values![name, value], None).await.map(drop)
    }
}
