//! Mail that was refused over SMTP: of one project, or of all for the administrator.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::response::Response;

use super::failure::Failure;
use super::page::{Place, Shell, given, html};
use super::visit::{ProjectPage, SignedIn};
use super::when::When;
use crate::http::App;
use crate::http::error::Error;
use crate::model::{ProjectId, RefusedMail, Timestamp};
use crate::store::Watched;

#[derive(Template)]
#[template(path = "refused.html")]
struct RefusedPage {
    shell: Shell,
    rows: Vec<Row>,
}

struct Row {
    reason: String,
    reply: String,
    /// The sender, if the client had sent one.
    sender: Option<String>,
    recipient: Option<String>,
    client: String,
    when: When,
}

pub(super) async fn of_project(State(app): State<Arc<App>>, page: ProjectPage) -> Result<Response, Failure> {
    let (seen, rows) = read(&app, Some(page.project.id)).await?;
    let shell = page.shell("Refused mail", Place::Refused).live(page.path("/refused/events"), seen);
    Ok(html(&RefusedPage { shell, rows })?)
}

pub(super) async fn all(State(app): State<Arc<App>>, viewer: SignedIn) -> Result<Response, Failure> {
    let (seen, rows) = read(&app, None).await?;
    let shell = viewer.shell("Refused mail", Place::AllRefused).live("/refused/events", seen);
    Ok(html(&RefusedPage { shell, rows })?)
}

/// The mark, which is read before the list, and the list.
async fn read(app: &App, project: Option<ProjectId>) -> Result<(String, Vec<Row>), Error> {
    let seen = app.service.mark(&Watched::Refused(project)).await?;
    let now = app.service.clock().now();
    let refusals = app.service.refusals(project).await?;
    Ok((seen, refusals.into_iter().map(|refused| row(refused, now)).collect()))
}

fn row(refused: RefusedMail, now: Timestamp) -> Row {
    let bare = |path: String| {
        let address = path.strip_prefix('<').and_then(|path| path.strip_suffix('>')).map(str::to_owned);
        given(address.unwrap_or(path))
    };
    Row {
        reason: refused.reason.replace('_', " "),
        reply: refused.reply,
        sender: bare(refused.sender),
        recipient: bare(refused.recipient),
        client: refused.peer,
        when: When::new(refused.refused_at, now),
    }
}
