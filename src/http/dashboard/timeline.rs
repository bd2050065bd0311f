//! The timeline of an inbox with the transcripts of its SMTP sessions, also after the inbox has
//! ended; and that of an address that is no inbox, where mail to it was rejected.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use restante_api::{Event, EventFilters};
use serde::Deserialize;

use super::explained::story_url;
use super::failure::PageError;
use super::page::{NavPlace, Shell, html};
use super::plain::shown;
use super::visit::{Params, ProjectPage};
use super::waits::Filter;
use crate::http::App;
use crate::http::download::path_segment;
use crate::http::error::Error;
use crate::model::{Inbox, InboxEnd, InboxId, RefusedMail, Watched};

#[derive(Template)]
#[template(path = "timeline.html")]
struct TimelinePage {
    shell: Shell,
    address: String,
    /// The path of the inbox, if it has not ended.
    base: Option<String>,
    inboxes: String,
    /// Why the inbox has no other pages.
    note: Option<&'static str>,
    events: Vec<EventRow>,
}

/// The parameter of the path: the id of an inbox, or a whole address that is no inbox.
#[derive(Deserialize)]
pub(super) struct TimelinePath {
    inbox: String,
}

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

pub(super) async fn show(
    State(app): State<Arc<App>>,
    page: ProjectPage,
    Params(path): Params<TimelinePath>,
) -> Result<Response, PageError> {
    let found = app
        .service
        .inbox_or_end(page.project.id, &path.inbox)
        .await
        .map_err(Error::from)?;
    Ok(html(&match found {
        Some((inbox, end)) => TimelinePage::of_inbox(&app, &page, &inbox, end).await?,
        None => TimelinePage::of_address(&app, &page, &path.inbox).await?,
    })?)
}

impl TimelinePage {
    async fn of_inbox(
        app: &App,
        page: &ProjectPage,
        inbox: &Inbox,
        end: Option<InboxEnd>,
    ) -> Result<Self, Error> {
        // Read before the list, so that a change in between is announced and not missed.
        let seen = app
            .service
            .mark(&Watched::Inbox(inbox.project, inbox.id.clone()))
            .await?;
        let (events, _) = app
            .service
            .timeline(&page.caller(), inbox.id.as_str(), None)
            .await?;
        let base = page.path(&format!("/inboxes/{}", path_segment(inbox.id.as_str())));
        let address = inbox.address(app.service.mail_domain());
        let note = end.map(|end| match end {
            InboxEnd::Expired(_) => "This inbox has expired. Its messages are deleted.",
            InboxEnd::Deleted(_) => "This inbox was deleted.",
        });
        let base = Some(base).filter(|_| end.is_none());
        let events = EventRow::all(events, base.as_deref());
        let shown = Self::new(page, address, note, events);
        let Some(base) = base else { return Ok(shown) };
        Ok(Self {
            shell: shown.shell.live(format!("{base}/events"), seen),
            base: Some(base),
            ..shown
        })
    }

    async fn of_address(app: &App, page: &ProjectPage, name: &str) -> Result<Self, Error> {
        let events = app.service.rejections_of(page.project.id, name).await?;
        if events.is_empty() {
            return Err(Error::InboxNotFound);
        }
        let domain = app.service.mail_domain();
        let address = if name.contains('@') {
            name.to_owned()
        } else {
            format!("{name}@{domain}")
        };
        let note =
            Some("This project has no inbox with this address, so only rejections are listed.");
        Ok(Self::new(
            page,
            shown(&address),
            note,
            EventRow::all(events, None),
        ))
    }

    fn new(
        page: &ProjectPage,
        address: String,
        note: Option<&'static str>,
        events: Vec<EventRow>,
    ) -> Self {
        let shell = page.shell(format!("Timeline of {address}"), NavPlace::Inboxes);
        Self {
            shell,
            address,
            base: None,
            inboxes: page.path("/inboxes"),
            note,
            events,
        }
    }
}
