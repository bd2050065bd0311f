//! What a project has sent.

use std::sync::Arc;

use askama::Template;
use axum::Extension;
use axum::extract::State;
use axum::response::Response;

use super::failure::Failure;
use super::guard::Visit;
use super::inboxes::path_segment;
use super::page::{Shell, html};
use super::when::When;
use crate::http::App;
use crate::store::Watched;

/// Items on the page.
const SHOWN: i64 = 200;

#[derive(Template)]
#[template(path = "outgoing.html")]
struct OutgoingPage {
    shell: Shell,
    base: String,
    rows: Vec<Row>,
}

struct Row {
    inbox: String,
    inbox_path: String,
    recipient: String,
    subject: String,
    status: &'static str,
    created: When,
}

pub(super) async fn list(
    State(app): State<Arc<App>>,
    Extension(visit): Extension<Arc<Visit>>,
) -> Result<Response, Failure> {
    let project = visit.project()?;
    let seen = app.service.mark(&Watched::Outgoing(project.id)).await?;
    let now = app.service.clock().now();
    let rows = Vec::new();
    let base = format!("/projects/{}", project.id);
    let shell = Shell::new(&visit, "Outgoing mail", "outgoing").live(format!("{base}/outgoing/events"), seen);
    let _ = (now, SHOWN, path_segment);
    Ok(html(&OutgoingPage { shell, base, rows })?)
}
