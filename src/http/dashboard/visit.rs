//! Extractors for the handlers: what the guard knows of a request, and the form.

use std::ops::Deref;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::request::Parts;

use super::error_page::PageError;
use super::guard::cookie;
use super::page::{Shell, project_path};
use crate::config::HostAndPort;
use crate::http::App;
use crate::http::download::path_segment;
use crate::http::error::Error;
use crate::jobs::Job;
use crate::model::{Inbox, Project, ProjectId, Timestamp};
use crate::service::{Caller, Service, Session};

/// A request that the guard has checked.
#[derive(Clone)]
pub(super) struct Visit {
    pub(super) app: Arc<App>,
    pub(super) now: Timestamp,
    /// The session, if the visitor is signed in.
    pub(super) session: Option<Session>,
    /// The project of the path, which the viewer may see.
    pub(super) project: Option<Project>,
    /// The parameters of the path.
    pub(super) parameters: Vec<(String, String)>,
    pub(super) headers: HeaderMap,
    /// Whether only the content of the page is wanted.
    pub(super) is_part: bool,
}

/// A visit to a page of a project.
pub(super) struct ProjectPage {
    visit: Visit,
    pub(super) session: Session,
    pub(super) project: Project,
}

/// A visit to a page of an inbox.
pub(super) struct InboxPage {
    of: ProjectPage,
    pub(super) inbox: Inbox,
}

/// The form of a change, whose token the guard has checked.
#[derive(Clone, Debug)]
pub(super) struct Form {
    fields: Arc<Vec<(String, String)>>,
    /// What a large form has taken.
    _job: Arc<Job>,
}

impl Visit {
    pub(super) fn service(&self) -> &Service {
        &self.app.service
    }

    /// A parameter of the path.
    pub(super) fn parameter(&self, name: &str) -> Result<&str, Error> {
        let mut named = self.parameters.iter().filter(|(known, _)| known == name);
        named
            .next()
            .map(|(_, value)| &**value)
            .ok_or(Error::NotFound)
    }

    pub(super) fn session(&self) -> Result<&Session, Error> {
        self.session.as_ref().ok_or(Error::Unauthorized)
    }

    /// The service as the visitor reaches it.
    pub(super) fn base_url(&self) -> String {
        self.app.base_url.for_client(&self.headers)
    }

    /// The SMTP server as the visitor reaches it.
    pub(super) fn smtp(&self) -> HostAndPort {
        self.app.smtp(&self.headers)
    }

    /// The failures of a project in the last day that the reader has not looked at.
    pub(super) async fn new_failures(&self, project: ProjectId) -> Result<i64, Error> {
        let looked_at = cookie(&self.headers, &looked_cookie(project))
            .and_then(|millis| millis.parse().ok())
            .map(Timestamp::from_millis);
        let failures = self.service().recent_failures(project, looked_at);
        Ok(failures.await?)
    }

    /// The frame of the page.
    pub(super) async fn shell(
        &self,
        title: impl Into<String>,
        place: &'static str,
    ) -> Result<Shell, Error> {
        let failures = match &self.project {
            Some(project) => self.new_failures(project.id).await?,
            None => 0,
        };
        let shell = Shell::new(self, title, place);
        Ok(Shell { failures, ..shell })
    }
}

impl ProjectPage {
    /// The page of the project of this visit.
    pub(super) fn of(visit: Visit) -> Result<Self, Error> {
        let session = visit.session()?.clone();
        let project = visit.project.clone().ok_or(Error::NotFound)?;
        Ok(Self {
            visit,
            session,
            project,
        })
    }

    /// A path of the project.
    pub(super) fn path(&self, rest: &str) -> String {
        project_path(&self.project, rest)
    }

    /// The path of an inbox.
    pub(super) fn inbox_path(&self, id: &str) -> String {
        self.path(&format!("/inboxes/{}", path_segment(id)))
    }

    /// The viewer as a caller of the project.
    pub(super) fn caller(&self) -> Caller {
        self.session.caller(self.project.id)
    }
}

impl InboxPage {
    /// The path of the inbox.
    pub(super) fn base(&self) -> String {
        self.inbox_path(self.inbox.id.as_str())
    }
}

impl Deref for ProjectPage {
    type Target = Visit;

    fn deref(&self) -> &Visit {
        &self.visit
    }
}

impl Deref for InboxPage {
    type Target = ProjectPage;

    fn deref(&self) -> &ProjectPage {
        &self.of
    }
}

impl Form {
    pub(super) fn new(fields: Vec<(String, String)>, job: Job) -> Self {
        Self {
            fields: Arc::new(fields),
            _job: Arc::new(job),
        }
    }

    /// All fields of a name.
    pub(super) fn all(&self, name: &str) -> Vec<&str> {
        let named = self.fields.iter().filter(|(key, _)| key == name);
        named.map(|(_, value)| value.as_str()).collect()
    }

    /// A field; empty if the form has none of this name.
    pub(super) fn text(&self, name: &str) -> &str {
        self.all(name).first().copied().unwrap_or_default()
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

impl<S: Sync> FromRequestParts<S> for Visit {
    type Rejection = PageError;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, PageError> {
        let visit = parts.extensions.get::<Self>().cloned();
        Ok(visit.ok_or(Error::Unauthorized)?)
    }
}

impl<S: Sync> FromRequestParts<S> for ProjectPage {
    type Rejection = PageError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, PageError> {
        let visit = Visit::from_request_parts(parts, state).await?;
        Ok(Self::of(visit)?)
    }
}

impl<S: Sync> FromRequestParts<S> for InboxPage {
    type Rejection = PageError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, PageError> {
        let of = ProjectPage::from_request_parts(parts, state).await?;
        let id = of.parameter("inbox")?;
        let inbox = of.service().inbox(&of.caller(), id).await?;
        Ok(Self { of, inbox })
    }
}

impl<S: Sync> FromRequestParts<S> for Form {
    type Rejection = PageError;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, PageError> {
        let form = parts.extensions.get::<Self>().cloned();
        Ok(form.ok_or(Error::StaleForm)?)
    }
}
