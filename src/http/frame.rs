//! The HTML of a message as a harmless page: no scripts, no origin, no forms, no network.
//!
//! The HTML is never trusted. The policy of the response forbids everything except inline styles
//! and embedded images; images of the message are embedded in place of their `cid:` references.
//! `restante_mail::display` removes elements that make a browser open a connection before the
//! policy blocks the request. A link opens a page of the dashboard in a new tab, which shows where
//! the link leads, or on a page for Mailpit's helpers its target; without scripts, only a click
//! opens it.

use axum::http::header::{
    CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::response::{IntoResponse, Response};
use restante_mail::display::Links;
use restante_mail::view;

use super::app::App;
use super::error::Error;
use crate::service::Caller;

const POLICY: &str = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; form-action 'none'; \
     base-uri 'none'; frame-ancestors 'self'";
/// The start of the policy, without and with links that open a new tab.
const SANDBOX: &str = "sandbox; ";
const SANDBOX_WITH_LINKS: &str = "sandbox allow-popups allow-popups-to-escape-sandbox; ";
/// The same, but images of other hosts are loaded, because the reader has requested that.
const POLICY_WITH_IMAGES: &str = "default-src 'none'; img-src data: http: https:; \
     style-src 'unsafe-inline'; form-action 'none'; base-uri 'none'; frame-ancestors 'self'";
/// Features of a browser that even a frame without scripts might request.
const PERMISSIONS: &str =
    "autoplay=(), camera=(), fullscreen=(), geolocation=(), microphone=(), payment=()";

/// Which images a page shows.
#[derive(Clone, Copy, Debug)]
pub(super) enum Images {
    /// Only images in the message.
    Own,
    /// Also images of other hosts.
    All,
}

impl Images {
    fn policy(self) -> &'static str {
        match self {
            Self::Own => POLICY,
            Self::All => POLICY_WITH_IMAGES,
        }
    }
}

/// The message as a page: the start of its HTML, or of its text if it has none. `download` is the
/// relative URL of the whole message.
pub(super) async fn page(
    app: &App,
    caller: &Caller,
    id: &str,
    images: Images,
    download: impl Into<String>,
    links: Links,
) -> Result<Response, Error> {
    let (message, job) = app.service.whole_message(caller, id).await?;
    let sandbox = if links == Links::Shown {
        SANDBOX
    } else {
        SANDBOX_WITH_LINKS
    };
    let policy = format!("{sandbox}{}", images.policy());
    let download = download.into();
    let making = job.run(move || view::page(&message.raw, &download, &links));
    let (html, job) = making.await.map_err(Error::internal)?;
    let headers = [
        (CONTENT_TYPE.as_str(), "text/html; charset=utf-8"),
        (CONTENT_SECURITY_POLICY.as_str(), policy.as_str()),
        (REFERRER_POLICY.as_str(), "no-referrer"),
        (X_CONTENT_TYPE_OPTIONS.as_str(), "nosniff"),
        ("x-dns-prefetch-control", "off"),
        ("permissions-policy", PERMISSIONS),
        ("cross-origin-resource-policy", "same-origin"),
    ];
    Ok((headers, job.answer(html.into())).into_response())
}
