//! The messages of an inbox: the list, and the open message next to it.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::response::Response;

use super::failure::PageError;
use super::faults::FaultsPanel;
use super::notices::Notices;
use super::page::{NavPlace, Shell, given, html, subject, with_query};
use super::parts::MessagePath;
use super::plain::shown;
use super::reader::{MessageView, ReaderQuery};
use super::search::{PageSearch, SearchStatus};
use super::start::Setup;
use super::visit::{InboxPage, Params};
use super::waits::WaitsView;
use super::when::When;
use crate::http::App;
use crate::http::error::Error;
use crate::http::query::Query;
use crate::model::{InboxKind, MailQuery, Scope, Timestamp};
use crate::service::{FoundMail, Head, MessageStart};

/// Messages on one page.
const PAGE: usize = 50;
/// Characters of a text that a row shows.
const SNIPPET_CHARACTERS: usize = 140;

#[derive(Template)]
#[template(path = "inbox.html")]
struct MessagesPage {
    shell: Shell,
    base: String,
    /// All inboxes of the project.
    inboxes: String,
    inbox: InboxPanel,
    search: Option<String>,
    rows: Vec<MessageRow>,
    /// Whether this is a later page of a list that is not searched.
    is_later: bool,
    /// The next page of such a list.
    more: Option<String>,
    /// How far a search has come.
    status: Option<SearchStatus>,
    /// What is wrong with the search.
    problem: Option<String>,
    /// The page of the waits that timed out, if the search is for those.
    failures: Option<String>,
    setup: Setup,
    notices: Notices,
    waits: WaitsView,
    /// Whether the waits were requested.
    is_waits: bool,
    faults: FaultsPanel,
    message: Option<MessageView>,
}

/// The content of the pane next to the list.
enum Pane {
    Idle,
    Waits,
    Message(Box<Head>),
}

struct InboxPanel {
    address: String,
    label: Option<String>,
    is_permanent: bool,
    expires: Option<When>,
    retention_days: Option<i64>,
}

struct MessageRow {
    url: String,
    id: String,
    is_open: bool,
    from: String,
    subject: String,
    snippet: String,
    code: Option<String>,
    attachments: i64,
    received: When,
}

pub(super) async fn list(
    State(app): State<Arc<App>>,
    page: InboxPage,
    query: Query,
) -> Result<Response, PageError> {
    respond(&app, &page, &query, Pane::Idle).await
}

pub(super) async fn show(
    State(app): State<Arc<App>>,
    page: InboxPage,
    Params(MessagePath { message }): Params<MessagePath>,
    query: Query,
) -> Result<Response, PageError> {
    let message = app
        .service
        .find_message(&page.of.caller(), &message)
        .await?;
    if message.inbox_id != page.inbox.id {
        return Err(Error::MessageNotFound.into());
    }
    respond(&app, &page, &query, Pane::Message(Box::new(message))).await
}

/// The waits on the inbox, next to its messages.
pub(super) async fn waits(
    State(app): State<Arc<App>>,
    page: InboxPage,
    query: Query,
) -> Result<Response, PageError> {
    respond(&app, &page, &query, Pane::Waits).await
}

async fn respond(
    app: &App,
    page: &InboxPage,
    query: &Query,
    pane: Pane,
) -> Result<Response, PageError> {
    let is_waits = matches!(pane, Pane::Waits);
    let open = if let Pane::Message(message) = pane {
        Some(*message)
    } else {
        None
    };
    // Read before the list, so that a change in between is announced and not missed.
    let seen = app.service.mark(&page.watched()).await?;
    let searched = PageSearch::new(query);
    let search = searched.text.clone();
    let found = found(app, page, &searched).await?;
    let base = page.path();
    let now = app.service.clock().now();
    let open_id = open.as_ref().map(|open| open.id);
    // The next message is shown in the same tab.
    let tab = query.first("tab");
    let row = |message: MessageStart| {
        let is_open = open_id == Some(message.head.id);
        row(
            message,
            &base,
            search.as_deref(),
            tab.as_deref(),
            is_open,
            now,
        )
    };
    let total = if search.is_some() {
        app.service
            .messages_in(&page.inbox)
            .await
            .map_err(Error::from)?
    } else {
        0
    };
    let parameters = [("q", search.as_deref())];
    let is_search = search.is_some() && searched.problem.is_none() && !searched.query.is_failed;
    let status = is_search.then(|| searched.status(&found, PAGE, total, &base, &parameters));
    let older = |before: i64| with_query(&base, &[("before", Some(&before.to_string()))]);
    let more = found.next.filter(|_| search.is_none()).map(older);
    let rows: Vec<MessageRow> = found.messages.into_iter().map(row).collect();
    let address = page.inbox.address(app.service.mail_domain());
    let title = open
        .as_ref()
        .map_or_else(|| address.clone(), |open| subject(&open.subject));
    let shell = page
        .of
        .shell(title, NavPlace::Inboxes)
        .live(format!("{base}/events"), seen);
    let waits =
        WaitsView::read(app, page, query.first("explain").as_deref(), open.is_none()).await?;
    let notices = Notices::read(app, &page.inbox, &waits).await?;
    let reader = ReaderQuery::new(query, search.clone());
    let mut shown = MessagesPage {
        shell,
        inboxes: page.of.path("/inboxes"),
        inbox: inbox_panel(app, page, address, now).await?,
        setup: Setup::new(app, &page.of, Some(&page.inbox)),
        faults: FaultsPanel::read(app, &page.inbox, now).await?,
        base,
        is_later: search.is_none() && searched.before.is_some(),
        search,
        rows,
        more,
        status,
        problem: searched.problem,
        failures: searched.query.is_failed.then(|| page.of.path("/failures")),
        notices,
        waits,
        is_waits,
        message: None,
    };
    // The script does not replace the open message.
    let Some(open) = open.filter(|_| !page.of.is_part) else {
        return Ok(html(&shown)?);
    };
    shown.message = Some(MessageView::read(app, page, open, &reader).await?);
    Ok(html(&shown)?)
}

/// A page of the messages; none if the search has a mistake or is not for messages.
async fn found(app: &App, page: &InboxPage, searched: &PageSearch) -> Result<FoundMail, Error> {
    if searched.problem.is_some() || searched.query.is_failed {
        return Ok(FoundMail::default());
    }
    let query = MailQuery {
        before: searched.before,
        ..searched
            .query
            .query(Scope::Inbox(page.inbox.clone()), app.service.mail_domain())
    };
    Ok(app.service.mail(query, PAGE).await?)
}

async fn inbox_panel(
    app: &App,
    page: &InboxPage,
    address: String,
    now: Timestamp,
) -> Result<InboxPanel, Error> {
    let expires = page
        .inbox
        .expires_at
        .map(|expires_at| When::new(expires_at, now));
    let is_permanent = page.inbox.kind == InboxKind::Permanent;
    let retention_days = if is_permanent {
        app.service.retention_days(&page.inbox).await?
    } else {
        None
    };
    let label = app.service.label(&page.inbox).await?.as_deref().map(shown);
    Ok(InboxPanel {
        address,
        label,
        is_permanent,
        expires,
        retention_days,
    })
}

/// The start of a text on one line.
pub(super) fn snippet(text: &str) -> String {
    let words = text
        .split_whitespace()
        .take(SNIPPET_CHARACTERS)
        .collect::<Vec<_>>()
        .join(" ");
    shown(&words.chars().take(SNIPPET_CHARACTERS).collect::<String>())
}

fn row(
    message: MessageStart,
    base: &str,
    search: Option<&str>,
    tab: Option<&str>,
    is_open: bool,
    now: Timestamp,
) -> MessageRow {
    MessageRow {
        url: with_query(
            &format!("{base}/messages/{}", message.head.id),
            &[("q", search), ("tab", tab)],
        ),
        id: message.head.id.to_string(),
        is_open,
        from: shown(&message.head.from),
        subject: subject(&message.head.subject),
        snippet: snippet(&message.text),
        code: given(message.head.code),
        attachments: message.head.attachments,
        received: When::new(message.head.received_at, now),
    }
}
