//! The page for looking at mail: a list, and a pane beside it. All mail, an inbox and a failure are
//! this page; they differ in what is listed and in what the pane shows at first.

use std::sync::Arc;

use askama::Template;
use axum::extract::{MatchedPath, State};
use axum::http::HeaderMap;
use axum::response::Response;
use restante_api::Event;
use serde::Deserialize;

use super::failure::PageError;
use super::faults::FaultsPanel;
use super::mail_list::{Listing, MailList};
use super::notices::Notices;
use super::page::{Shell, html, subject};
use super::plain::shown;
use super::reader::MessageView;
use super::start::Setup;
use super::story::StoryView;
use super::timeline::EventRow;
use super::visit::{Params, ProjectPage, SignedIn, Visit};
use super::waits::WaitsView;
use super::when::{When, ago};
use crate::http::App;
use crate::http::download::path_segment;
use crate::http::error::Error;
use crate::http::query::Query;
use crate::model::{Inbox, InboxEnd, InboxKind, Watched, parse_id};
use crate::service::{Head, ServiceError};

#[derive(Template)]
#[template(path = "mail.html")]
struct MailPage {
    shell: Shell,
    /// The path of the project.
    project: String,
    base: String,
    inbox: Option<InboxPanel>,
    list: MailList,
    pane: Pane,
    /// Whether the pane was chosen; a narrow window shows only the list otherwise.
    is_chosen: bool,
}

/// What is known of the inbox whose mail is listed.
struct InboxPanel {
    address: String,
    label: Option<String>,
    is_permanent: bool,
    expires: Option<When>,
    retention_days: Option<i64>,
    /// Why it has no mail, and only a timeline.
    end: Option<String>,
    notices: Notices,
    faults: FaultsPanel,
}

/// The content beside the list.
enum Pane {
    Message(Box<MessageView>),
    /// The script keeps the message that it shows.
    Kept,
    Story(Box<StoryView>),
    Waits(WaitsView),
    Timeline(Vec<EventRow>),
    Setup(Box<Setup>),
    Nothing,
}

/// Whose mail is listed.
enum Place {
    All,
    Inbox(Inbox, Option<InboxEnd>),
    /// An address that is no inbox, with the rejections of mail to it.
    Address(String, Vec<Event>),
}

/// What the pane is to show.
enum Wanted {
    Newest,
    Message(String),
    Waits,
    Timeline,
    Story(Box<StoryView>),
}

/// The parameters of a path.
#[derive(Deserialize)]
pub(super) struct InboxPath {
    inbox: String,
    message: Option<String>,
}

pub(super) async fn all(
    State(app): State<Arc<App>>,
    page: ProjectPage,
    query: Query,
) -> Result<Response, PageError> {
    let wanted = query.first("m").map_or(Wanted::Newest, Wanted::Message);
    respond(&app, &page, &query, Place::All, wanted).await
}

/// An inbox, one of its messages, its waits or its timeline.
pub(super) async fn inbox(
    State(app): State<Arc<App>>,
    page: ProjectPage,
    route: MatchedPath,
    Params(path): Params<InboxPath>,
    query: Query,
) -> Result<Response, PageError> {
    let place = Place::find(&app, &page, &path.inbox).await?;
    let wanted = match (path.message, route.as_str().rsplit('/').next()) {
        (Some(message), _) => Wanted::Message(message),
        (None, Some("waits")) => Wanted::Waits,
        (None, Some("timeline")) => Wanted::Timeline,
        _ => Wanted::Newest,
    };
    respond(&app, &page, &query, place, wanted).await
}

/// A wait that failed: its inbox, with the cause in the pane. The response of the wait links to it.
pub(super) async fn failure(
    State(app): State<Arc<App>>,
    SignedIn(session): SignedIn,
    axum::Extension(visit): axum::Extension<Arc<Visit>>,
    headers: HeaderMap,
    Params(id): Params<String>,
    query: Query,
) -> Result<Response, PageError> {
    let id = parse_id(&id).map_err(|_| Error::NotFound)?;
    let story = app.service.story(id, session.project()).await?;
    let story = story
        .filter(|story| session.may_see(story.failure.wait.project))
        .ok_or(Error::NotFound)?;
    let wait = &story.failure.wait;
    let project = app.service.projects().find(wait.project).await?;
    let viewed = (session, project.ok_or(Error::NotFound)?);
    let page = ProjectPage::of(&app, &headers, viewed, visit.is_part).await?;
    // Its address may have an inbox again, or none after some time.
    let found = app
        .service
        .inbox_or_end(page.project.id, wait.inbox.as_str())
        .await?;
    let same = found.filter(|(inbox, _)| inbox.created_at == wait.inbox_created_at);
    let place = match same {
        Some((inbox, end)) => Place::Inbox(inbox, end),
        None => Place::Address(story.failure.address(app.service.mail_domain()), Vec::new()),
    };
    let story = StoryView::new(&app, &page, story);
    respond(&app, &page, &query, place, Wanted::Story(Box::new(story))).await
}

impl Place {
    /// The inbox with this id, also after it has ended; or an address to which mail was rejected.
    async fn find(app: &App, page: &ProjectPage, name: &str) -> Result<Self, Error> {
        let project = page.project.id;
        if let Some((inbox, end)) = app.service.inbox_or_end(project, name).await? {
            return Ok(Self::Inbox(inbox, end));
        }
        let events = app.service.rejections_of(project, name).await?;
        if events.is_empty() {
            return Err(Error::InboxNotFound);
        }
        let address = match name.contains('@') {
            true => name.to_owned(),
            false => format!("{name}@{}", app.service.mail_domain()),
        };
        Ok(Self::Address(address, events))
    }

    /// The inbox, if its messages can be listed.
    fn live_inbox(&self) -> Option<&Inbox> {
        match self {
            Self::Inbox(inbox, None) => Some(inbox),
            _ => None,
        }
    }

    fn path(&self, page: &ProjectPage) -> String {
        match self {
            Self::All => page.path("/mail"),
            Self::Inbox(inbox, _) => {
                page.path(&format!("/inboxes/{}", path_segment(inbox.id.as_str())))
            }
            Self::Address(address, _) => page.path(&format!("/inboxes/{}", path_segment(address))),
        }
    }
}

async fn respond(
    app: &App,
    page: &ProjectPage,
    query: &Query,
    place: Place,
    wanted: Wanted,
) -> Result<Response, PageError> {
    let base = place.path(page);
    let listing = Listing::new(base.clone(), place.live_inbox().cloned(), query);
    // Read before the list, so that a change in between is announced and not missed.
    let live = match place.live_inbox() {
        Some(inbox) => Some((
            format!("{base}/events"),
            Watched::Inbox(inbox.project, inbox.id.clone()),
        )),
        None if matches!(place, Place::All) => {
            Some((page.path("/events"), Watched::Mail(page.project.id)))
        }
        None => None,
    };
    let seen = match &live {
        Some((_, watched)) => app.service.mark(watched).await?,
        None => String::new(),
    };
    let chosen = match &wanted {
        Wanted::Message(id) => Some(message_in(app, page, &place, id).await?),
        _ => None,
    };
    let is_listed = live.is_some();
    let mut list = match is_listed {
        true => {
            let open = chosen.as_ref().map(|open| open.id);
            listing.read(app, page, open).await?
        }
        false => MailList::default(),
    };
    let waits = match &place {
        Place::Inbox(inbox, _) => WaitsView::read(app, inbox, &base).await?,
        _ => WaitsView::default(),
    };
    let inbox = InboxPanel::read(app, &place, &waits).await?;
    let is_chosen = !matches!(wanted, Wanted::Newest) || !is_listed;
    let place_name = match &inbox {
        Some(inbox) => inbox.address.clone(),
        None => format!("Mail of {}", page.project.name),
    };
    let title = match (&wanted, &chosen) {
        (Wanted::Story(story), _) => story.title(),
        (_, Some(open)) => subject(&open.subject),
        _ => place_name,
    };
    let nav = match (&wanted, &place) {
        (Wanted::Story(_), _) => "failures",
        (_, Place::All) => "mail",
        _ => "inbox",
    };
    let pane = match (wanted, chosen) {
        (Wanted::Story(story), _) => Pane::Story(story),
        (Wanted::Waits, _) => Pane::Waits(waits),
        (Wanted::Message(_), Some(open)) => {
            read_message(app, page, &listing, &list, open, query).await?
        }
        (Wanted::Newest | Wanted::Message(_), _) if is_listed => {
            newest(app, page, &listing, &mut list, &place, waits, query).await?
        }
        _ => Pane::Timeline(events(app, page, &place, &base).await?),
    };
    let shell = page.shell(title, nav);
    let shell = match live.filter(|_| !list.is_later) {
        Some((url, _)) => shell.live(url, seen),
        None => shell,
    };
    Ok(html(&MailPage {
        shell,
        project: page.path(""),
        base,
        inbox,
        list,
        pane,
        is_chosen,
    })?)
}

/// A message by its id, which must be in the place.
async fn message_in(
    app: &App,
    page: &ProjectPage,
    place: &Place,
    id: &str,
) -> Result<Head, PageError> {
    let message = app.service.find_message(&page.caller(), id).await?;
    let is_here = match place {
        Place::All => true,
        Place::Inbox(inbox, _) => inbox.id == message.inbox_id,
        Place::Address(..) => false,
    };
    match is_here {
        true => Ok(message),
        false => Err(Error::MessageNotFound.into()),
    }
}

async fn read_message(
    app: &App,
    page: &ProjectPage,
    listing: &Listing,
    list: &MailList,
    message: Head,
    query: &Query,
) -> Result<Pane, PageError> {
    // The script does not replace the open message.
    if page.is_part {
        return Ok(Pane::Kept);
    }
    let next = list.after(message.id).unwrap_or(&listing.base).to_owned();
    let view = MessageView::read(app, page, message, listing, next, query).await?;
    Ok(Pane::Message(Box::new(view)))
}

/// The newest message; if there is none, why, or how to send one.
async fn newest(
    app: &App,
    page: &ProjectPage,
    listing: &Listing,
    list: &mut MailList,
    place: &Place,
    waits: WaitsView,
    query: &Query,
) -> Result<Pane, PageError> {
    if page.is_part && !list.rows.is_empty() {
        return Ok(Pane::Kept);
    }
    if let Some(row) = list.rows.first_mut() {
        let id = row.id.to_string();
        match app.service.find_message(&page.caller(), &id).await {
            Ok(message) => {
                row.is_open = true;
                return read_message(app, page, listing, list, message, query).await;
            }
            // It was deleted in the meantime.
            Err(ServiceError::MessageNotFound) => {}
            Err(error) => return Err(error.into()),
        }
    }
    if list.search.is_some() || list.is_later || list.problem.is_some() {
        return Ok(Pane::Nothing);
    }
    if let Some(id) = waits.failed() {
        let story = app.service.story(id, Some(page.project.id)).await?;
        if let Some(story) = story {
            let story = StoryView::new(app, page, story);
            return Ok(Pane::Story(Box::new(story)));
        }
    }
    Ok(match waits.is_empty() {
        true => Pane::Setup(Box::new(Setup::new(app, page, place.live_inbox()))),
        false => Pane::Waits(waits),
    })
}

async fn events(
    app: &App,
    page: &ProjectPage,
    place: &Place,
    base: &str,
) -> Result<Vec<EventRow>, PageError> {
    let inbox = match place {
        Place::All => return Ok(Vec::new()),
        Place::Address(_, events) => return Ok(EventRow::all(events.clone(), None)),
        Place::Inbox(inbox, _) => inbox.id.as_str(),
    };
    let (events, _) = app.service.timeline(&page.caller(), inbox, None).await?;
    let base = Some(base).filter(|_| place.live_inbox().is_some());
    Ok(EventRow::all(events, base))
}

impl InboxPanel {
    /// `None` for all mail.
    async fn read(app: &App, place: &Place, waits: &WaitsView) -> Result<Option<Self>, Error> {
        let now = app.service.clock().now();
        let (inbox, end) = match place {
            Place::All => return Ok(None),
            Place::Inbox(inbox, end) => (inbox, end),
            Place::Address(address, _) => {
                let end = "This project has no inbox with this address.".to_owned();
                return Ok(Some(Self {
                    address: shown(address),
                    label: None,
                    is_permanent: false,
                    expires: None,
                    retention_days: None,
                    end: Some(end),
                    notices: Notices::default(),
                    faults: FaultsPanel::default(),
                }));
            }
        };
        let is_permanent = inbox.kind == InboxKind::Permanent;
        let is_live = end.is_none();
        let retention_days = match is_permanent && is_live {
            true => app.service.retention_days(inbox).await?,
            false => None,
        };
        let end = end.map(|end| {
            let (how, at) = match end {
                InboxEnd::Expired(at) => ("expired", at),
                InboxEnd::Deleted(at) => ("was deleted", at),
            };
            let ago = ago(now.since(at));
            format!("This inbox {how} {ago}. Its messages were deleted with it.")
        });
        Ok(Some(Self {
            address: shown(&inbox.address(app.service.mail_domain())),
            label: app.service.label(inbox).await?.as_deref().map(shown),
            is_permanent,
            expires: inbox.expires_at.map(|at| When::new(at, now)),
            retention_days,
            end,
            notices: Notices::read(app, inbox, waits).await?,
            faults: match is_live {
                true => FaultsPanel::read(app, inbox, now).await?,
                false => FaultsPanel::default(),
            },
        }))
    }
}

impl Pane {
    /// Whether it has the heading of the page.
    fn has_heading(&self) -> bool {
        !matches!(self, Self::Setup(_) | Self::Nothing)
    }

    /// The tab of the inbox that it belongs to.
    fn tab(&self) -> &'static str {
        match self {
            Self::Waits(_) => "waits",
            Self::Timeline(_) => "timeline",
            Self::Story(_) => "",
            _ => "messages",
        }
    }
}
