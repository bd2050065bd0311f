//! What all pages have in common: the frame around them, the security headers and the paths.

use askama::Template;
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY};
use axum::http::{HeaderName, HeaderValue};
use axum::response::{IntoResponse, Redirect, Response};

use super::error_page::{PageError, sentence};
use super::visit::Visit;
use crate::http::error::Error;
use crate::model::{Domain, Project, Timestamp};

/// Allows only the dashboard's script, style sheet, images and frames: nothing inline or from other
/// hosts. Other sites cannot put the pages into a frame.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
                      connect-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; \
                      frame-ancestors 'none'";
/// Browsers look up the hosts of links before a click unless this header forbids it.
const X_DNS_PREFETCH_CONTROL: HeaderName = HeaderName::from_static("x-dns-prefetch-control");

/// The answer of a handler.
pub(super) type Answer = Result<Response, PageError>;

/// The frame around a page.
pub(super) struct Shell {
    pub(super) title: String,
    /// The icon of its entry in the navigation.
    pub(super) place: &'static str,
    pub(super) visit: Visit,
    /// The failures since the reader looked at them, of the last day.
    pub(super) failures: i64,
    /// The stream that announces changes of the page, and the mark of the page.
    pub(super) live: Option<(String, String)>,
}

/// A link to a view, or to the current one.
pub(super) struct Choice {
    pub(super) label: &'static str,
    pub(super) url: String,
    pub(super) count: usize,
    pub(super) is_current: bool,
}

impl Shell {
    pub(super) fn new(visit: &Visit, title: impl Into<String>, place: &'static str) -> Self {
        Self {
            title: title.into(),
            place,
            visit: visit.clone(),
            failures: 0,
            live: None,
        }
    }

    /// The same page with live updates.
    pub(super) fn live(self, url: impl Into<String>, seen: String) -> Self {
        let live = Some((url.into(), seen));
        Self { live, ..self }
    }

    /// The path of the project; empty on a page without one.
    pub(super) fn base(&self) -> String {
        let project = self.visit.project.as_ref();
        project.map_or_else(String::new, |project| project_path(project, ""))
    }

    /// The token in every form.
    pub(super) fn csrf(&self) -> &str {
        let session = self.visit.session.as_ref();
        session.map_or("", |session| &session.csrf_token)
    }

    pub(super) fn domain(&self) -> &Domain {
        self.visit.service().mail_domain()
    }

    pub(super) fn now(&self) -> Timestamp {
        self.visit.now
    }
}

/// A page as a response.
///
/// # Errors
/// [`Error::Internal`] if it cannot be rendered.
pub(super) fn html(page: &impl Template) -> Result<Response, Error> {
    let body = page.render().map_err(Error::internal)?;
    let mut response = ([(CONTENT_TYPE, "text/html; charset=utf-8")], body).into_response();
    let fixed = [
        (CONTENT_SECURITY_POLICY, POLICY),
        // With no-referrer, the Origin of a form would be null. Both values send nothing to other
        // sites.
        (REFERRER_POLICY, "same-origin"),
        (X_DNS_PREFETCH_CONTROL, "off"),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            "same-origin",
        ),
        (HeaderName::from_static("x-frame-options"), "DENY"),
    ];
    let fixed = fixed.map(|(name, value)| (name, HeaderValue::from_static(value)));
    response.headers_mut().extend(fixed);
    Ok(response)
}

/// Shows the form again, with the error.
///
/// # Errors
/// An internal error, which was not caused by the form.
pub(super) fn again<T: Template>(error: Error, page: impl FnOnce(String) -> T) -> Answer {
    if matches!(error, Error::Internal(_)) {
        return Err(error.into());
    }
    let mut response = html(&page(sentence(&error)))?;
    *response.status_mut() = error.status();
    response.headers_mut().extend(error.header());
    Ok(response)
}

/// Sends the browser to a page after a change.
pub(super) fn see(path: &str) -> Response {
    Redirect::to(path).into_response()
}

/// A path of a project.
pub(super) fn project_path(project: &Project, rest: &str) -> String {
    format!("/projects/{}{rest}", project.id)
}

/// A path with a query of those parameters that are not empty.
pub(super) fn with_query(path: &str, parameters: &[(&str, Option<&str>)]) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    let given = parameters
        .iter()
        .filter_map(|(name, value)| Some((name, value.filter(|value| !value.is_empty())?)));
    query.extend_pairs(given);
    match query.finish().as_str() {
        "" => path.to_owned(),
        query => format!("{path}?{query}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absent_parameters_are_left_out() {
        assert_eq!(with_query("/a", &[("q", None), ("r", Some(""))]), "/a");
        assert_eq!(
            with_query("/a", &[("q", Some("b c")), ("r", None), ("s", Some("1"))]),
            "/a?q=b+c&s=1"
        );
    }
}
