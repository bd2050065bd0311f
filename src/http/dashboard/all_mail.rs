//! All mail of a project in one list, with a search in it.

use std::sync::Arc;
use std::time::Duration;

use askama::Template;
use axum::extract::State;
use axum::response::Response;

use super::failure::PageError;
use super::messages::snippet;
use super::page::{NavPlace, Shell, given, html, subject, with_query};
use super::plain::shown;
use super::search::{PageSearch, SearchStatus};
use super::visit::ProjectPage;
use super::when::When;
use crate::http::App;
use crate::http::download::path_segment;
use crate::http::error::Error;
use crate::http::query::Query;
use crate::model::{Domain, MailQuery, ProjectId, Scope, Timestamp, Watched, address_of};
use crate::service::MessageStart;

/// Messages on one page.
const PAGE: usize = 50;
/// The options of the time filter: the word in the query, the label, and the minutes.
const TIMES: [(&str, &str, u64); 3] = [
    ("10min", "Last 10 minutes", 10),
    ("hour", "Last hour", 60),
    ("day", "Last day", 1_440),
];

#[derive(Template)]
#[template(path = "all_mail.html")]
struct AllMailPage {
    shell: Shell,
    base: String,
    filters: Filters,
    rows: Vec<MailRow>,
    /// The next page of a list that is not searched.
    more: Option<String>,
    /// How far a search has come.
    status: Option<SearchStatus>,
    /// What is wrong with the search.
    problem: Option<String>,
    /// The page of the waits that timed out, if the search is for those.
    failures: Option<String>,
}

/// The parameters of the query.
struct Filters {
    search: PageSearch,
    has_code: bool,
    has_attachment: bool,
    times: Vec<(&'static str, &'static str, bool)>,
    is_any: bool,
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
        let search = PageSearch::new(query);
        let time = query.first("time");
        let has_code = query.first("code").is_some();
        let has_attachment = query.first("attachment").is_some();
        let times = TIMES
            .map(|(word, label, _)| (word, label, time.as_deref() == Some(word)))
            .to_vec();
        let is_timed = times.iter().any(|(.., is_current)| *is_current);
        let is_any = search.text.is_some() || has_code || has_attachment || is_timed;
        Self {
            search,
            has_code,
            has_attachment,
            times,
            is_any,
        }
    }

    fn time(&self) -> Option<&'static str> {
        self.times
            .iter()
            .find(|(.., is_current)| *is_current)
            .map(|(word, ..)| *word)
    }

    fn query(&self, project: ProjectId, mail_domain: &Domain, now: Timestamp) -> MailQuery {
        let minutes = TIMES
            .iter()
            .find(|(word, ..)| self.time() == Some(*word))
            .map(|(.., minutes)| *minutes);
        let since = minutes.map(|minutes| now.before(Duration::from_secs(minutes * 60)));
        let mut query = self
            .search
            .query
            .query(Scope::Project(project), mail_domain);
        query.has.code |= self.has_code;
        query.has_attachment = query.has_attachment.or(self.has_attachment.then_some(true));
        query.since = query.since.max(since);
        query.before = self.search.before;
        query
    }

    fn parameters(&self) -> [(&'static str, Option<&str>); 4] {
        let chosen = |is_chosen: bool| is_chosen.then_some("1");
        [
            ("q", self.search.text.as_deref()),
            ("code", chosen(self.has_code)),
            ("attachment", chosen(self.has_attachment)),
            ("time", self.time()),
        ]
    }
}

pub(super) async fn list(
    State(app): State<Arc<App>>,
    page: ProjectPage,
    query: Query,
) -> Result<Response, PageError> {
    let filters = Filters::new(&query);
    let base = page.path("/mail");
    // Read before the list, so that a change in between is announced and not missed.
    let seen = app.service.mark(&Watched::Inboxes(page.project.id)).await?;
    let shell = page.shell(format!("Mail of {}", page.project.name), NavPlace::Mail);
    // A later page does not change when mail arrives.
    let is_first = filters.search.before.is_none();
    let shell = if is_first {
        shell.live(page.path("/inboxes/events"), seen)
    } else {
        shell
    };
    let problem = filters.search.problem.clone();
    let failures = filters.search.query.is_failed.then(|| {
        with_query(
            &page.path("/failures"),
            &[("q", Some(&filters.search.query.words()))],
        )
    });
    let mut shown = AllMailPage {
        shell,
        base,
        filters,
        rows: Vec::new(),
        more: None,
        status: None,
        problem,
        failures,
    };
    if shown.problem.is_none() && shown.failures.is_none() {
        fill(&app, &page, &mut shown).await?;
    }
    Ok(html(&shown)?)
}

async fn fill(app: &App, page: &ProjectPage, shown: &mut AllMailPage) -> Result<(), Error> {
    let now = app.service.clock().now();
    let mail_domain = app.service.mail_domain();
    let AllMailPage { base, filters, .. } = &*shown;
    let mail = app
        .service
        .mail(filters.query(page.project.id, mail_domain, now), PAGE)
        .await?;
    if filters.is_any {
        let project = Some(page.project.id);
        let total = filters.search.total(&app.service, project, &mail).await?;
        shown.status = Some(
            filters
                .search
                .status(&mail, PAGE, total, base, &filters.parameters()),
        );
    } else {
        let older = |before: i64| with_query(base, &[("before", Some(&before.to_string()))]);
        shown.more = mail.next.map(older);
    }
    shown.rows = mail
        .messages
        .into_iter()
        .map(|message| row(message, page, mail_domain, now))
        .collect();
    Ok(())
}

fn row(message: MessageStart, page: &ProjectPage, mail_domain: &Domain, now: Timestamp) -> MailRow {
    let inbox = path_segment(message.head.inbox_id.as_str());
    MailRow {
        url: page.path(&format!("/inboxes/{inbox}/messages/{}", message.head.id)),
        id: message.head.id.to_string(),
        address: address_of(
            &message.head.inbox_id,
            message.head.shared.as_ref(),
            mail_domain,
        ),
        from: shown(&message.head.from),
        subject: subject(&message.head.subject),
        snippet: snippet(&message.text),
        code: given(message.head.code),
        attachments: message.head.attachments,
        received: When::new(message.head.received_at, now),
    }
}
