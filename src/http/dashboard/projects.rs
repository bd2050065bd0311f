//! Projects, for the administrator: listed, created, renamed, given a new key, deleted.

use std::sync::Arc;
use std::time::Duration;

use askama::Template;
use axum::Extension;
use axum::extract::State;
use axum::response::Response;

use super::failure::{Failure, again};
use super::guard::Visit;
use super::page::{Shell, html, see};
use super::when::{When, size};
use crate::http::App;
use crate::http::error::Error;
use crate::model::{ApiKey, Project};

/// How long the former keys of a project go on where an overlap is asked for.
const OVERLAP: Duration = Duration::from_secs(24 * 60 * 60);

#[derive(Template)]
#[template(path = "projects.html")]
struct ProjectsPage {
    shell: Shell,
    projects: Vec<Row>,
    /// The project that was asked for, and why there is none.
    name: String,
    problem: String,
}

struct Row {
    id: String,
    name: String,
    is_default: bool,
    key_last_four: String,
    inboxes: i64,
    messages: i64,
    size: String,
    created: When,
}

#[derive(Template)]
#[template(path = "settings.html")]
struct SettingsPage {
    shell: Shell,
    project: Row,
    problem: String,
}

#[derive(Template)]
#[template(path = "key.html")]
struct KeyPage {
    shell: Shell,
    name: String,
    key: String,
    /// A first request with the key.
    curl: String,
    /// What happens to the former keys; empty where there were none.
    former: &'static str,
    back: String,
}

pub(super) async fn list(
    State(app): State<Arc<App>>,
    Extension(visit): Extension<Arc<Visit>>,
) -> Result<Response, Failure> {
    Ok(html(&projects_page(&app, &visit).await?)?)
}

pub(super) async fn create(
    State(app): State<Arc<App>>,
    Extension(visit): Extension<Arc<Visit>>,
) -> Result<Response, Failure> {
    let name = visit.field("name").trim();
    match app.service.projects().create(name).await {
        Ok(key) => Ok(show_key(&app, &visit, name, &key, "", "/projects".to_owned())?),
        Err(error) => {
            let page = projects_page(&app, &visit).await?;
            Ok(again(error.into(), |problem| ProjectsPage { name: name.to_owned(), problem, ..page })?)
        }
    }
}

pub(super) async fn settings(
    State(app): State<Arc<App>>,
    Extension(visit): Extension<Arc<Visit>>,
) -> Result<Response, Failure> {
    Ok(html(&settings_page(&app, &visit).await?)?)
}

pub(super) async fn rename(
    State(app): State<Arc<App>>,
    Extension(visit): Extension<Arc<Visit>>,
) -> Result<Response, Failure> {
    let project = visit.project()?;
    let renamed = app.service.projects().rename(project, visit.field("name").trim()).await;
    match renamed {
        Ok(()) => Ok(see(&format!("/projects/{}/settings", project.id))),
        Err(error) => not_done(&app, &visit, error.into()).await,
    }
}

pub(super) async fn rotate(
    State(app): State<Arc<App>>,
    Extension(visit): Extension<Arc<Visit>>,
) -> Result<Response, Failure> {
    let project = visit.project()?;
    let (overlap, former) = match visit.field("overlap") {
        "" => (Duration::ZERO, "The former keys have stopped working."),
        _ => (OVERLAP, "The former keys go on working for 24 hours."),
    };
    let key = app.service.projects().rotate_key(&project.name, overlap).await?;
    let back = format!("/projects/{}/settings", project.id);
    Ok(show_key(&app, &visit, &project.name, &key, former, back)?)
}

/// Deletes where the form repeats the project's name.
pub(super) async fn delete(
    State(app): State<Arc<App>>,
    Extension(visit): Extension<Arc<Visit>>,
) -> Result<Response, Failure> {
    let project = visit.project()?;
    if visit.field("name") != project.name {
        let error = Error::Refused("type the name of the project exactly to delete it".to_owned());
        return not_done(&app, &visit, error).await;
    }
    match app.service.projects().delete(&project.name).await {
        Ok(()) => Ok(see("/projects")),
        Err(error) => not_done(&app, &visit, error.into()).await,
    }
}

async fn projects_page(app: &App, visit: &Visit) -> Result<ProjectsPage, Error> {
    let mut projects = Vec::new();
    for project in app.service.projects().list().await? {
        projects.push(row(app, project).await?);
    }
    let shell = Shell::new(visit, "Projects", "projects");
    Ok(ProjectsPage { shell, projects, name: String::new(), problem: String::new() })
}

async fn settings_page(app: &App, visit: &Visit) -> Result<SettingsPage, Error> {
    let project = visit.project()?;
    let shell = Shell::new(visit, format!("Settings of {}", project.name), "settings");
    Ok(SettingsPage { shell, project: row(app, project.clone()).await?, problem: String::new() })
}

/// The settings again, saying why nothing was changed.
async fn not_done(app: &App, visit: &Visit, error: Error) -> Result<Response, Failure> {
    let page = settings_page(app, visit).await?;
    Ok(again(error, |problem| SettingsPage { problem, ..page })?)
}

fn show_key(
    app: &App,
    visit: &Visit,
    name: &str,
    key: &ApiKey,
    former: &'static str,
    back: String,
) -> Result<Response, Error> {
    html(&KeyPage {
        shell: Shell::new(visit, format!("API key of {name}"), "projects"),
        name: name.to_owned(),
        key: key.as_str().to_owned(),
        curl: format!("curl -X POST -H 'Authorization: Bearer {}' \\\n  {}/v1/inboxes", key.as_str(), app.base_url),
        former,
        back,
    })
}

async fn row(app: &App, project: Project) -> Result<Row, Error> {
    let holdings = app.service.projects().holdings(project.id).await?;
    Ok(Row {
        id: project.id.to_string(),
        name: project.name,
        is_default: project.is_default,
        key_last_four: project.key_last_four,
        inboxes: project.inboxes,
        messages: holdings.messages,
        size: size(u64::try_from(holdings.bytes).unwrap_or_default()),
        created: When::new(project.created_at, app.service.clock().now()),
    })
}
