//! The inboxes and failures whose name a search is: their address, or the label of their test. They
//! are found after an inbox has ended, too.

use super::explained::story_url;
use super::page::with_query;
use super::plain::shown;
use super::search_query::SearchQuery;
use super::visit::ProjectPage;
use super::when::When;
use crate::evidence::{FailureFilter, title};
use crate::http::App;
use crate::http::download::path_segment;
use crate::http::error::Error;
use crate::model::{InboxEnd, SearchText};

/// Maximum number of results of each kind.
const MAX_RESULTS: usize = 8;

#[derive(Default)]
pub(super) struct Named {
    pub(super) inboxes: Vec<Found>,
    pub(super) failures: Vec<Found>,
    /// The lists with all of them, if there are more.
    pub(super) all_inboxes: Option<String>,
    pub(super) all_failures: Option<String>,
}

pub(super) struct Found {
    pub(super) url: String,
    pub(super) address: String,
    pub(super) label: Option<String>,
    /// How the inbox ended, or why the wait failed.
    pub(super) what: Option<&'static str>,
    pub(super) when: When,
}

impl Named {
    pub(super) async fn read(
        app: &App,
        page: &ProjectPage,
        search: &SearchQuery,
    ) -> Result<Self, Error> {
        let is_wanted = |text: &String| search.is_failed || !text.is_empty();
        let Some(text) = search.name().filter(is_wanted) else {
            return Ok(Self::default());
        };
        let all = |list: &str| with_query(&page.path(list), &[("q", Some(&text))]);
        let mut inboxes = match search.is_failed {
            true => Vec::new(),
            false => inboxes(app, page, &text).await?,
        };
        let mut failures = failures(app, page, search, &text).await?;
        let all_inboxes = (inboxes.len() > MAX_RESULTS).then(|| all("/inboxes"));
        let all_failures = (failures.len() > MAX_RESULTS).then(|| all("/failures"));
        inboxes.truncate(MAX_RESULTS);
        failures.truncate(MAX_RESULTS);
        Ok(Self {
            inboxes,
            failures,
            all_inboxes,
            all_failures,
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.inboxes.is_empty() && self.failures.is_empty()
    }
}

/// Live inboxes, then those that have ended in the last 30 days: one more than is shown, if there
/// are more.
async fn inboxes(app: &App, page: &ProjectPage, text: &str) -> Result<Vec<Found>, Error> {
    let service = &app.service;
    let domain = service.mail_domain();
    let text = SearchText::new(text, domain);
    let mut all = Vec::new();
    for have_ended in [false, true] {
        let left = MAX_RESULTS + 1 - all.len();
        let found = service.find_inboxes(page.project.id, &text, have_ended, left);
        all.extend(found.await?);
    }
    let now = service.clock().now();
    let found = all.into_iter().map(|found| {
        let (what, at) = match found.end {
            None => (None, found.active_at),
            Some(InboxEnd::Expired(at)) => (Some("expired"), at),
            Some(InboxEnd::Deleted(at)) => (Some("deleted"), at),
        };
        let id = path_segment(found.inbox.id.as_str());
        Found {
            url: page.path(&format!("/inboxes/{id}")),
            address: shown(&found.inbox.address(domain)),
            label: found.label.as_deref().map(shown),
            what,
            when: When::new(at, now),
        }
    });
    Ok(found.collect())
}

async fn failures(
    app: &App,
    page: &ProjectPage,
    search: &SearchQuery,
    text: &str,
) -> Result<Vec<Found>, Error> {
    let filter = FailureFilter {
        project: Some(page.project.id),
        text: text.to_owned(),
        since: search.since,
        before: search.until,
        ..FailureFilter::default()
    };
    let failures = app.service.failures(&filter, MAX_RESULTS + 1).await?;
    let now = app.service.clock().now();
    let found = failures.into_iter().map(|failure| Found {
        url: story_url(failure.wait.id),
        address: shown(&failure.address(app.service.mail_domain())),
        label: failure.label.as_deref().map(shown),
        what: Some(title(failure.finding.cause)),
        when: When::new(failure.ended_at(), now),
    });
    Ok(found.collect())
}
