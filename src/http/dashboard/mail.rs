//! The HTML of a mail, answered into a frame that can do nothing: no script, no origin, no form, no network.
//!
//! Nothing here trusts the HTML. The policy of the response forbids everything but inline styles and embedded images;
//! images of the message are embedded in place of their `cid:` references. [`displayed`] removes what makes a browser
//! open a connection before the policy forbids the load.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY};
use axum::response::{IntoResponse, Response};
use restante_mail::anatomy;
use restante_mail::display::displayed;

use super::failure::Failure;
use super::parts::MessagePath;
use super::visit::{Params, ProjectPage};
use crate::http::App;
use crate::http::error::Error;
use crate::service::ServiceError;
use crate::store::Source;

const POLICY: &str = "sandbox; default-src 'none'; img-src data:; style-src 'unsafe-inline'; form-action 'none'; \
                      base-uri 'none'; frame-ancestors 'self'";
/// Features of a browser that even a frame without scripts might request.
const PERMISSIONS: &str = "autoplay=(), camera=(), fullscreen=(), geolocation=(), microphone=(), payment=()";

pub(super) async fn html(
    State(app): State<Arc<App>>,
    page: ProjectPage,
    Params(MessagePath { message }): Params<MessagePath>,
) -> Result<Response, Failure> {
    let caller = page.caller();
    let parts = app.service.message(&caller, &message).await?.parts.read().map_err(ServiceError::from)?;
    let Source { raw, room, .. } = app.service.message_source(&caller, &message).await?;
    let displaying = tokio::task::spawn_blocking(move || anatomy::with_images(&raw, &displayed(&parts.html)));
    let html = displaying.await.map_err(Error::internal)?;
    let headers = [
        (CONTENT_TYPE.as_str(), "text/html; charset=utf-8"),
        (CONTENT_SECURITY_POLICY.as_str(), POLICY),
        (REFERRER_POLICY.as_str(), "no-referrer"),
        ("x-dns-prefetch-control", "off"),
        ("permissions-policy", PERMISSIONS),
        ("cross-origin-resource-policy", "same-origin"),
    ];
    Ok((headers, room.hold(html.into())).into_response())
}
