//! Finds pages, inboxes, messages and projects by a few letters. It is a separate page, and the script shows its
//! results in the command palette.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::response::Response;

use super::failure::PageError;
use super::page::{NavPlace, Shell, html, subject};
use super::plain::shown;
use super::visit::{ProjectPage, SignedIn};
use crate::http::App;
use crate::http::download::path_segment;
use crate::http::error::Error;
use crate::http::query::Query;
use crate::model::{InboxFilter, MailFilter, search_text};

/// Results of each kind.
const MOST: usize = 8;

#[derive(Template)]
#[template(path = "find.html")]
struct FindPage {
    shell: Shell,
    base: String,
    search: Option<String>,
    results: Vec<Found>,
}

/// A result.
struct Found {
    kind: &'static str,
    url: String,
    text: String,
    detail: String,
}

/// Everything in a project.
pub(super) async fn in_project(
    State(app): State<Arc<App>>,
    page: ProjectPage,
    query: Query,
) -> Result<Response, PageError> {
    let search = query.search();
    let wanted = search.clone().unwrap_or_default().to_lowercase();
    let mut results = pages(NavPlace::of_project(), &page.path(""), &wanted);
    results.extend(inboxes(&app, &page, &wanted).await?);
    if !wanted.is_empty() {
        results.extend(messages(&app, &page, &wanted).await?);
    }
    if page.session.is_administrator() {
        results.extend(pages(NavPlace::of_installation(), "", &wanted));
        results.extend(projects(&app, &wanted).await?);
    }
    let (shell, base) = (page.shell("Find", NavPlace::Inboxes), page.path("/find"));
    Ok(html(&FindPage { shell, base, search, results })?)
}

/// The projects, and the inboxes that several of them may have with one address.
pub(super) async fn everywhere(
    State(app): State<Arc<App>>,
    viewer: SignedIn,
    query: Query,
) -> Result<Response, PageError> {
    let search = query.search();
    let wanted = search.clone().unwrap_or_default().to_lowercase();
    let mut results = pages(NavPlace::of_installation(), "", &wanted);
    results.extend(projects(&app, &wanted).await?);
    results.extend(shared_inboxes(&app, &wanted).await?);
    let shell = viewer.shell("Find", NavPlace::Projects);
    Ok(html(&FindPage { shell, base: "/find".to_owned(), search, results })?)
}

fn pages(places: &[NavPlace], base: &str, wanted: &str) -> Vec<Found> {
    let named = places.iter().filter(|place| place.label().to_lowercase().contains(wanted));
    let found = named.map(|place| Found {
        kind: "Page",
        url: place.url(base),
        text: place.label().to_owned(),
        detail: String::new(),
    });
    found.collect()
}

async fn inboxes(app: &App, page: &ProjectPage, wanted: &str) -> Result<Vec<Found>, Error> {
    let domain = app.service.mail_domain();
    let filter = InboxFilter { address: search_text(wanted, domain), ..InboxFilter::default() };
    let most = i64::try_from(MOST).unwrap_or(i64::MAX);
    let found = app.service.list_inboxes(page.project.id, &filter, most).await?;
    let found = found.into_iter().map(|summary| Found {
        kind: "Inbox",
        url: page.path(&format!("/inboxes/{}", path_segment(summary.inbox.id.as_str()))),
        text: summary.inbox.address(domain),
        detail: summary.last_subject.unwrap_or_default(),
    });
    Ok(found.collect())
}

async fn messages(app: &App, page: &ProjectPage, wanted: &str) -> Result<Vec<Found>, Error> {
    let text = search_text(wanted, app.service.mail_domain());
    let filter = MailFilter { text, ..MailFilter::default() };
    let found = app.service.mail(&page.caller(), &filter, MOST).await?;
    let found = found.messages.into_iter().map(|message| Found {
        kind: "Message",
        url: page.path(&format!("/inboxes/{}/messages/{}", path_segment(message.inbox_id.as_str()), message.id)),
        text: subject(&message.subject),
        detail: shown(&message.from),
    });
    Ok(found.collect())
}

/// The inboxes of all projects with an address that is not on the mail domain.
async fn shared_inboxes(app: &App, wanted: &str) -> Result<Vec<Found>, Error> {
    let holders = app.service.holders_of_address(wanted).await?;
    let names = if holders.is_empty() { Vec::new() } else { app.service.projects().list().await? };
    let found = holders.into_iter().filter_map(|holder| {
        let project = names.iter().find(|project| project.id == holder.project)?;
        Some(Found {
            kind: "Inbox",
            url: format!("/projects/{}/inboxes/{}", project.id, path_segment(holder.inbox.as_str())),
            text: wanted.to_owned(),
            detail: format!("in the project {}", project.name),
        })
    });
    Ok(found.collect())
}

async fn projects(app: &App, wanted: &str) -> Result<Vec<Found>, Error> {
    let all = app.service.projects().list().await?;
    let named = all.into_iter().filter(|project| project.name.to_lowercase().contains(wanted)).take(MOST);
    let found = named.map(|project| Found {
        kind: "Project",
        url: format!("/projects/{}/inboxes", project.id),
        text: project.name,
        detail: String::new(),
    });
    Ok(found.collect())
}
