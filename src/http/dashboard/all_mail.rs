//! All mail of a project in one list, with a search over addresses, senders, subjects and texts.

use std::sync::Arc;
use std::time::Duration;

use askama::Template;
use axum::extract::State;
use axum::response::Response;

use super::failure::PageError;
use super::messages::{search_progress, snippet};
use super::page::{NavPlace, Shell, given, html, subject, with_query};
use super::plain::shown;
use super::visit::ProjectPage;
use super::when::When;
use crate::http::App;
use crate::http::download::path_segment;
use crate::http::error::Error;
use crate::http::query::Query;
use crate::model::{Domain, MailFilter, MessageStart, Timestamp, Watched, address_of, search_text};

/// Messages on one page.
const PAGE: usize = 50;
/// The options of the time filter: the word in the query, the label, and the minutes.
const TIMES: [(&str, &str, u64); 3] =
    [("10min", "Last 10 minutes", 10), ("hour", "Last hour", 60), ("day", "Last day", 1_440)];

#[derive(Template)]
#[template(path = "all_mail.html")]
struct AllMailPage {
    shell: Shell,
    base: String,
    filters: Filters,
    rows: Vec<MailRow>,
    /// The next page.
    more: Option<String>,
    /// The progress of a search that has not reached the end.
    progress: Option<String>,
}

/// The parameters of the query.
struct Filters {
    search: Option<String>,
    has_code: bool,
    has_attachment: bool,
    times: Vec<(&'static str, &'static str, bool)>,
    is_any: bool,
    before: Option<i64>,
}

struct MailRow {
    url: String,
    id: String,
    address: String,
    from: String,
    subject: String,
    snippet: String,
    code: Option<String>,
    attachments: i64,
    received: When,
}

impl Filters {
    fn new(query: &Query) -> Self {
        let (search, time) = (query.search(), query.first("time"));
        let (has_code, has_attachment) = (query.first("code").is_some(), query.first("attachment").is_some());
        let times = TIMES.map(|(word, label, _)| (word, label, time.as_deref() == Some(word))).to_vec();
        let is_timed = times.iter().any(|(.., is_current)| *is_current);
        let is_any = search.is_some() || has_code || has_attachment || is_timed;
        let before = query.first("before").and_then(|number| number.parse().ok());
        Self { search, has_code, has_attachment, times, is_any, before }
    }

    fn time(&self) -> Option<&'static str> {
        self.times.iter().find(|(.., is_current)| *is_current).map(|(word, ..)| *word)
    }

    fn filter(&self, mail_domain: &Domain, now: Timestamp) -> MailFilter {
        let minutes = TIMES.iter().find(|(word, ..)| self.time() == Some(*word)).map(|(.., minutes)| *minutes);
        MailFilter {
            inbox: None,
            text: search_text(self.search.as_deref().unwrap_or_default(), mail_domain),
            has_code: self.has_code,
            has_attachment: self.has_attachment,
            since: minutes.map(|minutes| now.before(Duration::from_secs(minutes * 60))),
            before: self.before,
        }
    }

    fn url(&self, base: &str, before: i64) -> String {
        let chosen = |is_chosen: bool| is_chosen.then_some("1");
        let before = before.to_string();
        let parameters = [
            ("q", self.search.as_deref()),
            ("code", chosen(self.has_code)),
            ("attachment", chosen(self.has_attachment)),
            ("time", self.time()),
            ("before", Some(before.as_str())),
        ];
        with_query(base, &parameters)
    }
}

pub(super) async fn list(State(app): State<Arc<App>>, page: ProjectPage, query: Query) -> Result<Response, PageError> {
    let (filters, base) = (Filters::new(&query), page.path("/mail"));
    // Read before the list, so that a change in between is announced and not missed.
    let seen = app.service.mark(&Watched::Inboxes(page.project.id)).await?;
    let (now, mail_domain) = (app.service.clock().now(), app.service.mail_domain());
    let mail = app.service.mail(&page.caller(), &filters.filter(mail_domain, now), PAGE).await.map_err(Error::from)?;
    let rows: Vec<MailRow> = mail.messages.into_iter().map(|message| row(message, &page, mail_domain, now)).collect();
    let is_stopped = filters.is_any && mail.next.is_some() && rows.len() < PAGE;
    let progress = is_stopped.then(|| search_progress(mail.compared, rows.len()));
    let shell = page.shell(format!("Mail of {}", page.project.name), NavPlace::Mail);
    // A later page does not change when mail arrives.
    let shell = if filters.before.is_none() { shell.live(page.path("/inboxes/events"), seen) } else { shell };
    let more = mail.next.map(|before| filters.url(&base, before));
    Ok(html(&AllMailPage { shell, base, filters, rows, more, progress })?)
}

fn row(message: MessageStart, page: &ProjectPage, mail_domain: &Domain, now: Timestamp) -> MailRow {
    let inbox = path_segment(message.inbox_id.as_str());
    MailRow {
        url: page.path(&format!("/inboxes/{inbox}/messages/{}", message.id)),
        id: message.id.to_string(),
        address: address_of(&message.inbox_id, message.shared.as_ref(), mail_domain),
        from: shown(&message.from),
        subject: subject(&message.subject),
        snippet: snippet(&message.text),
        code: given(message.code),
        attachments: message.attachments,
        received: When::new(message.received_at, now),
    }
}
