//! Who is signed in to the dashboard: with an API key, for its project; with the administrator's token, for all.
//!
//! The cookie is a random token of which the store knows the hash. A session is worth what it was signed in with: once
//! a key is rotated or the administrator's token replaced, the sessions opened with it are worth nothing.

use std::fmt::Write;
use std::time::Duration;

use rand::RngExt;
use rand::distr::Alphanumeric;
use sha2::{Digest, Sha256};

use super::{Caller, Projects, Service};
use crate::model::{KeyHash, ProjectId};
use crate::store::StoreError;

/// How long a session lasts.
const LIFETIME: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// Random characters of a cookie: 43 of base62 are 256 bits.
const COOKIE_CHARACTERS: usize = 43;
const ADMIN_TOKEN: &str = "admin-token";
const ADMIN_TOKEN_PREFIX: &str = "rst_admin_";
const ADMIN_TOKEN_CHARACTERS: usize = 32;

/// What somebody who is signed in may see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Viewer {
    /// Everything.
    Administrator,
    /// One project.
    Project(ProjectId),
}

/// Somebody who is signed in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// What they may see.
    pub viewer: Viewer,
    /// What every change that they make must carry; a page of another origin cannot know it.
    pub csrf_token: String,
    credential: KeyHash,
    cookie: KeyHash,
}

impl Session {
    /// Whether they may see `project`.
    #[must_use]
    pub fn may_see(&self, project: ProjectId) -> bool {
        match self.viewer {
            Viewer::Administrator => true,
            Viewer::Project(own) => own == project,
        }
    }

    /// Whether they may see everything.
    #[must_use]
    pub fn is_administrator(&self) -> bool {
        self.viewer == Viewer::Administrator
    }

    /// They as the caller of a use case of `project`, which they may see.
    #[must_use]
    pub fn caller(&self, project: ProjectId) -> Caller {
        Caller { project, key: self.credential }
    }
}

impl Service {
    /// Signs in with an API key or the administrator's token and returns the cookie; `None` where it is neither.
    ///
    /// # Errors
    /// Where the store fails.
    pub async fn sign_in(&self, secret: &str) -> Result<Option<String>, StoreError> {
        let credential = match self.authenticate(secret).await? {
            Some(caller) => caller.key,
            None if self.is_admin_token(&digest(secret)).await? => digest(secret),
            None => return Ok(None),
        };
        let cookie = random(COOKIE_CHARACTERS);
        let expires_at = self.0.clock.now().after(LIFETIME);
        self.0.store.open_session(&digest(&cookie), &credential, expires_at).await?;
        Ok(Some(cookie))
    }

    /// Whose session the cookie is, while it and what it was opened with are good.
    ///
    /// # Errors
    /// Where the store fails.
    pub async fn session(&self, cookie: &str) -> Result<Option<Session>, StoreError> {
        let (hash, now) = (digest(cookie), self.0.clock.now());
        let Some(credential) = self.0.store.session_credential(&hash, now).await? else { return Ok(None) };
        let viewer = if self.is_admin_token(&credential).await? {
            Viewer::Administrator
        } else {
            match self.0.store.project_of_key(&credential, now).await? {
                Some(project) => Viewer::Project(project),
                None => return Ok(None),
            }
        };
        Ok(Some(Session { viewer, csrf_token: csrf_token(cookie), credential, cookie: hash }))
    }

    /// Ends a session.
    ///
    /// # Errors
    /// Where the store fails.
    pub async fn sign_out(&self, session: &Session) -> Result<(), StoreError> {
        self.0.store.close_session(&session.cookie).await
    }

    /// Ends every session that was opened with the same key or token.
    ///
    /// # Errors
    /// Where the store fails.
    pub async fn sign_out_everywhere(&self, session: &Session) -> Result<(), StoreError> {
        self.0.store.close_sessions_of(&session.credential).await
    }

    async fn is_admin_token(&self, hash: &KeyHash) -> Result<bool, StoreError> {
        let kept = self.0.store.setting(ADMIN_TOKEN).await?;
        Ok(kept.is_some_and(|kept| kept.as_ref() == hash.0))
    }
}

impl Projects {
    /// Makes sure that there is an administrator's token: `chosen` becomes the only one; without a choice, one is made
    /// where there is none, and returned this once. Only its SHA-256 is kept.
    ///
    /// # Errors
    /// Where the store fails.
    pub async fn prepare_admin(&self, chosen: Option<&str>) -> Result<Option<String>, StoreError> {
        if let Some(token) = chosen {
            self.keep_admin_token(token).await?;
            return Ok(None);
        }
        if self.store().setting(ADMIN_TOKEN).await?.is_some() {
            return Ok(None);
        }
        let token = format!("{ADMIN_TOKEN_PREFIX}{}", random(ADMIN_TOKEN_CHARACTERS));
        self.keep_admin_token(&token).await?;
        Ok(Some(token))
    }

    async fn keep_admin_token(&self, token: &str) -> Result<(), StoreError> {
        self.store().set_setting(ADMIN_TOKEN, bytes::Bytes::copy_from_slice(&digest(token).0)).await
    }
}

fn random(characters: usize) -> String {
    rand::rng().sample_iter(Alphanumeric).take(characters).map(char::from).collect()
}

fn digest(secret: &str) -> KeyHash {
    KeyHash(Sha256::digest(secret.as_bytes()).into())
}

/// Made from the cookie, so that nothing more is kept; the cookie cannot be found from it.
fn csrf_token(cookie: &str) -> String {
    let digest = Sha256::new().chain_update(b"csrf ").chain_update(cookie.as_bytes()).finalize();
    digest.iter().fold(String::new(), |mut token, octet| {
        let _ = write!(token, "{octet:02x}");
        token
    })
}
