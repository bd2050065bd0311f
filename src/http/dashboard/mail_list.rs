//! The list of messages, of a project or of one inbox: a page of it, newest first, and what a
//! search has found. Inboxes and failures whose name is the search are above the messages.

use super::named::Named;
use super::page::{given, subject, with_query};
use super::plain::shown;
use super::search::{PageSearch, SearchStatus, grouped};
use super::visit::ProjectPage;
use super::when::When;
use crate::http::App;
use crate::http::error::Error;
use crate::http::query::Query;
use crate::model::{Inbox, MailQuery, MessageId, Scope, Timestamp, address_of};
use crate::service::{FoundMail, MessageStart};

/// Messages on one page.
const PAGE: usize = 50;
/// Characters of a text that a row shows.
const SNIPPET_CHARACTERS: usize = 140;

/// Which messages are listed, and how a page with one of them is linked.
pub(super) struct Listing {
    /// The path of the list.
    pub(super) base: String,
    /// The inbox; `None` for all mail of the project.
    pub(super) inbox: Option<Inbox>,
    search: PageSearch,
    /// The tab of the open message, in which the others open, too.
    tab: Option<String>,
}

/// A page of the list.
#[derive(Default)]
pub(super) struct MailList {
    pub(super) rows: Vec<MailRow>,
    pub(super) named: Named,
    /// The number of messages, if not all are shown.
    pub(super) total: Option<String>,
    /// The next page of a list that is not searched.
    pub(super) more: Option<String>,
    /// Whether this is such a page.
    pub(super) is_later: bool,
    /// How far a search has come.
    pub(super) status: Option<SearchStatus>,
    pub(super) search: Option<String>,
    /// What is wrong with the search.
    pub(super) problem: Option<String>,
}

pub(super) struct MailRow {
    pub(super) id: MessageId,
    pub(super) url: String,
    pub(super) is_open: bool,
    pub(super) from: String,
    pub(super) subject: String,
    /// The label of the test, or the address; in an inbox the start of the text.
    pub(super) note: String,
    pub(super) code: Option<String>,
    pub(super) attachments: i64,
    pub(super) received: When,
}

impl Listing {
    pub(super) fn new(base: String, inbox: Option<Inbox>, query: &Query) -> Self {
        Self {
            base,
            inbox,
            search: PageSearch::new(query),
            tab: query.first("tab"),
        }
    }

    /// The page with a message open.
    pub(super) fn message_url(&self, id: MessageId, more: &[(&str, Option<&str>)]) -> String {
        let id = id.to_string();
        let before = self.search.before.map(|before| before.to_string());
        let of_list = [
            ("q", self.search.text.as_deref()),
            ("before", before.as_deref()),
        ];
        let parameters = [&of_list, more].concat();
        match self.inbox {
            Some(_) => with_query(&format!("{}/messages/{id}", self.base), &parameters),
            None => with_query(&self.base, &[&[("m", Some(&*id))], &*parameters].concat()),
        }
    }

    /// Reads the page.
    pub(super) async fn read(
        &self,
        app: &App,
        page: &ProjectPage,
        open: Option<MessageId>,
    ) -> Result<MailList, Error> {
        let search = &self.search;
        let mut list = MailList {
            search: search.text.clone(),
            problem: search.problem.clone(),
            is_later: search.before.is_some() && search.text.is_none(),
            ..MailList::default()
        };
        if list.problem.is_some() {
            return Ok(list);
        }
        if self.inbox.is_none() && search.text.is_some() && search.before.is_none() {
            list.named = Named::read(app, page, &search.query).await?;
        }
        if search.query.is_failed {
            return Ok(list);
        }
        let found = self.found(app, page).await?;
        if search.text.is_some() {
            let total = self.total(app, page).await?;
            list.status = Some(search.status(&found, PAGE, total, &self.base));
        } else if found.next.is_some() || list.is_later {
            let total = self.total(app, page).await?;
            let older = |before: i64| before.to_string();
            list.more = found
                .next
                .map(|before| with_query(&self.base, &[("before", Some(&older(before)))]));
            list.total = Some(total)
                .filter(|total| *total > found.messages.len())
                .map(grouped);
        }
        let now = app.service.clock().now();
        let row = |message| self.row(app, message, open, now);
        list.rows = found.messages.into_iter().map(row).collect();
        Ok(list)
    }

    /// The number of messages, of which a page shows some.
    async fn total(&self, app: &App, page: &ProjectPage) -> Result<usize, Error> {
        let total = match &self.inbox {
            Some(inbox) => app.service.messages_in(inbox).await?,
            None => app.service.messages_of(page.project.id).await?,
        };
        usize::try_from(total).map_err(Error::internal)
    }

    async fn found(&self, app: &App, page: &ProjectPage) -> Result<FoundMail, Error> {
        let scope = match &self.inbox {
            Some(inbox) => Scope::Inbox(inbox.clone()),
            None => Scope::Project(page.project.id),
        };
        let query = self.search.query.query(scope, app.service.mail_domain());
        let before = self.search.before;
        Ok(app
            .service
            .mail(MailQuery { before, ..query }, PAGE)
            .await?)
    }

    fn row(
        &self,
        app: &App,
        message: MessageStart,
        open: Option<MessageId>,
        now: Timestamp,
    ) -> MailRow {
        let MessageStart {
            head,
            text,
            sender_name,
        } = message;
        let note = match (&self.inbox, head.label) {
            (Some(_), _) => snippet(&text),
            (None, Some(label)) => label,
            (None, None) if head.shared.is_none() => head.inbox_id.to_string(),
            (None, None) => address_of(
                &head.inbox_id,
                head.shared.as_ref(),
                app.service.mail_domain(),
            ),
        };
        MailRow {
            id: head.id,
            url: self.message_url(head.id, &[("tab", self.tab.as_deref())]),
            is_open: open == Some(head.id),
            from: shown(&sender_name.unwrap_or(head.from)),
            subject: subject(&head.subject),
            note: shown(&note),
            code: given(head.code),
            attachments: head.attachments,
            received: When::new(head.received_at, now),
        }
    }
}

impl MailList {
    /// The page with the message after this one, to which the list moves when it is deleted.
    pub(super) fn after(&self, id: MessageId) -> Option<&str> {
        let place = self.rows.iter().position(|row| row.id == id)?;
        self.rows.get(place + 1).map(|row| row.url.as_str())
    }
}

/// The start of a text on one line.
fn snippet(text: &str) -> String {
    let words = text
        .split_whitespace()
        .take(SNIPPET_CHARACTERS)
        .collect::<Vec<_>>()
        .join(" ");
    words.chars().take(SNIPPET_CHARACTERS).collect()
}
