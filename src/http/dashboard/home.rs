//! `/`: sends everybody to where they have something to do.

use std::sync::Arc;

use axum::Extension;
use axum::response::Response;

use super::guard::Visit;
use super::page::see;
use crate::service::{Session, Viewer};

pub(super) async fn home(Extension(visit): Extension<Arc<Visit>>) -> Response {
    see(&visit.session_if_any().map_or_else(|| "/sign-in".to_owned(), first_page))
}

/// The page that a viewer sees first.
pub(super) fn first_page(session: &Session) -> String {
    match session.viewer {
        Viewer::Administrator => "/projects".to_owned(),
        Viewer::Project(project) => format!("/projects/{project}/inboxes"),
    }
}
