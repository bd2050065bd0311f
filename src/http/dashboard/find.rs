//! Finds pages, inboxes, messages, failures and projects. It is a separate page, and the script
//! shows its results in the command palette. A project's viewer searches the project; the
//! administrator searches all projects.

use std::collections::HashMap;
use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::response::Response;

use super::failure::PageError;
use super::page::{NavPlace, Shell, html, subject, with_query};
use super::plain::shown;
use super::search::{PageSearch, SearchStatus};
use super::visit::{ProjectPage, SignedIn};
use super::when::When;
use crate::evidence::{Failure, FailureFilter, title};
use crate::http::App;
use crate::http::download::path_segment;
use crate::http::error::Error;
use crate::http::query::Query;
use crate::model::{
    FoundInbox, InboxEnd, MailQuery, ProjectId, Scope, SearchText, Timestamp, address_of,
};
use crate::service::{MessageStart, ServiceError};

/// Maximum number of results of each kind.
const MAX_RESULTS: usize = 8;
/// Failures that are compared with the inboxes that have ended.
const MAX_FAILURES: usize = 1_000;

#[derive(Template)]
#[template(path = "find.html")]
struct FindPage {
    shell: Shell,
    base: String,
    search: Option<String>,
    results: Vec<Found>,
    status: Option<SearchStatus>,
    problem: Option<String>,
}

pub(super) struct Found {
    pub(super) kind: &'static str,
    pub(super) url: String,
    pub(super) text: String,
    /// What else is known about it.
    pub(super) details: Vec<String>,
    pub(super) when: Option<When>,
}

/// Where is searched, and for whom.
pub(super) struct Finder<'a> {
    app: &'a App,
    /// `None` for all projects.
    project: Option<ProjectId>,
    /// The names of the projects, if results of several are shown.
    names: HashMap<ProjectId, String>,
    now: Timestamp,
}

/// Everything in a project; for the administrator, everything.
pub(super) async fn in_project(
    State(app): State<Arc<App>>,
    page: ProjectPage,
    query: Query,
) -> Result<Response, PageError> {
    let is_administrator = page.session.is_administrator();
    let finder = match is_administrator {
        true => Finder::of_all(&app).await?,
        false => Finder::of(&app, &page),
    };
    let mut places = places(NavPlace::of_project(), &page.path(""));
    if is_administrator {
        places.extend(self::places(NavPlace::of_installation(), ""));
    }
    let shell = page.shell("Find", NavPlace::Inboxes);
    Ok(html(
        &find(&finder, shell, page.path("/find"), places, &query).await?,
    )?)
}

/// Everything in all projects.
pub(super) async fn everywhere(
    State(app): State<Arc<App>>,
    viewer: SignedIn,
    query: Query,
) -> Result<Response, PageError> {
    let finder = Finder::of_all(&app).await?;
    let shell = viewer.shell("Find", NavPlace::Projects);
    let places = places(NavPlace::of_installation(), "");
    Ok(html(
        &find(&finder, shell, "/find".to_owned(), places, &query).await?,
    )?)
}

/// The page of the results. A further step of a search has only messages.
async fn find(
    finder: &Finder<'_>,
    shell: Shell,
    base: String,
    places: Vec<Found>,
    query: &Query,
) -> Result<FindPage, Error> {
    let search = PageSearch::new(query);
    let mut results = Vec::new();
    if search.problem.is_none() && search.before.is_none() {
        if search.query.is_failed {
            results.extend(finder.failures(&search).await?);
        } else if let Some(text) = search.query.address_text() {
            results.extend(finder.named(&text, places).await?);
        }
    }
    let mut status = None;
    if search.problem.is_none() && search.text.is_some() && !search.query.is_failed {
        let (found, reached) = finder.messages(&search, &base).await?;
        results.extend(found);
        status = Some(reached);
    }
    Ok(FindPage {
        shell,
        base,
        search: search.text,
        results,
        status,
        problem: search.problem,
    })
}

impl<'a> Finder<'a> {
    async fn of_all(app: &'a App) -> Result<Self, Error> {
        let projects = app.service.projects().list().await?;
        let names = projects
            .into_iter()
            .map(|project| (project.id, project.name))
            .collect();
        Ok(Self {
            app,
            project: None,
            names,
            now: app.service.clock().now(),
        })
    }

    /// The project of a page.
    pub(super) fn of(app: &'a App, page: &ProjectPage) -> Self {
        Self {
            app,
            project: Some(page.project.id),
            names: HashMap::new(),
            now: app.service.clock().now(),
        }
    }

    /// Pages, inboxes and projects whose name contains a text.
    async fn named(&self, text: &str, places: Vec<Found>) -> Result<Vec<Found>, Error> {
        let wanted = text.to_lowercase();
        let searched = SearchText::new(text, self.app.service.mail_domain());
        let mut inboxes = self.inboxes(&searched).await?;
        let more = self.cut(&mut inboxes, "All inboxes", "inboxes", text);
        let local_part = |inbox: &Found| {
            inbox
                .text
                .split('@')
                .next()
                .unwrap_or_default()
                .to_lowercase()
        };
        let is_exact = |inbox: &Found| searched.begins_address() || local_part(inbox) == wanted;
        // A whole address means its inbox, and not a page.
        let (mut results, inboxes): (Vec<Found>, Vec<Found>) =
            inboxes.into_iter().partition(is_exact);
        results.extend(
            places
                .into_iter()
                .filter(|place| place.text.to_lowercase().contains(&wanted)),
        );
        results.extend(inboxes);
        results.extend(more);
        results.extend(self.projects(&wanted));
        Ok(results)
    }

    /// Live inboxes, then those that have ended: one more than is shown, if there are more.
    async fn inboxes(&self, text: &SearchText) -> Result<Vec<Found>, Error> {
        let live = self
            .app
            .service
            .find_inboxes(self.project, text, false, MAX_RESULTS + 1)
            .await?;
        let mut found: Vec<Found> = live
            .into_iter()
            .map(|inbox| self.inbox(inbox, &[]))
            .collect();
        if found.len() <= MAX_RESULTS && !text.is_empty() {
            found.extend(self.ended_inboxes(text).await?);
        }
        Ok(found)
    }

    /// Cuts results that are too many to show, and returns the entry that says so and leads to the
    /// list with all.
    fn cut(&self, found: &mut Vec<Found>, all: &str, list: &str, text: &str) -> Option<Found> {
        if found.len() <= MAX_RESULTS {
            return None;
        }
        found.truncate(MAX_RESULTS);
        // The administrator chooses a project first.
        let url = match self.project {
            Some(project) => {
                with_query(&format!("/projects/{project}/{list}"), &[("q", Some(text))])
            }
            None => "/projects".to_owned(),
        };
        let details = vec![format!("only {MAX_RESULTS} are shown here")];
        Some(Found {
            kind: "Page",
            url,
            text: all.to_owned(),
            details,
            when: None,
        })
    }

    /// The inboxes that have ended in the last 30 days, the latest first.
    pub(super) async fn ended_inboxes(&self, text: &SearchText) -> Result<Vec<Found>, Error> {
        let service = &self.app.service;
        let ended = service
            .find_inboxes(self.project, text, true, MAX_RESULTS)
            .await?;
        if ended.is_empty() {
            return Ok(Vec::new());
        }
        let filter = FailureFilter {
            project: self.project,
            ..FailureFilter::default()
        };
        let failures = service.failures(&filter, MAX_FAILURES).await?;
        Ok(ended
            .into_iter()
            .map(|inbox| self.inbox(inbox, &failures))
            .collect())
    }

    fn inbox(
        &self,
        FoundInbox {
            inbox,
            label,
            end,
            active_at,
        }: FoundInbox,
        failures: &[Failure],
    ) -> Found {
        let id = path_segment(inbox.id.as_str());
        let own = format!("/projects/{}/inboxes/{id}", inbox.project);
        // Of an inbox that has ended, only its failures and its timeline can be shown.
        let is_of = |failure: &&Failure| {
            failure.wait.inbox == inbox.id && failure.wait.project == inbox.project
        };
        let failure = failures.iter().find(is_of).filter(|_| end.is_some());
        let (ended, at) = match end {
            None => (None, active_at),
            Some(InboxEnd::Expired(at)) => (Some("expired"), at),
            Some(InboxEnd::Deleted(at)) => (Some("deleted"), at),
        };
        let ended = ended.map(|ended| match failure {
            Some(_) => format!("{ended}; a wait on it timed out"),
            None => ended.to_owned(),
        });
        let details = [ended, label.as_deref().map(shown), self.name(inbox.project)];
        Found {
            kind: "Inbox",
            url: match failure {
                Some(failure) => format!("/failures/{}", failure.wait.id),
                None if end.is_some() => format!("{own}/timeline"),
                None => own,
            },
            text: inbox.address(self.app.service.mail_domain()),
            details: details.into_iter().flatten().collect(),
            when: Some(When::new(at, self.now)),
        }
    }

    /// One step of the search in messages.
    async fn messages(
        &self,
        search: &PageSearch,
        base: &str,
    ) -> Result<(Vec<Found>, SearchStatus), Error> {
        let service = &self.app.service;
        let scope = self.project.map_or(Scope::Everywhere, Scope::Project);
        let query = MailQuery {
            before: search.before,
            ..search.query.query(scope, service.mail_domain())
        };
        let mut found = service.mail(query, MAX_RESULTS).await?;
        let total = search.total(service, self.project, &found).await?;
        let status = search.status(
            &found,
            MAX_RESULTS,
            total,
            base,
            &[("q", search.text.as_deref())],
        );
        let mut results = Vec::with_capacity(found.messages.len());
        for message in found.messages.drain(..) {
            let project = match self.project {
                Some(project) => project,
                None => match service
                    .project_of_inbox(message.head.inbox_id.as_str())
                    .await
                {
                    Ok(project) => project,
                    // It has ended since.
                    Err(ServiceError::InboxNotFound) => continue,
                    Err(error) => return Err(error.into()),
                },
            };
            results.push(self.message(&message, project));
        }
        Ok((results, status))
    }

    fn message(&self, message: &MessageStart, project: ProjectId) -> Found {
        let inbox = path_segment(message.head.inbox_id.as_str());
        let address = address_of(
            &message.head.inbox_id,
            message.head.shared.as_ref(),
            self.app.service.mail_domain(),
        );
        let details = [
            Some(format!("to {address}")),
            Some(shown(&message.head.from)),
            self.name(project),
        ];
        Found {
            kind: "Message",
            url: format!(
                "/projects/{project}/inboxes/{inbox}/messages/{}",
                message.head.id
            ),
            text: subject(&message.head.subject),
            details: details
                .into_iter()
                .flatten()
                .filter(|detail| !detail.is_empty())
                .collect(),
            when: Some(When::new(message.head.received_at, self.now)),
        }
    }

    /// Waits that timed out.
    async fn failures(&self, search: &PageSearch) -> Result<Vec<Found>, Error> {
        let filter = FailureFilter {
            project: self.project,
            text: search.query.words(),
            since: search.query.since,
            before: search.query.until,
            ..FailureFilter::default()
        };
        let failures = self.app.service.failures(&filter, MAX_RESULTS + 1).await?;
        let found = failures.into_iter().map(|failure| {
            let label = failure.label.as_deref().map(shown);
            let details = [
                Some(title(failure.finding.cause).to_owned()),
                label,
                self.name(failure.wait.project),
            ];
            Found {
                kind: "Failure",
                url: format!("/failures/{}", failure.wait.id),
                text: failure.address(self.app.service.mail_domain()),
                details: details.into_iter().flatten().collect(),
                when: Some(When::new(failure.ended_at(), self.now)),
            }
        });
        let mut found: Vec<Found> = found.collect();
        let more = self.cut(&mut found, "All failures", "failures", &filter.text);
        found.extend(more);
        Ok(found)
    }

    fn projects(&self, wanted: &str) -> Vec<Found> {
        let named = self
            .names
            .iter()
            .filter(|(_, name)| name.to_lowercase().contains(wanted));
        let found = named.map(|(id, name)| Found {
            kind: "Project",
            url: format!("/projects/{id}/inboxes"),
            text: shown(name),
            details: Vec::new(),
            when: None,
        });
        let mut found: Vec<Found> = found.collect();
        found.sort_by(|one, other| one.text.cmp(&other.text));
        found.truncate(MAX_RESULTS);
        found
    }

    /// The project of a result, if results of several projects are shown.
    fn name(&self, project: ProjectId) -> Option<String> {
        self.names
            .get(&project)
            .map(|name| format!("in the project {}", shown(name)))
    }
}

fn places(places: &[NavPlace], base: &str) -> Vec<Found> {
    let found = places.iter().map(|place| Found {
        kind: "Page",
        url: place.url(base),
        text: place.label().to_owned(),
        details: Vec::new(),
        when: None,
    });
    found.collect()
}
