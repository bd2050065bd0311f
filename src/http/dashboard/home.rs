//! `/`: sends every visitor to their first page.

use axum::response::Response;

use super::page::see;
use super::visit::MaybeSignedIn;
use crate::service::Viewer;

pub(super) async fn home(MaybeSignedIn(session): MaybeSignedIn) -> Response {
    match session.map(|session| session.viewer) {
        None => see("/sign-in"),
        Some(Viewer::Administrator) => see("/projects"),
        Some(Viewer::Project(project)) => see(&format!("/projects/{project}/inboxes")),
    }
}
