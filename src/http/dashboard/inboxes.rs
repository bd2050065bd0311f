//! The inboxes of a project: listed, searched, created, changed, deleted.

use askama::Template;
use axum::http::Uri;

use super::page::{Answer, Choice, Shell, again, html, see, with_query};
use super::plain::{self, When};
use super::sign_in::local_path;
use super::start::Setup;
use super::visit::{Form, InboxPage, ProjectPage};
use crate::http::error::Error;
use crate::http::query::Query;
use crate::model::{
    InboxFilter, InboxId, InboxKind, InboxSummary, InboxTotals, ListPart, SearchText, Timestamp,
    WaitRecord, Watched,
};

/// Inboxes on one page.
const PAGE: usize = 100;
/// The kinds of inboxes that can be listed, each with its parameter.
const KINDS: [(&str, &str, &str); 5] = [
    ("All", "", ""),
    ("With mail", "mail", "1"),
    ("With failures", "failed", "1"),
    ("Temporary", "kind", "temporary"),
    ("Permanent", "kind", "permanent"),
];

#[derive(Template)]
#[template(path = "inboxes.html")]
struct InboxesPage {
    shell: Shell,
    base: String,
    search: Option<String>,
    kinds: [Choice; 5],
    /// The parameter of the current kind.
    kind: (&'static str, &'static str),
    totals: InboxTotals,
    /// The open waits of the project.
    waits: Vec<WaitRecord>,
    rows: Vec<InboxSummary>,
    /// The pages before and after this one.
    newer: Option<String>,
    more: Option<String>,
    setup: Setup,
    /// The name of a permanent inbox that was rejected, and why.
    name: String,
    problem: Option<String>,
}

pub(super) async fn list(page: ProjectPage, query: Query) -> Answer {
    Ok(html(&list_page(&page, &query).await?)?)
}

async fn list_page(page: &ProjectPage, query: &Query) -> Result<InboxesPage, Error> {
    let service = page.service();
    let project = page.project.id;
    // Read before the list, so that a change in between is announced and not missed.
    let seen = service.mark(&Watched::Inboxes(project)).await?;
    let is_chosen =
        |(_, name, value): &(_, &str, &str)| query.first(name).is_some_and(|given| given == *value);
    let (_, name, value) = KINDS.into_iter().find(is_chosen).unwrap_or(KINDS[0]);
    let search = query.search();
    let text = search.as_deref().unwrap_or_default();
    let filter = InboxFilter {
        address: SearchText::new(text, service.mail_domain()),
        kind: [InboxKind::Temporary, InboxKind::Permanent]
            .into_iter()
            .find(|kind| kind.as_str() == value),
        with_mail: name == "mail",
        with_failures: name == "failed",
        counts_failures: true,
        part: part(query),
    };
    let limit = i64::try_from(PAGE + 1).unwrap_or(i64::MAX);
    let mut rows = service.list_inboxes(project, &filter, limit).await?;
    let (has_newer, has_older) = sides(&filter.part, &mut rows);
    let base = page.path("/inboxes");
    let url = |(name, value), side, next: Option<&InboxSummary>| {
        let place = next.map(|next| format!("{}.{}", next.active_at.as_millis(), next.inbox.id));
        let search = search.as_deref();
        with_query(
            &base,
            &[("q", search), (name, Some(value)), (side, place.as_deref())],
        )
    };
    let kinds = KINDS.map(|(label, of_name, of_value)| Choice {
        label,
        url: url((of_name, of_value), "", None),
        count: 0,
        is_current: (of_name, of_value) == (name, value),
    });
    let newer = rows.first().filter(|_| has_newer);
    let more = rows.last().filter(|_| has_older);
    let title = format!("Inboxes of {}", page.project.name);
    let shell = page.shell(title, "inbox").await?;
    Ok(InboxesPage {
        shell: shell.live(page.path("/events?of=inboxes"), seen),
        kinds,
        kind: (name, value),
        totals: service.inbox_totals(project).await?,
        waits: service.open_waits(project).await?,
        newer: newer.map(|first| url((name, value), "before", Some(first))),
        more: more.map(|last| url((name, value), "after", Some(last))),
        rows,
        setup: Setup::new(page, None),
        name: String::new(),
        problem: None,
        search,
        base,
    })
}

/// The page of the list that the query names.
fn part(query: &Query) -> ListPart {
    let place = |name: &str| {
        let place = query.first(name)?;
        let (active_at, id) = place.split_once('.')?;
        let active_at = Timestamp::from_millis(active_at.parse().ok()?);
        Some((active_at, InboxId::parse(id).ok()?))
    };
    match (place("after"), place("before")) {
        (Some((active_at, id)), _) => ListPart::After(active_at, id),
        (None, Some((active_at, id))) => ListPart::Before(active_at, id),
        (None, None) => ListPart::Start,
    }
}

/// Removes the extra inbox that shows whether the list continues, and returns on which sides it
/// does.
fn sides(part: &ListPart, found: &mut Vec<InboxSummary>) -> (bool, bool) {
    let has_more = found.len() > PAGE;
    if let ListPart::Before(..) = part {
        found.drain(..found.len().saturating_sub(PAGE));
        return (has_more, true);
    }
    found.truncate(PAGE);
    (matches!(part, ListPart::After(..)), has_more)
}

pub(super) async fn create(page: ProjectPage, form: Form) -> Answer {
    let name = form.text("name").trim();
    let created = match form.text("kind") {
        "permanent" => {
            let created = page.service().create_permanent_inbox(page.project.id, name);
            created.await.map_err(Error::from)
        }
        _ => page
            .service()
            .create_inbox(&page.caller())
            .await
            .map_err(Error::from),
    };
    match created {
        Ok(inbox) => Ok(see(&page.inbox_path(inbox.id.as_str()))),
        Err(error) => {
            let name = name.to_owned();
            let page = list_page(&page, &Query::of(&Uri::default())).await?;
            again(error, |problem| InboxesPage {
                name,
                problem: Some(problem),
                ..page
            })
        }
    }
}

/// Sets how many days the messages of a permanent inbox are kept.
pub(super) async fn retain(page: InboxPage, form: Form) -> Answer {
    // A text that is no number is refused as 0 is.
    let days = form
        .given("days")
        .map(|days| days.trim().parse().unwrap_or(0));
    page.service().set_retention(&page.inbox, days).await?;
    Ok(see(&page.base()))
}

pub(super) async fn clear_faults(page: InboxPage) -> Answer {
    page.service().set_faults(&page.inbox, &[]).await?;
    Ok(see(&page.base()))
}

pub(super) async fn delete_message(page: InboxPage, form: Form) -> Answer {
    let message = page.parameter("message")?;
    page.service()
        .delete_message(&page.caller(), message)
        .await?;
    Ok(see(form.given("next").map_or(&*page.base(), local_path)))
}

pub(super) async fn empty(page: InboxPage) -> Answer {
    page.service().empty_inbox(&page.inbox).await?;
    Ok(see(&page.base()))
}

pub(super) async fn delete(page: InboxPage) -> Answer {
    page.service().end_inbox(&page.inbox).await?;
    Ok(see(&page.base()))
}

pub(super) async fn delete_chosen(page: ProjectPage, form: Form) -> Answer {
    let chosen = form.all("inbox");
    page.service().end_inboxes(&page.caller(), &chosen).await?;
    Ok(see(&page.path("/inboxes")))
}
