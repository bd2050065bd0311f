//! The inboxes of a project: listed, searched, created, deleted.

use std::sync::Arc;

use askama::Template;
use axum::Extension;
use axum::extract::State;
use axum::response::Response;

use super::failure::{Failure, again};
use super::guard::Visit;
use super::page::{Shell, html, see, with_query};
use super::start::Setup;
use super::when::When;
use crate::http::App;
use crate::http::error::Error;
use crate::model::{InboxId, InboxKind, InboxSummary, Timestamp};
use crate::store::{InboxFilter, Watched};

/// Inboxes on one page.
const PAGE: usize = 100;

#[derive(Template)]
#[template(path = "inboxes.html")]
struct InboxesPage {
    shell: Shell,
    base: String,
    query: String,
    kind: String,
    rows: Vec<Row>,
    /// Where the list goes on; empty at its end.
    more: String,
    setup: Setup,
    mail_domain: String,
    /// The permanent inbox that was asked for, and why there is none.
    name: String,
    problem: String,
}

struct Row {
    id: String,
    address: String,
    is_permanent: bool,
    messages: i64,
    last_subject: Option<String>,
    last_sender: String,
    last: Option<When>,
    expires: Option<When>,
}

pub(super) async fn list(
    State(app): State<Arc<App>>,
    Extension(visit): Extension<Arc<Visit>>,
) -> Result<Response, Failure> {
    Ok(html(&page(&app, &visit).await?)?)
}

async fn page(app: &App, visit: &Visit) -> Result<InboxesPage, Error> {
    let project = visit.project()?;
    // Before the list is read, so that what comes in between is told once more and never missed.
    let seen = app.service.mark(&Watched::Inboxes(project.id)).await?;
    let filter = filter(visit, app.service.mail_domain().as_str());
    let limit = i64::try_from(PAGE + 1).unwrap_or(i64::MAX);
    let mut found = app.service.list_inboxes(project.id, &filter, limit).await?;
    let base = format!("/projects/{}/inboxes", project.id);
    let more = if found.len() > PAGE {
        found.truncate(PAGE);
        found.last().map(|last| page_behind(&base, visit, last)).unwrap_or_default()
    } else {
        String::new()
    };
    let now = app.service.clock().now();
    let mail_domain = app.service.mail_domain();
    let rows = found.into_iter().map(|summary| row(summary, mail_domain.as_str(), now)).collect();
    let shell =
        Shell::new(visit, format!("Inboxes of {}", project.name), "inboxes").live(format!("{base}/events"), seen);
    let (query, kind) = (visit.query("q").to_owned(), visit.query("kind").to_owned());
    let (setup, mail_domain) = (Setup::new(app, &format!("anything@{mail_domain}"), ""), mail_domain.to_string());
    let (name, problem) = (String::new(), String::new());
    Ok(InboxesPage { shell, base, query, kind, rows, more, setup, mail_domain, name, problem })
}

pub(super) async fn create(
    State(app): State<Arc<App>>,
    Extension(visit): Extension<Arc<Visit>>,
) -> Result<Response, Failure> {
    let project = visit.project()?;
    let name = visit.field("name").trim();
    let created = match visit.field("kind") {
        "permanent" => app.service.create_permanent_inbox(project.id, name).await.map_err(Error::from),
        _ => app.service.create_inbox(&visit.caller()?).await.map_err(Error::from),
    };
    match created {
        Ok(inbox) => Ok(see(&format!("/projects/{}/inboxes/{}", project.id, path_segment(inbox.id.as_str())))),
        Err(error) => {
            let page = page(&app, &visit).await?;
            Ok(again(error, |problem| InboxesPage { name: name.to_owned(), problem, ..page })?)
        }
    }
}

pub(super) async fn delete(
    State(app): State<Arc<App>>,
    Extension(visit): Extension<Arc<Visit>>,
) -> Result<Response, Failure> {
    app.service.delete_any_inbox(&visit.caller()?, visit.param("inbox")).await?;
    Ok(see(&format!("/projects/{}/inboxes", visit.project()?.id)))
}

/// An inbox id as a part of a path: it may hold every character of an atom, a slash among them.
pub(super) fn path_segment(id: &str) -> String {
    let plain = |octet: u8| octet.is_ascii_alphanumeric() || b"-_.~".contains(&octet);
    let mut segment = String::with_capacity(id.len());
    for octet in id.bytes() {
        if plain(octet) {
            segment.push(char::from(octet));
        } else {
            segment.push_str(&format!("%{octet:02X}"));
        }
    }
    segment
}

fn filter(visit: &Visit, mail_domain: &str) -> InboxFilter {
    let query = visit.query("q").trim();
    // A whole address is looked for as readily as its local part.
    let address = query.strip_suffix(mail_domain).and_then(|local_part| local_part.strip_suffix('@')).unwrap_or(query);
    let kind = match visit.query("kind") {
        "temporary" => Some(InboxKind::Temporary),
        "permanent" => Some(InboxKind::Permanent),
        _ => None,
    };
    let behind = visit.query("behind").split_once('.').and_then(|(created_at, id)| {
        Some((Timestamp::from_millis(created_at.parse().ok()?), InboxId::parse(id).ok()?))
    });
    InboxFilter { address: address.to_owned(), kind, behind }
}

fn page_behind(base: &str, visit: &Visit, last: &InboxSummary) -> String {
    let behind = format!("{}.{}", last.inbox.created_at.as_millis(), last.inbox.id);
    with_query(base, &[("q", visit.query("q")), ("kind", visit.query("kind")), ("behind", &behind)])
}

fn row(summary: InboxSummary, mail_domain: &str, now: Timestamp) -> Row {
    Row {
        id: path_segment(summary.inbox.id.as_str()),
        address: format!("{}@{mail_domain}", summary.inbox.id),
        is_permanent: summary.inbox.kind == InboxKind::Permanent,
        messages: summary.messages,
        last_subject: summary.last_subject,
        last_sender: summary.last_sender.unwrap_or_default(),
        last: summary.last_received_at.map(|received_at| When::new(received_at, now)),
        expires: summary.inbox.expires_at.map(|expires_at| When::new(expires_at, now)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_id_is_one_segment() {
        assert_eq!(path_segment("sign-up.1_~"), "sign-up.1_~");
        assert_eq!(path_segment("a/b?c#d%é"), "a%2Fb%3Fc%23d%25%C3%A9");
    }
}
