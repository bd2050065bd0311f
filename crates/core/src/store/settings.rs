//! Settings of the installation, by name.

use bytes::Bytes;

use super::{Store, StoreError};
use crate::db::{Row, values};

impl Store {
    /// The value of `name`.
    pub async fn setting(&self, name: &'static str) -> Result<Option<Bytes>, StoreError> {
        const VALUE: &str = "SELECT value FROM settings WHERE name = $1";
        self.first(VALUE, values![name], Row::get).await
    }

    /// Stores `value` under `name`, and replaces an older value.
    pub async fn set_setting(&self, name: &'static str, value: Bytes) -> Result<(), StoreError> {
        const SET: &str = "INSERT INTO settings (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = $2";
        self.change(SET, values![name, value], None).await.map(drop)
    }
}
