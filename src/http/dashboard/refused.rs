//! Mail that was rejected over SMTP: of one project, or of all projects for the administrator.

use std::collections::HashMap;
use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::response::Response;

use super::explained::what_to_do;
use super::failure::PageError;
use super::page::{Choice, Shell, given, html, time_since, times};
use super::plain::{Piece, phrase, shown};
use super::timeline::timeline_of;
use super::visit::{ProjectPage, SignedIn};
use super::when::When;
use crate::http::App;
use crate::http::error::Error;
use crate::http::query::Query;
use crate::model::{ProjectId, RefusalFilter, RefusalReason, RefusedMail, Timestamp, Watched};

#[derive(Template)]
#[template(path = "refused.html")]
struct RefusedPage {
    shell: Shell,
    /// The path of the page.
    base: String,
    list: List,
}

/// The refusals that the filters find, and the filters.
struct List {
    search: Option<String>,
    reasons: Vec<Choice>,
    times: Vec<Choice>,
    is_filtered: bool,
    rows: Vec<RefusedRow>,
}

struct RefusedRow {
    reason: String,
    reply: String,
    remedy: Vec<Piece>,
    /// The sender, if the client had sent one.
    sender: Option<String>,
    recipient: Option<String>,
    /// The page with the transcript of its session.
    timeline: Option<String>,
    client: String,
    /// The name of the project, for the administrator.
    project: Option<String>,
    /// How often the same happened, and when it first did.
    count: usize,
    first: When,
    when: When,
}

pub(super) async fn of_project(
    State(app): State<Arc<App>>,
    page: ProjectPage,
    query: Query,
) -> Result<Response, PageError> {
    let seen = app
        .service
        .mark(&Watched::Refused(Some(page.project.id)))
        .await?;
    let list = List::read(&app, Some(page.project.id), &query).await?;
    let base = page.path("/refused");
    let shell = page
        .shell("Rejected mail", "refused")
        .live(page.path("/events?of=refused"), seen);
    Ok(html(&RefusedPage { shell, base, list })?)
}

pub(super) async fn all(
    State(app): State<Arc<App>>,
    viewer: SignedIn,
    query: Query,
) -> Result<Response, PageError> {
    let seen = app.service.mark(&Watched::Refused(None)).await?;
    let list = List::read(&app, None, &query).await?;
    let shell = viewer
        .shell("Rejected mail", "all-refused")
        .live("/refused/events", seen);
    Ok(html(&RefusedPage {
        shell,
        base: "/refused".to_owned(),
        list,
    })?)
}

impl List {
    async fn read(app: &App, project: Option<ProjectId>, query: &Query) -> Result<Self, Error> {
        let now = app.service.clock().now();
        let search = query.search();
        let reason = query.first("reason");
        let time = query.first("time");
        let since = time_since(time.as_deref(), now);
        let mut filter = RefusalFilter {
            project,
            ..RefusalFilter::default()
        };
        let known = app.service.refusals(&filter).await?;
        filter.text = search.clone().unwrap_or_default();
        filter.reason = reason.clone().map(RefusalReason::from_label);
        filter.since = since;
        let is_filtered = search.is_some() || reason.is_some() || since.is_some();
        let reasons = reasons(&known, reason.as_deref());
        let names = if project.is_none() {
            names(app).await?
        } else {
            HashMap::new()
        };
        let found = if is_filtered {
            app.service.refusals(&filter).await?
        } else {
            known
        };
        let rows = groups(found)
            .into_iter()
            .map(|group| row(app, names.get(&group.project.0).cloned(), group));
        Ok(Self {
            is_filtered,
            rows: rows.collect(),
            reasons,
            times: times(time.as_deref()),
            search,
        })
    }
}

/// The names of the projects by their ids.
async fn names(app: &App) -> Result<HashMap<uuid::Uuid, String>, Error> {
    let projects = app.service.projects().list().await?;
    Ok(projects
        .into_iter()
        .map(|project| (project.id.0, project.name))
        .collect())
}

/// The reasons that occur, and the one that is chosen.
fn reasons(known: &[(ProjectId, RefusedMail)], chosen: Option<&str>) -> Vec<Choice> {
    let mut words: Vec<&str> = known
        .iter()
        .map(|(_, refused)| refused.reason.label())
        .collect();
    words.extend(chosen);
    words.sort_unstable();
    words.dedup();
    let choice = |word: &str| Choice {
        value: word.to_owned(),
        label: phrase(word),
        is_current: chosen == Some(word),
    };
    words.into_iter().map(choice).collect()
}

/// Refusals of the same client with the same reply, sender and recipient.
struct Group {
    project: ProjectId,
    newest: RefusedMail,
    first_at: Timestamp,
    count: usize,
}

/// Groups refusals, which are ordered from the newest to the oldest.
fn groups(refused: Vec<(ProjectId, RefusedMail)>) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (project, refused) in refused {
        let is_same = |group: &&mut Group| {
            let other = &group.newest;
            group.project == project
                && (&other.reply, &other.sender, &other.recipient)
                    == (&refused.reply, &refused.sender, &refused.recipient)
                && other.client() == refused.client()
        };
        match groups.iter_mut().find(is_same) {
            Some(group) => (group.count, group.first_at) = (group.count + 1, refused.refused_at),
            None => groups.push(Group {
                project,
                first_at: refused.refused_at,
                newest: refused,
                count: 1,
            }),
        }
    }
    groups
}

fn row(app: &App, project_name: Option<String>, group: Group) -> RefusedRow {
    let Group {
        project,
        newest: refused,
        first_at,
        count,
    } = group;
    let now = app.service.clock().now();
    RefusedRow {
        remedy: what_to_do(app, &refused),
        reason: phrase(refused.reason.label()),
        sender: given(shown(refused.sender_address())),
        recipient: given(shown(refused.recipient_address())),
        timeline: timeline_of(&format!("/projects/{project}"), &refused),
        reply: shown(&refused.reply),
        // Over HTTP, no port is known.
        client: refused.peer.trim_end_matches(":0").to_owned(),
        project: project_name,
        count,
        first: When::new(first_at, now),
        when: When::new(refused.refused_at, now),
    }
}
