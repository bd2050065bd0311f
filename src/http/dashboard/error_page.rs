//! The page for an error, with the viewer's navigation.

use askama::Template;
use axum::response::{IntoResponse, Response};

use super::failure::{PageError, sentence};
use super::page::{Shell, html};
use super::visit::Visit;
use super::when::ago;
use crate::http::App;
use crate::http::download::path_segment;
use crate::http::error::Error;
use crate::model::InboxEnd;
use crate::service::Viewer;

#[derive(Template)]
#[template(path = "failure.html")]
struct FailurePage {
    shell: Shell,
    message: String,
    /// The timeline of an inbox that has ended.
    timeline: Option<String>,
}

/// The page for an error of this visit.
pub(super) async fn render(app: &App, visit: &Visit, PageError(error): PageError) -> Response {
    let title = if error.status() == Error::NotFound.status() {
        "Not found"
    } else {
        "Error"
    };
    let shell = shell(app, visit, title)
        .await
        .unwrap_or_else(|_| Shell::bare(title));
    let end = match &*error {
        Error::InboxNotFound => inbox_end(app, visit).await,
        _ => None,
    };
    let page = FailurePage {
        shell,
        timeline: timeline(visit).filter(|_| end.is_some()),
        message: message(&error, end),
    };
    let mut response = html(&page).unwrap_or_else(IntoResponse::into_response);
    *response.status_mut() = error.status();
    response.headers_mut().extend(error.header());
    error
        .cause()
        .into_iter()
        .for_each(|cause| _ = response.extensions_mut().insert(cause));
    response
}

async fn shell(app: &App, visit: &Visit, title: &str) -> Result<Shell, Error> {
    let Some(session) = &visit.session else {
        return Ok(Shell::bare(title));
    };
    // A project's viewer keeps its navigation on every page.
    let project = match (&visit.project, session.viewer) {
        (None, Viewer::Project(own)) => app.service.projects().find(own).await?,
        (project, _) => project.clone(),
    };
    Ok(Shell::new(session, project.as_ref(), title, ""))
}

fn message(error: &Error, end: Option<String>) -> String {
    match error {
        Error::NotFound => "Page not found.".to_owned(),
        Error::InboxNotFound => match end {
            Some(end) => format!("This inbox {end}. Its messages were deleted with it."),
            None => "Inbox not found. Expired inboxes are deleted with their messages.".to_owned(),
        },
        Error::MessageNotFound => {
            "Message not found. Messages are deleted with their inbox.".to_owned()
        }
        Error::Internal(_) => "Internal error. See the server log.".to_owned(),
        error => sentence(error),
    }
}

/// The path of the timeline of the visited inbox.
fn timeline(visit: &Visit) -> Option<String> {
    let project = visit.project.as_ref()?.id;
    let inbox = path_segment(visit.inbox.as_deref()?);
    Some(format!("/projects/{project}/inboxes/{inbox}"))
}

async fn inbox_end(app: &App, visit: &Visit) -> Option<String> {
    let project = visit.project.as_ref()?.id;
    let inbox = visit.inbox.as_deref()?;
    let since = |instant| ago(app.service.clock().now().since(instant));
    Some(match app.service.inbox_end(project, inbox).await.ok()?? {
        InboxEnd::Expired(at) => format!("expired {}", since(at)),
        InboxEnd::Deleted(at) => format!("was deleted {}", since(at)),
    })
}
