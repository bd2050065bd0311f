//! The error of a dashboard handler, and the page for it with the viewer's navigation.

use std::sync::Arc;

use askama::Template;
use axum::response::{IntoResponse, Response};

use super::page::{Shell, html, project_path};
use super::plain::When;
use super::visit::Visit;
use crate::http::download::path_segment;
use crate::http::error::Error;
use crate::model::InboxEnd;
use crate::service::Viewer;

/// Why a handler failed; the guard reads it from the extensions of the response.
#[derive(Clone, Debug)]
pub(super) struct PageError(pub(super) Arc<Error>);

#[derive(Template)]
#[template(path = "failure.html")]
struct FailurePage {
    shell: Shell,
    message: String,
    /// The timeline of an inbox that has ended.
    timeline: Option<String>,
}

impl<E: Into<Error>> From<E> for PageError {
    fn from(error: E) -> Self {
        Self(Arc::new(error.into()))
    }
}

impl IntoResponse for PageError {
    fn into_response(self) -> Response {
        let mut response = self.0.status().into_response();
        response.extensions_mut().insert(self);
        response
    }
}

/// The text of an error as a sentence.
pub(super) fn sentence(error: &Error) -> String {
    let text = error.to_string();
    let mut characters = text.chars();
    let first = characters.next().into_iter().flat_map(char::to_uppercase);
    format!("{}{}.", first.collect::<String>(), characters.as_str())
}

/// The page for an error of this visit.
pub(super) async fn render(mut visit: Visit, PageError(error): PageError) -> Response {
    let title = match error.status() == Error::NotFound.status() {
        true => "Not found",
        false => "Error",
    };
    let ended = match &*error {
        Error::InboxNotFound => ended_inbox(&visit).await,
        _ => None,
    };
    let (message, timeline) = ended.unzip();
    // A project's viewer keeps its navigation on every page.
    let viewer = visit.session.as_ref().map(|session| session.viewer);
    if let (None, Some(Viewer::Project(own))) = (&visit.project, viewer) {
        visit.project = visit
            .service()
            .projects()
            .find(own)
            .await
            .unwrap_or_default();
    }
    let shell = visit.shell(title, "").await;
    let page = FailurePage {
        shell: shell.unwrap_or_else(|_| Shell::new(&visit, title, "")),
        timeline,
        message: message.unwrap_or_else(|| text(&error)),
    };
    let mut response = html(&page).unwrap_or_else(IntoResponse::into_response);
    *response.status_mut() = error.status();
    response.headers_mut().extend(error.header());
    if let Some(cause) = error.cause() {
        response.extensions_mut().insert(cause);
    }
    response
}

fn text(error: &Error) -> String {
    let text = match error {
        Error::NotFound => "Page not found.",
        Error::InboxNotFound => "Inbox not found. Expired inboxes are deleted with their messages.",
        Error::MessageNotFound => "Message not found. Messages are deleted with their inbox.",
        Error::Internal(_) => "Internal error. See the server log.",
        error => return sentence(error),
    };
    text.to_owned()
}

/// How the visited inbox has ended, and its page, which has the timeline.
async fn ended_inbox(visit: &Visit) -> Option<(String, String)> {
    let project = visit.project.as_ref()?;
    let inbox = visit.parameter("inbox").ok()?;
    let found = visit.service().inbox_or_end(project.id, inbox).await;
    let (_, end) = found.ok()??;
    let page = project_path(project, &format!("/inboxes/{}", path_segment(inbox)));
    Some((how_ended(visit, end?), page))
}

/// How an inbox ended, as a sentence.
pub(super) fn how_ended(visit: &Visit, end: InboxEnd) -> String {
    let (how, at) = match end {
        InboxEnd::Expired(at) => ("expired", at),
        InboxEnd::Deleted(at) => ("was deleted", at),
    };
    let ago = at.relative(visit.now);
    format!("This inbox {how} {ago}. Its messages were deleted with it.")
}
