//! Dashboard sessions. Only the hashes of the cookie and of the credential are stored.

use super::{Change, Store, StoreError};
use crate::db::{Row, values};
use crate::model::{KeyHash, Timestamp};

impl Store {
    /// Opens a session until `expires_at`.
    pub async fn open_session(
        &self,
        cookie: &KeyHash,
        credential: &KeyHash,
        expires_at: Timestamp,
    ) -> Result<(), StoreError> {
        const INSERT: &str =
            "INSERT INTO sessions (hash, credential, expires_at) VALUES ($1, $2, $3)";
        let parameters = values![*cookie, *credential, expires_at];
        self.change(INSERT, parameters, None).await.map(drop)
    }

    /// The hash of the credential of an open session.
    pub async fn session_credential(
        &self,
        cookie: &KeyHash,
        now: Timestamp,
    ) -> Result<Option<KeyHash>, StoreError> {
        const FIND: &str = "SELECT credential FROM sessions WHERE hash = $1 AND expires_at > $2";
        self.first(FIND, values![*cookie, now], Row::get).await
    }

    pub async fn close_session(&self, cookie: &KeyHash) -> Result<(), StoreError> {
        const CLOSE: &str = "DELETE FROM sessions WHERE hash = $1";
        self.change(CLOSE, values![*cookie], Some(Change::Sessions))
            .await
            .map(drop)
    }

    /// Closes a session and returns its credential: to one caller only.
    pub async fn take_session(
        &self,
        cookie: &KeyHash,
        now: Timestamp,
    ) -> Result<Option<KeyHash>, StoreError> {
        const TAKE: &str = "DELETE FROM sessions WHERE hash = $1";
        let Some(credential) = self.session_credential(cookie, now).await? else {
            return Ok(None);
        };
        let taken = self.change(TAKE, values![*cookie], None).await?;
        Ok((taken == 1).then_some(credential))
    }

    /// Closes every session that was signed in with `credential`.
    pub async fn close_sessions_of(&self, credential: &KeyHash) -> Result<(), StoreError> {
        const CLOSE: &str = "DELETE FROM sessions WHERE credential = $1";
        self.change(CLOSE, values![*credential], Some(Change::Sessions))
            .await
            .map(drop)
    }
}
