//! The open waits of a project, and the waits on one inbox with the reasons for timeouts.

use std::collections::HashSet;

use askama::Template;
use uuid::Uuid;

use super::plain::shown;
use super::visit::ProjectPage;
use super::when::When;
use crate::http::App;
use crate::http::download::path_segment;
use crate::http::error::Error;
use crate::model::{Inbox, Timestamp, WaitEnd, WaitRecord, address_of, spoken};

/// An open wait in a list of a project.
pub(super) struct OpenWait {
    pub(super) address: String,
    pub(super) url: String,
    pub(super) filters: Vec<Filter>,
    pub(super) started: When,
    pub(super) deadline: When,
}

/// The waits on an inbox.
#[derive(Default, Template)]
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
    /// The story that explains it, for a timeout.
    pub(super) story: Option<Uuid>,
}

impl WaitsView {
    /// The waits on an inbox, whose path is `base`.
    pub(super) async fn read(app: &App, inbox: &Inbox, base: &str) -> Result<Self, Error> {
        let now = app.service.clock().now();
        let waits = app.service.waits_of_inbox(inbox).await?;
        let is_failure = |wait: &WaitRecord| wait.end.is_some_and(|(_, end)| end.is_failure());
        let stories = match waits.ended.iter().any(is_failure) {
            true => app.service.stories_of(inbox).await?,
            false => HashSet::new(),
        };
        let row = |wait: &WaitRecord| {
            let story = Some(wait.id).filter(|id| is_failure(wait) && stories.contains(id));
            WaitRow::new(wait, base, story, now)
        };
        Ok(Self {
            open: waits.open.iter().map(row).collect(),
            ended: waits.ended.iter().map(row).collect(),
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty() && self.ended.is_empty()
    }

    /// The story of the last wait, if it failed and none is open.
    pub(super) fn failed(&self) -> Option<Uuid> {
        let last = self.ended.first().filter(|_| self.open.is_empty());
        last?.outcome.as_ref()?.story
    }
}

impl WaitRow {
    fn new(wait: &WaitRecord, base: &str, story: Option<Uuid>, now: Timestamp) -> Self {
        Self {
            filters: filters(wait),
            started: When::new(wait.started_at, now),
            deadline: When::new(wait.deadline(), now),
            timeout: spoken(wait.timeout),
            outcome: wait.end.map(|(at, end)| WaitOutcome {
                story,
                ..WaitOutcome::new(wait, end, at, base, now)
            }),
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
            story: None,
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
