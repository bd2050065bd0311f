//! The inboxes of a project: listed, searched, created, deleted.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::response::Response;

use super::failure::Failure;
use super::page::{Place, Shell, again, html, project_path, see, subject, with_query};
use super::start::Setup;
use super::visit::{Form, InboxPage, ProjectPage};
use super::when::When;
use crate::http::App;
use crate::http::download::path_segment;
use crate::http::error::Error;
use crate::http::query::Query;
use crate::model::{InboxId, InboxKind, InboxSummary, Timestamp};
use crate::store::{InboxFilter, Watched};

/// Inboxes on one page.
const PAGE: usize = 100;

#[derive(Template)]
#[template(path = "inboxes.html")]
struct InboxesPage {
    shell: Shell,
    base: String,
    search: Option<String>,
    /// The kinds to choose from.
    kinds: [Kind; 3],
    kind: Option<&'static str>,
    rows: Vec<Row>,
    /// The next page of the list.
    more: Option<String>,
    setup: Setup,
    mail_domain: String,
    /// A permanent inbox that was refused, and why.
    name: String,
    problem: Option<String>,
}

struct Kind {
    label: &'static str,
    url: String,
    is_current: bool,
}

struct Row {
    id: String,
    address: String,
    is_permanent: bool,
    messages: i64,
    last: Option<LastMessage>,
    expires: Option<When>,
}

struct LastMessage {
    subject: String,
    sender: String,
    received: When,
}

/// The parameters of the query.
struct ListQuery {
    search: Option<String>,
    kind: Option<InboxKind>,
    /// The last inbox of the page before.
    after: Option<(Timestamp, InboxId)>,
}

impl From<&Query> for ListQuery {
    fn from(query: &Query) -> Self {
        let kinds = [InboxKind::Temporary, InboxKind::Permanent];
        let kind = query.first("kind").and_then(|word| kinds.into_iter().find(|kind| kind_word(*kind) == word));
        let after = query.first("after").and_then(|after| {
            let (created_at, id) = after.split_once('.')?;
            Some((Timestamp::from_millis(created_at.parse().ok()?), InboxId::parse(id).ok()?))
        });
        let search = query.first("q").map(|search| search.trim().to_owned());
        Self { search: search.filter(|search| !search.is_empty()), kind, after }
    }
}

impl ListQuery {
    fn filter(&self, mail_domain: &str) -> InboxFilter {
        let search = self.search.as_deref().unwrap_or_default();
        // A search for a whole address finds its local part.
        let local_part = search.strip_suffix(mail_domain).and_then(|local_part| local_part.strip_suffix('@'));
        InboxFilter { address: local_part.unwrap_or(search).to_owned(), kind: self.kind, after: self.after.clone() }
    }

    fn page_after(&self, base: &str, last: &InboxSummary) -> String {
        let after = format!("{}.{}", last.inbox.created_at.as_millis(), last.inbox.id);
        let kind = self.kind.map(kind_word);
        with_query(base, &[("q", self.search.as_deref()), ("kind", kind), ("after", Some(&after))])
    }
}

pub(super) async fn list(State(app): State<Arc<App>>, page: ProjectPage, query: Query) -> Result<Response, Failure> {
    Ok(html(&list_page(&app, &page, ListQuery::from(&query)).await?)?)
}

async fn list_page(app: &App, page: &ProjectPage, query: ListQuery) -> Result<InboxesPage, Error> {
    let project = page.project.id;
    // Read before the list, so that a change in between is announced again and never missed.
    let seen = app.service.mark(&Watched::Inboxes(project)).await?;
    let mail_domain = app.service.mail_domain().as_str();
    let limit = i64::try_from(PAGE + 1).unwrap_or(i64::MAX);
    let mut found = app.service.list_inboxes(project, &query.filter(mail_domain), limit).await?;
    let base = page.path("/inboxes");
    let has_more = found.len() > PAGE;
    found.truncate(PAGE);
    let more = found.last().filter(|_| has_more).map(|last| query.page_after(&base, last));
    let now = app.service.clock().now();
    let title = format!("Inboxes of {}", page.project.name);
    Ok(InboxesPage {
        shell: page.shell(title, Place::Inboxes).live(format!("{base}/events"), seen),
        kinds: kinds(&base, query.kind),
        kind: query.kind.map(kind_word),
        search: query.search,
        rows: found.into_iter().map(|summary| row(summary, mail_domain, now)).collect(),
        more,
        setup: Setup::new(app, None),
        mail_domain: mail_domain.to_owned(),
        name: String::new(),
        problem: None,
        base,
    })
}

pub(super) async fn create(State(app): State<Arc<App>>, page: ProjectPage, form: Form) -> Result<Response, Failure> {
    let name = form.text("name").trim();
    let created = match form.text("kind") {
        "permanent" => app.service.create_permanent_inbox(page.project.id, name).await.map_err(Error::from),
        _ => app.service.create_inbox(&page.caller()).await.map_err(Error::from),
    };
    match created {
        Ok(inbox) => Ok(see(&page.path(&format!("/inboxes/{}", path_segment(inbox.id.as_str()))))),
        Err(error) => {
            let page = list_page(&app, &page, ListQuery { search: None, kind: None, after: None }).await?;
            Ok(again(error, |problem| InboxesPage { name: name.to_owned(), problem: Some(problem), ..page })?)
        }
    }
}

pub(super) async fn delete(State(app): State<Arc<App>>, page: InboxPage) -> Result<Response, Failure> {
    app.service.delete_any_inbox(&page.of.caller(), page.inbox.id.as_str()).await?;
    Ok(see(&project_path(&page.of.project, "/inboxes")))
}

/// Sets how many days the messages of a permanent inbox are kept.
pub(super) async fn retain(State(app): State<Arc<App>>, page: InboxPage, form: Form) -> Result<Response, Failure> {
    app.service.set_retention(&page.inbox, form.text("days")).await.map_err(Error::from)?;
    Ok(see(&page.path()))
}

fn kind_word(kind: InboxKind) -> &'static str {
    match kind {
        InboxKind::Temporary => "temporary",
        InboxKind::Permanent => "permanent",
    }
}

fn kinds(base: &str, chosen: Option<InboxKind>) -> [Kind; 3] {
    let kinds = [("All", None), ("Temporary", Some(InboxKind::Temporary)), ("Permanent", Some(InboxKind::Permanent))];
    kinds.map(|(label, kind)| Kind {
        label,
        url: with_query(base, &[("kind", kind.map(kind_word))]),
        is_current: kind == chosen,
    })
}

fn row(summary: InboxSummary, mail_domain: &str, now: Timestamp) -> Row {
    let received_at = summary.last_received_at.zip(summary.last_subject);
    Row {
        id: path_segment(summary.inbox.id.as_str()),
        address: format!("{}@{mail_domain}", summary.inbox.id),
        is_permanent: summary.inbox.kind == InboxKind::Permanent,
        messages: summary.messages,
        last: received_at.map(|(received_at, text)| LastMessage {
            subject: subject(&text).to_owned(),
            sender: summary.last_sender.unwrap_or_default(),
            received: When::new(received_at, now),
        }),
        expires: summary.inbox.expires_at.map(|expires_at| When::new(expires_at, now)),
    }
}
