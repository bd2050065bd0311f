//! The administrator's pages to list, create, rename and delete projects, and to rotate their keys.

use std::collections::HashMap;
use std::time::Duration;

use askama::Template;

use super::page::{Answer, Shell, again, html, see};
use super::plain::{self, When};
use super::visit::{Form, ProjectPage, Visit};
use crate::http::error::Error;
use crate::model::{ApiKey, Holdings, Project, ProjectId, WorkingKey};

/// How long the old keys of a project remain valid if the form requests an overlap.
const OVERLAP: Duration = Duration::from_secs(24 * 60 * 60);

#[derive(Template)]
#[template(path = "projects.html")]
struct ProjectsPage {
    shell: Shell,
    projects: Vec<Project>,
    holdings: HashMap<ProjectId, Holdings>,
    /// The name of a project that was rejected, and why.
    name: String,
    problem: Option<String>,
}

#[derive(Template)]
#[template(path = "settings.html")]
struct SettingsPage {
    shell: Shell,
    project: Project,
    holdings: Holdings,
    keys: Vec<WorkingKey>,
    problem: Option<String>,
}

#[derive(Template)]
#[template(path = "key.html")]
struct KeyPage {
    shell: Shell,
    name: String,
    key: ApiKey,
    /// A first request with the key.
    curl: String,
    /// What happens to the old keys, if there were any.
    former: Option<&'static str>,
    back: String,
}

pub(super) async fn list(visit: Visit) -> Answer {
    Ok(html(&projects_page(&visit).await?)?)
}

pub(super) async fn create(visit: Visit, form: Form) -> Answer {
    let name = form.text("name").trim();
    match visit.service().projects().create(name).await {
        Ok(key) => show_key(&visit, "projects", name, key, None, "/projects".to_owned()).await,
        Err(error) => {
            let page = projects_page(&visit).await?;
            let name = name.to_owned();
            again(error.into(), |problem| ProjectsPage {
                name,
                problem: Some(problem),
                ..page
            })
        }
    }
}

pub(super) async fn settings(page: ProjectPage) -> Answer {
    Ok(html(&settings_page(&page).await?)?)
}

pub(super) async fn rename(page: ProjectPage, form: Form) -> Answer {
    let name = form.text("name").trim();
    match page.service().projects().rename(&page.project, name).await {
        Ok(()) => Ok(see(&page.path("/settings"))),
        Err(error) => refused(&page, error.into()).await,
    }
}

pub(super) async fn rotate(page: ProjectPage, form: Form) -> Answer {
    let name = &page.project.name;
    let (overlap, former) = match form.given("overlap") {
        None => (Duration::ZERO, "Old keys stop working within seconds."),
        Some(_) => (OVERLAP, "Old keys remain valid for 24 hours."),
    };
    let key = page.service().projects().rotate_key(name, overlap).await?;
    show_key(
        &page,
        "settings",
        name,
        key,
        Some(former),
        page.path("/settings"),
    )
    .await
}

/// Deletes the project if the form repeats its name.
pub(super) async fn delete(page: ProjectPage, form: Form) -> Answer {
    let name = &page.project.name;
    if form.text("name") != name {
        let error = Error::Refused("type the name of the project exactly to delete it".to_owned());
        return refused(&page, error).await;
    }
    match page.service().projects().delete(name).await {
        Ok(()) => Ok(see("/projects")),
        Err(error) => refused(&page, error.into()).await,
    }
}

async fn projects_page(visit: &Visit) -> Result<ProjectsPage, Error> {
    let projects = visit.service().projects();
    Ok(ProjectsPage {
        shell: visit.shell("Projects", "projects").await?,
        projects: projects.list().await?,
        holdings: projects.holdings(None).await?,
        name: String::new(),
        problem: None,
    })
}

async fn settings_page(page: &ProjectPage) -> Result<SettingsPage, Error> {
    let project = page.project.clone();
    let projects = page.service().projects();
    let holdings = projects.holdings(Some(project.id)).await?;
    Ok(SettingsPage {
        shell: page
            .shell(format!("Settings of {}", project.name), "settings")
            .await?,
        holdings: holdings.get(&project.id).copied().unwrap_or_default(),
        keys: projects.keys(project.id).await?,
        project,
        problem: None,
    })
}

/// The settings again, with the reason why nothing was changed.
async fn refused(page: &ProjectPage, error: Error) -> Answer {
    let page = settings_page(page).await?;
    again(error, |problem| SettingsPage {
        problem: Some(problem),
        ..page
    })
}

async fn show_key(
    visit: &Visit,
    place: &'static str,
    name: &str,
    key: ApiKey,
    former: Option<&'static str>,
    back: String,
) -> Answer {
    let secret = key.as_str();
    let base_url = visit.base_url();
    Ok(html(&KeyPage {
        shell: visit.shell(format!("API key of {name}"), place).await?,
        name: name.to_owned(),
        curl: format!(
            "curl -X POST -H 'Authorization: Bearer {secret}' \\\n  {base_url}/v1/inboxes"
        ),
        key,
        former,
        back,
    })?)
}
