//! What all pages have in common: the layout, the security headers and the paths.

use askama::Template;
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY};
use axum::http::{HeaderName, HeaderValue};
use axum::response::{IntoResponse, Redirect, Response};

use super::assets;
use super::failure::sentence;
use super::plain::shown;
use crate::http::error::Error;
use crate::model::{Project, SUBJECT_CHARACTERS, cut};
use crate::service::Session;

/// Allows only the dashboard's script, style sheet, images and frames: nothing inline or from other
/// hosts. Other sites cannot put the pages into a frame.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
                      connect-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; \
                      frame-ancestors 'none'";
/// Browsers look up the hosts of links before a click unless this header forbids it.
const X_DNS_PREFETCH_CONTROL: HeaderName = HeaderName::from_static("x-dns-prefetch-control");

/// An entry of the navigation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NavPlace {
    Failures,
    Inboxes,
    Mail,
    Outgoing,
    Refused,
    Start,
    Settings,
    Projects,
    AllRefused,
}

impl NavPlace {
    const OF_PROJECT: [Self; 6] = [
        Self::Failures,
        Self::Inboxes,
        Self::Mail,
        Self::Outgoing,
        Self::Refused,
        Self::Start,
    ];
    const OF_INSTALLATION: [Self; 2] = [Self::Projects, Self::AllRefused];

    /// Its icon, its label, and a shorter label for narrow screens.
    fn look(self) -> (&'static str, &'static str, Option<&'static str>) {
        match self {
            Self::Failures => ("failures", "Failures", None),
            Self::Inboxes => ("inbox", "Inboxes", None),
            Self::Mail => ("mail", "All mail", Some("Mail")),
            Self::Outgoing => ("outgoing", "Outgoing", None),
            Self::Refused => ("refused", "Rejected", None),
            Self::Start => ("start", "Getting started", Some("Start")),
            Self::Settings => ("settings", "Settings", None),
            Self::Projects => ("projects", "Projects", None),
            Self::AllRefused => ("refused", "All rejected", None),
        }
    }

    /// Its path within the project or the installation.
    fn path(self) -> &'static str {
        match self {
            Self::Failures => "/failures",
            Self::Inboxes => "/inboxes",
            Self::Mail => "/mail",
            Self::Outgoing => "/outgoing",
            Self::Refused | Self::AllRefused => "/refused",
            Self::Start => "/start",
            Self::Settings => "/settings",
            Self::Projects => "/projects",
        }
    }

    /// The places of a project.
    pub(super) fn of_project() -> &'static [Self] {
        &Self::OF_PROJECT
    }

    /// The places of the installation.
    pub(super) fn of_installation() -> &'static [Self] {
        &Self::OF_INSTALLATION
    }

    pub(super) fn label(self) -> &'static str {
        self.look().1
    }

    /// Its URL, where `base` is the path of the project, or empty.
    pub(super) fn url(self, base: &str) -> String {
        format!("{base}{}", self.path())
    }

    fn entry(self, base: &str, current: Option<Self>) -> Entry {
        let (icon, label, short) = self.look();
        Entry {
            url: self.url(base),
            icon,
            label,
            short,
            count: 0,
            is_current: current == Some(self),
        }
    }
}

/// An entry of the navigation as it is shown.
pub(super) struct Entry {
    pub(super) url: String,
    pub(super) icon: &'static str,
    pub(super) label: &'static str,
    pub(super) short: Option<&'static str>,
    /// What is new there.
    pub(super) count: i64,
    pub(super) is_current: bool,
}

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
    /// The failures of the last day.
    pub(super) failures: i64,
}

pub(super) struct Navigation {
    pub(super) csrf: String,
    /// The name of the project that the page is about.
    pub(super) project: Option<String>,
    /// The URL of the search page.
    pub(super) find: Option<String>,
    pub(super) of_project: Vec<Entry>,
    /// The settings of the project, for the administrator.
    pub(super) settings: Option<Entry>,
    pub(super) of_installation: Vec<Entry>,
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

    /// A page for a session.
    pub(super) fn new(
        session: &Session,
        project: Option<&Project>,
        title: impl Into<String>,
        place: Option<NavPlace>,
    ) -> Self {
        Self {
            navigation: Some(Navigation::new(session, project, place)),
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

    /// The same page with the number of failures in the navigation.
    pub(super) fn with_failures(mut self, count: i64) -> Self {
        if let Some(entry) = self
            .navigation
            .iter_mut()
            .flat_map(|navigation| navigation.of_project.first_mut())
            .next()
        {
            entry.count = count;
        }
        self.failures = count;
        self
    }

    /// The token in every form.
    pub(super) fn csrf(&self) -> &str {
        self.navigation
            .as_ref()
            .map_or("", |navigation| &navigation.csrf)
    }
}

impl Navigation {
    fn new(session: &Session, project: Option<&Project>, current: Option<NavPlace>) -> Self {
        let base = project.map(|project| project_path(project, ""));
        let of_project = |base: &String| {
            NavPlace::OF_PROJECT
                .map(|place| place.entry(base, current))
                .into()
        };
        let settings = base.as_deref().filter(|_| session.is_administrator());
        let is_administrator = session.is_administrator();
        let of_installation = NavPlace::OF_INSTALLATION
            .iter()
            .filter(|_| session.is_administrator());
        Self {
            csrf: session.csrf_token.clone(),
            project: project.map(|project| project.name.clone()),
            find: base
                .as_ref()
                .map(|base| format!("{base}/find"))
                .or(is_administrator.then(|| "/find".to_owned())),
            of_project: base.as_ref().map(of_project).unwrap_or_default(),
            settings: settings.map(|base| NavPlace::Settings.entry(base, current)),
            of_installation: of_installation
                .map(|place| place.entry("", current))
                .collect(),
        }
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
