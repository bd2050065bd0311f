//! `/` sends every visitor to their first page, and `/inboxes/{inbox}` to an inbox, so that a
//! client that knows only the id of an inbox can link to it. `/inboxes` and `/failures` are for
//! readers who shorten such a link.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use axum::response::Response;

use super::failure::PageError;
use super::page::see;
use super::visit::{Params, SignedIn, Visit, new_failures};
use crate::http::App;
use crate::http::download::path_segment;
use crate::http::error::Error;
use crate::service::Viewer;

pub(super) async fn home(
    State(app): State<Arc<App>>,
    Extension(visit): Extension<Arc<Visit>>,
    headers: HeaderMap,
) -> Result<Response, PageError> {
    Ok(match visit.session.as_ref().map(|session| session.viewer) {
        None => see("/sign-in"),
        Some(Viewer::Administrator) => see("/projects"),
        // A project begins with what failed since the reader looked.
        Some(Viewer::Project(project)) => {
            let failures = new_failures(&app, &headers, project).await?;
            see(&format!(
                "/projects/{project}/{}",
                if failures > 0 { "failures" } else { "mail" }
            ))
        }
    })
}

pub(super) async fn list(SignedIn(session): SignedIn, uri: Uri) -> Response {
    match session.viewer {
        Viewer::Administrator => see("/projects"),
        Viewer::Project(project) => see(&format!("/projects/{project}{}", uri.path())),
    }
}

pub(super) async fn inbox(
    State(app): State<Arc<App>>,
    SignedIn(session): SignedIn,
    Params(inbox): Params<String>,
) -> Result<Response, PageError> {
    let project = match session.viewer {
        Viewer::Administrator => app
            .service
            .project_of_inbox(&inbox)
            .await
            .map_err(Error::from)?,
        Viewer::Project(project) => project,
    };
    Ok(see(&format!(
        "/projects/{project}/inboxes/{}",
        path_segment(&inbox)
    )))
}
