//! The inboxes of a project: listed, searched, created, deleted.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::response::Response;

use super::failure::PageError;
use super::page::{Shell, again, html, see, subject, with_query};
use super::plain::shown;
use super::start::Setup;
use super::visit::{Form, InboxPage, ProjectPage};
use super::waits::{OpenWait, open_waits};
use super::when::When;
use crate::http::App;
use crate::http::download::path_segment;
use crate::http::error::Error;
use crate::http::query::Query;
use crate::model::{
    Domain, InboxFilter, InboxId, InboxKind, InboxSummary, InboxTotals, ListPart, SearchText,
    Timestamp, Watched,
};

/// Inboxes on one page.
const PAGE: usize = 100;

#[derive(Template)]
#[template(path = "inboxes.html")]
struct InboxesPage {
    shell: Shell,
    base: String,
    /// The path of the project.
    project: String,
    search: Option<String>,
    /// The options of the kind filter.
    kinds: [Kind; 5],
    kind: Option<&'static str>,
    with_mail: bool,
    with_failures: bool,
    totals: InboxTotals,
    /// The open waits of the project.
    waits: Vec<OpenWait>,
    rows: Vec<InboxRow>,
    /// The pages before and after this one.
    newer: Option<String>,
    more: Option<String>,
    setup: Setup,
    mail_domain: String,
    /// Further domains for which mail is accepted.
    accepted_domains: String,
    /// The name of a permanent inbox that was rejected, and why.
    name: String,
    problem: Option<String>,
}

struct Kind {
    label: &'static str,
    url: String,
    is_current: bool,
}

struct InboxRow {
    /// As the form posts it.
    id: String,
    url: String,
    address: String,
    label: Option<String>,
    is_permanent: bool,
    messages: i64,
    last: Option<LastMessage>,
    expires: Option<When>,
    timeouts: i64,
    rejections: i64,
}

struct LastMessage {
    subject: String,
    sender: String,
    received: When,
}

/// The parameters of the query.
#[derive(Default)]
struct ListQuery {
    search: Option<String>,
    kind: Option<InboxKind>,
    with_mail: bool,
    with_failures: bool,
    part: ListPart,
}

impl From<&Query> for ListQuery {
    fn from(query: &Query) -> Self {
        let kinds = [InboxKind::Temporary, InboxKind::Permanent];
        let kind = query
            .first("kind")
            .and_then(|word| kinds.into_iter().find(|kind| kind.as_str() == word));
        let place = |name: &str| {
            let place = query.first(name)?;
            let (active_at, id) = place.split_once('.')?;
            Some((
                Timestamp::from_millis(active_at.parse().ok()?),
                InboxId::parse(id).ok()?,
            ))
        };
        let part = match (place("after"), place("before")) {
            (Some((active_at, id)), _) => ListPart::After(active_at, id),
            (None, Some((active_at, id))) => ListPart::Before(active_at, id),
            (None, None) => ListPart::Start,
        };
        let [with_mail, with_failures] = ["mail", "failed"].map(|name| query.first(name).is_some());
        Self {
            search: query.search(),
            kind,
            with_mail,
            with_failures,
            part,
        }
    }
}

impl ListQuery {
    fn filter(&self, mail_domain: &Domain) -> InboxFilter {
        let text = self.search.as_deref().unwrap_or_default();
        let address = SearchText::new(text, mail_domain);
        let part = self.part.clone();
        let Self {
            kind,
            with_mail,
            with_failures,
            ..
        } = *self;
        InboxFilter {
            address,
            kind,
            with_mail,
            with_failures,
            counts_failures: true,
            part,
        }
    }

    /// The page `after` or `before` an inbox.
    fn page(&self, base: &str, side: &str, inbox: &InboxSummary) -> String {
        let place = format!("{}.{}", inbox.active_at.as_millis(), inbox.inbox.id);
        let search = self.search.as_deref();
        let kind = self.kind.map(InboxKind::as_str);
        let mail = self.with_mail.then_some("1");
        let failed = self.with_failures.then_some("1");
        with_query(
            base,
            &[
                ("q", search),
                ("kind", kind),
                ("mail", mail),
                ("failed", failed),
                (side, Some(&place)),
            ],
        )
    }

    /// Removes the extra inbox that shows whether the list continues, and returns on which sides it
    /// does.
    fn sides(&self, found: &mut Vec<InboxSummary>) -> (bool, bool) {
        let has_more = found.len() > PAGE;
        match self.part {
            ListPart::Before(..) => {
                found.drain(..found.len().saturating_sub(PAGE));
                (has_more, true)
            }
            ListPart::After(..) | ListPart::Start => {
                found.truncate(PAGE);
                (matches!(self.part, ListPart::After(..)), has_more)
            }
        }
    }
}

pub(super) async fn list(
    State(app): State<Arc<App>>,
    page: ProjectPage,
    query: Query,
) -> Result<Response, PageError> {
    Ok(html(
        &list_page(&app, &page, ListQuery::from(&query)).await?,
    )?)
}

async fn list_page(app: &App, page: &ProjectPage, query: ListQuery) -> Result<InboxesPage, Error> {
    let project = page.project.id;
    // Read before the list, so that a change in between is announced and not missed.
    let seen = app.service.mark(&Watched::Inboxes(project)).await?;
    let mail_domain = app.service.mail_domain();
    let limit = i64::try_from(PAGE + 1).unwrap_or(i64::MAX);
    let mut found = app
        .service
        .list_inboxes(project, &query.filter(mail_domain), limit)
        .await?;
    let base = page.path("/inboxes");
    let (has_newer, has_older) = query.sides(&mut found);
    let newer = found
        .first()
        .filter(|_| has_newer)
        .map(|first| query.page(&base, "before", first));
    let more = found
        .last()
        .filter(|_| has_older)
        .map(|last| query.page(&base, "after", last));
    let now = app.service.clock().now();
    let title = format!("Inboxes of {}", page.project.name);
    Ok(InboxesPage {
        shell: page
            .shell(title, "inbox")
            .live(page.path("/events?of=inboxes"), seen),
        kinds: kinds(&base, &query),
        kind: query.kind.map(InboxKind::as_str),
        with_mail: query.with_mail,
        with_failures: query.with_failures,
        totals: app.service.inbox_totals(project).await?,
        project: page.path(""),
        waits: open_waits(app, page).await?,
        search: query.search,
        rows: found
            .into_iter()
            .map(|summary| row(summary, &base, mail_domain, now))
            .collect(),
        newer,
        more,
        setup: Setup::new(app, page, None),
        mail_domain: mail_domain.to_string(),
        accepted_domains: app.service.accepted().to_string(),
        name: String::new(),
        problem: None,
        base,
    })
}

pub(super) async fn create(
    State(app): State<Arc<App>>,
    page: ProjectPage,
    form: Form,
) -> Result<Response, PageError> {
    let name = form.text("name").trim();
    let created = match form.text("kind") {
        "permanent" => app
            .service
            .create_permanent_inbox(page.project.id, name)
            .await
            .map_err(Error::from),
        _ => app
            .service
            .create_inbox(&page.caller())
            .await
            .map_err(Error::from),
    };
    match created {
        Ok(inbox) => Ok(see(
            &page.path(&format!("/inboxes/{}", path_segment(inbox.id.as_str())))
        )),
        Err(error) => {
            let page = list_page(&app, &page, ListQuery::default()).await?;
            Ok(again(error, |problem| InboxesPage {
                name: name.to_owned(),
                problem: Some(problem),
                ..page
            })?)
        }
    }
}

/// Sets how many days the messages of a permanent inbox are kept.
pub(super) async fn retain(
    State(app): State<Arc<App>>,
    page: InboxPage,
    form: Form,
) -> Result<Response, PageError> {
    // A text that is no number is refused as 0 is.
    let days = Some(form.text("days").trim())
        .filter(|days| !days.is_empty())
        .map(|days| days.parse().unwrap_or(0));
    app.service
        .set_retention(&page.inbox, days)
        .await
        .map_err(Error::from)?;
    Ok(see(&page.path()))
}

fn kinds(base: &str, query: &ListQuery) -> [Kind; 5] {
    let kind = |kind: InboxKind| Some(("kind", kind.as_str()));
    let kinds = [
        ("All", None),
        ("With mail", Some(("mail", "1"))),
        ("With failures", Some(("failed", "1"))),
        ("Temporary", kind(InboxKind::Temporary)),
        ("Permanent", kind(InboxKind::Permanent)),
    ];
    let current = match query {
        ListQuery {
            with_failures: true,
            ..
        } => kinds[2].1,
        ListQuery {
            with_mail: true, ..
        } => kinds[1].1,
        ListQuery { kind: chosen, .. } => chosen.and_then(kind),
    };
    kinds.map(|(label, chosen)| {
        let mut parameters = vec![("q", query.search.as_deref())];
        parameters.extend(chosen.map(|(name, value)| (name, Some(value))));
        Kind {
            label,
            url: with_query(base, &parameters),
            is_current: chosen == current,
        }
    })
}

fn row(summary: InboxSummary, base: &str, mail_domain: &Domain, now: Timestamp) -> InboxRow {
    let received_at = summary.last_received_at.zip(summary.last_subject);
    InboxRow {
        id: summary.inbox.id.to_string(),
        url: format!("{base}/{}", path_segment(summary.inbox.id.as_str())),
        address: shown(&summary.inbox.address(mail_domain)),
        label: summary.label.as_deref().map(shown),
        is_permanent: summary.inbox.kind == InboxKind::Permanent,
        messages: summary.messages,
        last: received_at.map(|(received_at, text)| LastMessage {
            subject: subject(&text),
            sender: shown(&summary.last_sender.unwrap_or_default()),
            received: When::new(received_at, now),
        }),
        expires: summary
            .inbox
            .expires_at
            .map(|expires_at| When::new(expires_at, now)),
        timeouts: summary.timeouts,
        rejections: summary.rejections,
    }
}
