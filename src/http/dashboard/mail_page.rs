//! The page for looking at mail: a list, and a pane beside it. All mail, an inbox and a failure are
//! this page; they differ in what is listed and in what the pane shows at first.

use std::collections::HashSet;

use askama::Template;
use axum::extract::MatchedPath;
use restante_api::Event;
use uuid::Uuid;

use super::error_page::how_ended;
use super::list::MailList;
use super::page::{Answer, Shell, html};
use super::plain::{self, When};
use super::reader::{MessageView, Tab};
use super::start::Setup;
use super::story::{self, StoryView};
use super::visit::{ProjectPage, Visit};
use crate::http::error::Error;
use crate::http::query::Query;
use crate::model::{
    FaultState, Inbox, InboxEnd, InboxKind, RefusedMail, WaitRecord, Watched, parse_id,
};
use crate::service::{Head, REFUSALS_OF_INBOX, ServiceError, Waits};

/// Maximum number of rejections of an inbox that are shown in full.
const MAX_REJECTIONS_SHOWN: usize = 3;

#[derive(Template)]
#[template(path = "mail.html")]
struct MailPage {
    shell: Shell,
    base: String,
    /// The address whose mail is listed, if not all is.
    address: Option<String>,
    inbox: Option<InboxPanel>,
    /// Why the inbox has no mail, and only a timeline.
    end: Option<String>,
    list: MailList,
    pane: Pane,
    /// Whether the pane was chosen; a narrow window shows only the list otherwise.
    is_chosen: bool,
}

/// What is known of the inbox whose mail is listed.
struct InboxPanel {
    inbox: Inbox,
    label: Option<String>,
    retention_days: Option<i64>,
    faults: Vec<FaultState>,
    /// The number of messages that were rejected or dropped, what happened to them, and the latest,
    /// one for each reply.
    refused: usize,
    outcome: &'static str,
    refusals: Vec<(RefusedMail, String)>,
    waits: Waits,
    /// The waits that have a story.
    stories: HashSet<Uuid>,
}

/// The content beside the list.
enum Pane {
    Message(Box<MessageView>),
    /// The script keeps the message that it shows.
    Kept,
    Story(Box<StoryView>),
    Waits,
    Timeline(Vec<Event>),
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

pub(super) async fn all(page: ProjectPage, query: Query) -> Answer {
    let wanted = query.first("m").map_or(Wanted::Newest, Wanted::Message);
    respond(&page, &query, Place::All, wanted).await
}

/// An inbox, one of its messages, its waits or its timeline.
pub(super) async fn inbox(page: ProjectPage, route: MatchedPath, query: Query) -> Answer {
    let place = Place::find(&page).await?;
    let wanted = match (page.parameter("message"), route.as_str().rsplit('/').next()) {
        (Ok(message), _) => Wanted::Message(message.to_owned()),
        (_, Some("waits")) => Wanted::Waits,
        (_, Some("timeline")) => Wanted::Timeline,
        _ => Wanted::Newest,
    };
    respond(&page, &query, place, wanted).await
}

/// A wait that failed: its inbox, with the cause in the pane. The response of the wait links to it.
pub(super) async fn failure(visit: Visit, query: Query) -> Answer {
    let service = visit.service();
    let session = visit.session()?;
    let id = parse_id(visit.parameter("failure")?).map_err(|_| Error::NotFound)?;
    let story = service.story(id, session.project()).await?;
    let may_see = |project| session.may_see(project);
    let story = story.filter(|story| may_see(story.failure.wait.project));
    let story = story.ok_or(Error::NotFound)?;
    let wait = &story.failure.wait;
    let project = service.projects().find(wait.project).await?;
    // Its address may have an inbox again, or none after some time.
    let found = service
        .inbox_or_end(wait.project, wait.inbox.as_str())
        .await?;
    let same = found.filter(|(inbox, _)| inbox.created_at == wait.inbox_created_at);
    let story = StoryView::new(&visit, story);
    let place = match same {
        Some((inbox, end)) => Place::Inbox(inbox, end),
        None => Place::Address(story.address.clone(), Vec::new()),
    };
    let page = ProjectPage::of(Visit { project, ..visit })?;
    respond(&page, &query, place, Wanted::Story(Box::new(story))).await
}

impl Place {
    /// The inbox of the path, also after it has ended; or an address to which mail was rejected.
    async fn find(page: &ProjectPage) -> Result<Self, Error> {
        let service = page.service();
        let project = page.project.id;
        let name = page.parameter("inbox")?;
        if let Some((inbox, end)) = service.inbox_or_end(project, name).await? {
            return Ok(Self::Inbox(inbox, end));
        }
        let events = service.rejections_of(project, name).await?;
        if events.is_empty() {
            return Err(Error::InboxNotFound);
        }
        let address = match name.contains('@') {
            true => name.to_owned(),
            false => format!("{name}@{}", service.mail_domain()),
        };
        Ok(Self::Address(address, events))
    }

    /// The path of its page, and what changes there.
    fn watched(&self, page: &ProjectPage) -> (String, Option<Watched>) {
        let project = page.project.id;
        match self {
            Self::All => (page.path("/mail"), Some(Watched::Mail(project))),
            Self::Inbox(inbox, end) => {
                let watched = Watched::Inbox(project, inbox.id.clone());
                (
                    page.inbox_path(inbox.id.as_str()),
                    Some(watched).filter(|_| end.is_none()),
                )
            }
            Self::Address(address, _) => (page.inbox_path(address), None),
        }
    }
}

async fn respond(page: &ProjectPage, query: &Query, place: Place, wanted: Wanted) -> Answer {
    let service = page.service();
    let (base, watched) = place.watched(page);
    // Read before the list, so that a change in between is announced and not missed.
    let seen = match &watched {
        Some(watched) => Some(service.mark(watched).await?),
        None => None,
    };
    let (address, inbox, end, events) = match place {
        Place::All => (None, None, None, Vec::new()),
        Place::Inbox(inbox, end) => {
            let address = inbox.address(service.mail_domain());
            (
                Some(address),
                Some(inbox),
                end.map(|end| how_ended(page, end)),
                Vec::new(),
            )
        }
        Place::Address(address, events) => {
            let end = "This project has no inbox with this address.".to_owned();
            (Some(address), None, Some(end), events)
        }
    };
    let mut list = MailList::new(base.clone(), inbox.clone(), query);
    let chosen = match &wanted {
        Wanted::Message(_) if address.is_some() && inbox.is_none() => {
            return Err(Error::MessageNotFound.into());
        }
        Wanted::Message(id) => Some(message_in(page, inbox.as_ref(), id).await?),
        _ => None,
    };
    list.open = chosen.as_ref().map(|open| open.id);
    if seen.is_some() {
        list.read(page).await?;
    }
    let inbox = match inbox {
        Some(inbox) => Some(InboxPanel::read(page, inbox, end.is_none()).await?),
        None => None,
    };
    let is_chosen = !matches!(wanted, Wanted::Newest) || seen.is_none();
    let (title, nav) = match (&wanted, &chosen, &address) {
        (Wanted::Story(story), ..) => (format!("{}: {}", story.cause(), story.address), "failures"),
        (_, Some(open), None) => (plain::subject(&open.subject), "mail"),
        (_, Some(open), Some(_)) => (plain::subject(&open.subject), "inbox"),
        (_, None, Some(address)) => (plain::shown(address), "inbox"),
        (_, None, None) => (format!("Mail of {}", page.project.name), "mail"),
    };
    let pane = match (wanted, chosen) {
        (Wanted::Story(story), _) => Pane::Story(story),
        (Wanted::Waits, _) if inbox.is_some() => Pane::Waits,
        (_, Some(open)) => read_message(page, &list, open, query).await?,
        (Wanted::Newest, _) if seen.is_some() => {
            newest(page, &mut list, inbox.as_ref(), query).await?
        }
        _ => Pane::Timeline(match &inbox {
            Some(panel) => {
                let id = panel.inbox.id.as_str();
                service.timeline(&page.caller(), id, None).await?.0
            }
            None => events,
        }),
    };
    let mut shell = page.shell(title, nav).await?;
    if let Some(seen) = seen.filter(|_| !list.is_later()) {
        let events = match &inbox {
            Some(_) => format!("{base}/events"),
            None => page.path("/events"),
        };
        shell = shell.live(events, seen);
    }
    Ok(html(&MailPage {
        shell,
        base,
        address,
        inbox,
        end,
        list,
        pane,
        is_chosen,
    })?)
}

/// A message by its id, which must be in the inbox, if there is one.
async fn message_in(page: &ProjectPage, inbox: Option<&Inbox>, id: &str) -> Result<Head, Error> {
    let message = page.service().find_message(&page.caller(), id).await?;
    match inbox.is_none_or(|inbox| inbox.id == message.inbox_id) {
        true => Ok(message),
        false => Err(Error::MessageNotFound),
    }
}

async fn read_message(
    page: &ProjectPage,
    list: &MailList,
    message: Head,
    query: &Query,
) -> Result<Pane, Error> {
    // The script does not replace the open message.
    if page.is_part {
        return Ok(Pane::Kept);
    }
    let view = MessageView::read(page, message, list, query).await?;
    Ok(Pane::Message(Box::new(view)))
}

/// The newest message; if there is none, why, or how to send one.
async fn newest(
    page: &ProjectPage,
    list: &mut MailList,
    inbox: Option<&InboxPanel>,
    query: &Query,
) -> Result<Pane, Error> {
    let service = page.service();
    if page.is_part && !list.rows.is_empty() {
        return Ok(Pane::Kept);
    }
    if let Some(id) = list.rows.first().map(|row| row.head.id) {
        match service.find_message(&page.caller(), &id.to_string()).await {
            Ok(message) => {
                list.open = Some(id);
                return read_message(page, list, message, query).await;
            }
            // It was deleted in the meantime.
            Err(ServiceError::MessageNotFound) => {}
            Err(error) => return Err(error.into()),
        }
    }
    if list.search.is_some() || list.is_later() {
        return Ok(Pane::Nothing);
    }
    if let Some(id) = inbox.and_then(InboxPanel::failed)
        && let Some(story) = service.story(id, Some(page.project.id)).await?
    {
        return Ok(Pane::Story(Box::new(StoryView::new(page, story))));
    }
    Ok(match inbox {
        Some(panel) if !panel.waits.open.is_empty() || !panel.waits.ended.is_empty() => Pane::Waits,
        _ => Pane::Setup(Box::new(Setup::new(page, inbox.map(|panel| &panel.inbox)))),
    })
}

impl InboxPanel {
    async fn read(page: &ProjectPage, inbox: Inbox, is_live: bool) -> Result<Self, Error> {
        let service = page.service();
        let waits = service.waits_of_inbox(&inbox).await?;
        let has_failed = waits.ended.iter().any(story::has_failed);
        let refused = service.refusals_of_inbox(&inbox).await?;
        let mut refusals = story::distinct(page, &refused, "");
        refusals.truncate(MAX_REJECTIONS_SHOWN);
        let outcome = match refused.first().map(|refused| refused.reason.outcome()) {
            Some(one) if refused.iter().all(|other| other.reason.outcome() == one) => one,
            _ => "not delivered",
        };
        Ok(Self {
            label: service.label(&inbox).await?,
            retention_days: match is_live {
                true => service.retention_days(&inbox).await?,
                false => None,
            },
            faults: match is_live {
                true => service.faults(&inbox).await?,
                false => Vec::new(),
            },
            refused: refused.len(),
            outcome,
            refusals,
            waits,
            stories: match has_failed {
                true => service.stories_of(&inbox).await?,
                false => HashSet::new(),
            },
            inbox,
        })
    }

    fn has_story(&self, wait: &WaitRecord) -> bool {
        story::has_failed(wait) && self.stories.contains(&wait.id)
    }

    /// The story of the last wait, if it failed and none is open.
    fn failed(&self) -> Option<Uuid> {
        let last = self
            .waits
            .ended
            .first()
            .filter(|_| self.waits.open.is_empty())?;
        Some(last.id).filter(|_| self.has_story(last))
    }

    /// How often faults still apply.
    fn faults_left(&self) -> u32 {
        self.faults.iter().map(FaultState::left).sum()
    }
}

impl MailPage {
    /// Whether the pane has the heading of the page.
    fn has_heading(&self) -> bool {
        !matches!(self.pane, Pane::Setup(_) | Pane::Nothing)
    }

    /// The tab of the inbox that is shown.
    fn tab(&self) -> &'static str {
        match self.pane {
            Pane::Waits => "waits",
            Pane::Timeline(_) => "timeline",
            Pane::Story(_) => "",
            _ => "messages",
        }
    }
}
