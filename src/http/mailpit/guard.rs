//! Who may use the API of Mailpit: a client with an API key, or with `--mailpit-api open` every
//! client on this machine.
//!
//! The host is checked, because pages of a name that points here have its origin.

use std::sync::Arc;

use axum::extract::{FromRequestParts, Request, State};
use axum::http::HeaderMap;
use axum::http::header::{FORWARDED, HeaderName, VIA};
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::Response;

use super::Refused;
use crate::config::MailpitApi;
use crate::http::App;
use crate::http::credential::{Admitted, Credential};
use crate::http::error::Error;
use crate::http::host::own_host;

/// A request with one of these was forwarded by a proxy.
const PROXY_FIELDS: [HeaderName; 6] = [
    FORWARDED,
    VIA,
    HeaderName::from_static("x-forwarded-for"),
    HeaderName::from_static("x-forwarded-host"),
    HeaderName::from_static("x-forwarded-proto"),
    HeaderName::from_static("x-real-ip"),
];

/// Checks a request, and adds its caller.
pub(super) async fn check(
    State(app): State<Arc<App>>,
    mut request: Request,
    next: Next,
) -> Result<Response, Refused> {
    own_host(request.method(), request.headers(), app.base_url.as_str())?;
    let admitted = admit(&app, request.headers()).await?;
    request.extensions_mut().insert(admitted);
    Ok(next.run(request).await)
}

async fn admit(app: &App, headers: &HeaderMap) -> Result<Admitted, Error> {
    if let Credential::Key(key) = Credential::of(headers) {
        let caller = app.service.authenticate(&key).await.map_err(Error::from)?;
        return Ok(Admitted {
            caller: caller.ok_or(Error::Unauthorized)?,
            has_key: true,
        });
    }
    // A proxy on this machine would let other hosts in.
    let is_forwarded = PROXY_FIELDS.iter().any(|name| headers.contains_key(name));
    if app.mailpit_api != MailpitApi::Open || is_forwarded {
        return Err(Error::Unauthorized);
    }
    Ok(Admitted {
        caller: app.service.anyone(),
        has_key: false,
    })
}

impl<S: Sync> FromRequestParts<S> for Admitted {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refused> {
        parts
            .extensions
            .get()
            .copied()
            .ok_or_else(|| Error::Unauthorized.into())
    }
}
