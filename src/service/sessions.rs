//! Dashboard sessions. An API key opens a session for its project, the administrator's token one
//! for all projects.
//!
//! The cookie is a random token; only its hash is stored. A session is valid only while its
//! credential is valid: if a key is rotated or the administrator's token is replaced, the sessions
//! opened with it end.

use std::fmt::Write;
use std::net::IpAddr;
use std::time::Duration;

use rand::RngExt;
use rand::distr::Alphanumeric;
use sha2::{Digest, Sha256};

use super::{Caller, Projects, Service};
use crate::jobs::Holder;
use crate::model::{KeyHash, ProjectId};
use crate::store::StoreError;

/// How long a session lasts.
const LIFETIME: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// Random characters of a cookie: 43 of base62 are 256 bits.
const COOKIE_CHARACTERS: usize = 43;
/// How long a link that signs in is valid.
const LINK_LIFETIME: Duration = Duration::from_secs(10 * 60);
const ADMIN_TOKEN: &str = "admin-token";
const ADMIN_TOKEN_PREFIX: &str = "rst_admin_";
const ADMIN_TOKEN_CHARACTERS: usize = 32;

/// The rights of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Viewer {
    Administrator,
    Project(ProjectId),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// What the session may see.
    pub viewer: Viewer,
    /// Required in every form that changes something. Pages of other origins cannot know it.
    pub csrf_token: String,
    credential: KeyHash,
    pub(super) cookie: KeyHash,
}

/// Why a sign-in was rejected.
#[derive(Debug, thiserror::Error)]
pub enum SignInError {
    /// The secret is neither an API key nor the administrator's token.
    #[error("invalid API key or administrator token")]
    WrongSecret,
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Session {
    /// Whether this viewer may see `project`.
    #[must_use]
    pub fn may_see(&self, project: ProjectId) -> bool {
        match self.viewer {
            Viewer::Administrator => true,
            Viewer::Project(own) => own == project,
        }
    }

    /// The only project that this viewer may see; `None` if all.
    #[must_use]
    pub fn project(&self) -> Option<ProjectId> {
        if let Viewer::Project(own) = self.viewer {
            Some(own)
        } else {
            None
        }
    }

    /// Whether this viewer may see all projects.
    #[must_use]
    pub fn is_administrator(&self) -> bool {
        self.viewer == Viewer::Administrator
    }

    /// The holder of its jobs.
    #[must_use]
    pub fn holder(&self) -> Holder {
        self.credential.0
    }

    /// The caller for use cases of `project`, which the session may see.
    #[must_use]
    pub fn caller(&self, project: ProjectId) -> Caller {
        Caller {
            project,
            key: self.credential,
        }
    }
}

impl Service {
    /// Signs in with an API key or the administrator's token and returns the cookie.
    ///
    /// # Errors
    /// [`SignInError`].
    pub async fn sign_in(&self, secret: &str, client: IpAddr) -> Result<String, SignInError> {
        let credential = self.credential(secret).await?;
        Ok(self.open_session(&credential, client).await?)
    }

    /// Signs in with a link, which works once, and returns the cookie.
    pub async fn sign_in_with_link(
        &self,
        token: &str,
        client: IpAddr,
    ) -> Result<Option<String>, StoreError> {
        let now = self.now();
        match self.store().take_session(&link(token), now).await? {
            Some(credential) => self.open_session(&credential, client).await.map(Some),
            None => Ok(None),
        }
    }

    async fn open_session(
        &self,
        credential: &KeyHash,
        client: IpAddr,
    ) -> Result<String, StoreError> {
        let cookie = random(COOKIE_CHARACTERS);
        let expires_at = self.now().after(LIFETIME);
        self.store()
            .open_session(&bound(&cookie, client), credential, expires_at)
            .await?;
        Ok(cookie)
    }

    /// What is compared with the sessions of a key or of the administrator's token. A person may
    /// have chosen the token, so each comparison with it needs a turn; a key has too many
    /// characters to be guessed.
    async fn credential(&self, secret: &str) -> Result<KeyHash, SignInError> {
        if let Some(caller) = self.authenticate(secret).await? {
            return Ok(caller.key);
        }
        let turn = self.0.sign_ins.turn().await;
        let hash = digest(secret);
        if self.is_admin_token(&hash).await? {
            return Ok(hash);
        }
        self.0.sign_ins.failed(turn).await;
        Err(SignInError::WrongSecret)
    }

    /// Returns the session of a cookie if both it and its credential are valid, and if `client` has
    /// an address of the kind from which the session was opened.
    pub async fn session(
        &self,
        cookie: &str,
        client: IpAddr,
    ) -> Result<Option<Session>, StoreError> {
        let hash = bound(cookie, client);
        let found = self.viewer_of(&hash).await?;
        Ok(found.map(|(viewer, credential)| Session {
            viewer,
            csrf_token: csrf_token(cookie),
            credential,
            cookie: hash,
        }))
    }

    /// Whether an open session is still valid.
    pub(super) async fn is_valid(&self, session: &Session) -> Result<bool, StoreError> {
        Ok(self.viewer_of(&session.cookie).await? == Some((session.viewer, session.credential)))
    }

    async fn viewer_of(&self, cookie: &KeyHash) -> Result<Option<(Viewer, KeyHash)>, StoreError> {
        let now = self.now();
        let Some(credential) = self.store().session_credential(cookie, now).await? else {
            return Ok(None);
        };
        if self.is_admin_token(&credential).await? {
            return Ok(Some((Viewer::Administrator, credential)));
        }
        let project = self.store().project_of_key(&credential, now).await?;
        Ok(project.map(|project| (Viewer::Project(project), credential)))
    }

    pub async fn sign_out(&self, session: &Session) -> Result<(), StoreError> {
        self.store().close_session(&session.cookie).await
    }

    /// Ends every session that was opened with the same key or token.
    pub async fn sign_out_everywhere(&self, session: &Session) -> Result<(), StoreError> {
        self.store().close_sessions_of(&session.credential).await
    }

    async fn is_admin_token(&self, hash: &KeyHash) -> Result<bool, StoreError> {
        let kept = self.store().setting(ADMIN_TOKEN).await?;
        Ok(kept.is_some_and(|kept| kept.as_ref() == hash.0))
    }
}

impl Projects {
    /// The path of a link that signs in to the default project once, within ten minutes: a session
    /// of the project's newest key that no cookie has. `None` if it has no valid key.
    pub async fn sign_in_link(&self) -> Result<Option<String>, StoreError> {
        let project = self.default_project().await?;
        let now = self.clock.now();
        let Some(key) = self.store().newest_key(project, now).await? else {
            return Ok(None);
        };
        let token = random(COOKIE_CHARACTERS);
        let until = now.after(LINK_LIFETIME);
        self.store()
            .open_session(&link(&token), &key, until)
            .await?;
        Ok(Some(format!("/sign-in/{token}")))
    }

    /// Ensures that there is an administrator's token. `chosen` replaces the current one.
    /// Otherwise, if there is none, one is generated and returned; it cannot be read again, because
    /// only its SHA-256 is stored.
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
        self.store()
            .set_setting(ADMIN_TOKEN, bytes::Bytes::copy_from_slice(&digest(token).0))
            .await
    }
}

fn random(characters: usize) -> String {
    rand::rng()
        .sample_iter(Alphanumeric)
        .take(characters)
        .map(char::from)
        .collect()
}

/// What is stored of a cookie: its hash together with the kind of the client's address. A cookie
/// that was taken from one network is useless in another.
fn bound(cookie: &str, client: IpAddr) -> KeyHash {
    let is_private = match client.to_canonical() {
        IpAddr::V4(address) => address.is_private() || address.is_link_local(),
        IpAddr::V6(address) => address.is_unique_local() || address.is_unicast_link_local(),
    };
    let kind = if client.to_canonical().is_loopback() {
        "loopback"
    } else if is_private {
        "private"
    } else {
        "public"
    };
    digest(&format!("{kind} {cookie}"))
}

/// What is stored of a link. It is no hash of a cookie, whose kinds are others.
fn link(token: &str) -> KeyHash {
    digest(&format!("link {token}"))
}

fn digest(secret: &str) -> KeyHash {
    KeyHash(Sha256::digest(secret.as_bytes()).into())
}

/// Derived from the cookie, so that nothing else is stored. The cookie cannot be computed from it.
fn csrf_token(cookie: &str) -> String {
    let digest = Sha256::new()
        .chain_update(b"csrf ")
        .chain_update(cookie.as_bytes())
        .finalize();
    digest.iter().fold(String::new(), |mut token, byte| {
        let _ = write!(token, "{byte:02x}");
        token
    })
}
