//! The events of a timeline as rows, with the transcripts of the SMTP sessions.

use restante_api::{Event, EventFilters};

use super::explained::story_url;
use super::plain::shown;
use super::waits::Filter;
use crate::http::download::path_segment;
use crate::model::{InboxId, RefusedMail};

/// An event as a row.
pub(super) struct EventRow {
    pub(super) at: String,
    pub(super) text: String,
    pub(super) filters: Vec<Filter>,
    /// The label and the URL of the page about it.
    pub(super) link: Option<(&'static str, String)>,
    /// The commands of an SMTP session, and the replies.
    pub(super) commands: Vec<(String, String)>,
}

impl EventRow {
    /// The events as rows. `base` is the path of the inbox, if its messages have pages.
    pub(super) fn all(events: Vec<Event>, base: Option<&str>) -> Vec<Self> {
        events
            .into_iter()
            .map(|event| Self::new(event, base))
            .collect()
    }

    fn new(event: Event, base: Option<&str>) -> Self {
        let message = event
            .message_id
            .zip(base)
            .map(|(id, base)| ("Show the message", format!("{base}/messages/{id}")));
        let failure = event.failure.map(|id| ("Why?", story_url(id)));
        let lines = event
            .commands
            .iter()
            .map(|exchange| (shown(&exchange.command), shown(&exchange.reply)));
        Self {
            at: event.at,
            text: shown(&event.text),
            filters: event.filters.map(filters).unwrap_or_default(),
            link: failure.or(message),
            commands: lines.collect(),
        }
    }
}

/// The timeline that shows a rejection with its transcript; `None` if the client had named no
/// recipient. `project` is the path of the project.
pub(super) fn timeline_of(project: &str, refused: &RefusedMail) -> Option<String> {
    let address = refused.recipient_address();
    // On a domain that is not accepted, the local part is no inbox.
    let inbox = refused
        .inbox
        .as_ref()
        .filter(|_| refused.foreign_domain().is_none())
        .map(InboxId::as_str);
    let name = inbox.or(Some(address).filter(|address| !address.is_empty()))?;
    Some(format!("{project}/inboxes/{}/timeline", path_segment(name)))
}

fn filters(filters: EventFilters) -> Vec<Filter> {
    let given = [
        ("subject", filters.subject),
        ("from", filters.from),
        ("to", filters.to),
        ("text", filters.text),
        ("header", filters.header),
        ("has", filters.has),
        (
            "after",
            filters.after.map(|_| "an earlier message".to_owned()),
        ),
    ];
    given
        .into_iter()
        .filter_map(|(name, value)| {
            Some(Filter {
                name,
                value: shown(&value?),
            })
        })
        .collect()
}
