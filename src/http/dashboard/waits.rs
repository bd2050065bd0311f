//! The open waits of a project, and the waits on one inbox with the reasons for timeouts.

use std::collections::HashSet;

use askama::Template;

use super::explained::{ExplanationPanel, explain_url};
use super::plain::shown;
use super::visit::{InboxPage, ProjectPage};
use super::when::When;
use crate::http::App;
use crate::http::download::path_segment;
use crate::http::error::Error;
use crate::model::{Timestamp, WaitEnd, WaitRecord, address_of, spoken};

/// An open wait in a list of a project.
pub(super) struct OpenWait {
    pub(super) address: String,
    pub(super) url: String,
    pub(super) filters: Vec<Filter>,
    pub(super) started: When,
    pub(super) deadline: When,
}

/// The waits on an inbox.
#[derive(Template)]
#[template(path = "waits.html")]
pub(super) struct WaitsView {
    pub(super) open: Vec<WaitRow>,
    pub(super) ended: Vec<WaitRow>,
}

/// A wait of an inbox.
pub(super) struct WaitRow {
    pub(super) filters: Vec<Filter>,
    pub(super) started: When,
    pub(super) deadline: When,
    pub(super) timeout: String,
    pub(super) outcome: Option<WaitOutcome>,
    explanation: Option<ExplanationPanel>,
}

/// A filter of a wait: its name and its value.
pub(super) struct Filter {
    pub(super) name: &'static str,
    pub(super) value: String,
}

/// How a wait ended.
pub(super) struct WaitOutcome {
    pub(super) label: &'static str,
    /// The class of its badge.
    class: &'static str,
    note: Option<&'static str>,
    ended: When,
    /// The message that it found.
    message_url: Option<String>,
    /// The page that explains it, for a timeout.
    pub(super) explain_url: Option<String>,
}

impl WaitsView {
    /// The waits on the inbox of the page. The one called `explained` is explained, else the newest
    /// if it timed out and the page shows them. An explanation takes several statements.
    pub(super) async fn read(
        app: &App,
        page: &InboxPage,
        explained: Option<&str>,
        is_shown: bool,
    ) -> Result<Self, Error> {
        let base = page.path();
        let now = app.service.clock().now();
        let waits = app.service.waits_of_inbox(&page.inbox).await?;
        let chosen = match explained {
            Some(id) => waits
                .ended
                .iter()
                .position(|wait| wait.id.to_string() == id),
            None => Some(0).filter(|_| is_shown && waits.open.is_empty()),
        };
        let is_failure = |wait: &&WaitRecord| wait.end.is_some_and(|(_, end)| end.is_failure());
        let stories = match waits.ended.iter().any(|wait| is_failure(&wait)) {
            true => app.service.stories_of(&page.inbox).await?,
            false => HashSet::new(),
        };
        let row = |wait: &WaitRecord| WaitRow::new(wait, &base, stories.contains(&wait.id), now);
        let mut ended: Vec<WaitRow> = waits.ended.iter().map(row).collect();
        if let Some((index, wait)) =
            chosen.and_then(|index| Some((index, waits.ended.get(index).filter(is_failure)?)))
        {
            ended[index].explanation = Some(ExplanationPanel::of_wait(app, page, wait).await?);
        }
        Ok(Self {
            open: waits.open.iter().map(row).collect(),
            ended,
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty() && self.ended.is_empty()
    }
}

impl WaitRow {
    fn new(wait: &WaitRecord, base: &str, has_story: bool, now: Timestamp) -> Self {
        Self {
            filters: filters(wait),
            started: When::new(wait.started_at, now),
            deadline: When::new(wait.deadline(), now),
            timeout: spoken(wait.timeout),
            outcome: wait.end.map(|(at, end)| {
                let explain_url = end.is_failure().then(|| explain_url(base, wait, has_story));
                WaitOutcome {
                    explain_url,
                    ..WaitOutcome::new(wait, end, at, base, now)
                }
            }),
            explanation: None,
        }
    }
}

impl WaitOutcome {
    fn new(wait: &WaitRecord, end: WaitEnd, at: Timestamp, base: &str, now: Timestamp) -> Self {
        let (label, class, note) = match end {
            WaitEnd::Message(_) => ("message", "sent", None),
            WaitEnd::Unexpected(_) => ("message, not expected", "failed", None),
            WaitEnd::Timeout if wait.timeout.is_zero() => ("no message", "queued", None),
            WaitEnd::Timeout => ("timed out", "failed", None),
            WaitEnd::Empty => ("no message, as expected", "sent", None),
            WaitEnd::InboxEnded => (
                "inbox ended",
                "failed",
                Some("The inbox was deleted or expired during the wait."),
            ),
            WaitEnd::TooMany => (
                "429",
                "failed",
                Some(
                    "Too many open waits. Retry later, use one project per worker, or raise --waits-per-key.",
                ),
            ),
            WaitEnd::Left => (
                "cancelled",
                "queued",
                Some("The client closed the connection before the timeout."),
            ),
            WaitEnd::Failed => (
                "failed",
                "failed",
                Some("The server stopped or failed. See the server log."),
            ),
        };
        let message_url = end
            .message()
            .map(|message| format!("{base}/messages/{message}"));
        Self {
            label,
            class,
            note,
            ended: When::new(at, now),
            message_url,
            explain_url: None,
        }
    }
}

/// The open waits of a project.
pub(super) async fn open_waits(app: &App, page: &ProjectPage) -> Result<Vec<OpenWait>, Error> {
    let now = app.service.clock().now();
    let open = app.service.open_waits(page.project.id).await?;
    let open = open.iter().map(|wait| OpenWait {
        address: address_of(&wait.inbox, wait.shared.as_ref(), app.service.mail_domain()),
        url: page.path(&format!("/inboxes/{}", path_segment(wait.inbox.as_str()))),
        filters: filters(wait),
        started: When::new(wait.started_at, now),
        deadline: When::new(wait.deadline(), now),
    });
    Ok(open.collect())
}

/// The filters of a wait.
pub(super) fn filters(wait: &WaitRecord) -> Vec<Filter> {
    wait.filter
        .given()
        .map(|(name, value)| Filter {
            name,
            value: shown(&value),
        })
        .collect()
}
