//! What all pages have in common: the frame around them, and the headers that keep them from harm.

use askama::Template;
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY};
use axum::http::{HeaderName, HeaderValue};
use axum::response::{IntoResponse, Redirect, Response};

use super::assets;
use super::guard::Visit;
use crate::http::error::Error;

/// Only our own script, style sheet, images and frames; nothing inline, nothing from elsewhere, and nobody may frame us.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
                      frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
/// Browsers look up the hosts of links ahead of a click unless they are told not to.
pub(super) const X_DNS_PREFETCH_CONTROL: HeaderName = HeaderName::from_static("x-dns-prefetch-control");

/// The frame around a page.
pub(super) struct Shell {
    pub(super) title: String,
    pub(super) style_sheet: &'static str,
    pub(super) script: &'static str,
    /// Which entry of the navigation is the present one.
    pub(super) active: &'static str,
    pub(super) is_signed_in: bool,
    pub(super) is_administrator: bool,
    pub(super) csrf: String,
    /// The project that the page is about.
    pub(super) project: Option<ProjectLink>,
    /// Where the page hears that it has changed, and what it has seen.
    pub(super) live: Option<Live>,
}

pub(super) struct ProjectLink {
    pub(super) id: String,
    pub(super) name: String,
}

pub(super) struct Live {
    pub(super) url: String,
    pub(super) seen: String,
}

impl Shell {
    /// A page about which nothing is known but its title.
    pub(super) fn bare(title: &str) -> Self {
        Self {
            title: title.to_owned(),
            style_sheet: assets::style_sheet_url(),
            script: assets::script_url(),
            active: "",
            is_signed_in: false,
            is_administrator: false,
            csrf: String::new(),
            project: None,
            live: None,
        }
    }

    /// A page for this visit.
    pub(super) fn new(visit: &Visit, title: impl Into<String>, active: &'static str) -> Self {
        let session = visit.session_if_any();
        let project = visit.project_if_any();
        Self {
            title: title.into(),
            active,
            is_signed_in: session.is_some(),
            is_administrator: session.is_some_and(crate::service::Session::is_administrator),
            csrf: session.map(|session| session.csrf_token.clone()).unwrap_or_default(),
            project: project.map(|project| ProjectLink { id: project.id.to_string(), name: project.name.clone() }),
            ..Self::bare("")
        }
    }

    /// The same page, following along.
    pub(super) fn live(self, url: impl Into<String>, seen: String) -> Self {
        Self { live: Some(Live { url: url.into(), seen }), ..self }
    }
}

/// A page as an answer.
///
/// # Errors
/// [`Error::Internal`] where it cannot be rendered.
pub(super) fn html(page: &impl Template) -> Result<Response, Error> {
    let body = page.render().map_err(Error::internal)?;
    let mut response = ([(CONTENT_TYPE, "text/html; charset=utf-8")], body).into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    // A form's Origin would be null under no-referrer; to other sites both say nothing.
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    headers.insert(X_DNS_PREFETCH_CONTROL, HeaderValue::from_static("off"));
    headers.insert("cross-origin-opener-policy", HeaderValue::from_static("same-origin"));
    headers.insert("x-frame-options", HeaderValue::from_static("DENY"));
    Ok(response)
}

/// Sends the browser to a page after a change.
pub(super) fn see(path: &str) -> Response {
    Redirect::to(path).into_response()
}

/// A path with a query of those parameters that are not empty.
pub(super) fn with_query(path: &str, parameters: &[(&str, &str)]) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(parameters.iter().filter(|(_, value)| !value.is_empty()));
    match query.finish().as_str() {
        "" => path.to_owned(),
        query => format!("{path}?{query}"),
    }
}
