//! `/`: sends every visitor to their first page.

use std::sync::Arc;

use axum::Extension;
use axum::response::Response;

use super::page::see;
use super::visit::Visit;
use crate::service::Viewer;

pub(super) async fn home(Extension(visit): Extension<Arc<Visit>>) -> Response {
    match visit.session.as_ref().map(|session| session.viewer) {
        None => see("/sign-in"),
        Some(Viewer::Administrator) => see("/projects"),
        Some(Viewer::Project(project)) => see(&format!("/projects/{project}/inboxes")),
    }
}
