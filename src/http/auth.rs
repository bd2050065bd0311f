//! Extractors for the caller, and for the caller's inbox in the path.
//!
//! They run before a handler runs or reads a query or a body.

use std::sync::Arc;

use axum::extract::{FromRequestParts, Path, Request, State};
use axum::http::HeaderMap;
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE};
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::Response;
use restante_api::InboxPath;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

use super::app::App;
use super::credential::Credential;
use super::dashboard::{COOKIE_NAME, cookie};
use super::describe::{INBOX_NOT_FOUND, Input, Operation, UNAUTHORIZED};
use super::error::Error;
use super::response::keeping;
use super::sending;
use crate::jobs::Holder;
use crate::model::Inbox;
use crate::service::Caller;

/// The caller, with a valid key.
pub(super) struct Authenticated(pub(super) Caller);

/// The parameters of the path, percent-decoded.
pub(super) struct PathOf<T>(pub(super) T);

/// The caller and the inbox of the path, which belongs to the caller's project.
pub(super) struct OwnedInbox {
    pub(super) caller: Caller,
    pub(super) inbox: Inbox,
}

impl FromRequestParts<Arc<App>> for Authenticated {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Error> {
        let key = presented_key(&parts.headers).ok_or(Error::Unauthorized)?;
        let caller = app.service.authenticate(key).await?;
        caller.map(Self).ok_or(Error::Unauthorized)
    }
}

impl<T: DeserializeOwned + Default + Send> FromRequestParts<Arc<App>> for PathOf<T> {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Error> {
        let path = Path::<T>::from_request_parts(parts, app).await;
        // Bytes that are not UTF-8 become the empty id, which does not exist.
        Ok(Self(path.map_or_else(|_| T::default(), |Path(path)| path)))
    }
}

impl FromRequestParts<Arc<App>> for OwnedInbox {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Error> {
        let Authenticated(caller) = Authenticated::from_request_parts(parts, app).await?;
        let PathOf(InboxPath { id }) = PathOf::from_request_parts(parts, app).await?;
        let inbox = app.service.inbox(&caller, &id).await?;
        Ok(Self { caller, inbox })
    }
}

impl Input for Authenticated {
    fn describe(operation: &mut Operation<'_>) {
        operation.add_shared(&UNAUTHORIZED);
    }
}

impl<T: JsonSchema> Input for PathOf<T> {
    fn describe(operation: &mut Operation<'_>) {
        operation.add_parameters::<T>("path");
    }
}

impl Input for OwnedInbox {
    fn describe(operation: &mut Operation<'_>) {
        Authenticated::describe(operation);
        PathOf::<InboxPath>::describe(operation);
        operation.add_shared(&INBOX_NOT_FOUND);
    }
}

/// Lets a request in if not too many of its key run, or of its session. Requests without a key are
/// not counted; connections are.
pub(super) async fn admit(
    State(app): State<Arc<App>>,
    request: Request,
    next: Next,
) -> Result<Response, Error> {
    let headers = request.headers();
    let is_send = sending::is_request(request.method(), request.uri().path());
    let presented = match Credential::of(headers) {
        Credential::Key(key) => Some(key),
        _ if is_send => None,
        _ => presented_key(headers)
            .or_else(|| cookie(headers, COOKIE_NAME))
            .map(str::to_owned),
    };
    let Some(secret) = presented else {
        return Ok(next.run(request).await);
    };
    let holder: Holder = Sha256::digest(secret).into();
    let running = app.service.jobs().request(holder).await?;
    let response = next.run(request).await;
    let content_type = response.headers().get(CONTENT_TYPE);
    // Streams of events have limits of their own.
    if content_type.is_some_and(|kind| kind == "text/event-stream") {
        return Ok(response);
    }
    Ok(response.map(|body| keeping(running, body)))
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
        let headers: HeaderMap = headers
            .iter()
            .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
            .collect();
        presented_key(&headers).map(str::to_owned)
    }

    #[test]
    fn a_bearer_wins_over_x_api_key_and_any_other_scheme_does_not() {
        assert_eq!(
            key(&[("authorization", "Bearer a"), ("x-api-key", "b")]).as_deref(),
            Some("a")
        );
        assert_eq!(
            key(&[("authorization", "bEARER  a ")]).as_deref(),
            Some("a")
        );
        assert_eq!(
            key(&[("authorization", "Bearer"), ("x-api-key", "b")]).as_deref(),
            Some("")
        );
        assert_eq!(
            key(&[("authorization", "Basic a"), ("x-api-key", "b")]).as_deref(),
            Some("b")
        );
        assert_eq!(key(&[("x-api-key", "b")]).as_deref(), Some("b"));
        assert_eq!(key(&[("authorization", "Basic a")]), None);
        assert_eq!(key(&[]), None);
    }
}
