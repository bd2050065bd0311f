//! What was refused over SMTP: of a project, or for the administrator of all.

use std::sync::Arc;

use askama::Template;
use axum::Extension;
use axum::extract::State;
use axum::response::Response;

use super::failure::Failure;
use super::guard::Visit;
use super::page::{Shell, html};
use super::when::When;
use crate::http::App;
use crate::model::{ProjectId, RefusedMail, Timestamp};
use crate::store::Watched;

#[derive(Template)]
#[template(path = "refused.html")]
struct RefusedPage {
    shell: Shell,
    rows: Vec<Row>,
}

struct Row {
    refused: RefusedMail,
    reason: String,
    when: When,
}

pub(super) async fn of_project(
    State(app): State<Arc<App>>,
    Extension(visit): Extension<Arc<Visit>>,
) -> Result<Response, Failure> {
    let project = visit.project()?.id;
    page(&app, &visit, Some(project), &format!("/projects/{project}/refused/events"), "refused").await
}

pub(super) async fn all(
    State(app): State<Arc<App>>,
    Extension(visit): Extension<Arc<Visit>>,
) -> Result<Response, Failure> {
    page(&app, &visit, None, "/refused/events", "all-refused").await
}

async fn page(
    app: &App,
    visit: &Visit,
    project: Option<ProjectId>,
    events: &str,
    active: &'static str,
) -> Result<Response, Failure> {
    let seen = app.service.mark(&Watched::Refused(project)).await?;
    let now = app.service.clock().now();
    let rows = app.service.refusals(project).await?.into_iter().map(|refused| row(refused, now)).collect();
    let shell = Shell::new(visit, "Refused mail", active).live(events, seen);
    Ok(html(&RefusedPage { shell, rows })?)
}

fn row(mut refused: RefusedMail, now: Timestamp) -> Row {
    for path in [&mut refused.sender, &mut refused.recipient] {
        if let Some(address) = path.strip_prefix('<').and_then(|path| path.strip_suffix('>')) {
            *path = address.to_owned();
        }
    }
    Row { reason: refused.reason.replace('_', " "), when: When::new(refused.refused_at, now), refused }
}
