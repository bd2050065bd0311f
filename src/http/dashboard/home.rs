//! `/` sends every visitor to their first page, and `/inboxes/{inbox}` to an inbox, so that a
//! client that knows only the id of an inbox can link to it. `/inboxes` and `/failures` are for
//! readers who shorten such a link.

use axum::http::Uri;

use super::page::{Answer, see};
use super::visit::Visit;
use crate::http::download::path_segment;
use crate::service::Viewer;

pub(super) async fn home(visit: Visit) -> Answer {
    Ok(match visit.session.as_ref().map(|session| session.viewer) {
        None => see("/sign-in"),
        Some(Viewer::Administrator) => see("/projects"),
        // A project begins with what failed since the reader looked.
        Some(Viewer::Project(project)) => match visit.new_failures(project).await? {
            0 => see(&format!("/projects/{project}/mail")),
            _ => see(&format!("/projects/{project}/failures")),
        },
    })
}

pub(super) async fn list(visit: Visit, uri: Uri) -> Answer {
    Ok(match visit.session()?.viewer {
        Viewer::Administrator => see("/projects"),
        Viewer::Project(project) => see(&format!("/projects/{project}{}", uri.path())),
    })
}

pub(super) async fn inbox(visit: Visit) -> Answer {
    let inbox = visit.parameter("inbox")?;
    let project = match visit.session()?.viewer {
        Viewer::Administrator => visit.service().project_of_inbox(inbox).await?,
        Viewer::Project(project) => project,
    };
    let inbox = path_segment(inbox);
    Ok(see(&format!("/projects/{project}/inboxes/{inbox}")))
}
