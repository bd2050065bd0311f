//! The messages of an inbox: the list, and the reading pane with its tabs.

use std::sync::Arc;

use askama::Template;
use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use restante_mail::{Recognised, Rule, anatomy};

use super::failure::Failure;
use super::guard::Visit;
use super::inboxes::path_segment;
use super::page::{Shell, html, with_query};
use super::parts::{PartRow, part_rows};
use super::start::Setup;
use super::when::When;
use crate::http::App;
use crate::http::error::Error;
use crate::model::{Inbox, InboxKind, Message, MessageId, Timestamp};
use crate::service::{Found, ServiceError};
use crate::store::{Source, StoreError, Watched};

/// Messages on one page.
const PAGE: usize = 50;
/// Characters of a text that a row shows.
const SNIPPET_CHARACTERS: usize = 140;
/// Octets of text, HTML source or raw message that a page shows; the whole is there to download.
const SHOWN_OCTETS: usize = 1024 * 1024;
/// Widths at which the HTML is shown; else it takes the room there is.
const WIDTHS: [&str; 3] = ["phone", "tablet", "desktop"];
const TABS: [&str; 7] = ["html", "text", "links", "code", "headers", "parts", "source"];

#[derive(Template)]
#[template(path = "inbox.html")]
struct InboxPage {
    shell: Shell,
    base: String,
    inbox: InboxView,
    query: String,
    rows: Vec<Row>,
    /// Where the list goes on; empty at its end.
    more: String,
    setup: Setup,
    message: Option<MessageView>,
}

struct InboxView {
    address: String,
    is_permanent: bool,
    expires: Option<When>,
}

struct Row {
    url: String,
    id: String,
    is_open: bool,
    from: String,
    subject: String,
    snippet: String,
    code: String,
    received: When,
}

/// An open message.
struct MessageView {
    id: String,
    from: String,
    subject: String,
    received: When,
    tabs: Vec<Tab>,
    tab: &'static str,
    url: String,
    html_url: String,
    width: &'static str,
    is_dark: bool,
    has_html: bool,
    text: String,
    links: Vec<String>,
    code: String,
    recognised: Option<RecognisedView>,
    fields: Vec<(String, String)>,
    parts: Vec<PartRow>,
    source: String,
    is_cut: bool,
    over_budget: Option<String>,
}

struct Tab {
    name: &'static str,
    label: &'static str,
    count: usize,
    url: String,
}

struct RecognisedView {
    rule: &'static str,
    line: String,
}

pub(super) async fn list(
    State(app): State<Arc<App>>,
    Extension(visit): Extension<Arc<Visit>>,
) -> Result<Response, Failure> {
    page(&app, &visit, None).await
}

pub(super) async fn show(
    State(app): State<Arc<App>>,
    Extension(visit): Extension<Arc<Visit>>,
) -> Result<Response, Failure> {
    let message = app.service.message(&visit.caller()?, visit.param("message")).await?;
    page(&app, &visit, Some(message)).await
}

async fn page(app: &App, visit: &Visit, open: Option<Message>) -> Result<Response, Failure> {
    let caller = visit.caller()?;
    let inbox = app.service.inbox(&caller, visit.param("inbox")).await?;
    if open.as_ref().is_some_and(|open| open.inbox_id != inbox.id) {
        return Err(Error::MessageNotFound.into());
    }
    // Before the list is read, so that what comes in between is told once more and never missed.
    let seen = app.service.mark(&Watched::Inbox(caller.project, inbox.id.clone())).await?;
    let base = format!("/projects/{}/inboxes/{}", caller.project, path_segment(inbox.id.as_str()));
    let before = Some(visit.query("before").to_owned()).filter(|before| !before.is_empty());
    let query = visit.query("q").trim().to_owned();
    let Found { messages, more } = app.service.search(&inbox, &query, before, PAGE).await?;
    let now = app.service.clock().now();
    let open_id = open.as_ref().map(|open| open.id);
    let row = |message| row(message, &base, &query, open_id, now);
    let rows = messages.iter().map(row).collect::<Result<_, _>>()?;
    let more = more.map(|id| with_query(&base, &[("q", &query), ("before", &id.to_string())])).unwrap_or_default();
    let address = inbox.address(app.service.mail_domain());
    let title = open.as_ref().map_or_else(|| address.clone(), |open| subject(open).to_owned());
    let message = match open {
        Some(message) => Some(MessageView::read(app, visit, message, &base, &query).await?),
        None => None,
    };
    let shell = Shell::new(visit, title, "inboxes").live(format!("{base}/events"), seen);
    let setup = Setup::new(app, &address, inbox.id.as_str());
    let inbox = inbox_view(&inbox, address, now);
    Ok(html(&InboxPage { shell, base, inbox, query, rows, more, setup, message })?)
}

impl MessageView {
    async fn read(app: &App, visit: &Visit, message: Message, base: &str, query: &str) -> Result<Self, Error> {
        let caller = visit.caller()?;
        let Source { trace, raw, room: _room } = app.service.message_source(&caller, &message.id.to_string()).await?;
        let html_url = format!("/projects/{}/messages/{}/html", caller.project, message.id);
        let parts_base = format!("/projects/{}/messages/{}", caller.project, message.id);
        // Taking a large message apart takes a while, and has a thread of its own.
        let taken_apart =
            tokio::task::spawn_blocking(move || (anatomy::dissect(&raw), restante_mail::recognise_code(&raw), raw));
        let taken_apart = taken_apart.await.map_err(StoreError::Aborted)?;
        let (anatomy, recognised, raw) = taken_apart;
        let parts = message.parts.read().map_err(ServiceError::from)?;
        let has_html = !parts.html.is_empty();
        let tab = TABS.into_iter().find(|tab| *tab == visit.query("tab"));
        let tab = tab.unwrap_or(if has_html { "html" } else { "text" });
        let attachments = anatomy.parts.iter().filter(|part| part.is_attachment || part.is_image).count();
        let counts = [("links", parts.links.len()), ("parts", attachments)];
        let url = |name| with_query(&format!("{base}/messages/{}", message.id), &[("q", query), ("tab", name)]);
        let tabs = [
            ("html", "HTML"),
            ("text", "Text"),
            ("links", "Links"),
            ("code", "Code"),
            ("headers", "Headers"),
            ("parts", "Parts"),
            ("source", "Source"),
        ];
        let tabs = tabs.into_iter().filter(|(name, _)| has_html || *name != "html").map(|(name, label)| Tab {
            name,
            label,
            count: counts.iter().find(|(counted, _)| *counted == name).map_or(0, |(_, count)| *count),
            url: url(name),
        });
        let source = if tab == "source" { shown(&String::from_utf8_lossy(&raw)) } else { String::new() };
        Ok(Self {
            id: message.id.to_string(),
            from: message.from.clone(),
            subject: subject(&message).to_owned(),
            received: When::new(message.received_at, app.service.clock().now()),
            tabs: tabs.collect(),
            tab,
            url: format!("{base}/messages/{}", message.id),
            html_url,
            width: WIDTHS.into_iter().find(|width| *width == visit.query("width")).unwrap_or("fit"),
            is_dark: visit.query("scheme") == "dark",
            has_html,
            is_cut: parts.text.len() > SHOWN_OCTETS || raw.len() > SHOWN_OCTETS && tab == "source",
            text: shown(&parts.text),
            code: parts.otp,
            links: parts.links,
            recognised: recognised.map(recognised_view),
            fields: fields(&trace, anatomy.fields),
            parts: part_rows(&anatomy.parts, &parts_base),
            source,
            over_budget: anatomy.over_budget.map(|budget| budget.to_string()),
        })
    }
}

fn inbox_view(inbox: &Inbox, address: String, now: Timestamp) -> InboxView {
    let expires = inbox.expires_at.map(|expires_at| When::new(expires_at, now));
    InboxView { address, is_permanent: inbox.kind == InboxKind::Permanent, expires }
}

fn row(
    message: &Message,
    base: &str,
    query: &str,
    open: Option<MessageId>,
    now: Timestamp,
) -> Result<Row, ServiceError> {
    let parts = message.parts.read()?;
    let words = parts.text.split_whitespace().take(SNIPPET_CHARACTERS).collect::<Vec<_>>().join(" ");
    Ok(Row {
        url: with_query(&format!("{base}/messages/{}", message.id), &[("q", query)]),
        id: message.id.to_string(),
        is_open: open == Some(message.id),
        from: message.from.clone(),
        subject: subject(message).to_owned(),
        snippet: words.chars().take(SNIPPET_CHARACTERS).collect(),
        code: parts.otp,
        received: When::new(message.received_at, now),
    })
}

fn subject(message: &Message) -> &str {
    Some(message.subject.as_str()).filter(|subject| !subject.trim().is_empty()).unwrap_or("(no subject)")
}

/// The fields that this server put in front, then those of the message.
fn fields(trace: &str, own: Vec<(String, String)>) -> Vec<(String, String)> {
    let mut fields = anatomy::dissect(trace.as_bytes()).fields;
    fields.extend(own);
    fields
}

fn shown(text: &str) -> String {
    text[..text.floor_char_boundary(SHOWN_OCTETS)].to_owned()
}

fn recognised_view(recognised: Recognised) -> RecognisedView {
    let rule = match recognised.rule {
        Rule::DomainBound => "The last line binds the code to a domain.",
        Rule::LabelBefore => "A label stands right before the code.",
        Rule::LabelAfter => "The label follows the code.",
        Rule::AloneBelowLabel => "The code stands alone, a label shortly above it.",
        Rule::SameSentence => "The code shares a sentence with a label.",
        Rule::AloneAboveLabel => "The code stands alone, a label below it.",
        Rule::SixDigits => "Nothing is labelled as a code; this is the first word of six digits.",
    };
    RecognisedView { rule, line: recognised.line }
}
