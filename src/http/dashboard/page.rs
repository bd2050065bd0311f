//! What all pages have in common: the layout, the security headers and the paths.

use std::time::Duration;

use askama::Template;
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY};
use axum::http::{HeaderName, HeaderValue};
use axum::response::{IntoResponse, Redirect, Response};

use super::assets;
use super::failure::sentence;
use super::plain::shown;
use crate::http::error::Error;
use crate::model::{Project, SUBJECT_CHARACTERS, Timestamp, cut};
use crate::service::Session;

/// Allows only the dashboard's script, style sheet, images and frames: nothing inline or from other
/// hosts. Other sites cannot put the pages into a frame.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
                      connect-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; \
                      frame-ancestors 'none'";
/// The options of a time filter: the word in the query, the label, and the hours.
const TIMES: [(&str, &str, u64); 3] = [
    ("hour", "Last hour", 1),
    ("day", "Last day", 24),
    ("week", "Last week", 168),
];
/// Browsers look up the hosts of links before a click unless this header forbids it.
const X_DNS_PREFETCH_CONTROL: HeaderName = HeaderName::from_static("x-dns-prefetch-control");

/// The layout around a page.
pub(super) struct Shell {
    pub(super) title: String,
    pub(super) style_sheet: String,
    pub(super) script: String,
    /// For a signed-in viewer.
    pub(super) navigation: Option<Navigation>,
    /// The stream that announces changes of the page, and the mark of the page.
    pub(super) live: Option<Live>,
    /// Whether only the content of the page is sent, for the script.
    pub(super) is_part: bool,
    /// The failures since the reader looked at them, of the last day.
    pub(super) failures: i64,
}

/// The navigation, whose entries are in the template.
pub(super) struct Navigation {
    pub(super) csrf: String,
    /// The name and the path of the project that the page is about.
    pub(super) project: Option<(String, String)>,
    pub(super) is_administrator: bool,
    /// The icon of the current entry.
    pub(super) current: &'static str,
}

pub(super) struct Live {
    pub(super) url: String,
    pub(super) seen: String,
}

impl Shell {
    /// A page without navigation, for visitors who are not signed in.
    pub(super) fn bare(title: impl Into<String>) -> Self {
        let style_sheet = assets::style_sheet_url();
        let script = assets::script_url();
        Self {
            title: title.into(),
            style_sheet,
            script,
            navigation: None,
            live: None,
            is_part: false,
            failures: 0,
        }
    }

    /// A page for a session. `place` is the icon of its entry in the navigation.
    pub(super) fn new(
        session: &Session,
        project: Option<&Project>,
        title: impl Into<String>,
        place: &'static str,
    ) -> Self {
        let project = project.map(|project| (project.name.clone(), project_path(project, "")));
        Self {
            navigation: Some(Navigation {
                csrf: session.csrf_token.clone(),
                project,
                is_administrator: session.is_administrator(),
                current: place,
            }),
            ..Self::bare(title)
        }
    }

    /// The same page with live updates.
    pub(super) fn live(self, url: impl Into<String>, seen: String) -> Self {
        Self {
            live: Some(Live {
                url: url.into(),
                seen,
            }),
            ..self
        }
    }

    /// The token in every form.
    pub(super) fn csrf(&self) -> &str {
        self.navigation
            .as_ref()
            .map_or("", |navigation| &navigation.csrf)
    }
}

/// A page as a response.
///
/// # Errors
/// [`Error::Internal`] if it cannot be rendered.
pub(super) fn html(page: &impl Template) -> Result<Response, Error> {
    let body = page.render().map_err(Error::internal)?;
    let mut response = ([(CONTENT_TYPE, "text/html; charset=utf-8")], body).into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    // With no-referrer, the Origin of a form would be null. Both values send nothing to other
    // sites.
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    headers.insert(X_DNS_PREFETCH_CONTROL, HeaderValue::from_static("off"));
    headers.insert(
        "cross-origin-opener-policy",
        HeaderValue::from_static("same-origin"),
    );
    headers.insert("x-frame-options", HeaderValue::from_static("DENY"));
    Ok(response)
}

/// Shows the form again, with the error.
///
/// # Errors
/// An internal error, which was not caused by the form.
pub(super) fn again<T: Template>(
    error: Error,
    page: impl FnOnce(String) -> T,
) -> Result<Response, Error> {
    if matches!(error, Error::Internal(_)) {
        return Err(error);
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

/// An option of a filter.
pub(super) struct Choice {
    pub(super) value: String,
    pub(super) label: String,
    pub(super) is_current: bool,
}

/// The options of a time filter.
pub(super) fn times(chosen: Option<&str>) -> Vec<Choice> {
    let choice = |(word, label, _): (&str, &str, u64)| Choice {
        value: word.to_owned(),
        label: label.to_owned(),
        is_current: chosen == Some(word),
    };
    TIMES.into_iter().map(choice).collect()
}

/// Where the chosen time begins.
pub(super) fn time_since(chosen: Option<&str>, now: Timestamp) -> Option<Timestamp> {
    let (.., hours) = TIMES.iter().find(|(word, ..)| chosen == Some(*word))?;
    Some(now.before(Duration::from_secs(hours * 3_600)))
}

/// A subject as it is shown.
pub(super) fn subject(subject: &str) -> String {
    if subject.trim().is_empty() {
        "(no subject)".to_owned()
    } else {
        shown(&cut(subject, SUBJECT_CHARACTERS))
    }
}

/// The text, or `None` if it is empty.
pub(super) fn given(text: String) -> Option<String> {
    Some(text).filter(|text| !text.is_empty())
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

    #[test]
    fn a_long_subject_is_cut() {
        assert_eq!(
            subject(&"ä".repeat(SUBJECT_CHARACTERS)),
            "ä".repeat(SUBJECT_CHARACTERS)
        );
        assert_eq!(
            subject(&"ä".repeat(100_000)),
            format!("{}…", "ä".repeat(SUBJECT_CHARACTERS))
        );
        assert_eq!(subject(" "), "(no subject)");
    }
}
