//! Extractors for the caller, and for the caller's inbox in the path.
//!
//! They run before a handler runs or reads a query or a body.

use std::sync::Arc;

use axum::extract::{FromRequestParts, Path};
use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;

use super::app::App;
use super::error::Error;
use crate::model::Inbox;
use crate::service::Caller;

/// The caller, with a valid key.
pub(super) struct Authenticated(pub(super) Caller);

/// The `{id}` of the path, percent-decoded.
pub(super) struct PathId(pub(super) String);

/// The caller and the inbox of the path, which belongs to the caller's project.
pub(super) struct OwnedInbox {
    pub(super) caller: Caller,
    pub(super) inbox: Inbox,
}

impl FromRequestParts<Arc<App>> for Authenticated {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Error> {
        let key = presented_key(&parts.headers).ok_or(Error::Unauthorized)?;
        let caller = app.service.authenticate(key).await.map_err(Error::internal)?;
        caller.map(Self).ok_or(Error::Unauthorized)
    }
}

impl FromRequestParts<Arc<App>> for PathId {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Error> {
        let id = Path::<String>::from_request_parts(parts, app).await;
        // Bytes that are not UTF-8 become the empty id, which does not exist.
        Ok(Self(id.map_or_else(|_| String::new(), |Path(id)| id)))
    }
}

impl FromRequestParts<Arc<App>> for OwnedInbox {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Error> {
        let Authenticated(caller) = Authenticated::from_request_parts(parts, app).await?;
        let id = PathId::from_request_parts(parts, app).await?;
        let inbox = app.service.inbox(&caller, &id.0).await?;
        Ok(Self { caller, inbox })
    }
}

/// The key in the request: Authorization with the scheme Bearer if present, otherwise X-Api-Key.
fn presented_key(headers: &HeaderMap) -> Option<&str> {
    if let Some(authorization) = headers.get(AUTHORIZATION) {
        let authorization = authorization.to_str().unwrap_or_default().trim();
        let (scheme, key) = authorization.split_once(' ').unwrap_or((authorization, ""));
        if scheme.eq_ignore_ascii_case("bearer") {
            return Some(key.trim());
        }
    }
    headers.get("x-api-key")?.to_str().ok().map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(headers: &[(&'static str, &'static str)]) -> Option<String> {
        let headers: HeaderMap =
            headers.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect();
        presented_key(&headers).map(str::to_owned)
    }

    #[test]
    fn a_bearer_wins_over_x_api_key_and_any_other_scheme_does_not() {
        assert_eq!(key(&[("authorization", "Bearer a"), ("x-api-key", "b")]).as_deref(), Some("a"));
        assert_eq!(key(&[("authorization", "bEARER  a ")]).as_deref(), Some("a"));
        assert_eq!(key(&[("authorization", "Bearer"), ("x-api-key", "b")]).as_deref(), Some(""));
        assert_eq!(key(&[("authorization", "Basic a"), ("x-api-key", "b")]).as_deref(), Some("b"));
        assert_eq!(key(&[("x-api-key", "b")]).as_deref(), Some("b"));
        assert_eq!(key(&[("authorization", "Basic a")]), None);
        assert_eq!(key(&[]), None);
    }
}
