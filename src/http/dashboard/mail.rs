//! The HTML of a mail, answered into a frame that can do nothing: no script, no origin, no form, no network.
//!
//! Nothing here trusts the HTML. The policy of the answer itself forbids everything but inline styles and images that lie
//! in the document; images of the message are put there in place of their `cid:` references. That browsers open no
//! connection for what they then must not load, [`displayed`] sees to.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY};
use axum::http::{HeaderName, HeaderValue};
use axum::response::{IntoResponse, Response};
use restante_mail::anatomy;
use restante_mail::display::displayed;

use super::failure::Failure;
use super::guard::Visit;
use super::page::X_DNS_PREFETCH_CONTROL;
use crate::http::App;
use crate::http::error::Error;
use crate::service::ServiceError;
use crate::store::Source;

const POLICY: &str = "sandbox; default-src 'none'; img-src data:; style-src 'unsafe-inline'; form-action 'none'; base-uri 'none'; \
     frame-ancestors 'self'";
/// Features of a browser that even a frame without scripts might ask for.
const PERMISSIONS: &str = "autoplay=(), camera=(), fullscreen=(), geolocation=(), microphone=(), payment=()";

pub(super) async fn html(
    State(app): State<Arc<App>>,
    Extension(visit): Extension<Arc<Visit>>,
) -> Result<Response, Failure> {
    let (caller, id) = (visit.caller()?, visit.param("message"));
    let parts = app.service.message(&caller, id).await?.parts.read().map_err(ServiceError::from)?;
    let Source { raw, room, .. } = app.service.message_source(&caller, id).await?;
    let showing = tokio::task::spawn_blocking(move || anatomy::with_images(&raw, &displayed(&parts.html)));
    let mut response = room.hold(showing.await.map_err(Error::internal)?.into()).into_response();
    let headers = response.headers_mut();
    let answer: [(HeaderName, &'static str); 6] = [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CONTENT_SECURITY_POLICY, POLICY),
        (REFERRER_POLICY, "no-referrer"),
        (X_DNS_PREFETCH_CONTROL, "off"),
        (HeaderName::from_static("permissions-policy"), PERMISSIONS),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ];
    headers.extend(answer.map(|(name, value)| (name, HeaderValue::from_static(value))));
    Ok(response)
}
