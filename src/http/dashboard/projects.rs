//! The administrator's pages to list, create, rename and delete projects, and to rotate their keys.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use askama::Template;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;

use super::failure::PageError;
use super::page::{Shell, again, html, see};
use super::visit::{Form, ProjectPage, SignedIn};
use super::when::{When, size};
use crate::http::App;
use crate::http::error::Error;
use crate::model::{ApiKey, Holdings, Project, ProjectId};

/// How long the old keys of a project remain valid if the form requests an overlap.
const OVERLAP: Duration = Duration::from_secs(24 * 60 * 60);

#[derive(Template)]
#[template(path = "projects.html")]
struct ProjectsPage {
    shell: Shell,
    projects: Vec<ProjectRow>,
    /// The name of a project that was rejected, and why.
    name: String,
    problem: Option<String>,
}

struct ProjectRow {
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
    project: ProjectRow,
    problem: Option<String>,
}

#[derive(Template)]
#[template(path = "key.html")]
struct KeyPage {
    shell: Shell,
    name: String,
    key: String,
    /// A first request with the key.
    curl: String,
    /// What happens to the old keys, if there were any.
    former: Option<&'static str>,
    back: String,
}

pub(super) async fn list(
    State(app): State<Arc<App>>,
    viewer: SignedIn,
) -> Result<Response, PageError> {
    Ok(html(&projects_page(&app, &viewer).await?)?)
}

pub(super) async fn create(
    State(app): State<Arc<App>>,
    viewer: SignedIn,
    headers: HeaderMap,
    form: Form,
) -> Result<Response, PageError> {
    let name = form.text("name").trim();
    match app.service.projects().create(name).await {
        Ok(key) => {
            let shell = viewer.shell(format!("API key of {name}"), "projects");
            Ok(show_key(
                &app.base_url.for_client(&headers),
                shell,
                name,
                &key,
                None,
                "/projects".to_owned(),
            )?)
        }
        Err(error) => {
            let page = projects_page(&app, &viewer).await?;
            let again = again(error.into(), |problem| ProjectsPage {
                name: name.to_owned(),
                problem: Some(problem),
                ..page
            });
            Ok(again?)
        }
    }
}

pub(super) async fn settings(
    State(app): State<Arc<App>>,
    page: ProjectPage,
) -> Result<Response, PageError> {
    Ok(html(&settings_page(&app, &page).await?)?)
}

pub(super) async fn rename(
    State(app): State<Arc<App>>,
    page: ProjectPage,
    form: Form,
) -> Result<Response, PageError> {
    match app
        .service
        .projects()
        .rename(&page.project, form.text("name").trim())
        .await
    {
        Ok(()) => Ok(see(&page.path("/settings"))),
        Err(error) => refused(&app, &page, error.into()).await,
    }
}

pub(super) async fn rotate(
    State(app): State<Arc<App>>,
    page: ProjectPage,
    form: Form,
) -> Result<Response, PageError> {
    let name = &page.project.name;
    let (overlap, former) = match form.given("overlap") {
        None => (Duration::ZERO, "Old keys stop working within seconds."),
        Some(_) => (OVERLAP, "Old keys remain valid for 24 hours."),
    };
    let key = app.service.projects().rotate_key(name, overlap).await?;
    let shell = page.shell(format!("API key of {name}"), "settings");
    Ok(show_key(
        &page.base_url,
        shell,
        name,
        &key,
        Some(former),
        page.path("/settings"),
    )?)
}

/// Deletes the project if the form repeats its name.
pub(super) async fn delete(
    State(app): State<Arc<App>>,
    page: ProjectPage,
    form: Form,
) -> Result<Response, PageError> {
    let name = &page.project.name;
    if form.text("name") != name {
        let error = Error::Refused("type the name of the project exactly to delete it".to_owned());
        return refused(&app, &page, error).await;
    }
    match app.service.projects().delete(name).await {
        Ok(()) => Ok(see("/projects")),
        Err(error) => refused(&app, &page, error.into()).await,
    }
}

async fn projects_page(app: &App, viewer: &SignedIn) -> Result<ProjectsPage, Error> {
    let projects = app.service.projects().list().await?;
    let holdings = app.service.projects().holdings(None).await?;
    let projects = projects
        .into_iter()
        .map(|project| row(app, project, &holdings))
        .collect();
    let shell = viewer.shell("Projects", "projects");
    Ok(ProjectsPage {
        shell,
        projects,
        name: String::new(),
        problem: None,
    })
}

async fn settings_page(app: &App, page: &ProjectPage) -> Result<SettingsPage, Error> {
    let shell = page.shell(format!("Settings of {}", page.project.name), "settings");
    let holdings = app
        .service
        .projects()
        .holdings(Some(page.project.id))
        .await?;
    Ok(SettingsPage {
        shell,
        project: row(app, page.project.clone(), &holdings),
        problem: None,
    })
}

/// The settings again, with the reason why nothing was changed.
async fn refused(app: &App, page: &ProjectPage, error: Error) -> Result<Response, PageError> {
    let page = settings_page(app, page).await?;
    Ok(again(error, |problem| SettingsPage {
        problem: Some(problem),
        ..page
    })?)
}

fn show_key(
    base_url: &str,
    shell: Shell,
    name: &str,
    key: &ApiKey,
    former: Option<&'static str>,
    back: String,
) -> Result<Response, Error> {
    html(&KeyPage {
        shell,
        name: name.to_owned(),
        key: key.as_str().to_owned(),
        curl: format!(
            "curl -X POST -H 'Authorization: Bearer {}' \\\n  {}/v1/inboxes",
            key.as_str(),
            base_url
        ),
        former,
        back,
    })
}

fn row(app: &App, project: Project, holdings: &HashMap<ProjectId, Holdings>) -> ProjectRow {
    let holdings = holdings.get(&project.id).copied().unwrap_or_default();
    ProjectRow {
        id: project.id.to_string(),
        name: project.name,
        is_default: project.is_default,
        key_last_four: project.key_last_four,
        inboxes: project.inboxes,
        messages: holdings.messages,
        size: size(u64::try_from(holdings.bytes).unwrap_or_default()),
        created: When::new(project.created_at, app.service.clock().now()),
    }
}
