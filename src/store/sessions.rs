//! Sessions of the dashboard. Only hashes are known here: of the cookie, and of what was signed in with.

use super::{Store, StoreError};
use crate::db::values;
use crate::model::{KeyHash, Timestamp};

impl Store {
    /// Opens a session until `expires_at`.
    ///
    /// # Errors
    /// Where the database fails, as everywhere below.
    pub async fn open_session(
        &self,
        cookie: &KeyHash,
        credential: &KeyHash,
        expires_at: Timestamp,
    ) -> Result<(), StoreError> {
        const INSERT: &str = "INSERT INTO sessions (hash, credential, expires_at) VALUES ($1, $2, $3)";
        let mut transaction = self.database.begin()?;
        let parameters = values![cookie.0.as_slice(), credential.0.as_slice(), expires_at.as_millis()];
        transaction.execute(INSERT, parameters).await?;
        Ok(transaction.commit().await?)
    }

    /// What an open session was signed in with.
    ///
    /// # Errors
    /// Where the database fails.
    pub async fn session_credential(&self, cookie: &KeyHash, now: Timestamp) -> Result<Option<KeyHash>, StoreError> {
        const FIND: &str = "SELECT credential FROM sessions WHERE hash = $1 AND expires_at > $2";
        let rows = self.database.query(FIND, values![cookie.0.as_slice(), now.as_millis()]).await?;
        let Some(mut row) = rows.into_iter().next() else { return Ok(None) };
        Ok(row.bytes()?.as_ref().try_into().ok().map(KeyHash))
    }

    /// Closes one session.
    ///
    /// # Errors
    /// Where the database fails.
    pub async fn close_session(&self, cookie: &KeyHash) -> Result<(), StoreError> {
        let mut transaction = self.database.begin()?;
        transaction.execute("DELETE FROM sessions WHERE hash = $1", values![cookie.0.as_slice()]).await?;
        transaction.notify(super::SESSIONS_CHANGED.to_owned());
        Ok(transaction.commit().await?)
    }

    /// Closes every session that was signed in with `credential`.
    ///
    /// # Errors
    /// Where the database fails.
    pub async fn close_sessions_of(&self, credential: &KeyHash) -> Result<(), StoreError> {
        let mut transaction = self.database.begin()?;
        transaction.execute("DELETE FROM sessions WHERE credential = $1", values![credential.0.as_slice()]).await?;
        transaction.notify(super::SESSIONS_CHANGED.to_owned());
        Ok(transaction.commit().await?)
    }
}
