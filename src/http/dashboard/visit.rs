//! Extractors for the handlers: the results of the guard, the parameters of the path, and the form.

use std::sync::Arc;

use axum::extract::{FromRequestParts, Path};
use axum::http::HeaderMap;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use super::failure::PageError;
use super::guard::cookie;
use super::page::{Shell, project_path};
use crate::config::HostAndPort;
use crate::http::App;
use crate::http::download::path_segment;
use crate::http::error::Error;
use crate::jobs::Job;
use crate::model::{Inbox, Project, ProjectId, Timestamp};
use crate::service::{Caller, Session};

/// The results of the guard for a request.
#[derive(Clone, Debug, Default)]
pub(super) struct Visit {
    /// The session, if the visitor is signed in.
    pub(super) session: Option<Session>,
    /// The project of the path, which the viewer may see.
    pub(super) project: Option<Project>,
    /// The inbox id of the path; it may not exist.
    pub(super) inbox: Option<String>,
    /// Whether only the content of the page is wanted.
    pub(super) is_part: bool,
}

/// The session of a visitor who is signed in.
pub(super) struct SignedIn(pub(super) Session);

/// A page of a project.
pub(super) struct ProjectPage {
    pub(super) session: Session,
    pub(super) project: Project,
    /// The service as the viewer reaches it.
    pub(super) base_url: String,
    /// The SMTP server as the viewer reaches it.
    pub(super) smtp: HostAndPort,
    /// Whether only the regions of the page are wanted.
    pub(super) is_part: bool,
    /// The failures of the last day that the reader has not looked at.
    pub(super) failures: i64,
}

/// A page of an inbox.
pub(super) struct InboxPage {
    pub(super) of: ProjectPage,
    pub(super) inbox: Inbox,
}

/// The named parameters of the path. A path that does not match them is "not found".
pub(super) struct Params<T>(pub(super) T);

/// The form of a change, whose token the guard has checked.
#[derive(Clone, Debug)]
pub(super) struct Form {
    fields: Arc<Vec<(String, String)>>,
    /// What a large form has taken.
    _job: Arc<Job>,
}

impl SignedIn {
    pub(super) fn shell(&self, title: impl Into<String>, place: &'static str) -> Shell {
        Shell::new(&self.0, None, title, place)
    }
}

impl ProjectPage {
    pub(super) fn shell(&self, title: impl Into<String>, place: &'static str) -> Shell {
        Shell {
            is_part: self.is_part,
            failures: self.failures,
            ..Shell::new(&self.session, Some(&self.project), title, place)
        }
    }

    /// The page of a project that the viewer may see.
    pub(super) async fn of(
        app: &App,
        headers: &HeaderMap,
        (session, project): (Session, Project),
        is_part: bool,
    ) -> Result<Self, Error> {
        let failures = new_failures(app, headers, project.id).await?;
        Ok(Self {
            base_url: app.base_url.for_client(headers),
            smtp: app.smtp(headers),
            session,
            project,
            is_part,
            failures,
        })
    }

    /// A path of the project.
    pub(super) fn path(&self, rest: &str) -> String {
        project_path(&self.project, rest)
    }

    /// The viewer as a caller of the project.
    pub(super) fn caller(&self) -> Caller {
        self.session.caller(self.project.id)
    }
}

impl InboxPage {
    /// The path of the inbox.
    pub(super) fn path(&self) -> String {
        self.of.path(&format!(
            "/inboxes/{}",
            path_segment(self.inbox.id.as_str())
        ))
    }
}

impl Form {
    pub(super) fn new(fields: Vec<(String, String)>, job: Job) -> Self {
        Self {
            fields: Arc::new(fields),
            _job: Arc::new(job),
        }
    }

    /// A field; empty if the form has none of this name.
    pub(super) fn text(&self, name: &str) -> &str {
        self.fields
            .iter()
            .find(|(key, _)| key == name)
            .map_or("", |(_, value)| value)
    }

    /// All fields of a name.
    pub(super) fn all(&self, name: &str) -> Vec<&str> {
        self.fields
            .iter()
            .filter(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
            .collect()
    }

    /// A field that is not empty.
    pub(super) fn given(&self, name: &str) -> Option<&str> {
        Some(self.text(name)).filter(|text| !text.is_empty())
    }
}

/// The name of the cookie with the time at which the reader looked at the failures of a project.
pub(super) fn looked_cookie(project: ProjectId) -> String {
    format!("restante_looked_{project}")
}

/// The failures of a project that the reader has not looked at.
pub(super) async fn new_failures(
    app: &App,
    headers: &HeaderMap,
    project: ProjectId,
) -> Result<i64, Error> {
    let looked_at = cookie(headers, &looked_cookie(project))
        .and_then(|millis| millis.parse().ok())
        .map(Timestamp::from_millis);
    Ok(app.service.recent_failures(project, looked_at).await?)
}

fn visit(parts: &Parts) -> Result<&Visit, PageError> {
    Ok(parts
        .extensions
        .get::<Arc<Visit>>()
        .ok_or(Error::Unauthorized)?)
}

impl<S: Sync> FromRequestParts<S> for SignedIn {
    type Rejection = PageError;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, PageError> {
        Ok(Self(
            visit(parts)?.session.clone().ok_or(Error::Unauthorized)?,
        ))
    }
}

impl FromRequestParts<Arc<App>> for ProjectPage {
    type Rejection = PageError;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, PageError> {
        let visit = visit(parts)?;
        let session = visit.session.clone().ok_or(Error::Unauthorized)?;
        let project = visit.project.clone().ok_or(Error::NotFound)?;
        let viewed = (session, project);
        Ok(Self::of(app, &parts.headers, viewed, visit.is_part).await?)
    }
}

impl FromRequestParts<Arc<App>> for InboxPage {
    type Rejection = PageError;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, PageError> {
        let of = ProjectPage::from_request_parts(parts, app).await?;
        let id = visit(parts)?.inbox.as_deref().ok_or(Error::NotFound)?;
        let inbox = app.service.inbox(&of.caller(), id).await?;
        Ok(Self { of, inbox })
    }
}

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Params<T> {
    type Rejection = PageError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, PageError> {
        let Path(params) = Path::from_request_parts(parts, state)
            .await
            .map_err(|_| Error::NotFound)?;
        Ok(Self(params))
    }
}

impl<S: Sync> FromRequestParts<S> for Form {
    type Rejection = PageError;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, PageError> {
        Ok(parts
            .extensions
            .get::<Self>()
            .cloned()
            .ok_or(Error::StaleForm)?)
    }
}
