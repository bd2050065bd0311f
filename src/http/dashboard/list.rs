//! The list of messages, of a project or of one inbox: a page of it, newest first, or a search. It
//! looks at messages in steps; the script follows the link to the next one until the search has
//! looked at every message, or has found enough. Inboxes and failures whose name is the search,
//! which are found after an inbox has ended, too, are above the messages.

use super::page::with_query;
use super::plain::{grouped, shown};
use super::search_query::SearchQuery;
use super::visit::ProjectPage;
use crate::evidence::Failure;
use crate::http::error::Error;
use crate::http::query::Query;
use crate::model::{FoundInbox, Inbox, MailQuery, MessageId, Scope, SearchText};
use crate::service::{EntryFilter, MessageStart};

/// Messages on one page.
const PAGE: usize = 50;
/// Inboxes and failures that a search shows.
const MAX_NAMED: usize = 8;
/// Characters of a text that a row shows.
const SNIPPET_CHARACTERS: usize = 140;

#[derive(Default)]
pub(super) struct MailList {
    /// The path of the list.
    pub(super) base: String,
    /// The inbox; `None` for all mail of the project.
    pub(super) inbox: Option<Inbox>,
    pub(super) search: Option<String>,
    /// What is wrong with the search.
    pub(super) problem: Option<String>,
    query: SearchQuery,
    /// The position before which this page begins.
    before: Option<i64>,
    /// The tab of the open message, in which the others open, too.
    tab: Option<String>,
    pub(super) rows: Vec<MessageStart>,
    /// The message that is open.
    pub(super) open: Option<MessageId>,
    /// The text that is looked for in names, and what has it: one more than is shown, if there are
    /// more.
    pub(super) name: String,
    pub(super) inboxes: Vec<FoundInbox>,
    pub(super) failures: Vec<Failure>,
    /// The number of all messages.
    total: usize,
    /// The next page or step begins before this position.
    next: Option<i64>,
    progress: SearchProgress,
}

/// How far a search has come. It is part of the link to the next step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct SearchProgress {
    searched: usize,
    found: usize,
    /// Messages whose text was compared only in part.
    partly: usize,
}

impl MailList {
    pub(super) fn new(base: String, inbox: Option<Inbox>, query: &Query) -> Self {
        let search = query.search();
        let parsed = SearchQuery::parse(search.as_deref().unwrap_or_default());
        let progress = query.first("progress");
        let before = query.first("before");
        Self {
            base,
            inbox,
            search,
            problem: parsed.as_ref().err().cloned(),
            query: parsed.unwrap_or_default(),
            before: before.and_then(|position| position.parse().ok()),
            tab: query.first("tab"),
            progress: progress
                .and_then(|text| SearchProgress::parse(&text))
                .unwrap_or_default(),
            ..Self::default()
        }
    }

    /// Reads the page.
    pub(super) async fn read(&mut self, page: &ProjectPage) -> Result<(), Error> {
        if self.problem.is_some() {
            return Ok(());
        }
        if self.inbox.is_none() && self.search.is_some() && self.before.is_none() {
            self.find_names(page).await?;
        }
        if self.query.is_failed {
            return Ok(());
        }
        let service = page.service();
        let project = page.project.id;
        let scope = match &self.inbox {
            Some(inbox) => Scope::Inbox(inbox.clone()),
            None => Scope::Project(project),
        };
        let query = MailQuery {
            before: self.before,
            ..self.query.query(scope, service.mail_domain())
        };
        let (found, search) = service.mail(query, PAGE).await?;
        self.progress = SearchProgress {
            searched: self.progress.searched + search.compared,
            found: self.progress.found + found.len(),
            partly: self.progress.partly + search.partly,
        };
        self.next = search.position();
        self.rows = found;
        if self.search.is_some() || self.next.is_some() || self.before.is_some() {
            let total = match &self.inbox {
                Some(inbox) => service.messages_in(inbox).await?,
                None => service.messages_of(project).await?,
            };
            self.total = usize::try_from(total).map_err(Error::internal)?;
        }
        Ok(())
    }

    /// Finds inboxes, the live ones first, and failures.
    async fn find_names(&mut self, page: &ProjectPage) -> Result<(), Error> {
        let service = page.service();
        let project = page.project.id;
        let is_wanted = |text: &String| self.query.is_failed || !text.is_empty();
        let Some(text) = self.query.name().filter(is_wanted) else {
            return Ok(());
        };
        let name = SearchText::new(&text, service.mail_domain());
        for have_ended in [false, true].into_iter().filter(|_| !self.query.is_failed) {
            let left = MAX_NAMED + 1 - self.inboxes.len();
            let found = service.find_inboxes(project, &name, have_ended, left);
            self.inboxes.extend(found.await?);
        }
        let filter = EntryFilter {
            project: Some(project),
            text: text.clone(),
            since: self.query.since,
            before: self.query.until,
            ..EntryFilter::default()
        };
        self.failures = service.failures(&filter, MAX_NAMED + 1).await?;
        self.name = text;
        Ok(())
    }

    pub(super) fn has_names(&self) -> bool {
        !self.inboxes.is_empty() || !self.failures.is_empty()
    }

    /// The query of a list of everything that has the name.
    pub(super) fn name_query(&self) -> String {
        with_query("", &[("q", Some(&self.name))])
    }

    /// Whether this is a further page of a list that is not searched.
    pub(super) fn is_later(&self) -> bool {
        self.before.is_some() && self.search.is_none()
    }

    /// The number of all messages, if not all are shown.
    pub(super) fn total(&self) -> Option<String> {
        let is_part = self.next.is_some() || self.is_later();
        (is_part && self.total > self.rows.len()).then(|| grouped(self.total))
    }

    /// The next page, or the next step of a search.
    pub(super) fn next(&self) -> Option<String> {
        let before = self.next?.to_string();
        let progress = self.progress.to_string();
        let search = self.search.as_deref();
        let progress = search.map(|_| &*progress);
        let parameters = [
            ("q", search),
            ("before", Some(&*before)),
            ("progress", progress),
        ];
        Some(with_query(&self.base, &parameters))
    }

    /// How far the search has come; `None` for a list that is not searched.
    pub(super) fn status(&self) -> Option<String> {
        let is_searched = self.search.is_some() && self.problem.is_none() && !self.query.is_failed;
        is_searched.then(|| self.progress.sentence(self.next.map(|_| self.total)))
    }

    /// Whether the script follows the search automatically, because not enough was found yet.
    pub(super) fn continues(&self) -> bool {
        self.progress.found < PAGE
    }

    /// The page with a message open.
    pub(super) fn url(&self, id: MessageId, more: &[(&str, Option<&str>)]) -> String {
        let id = id.to_string();
        let before = self.before.map(|before| before.to_string());
        let of_list = [("q", self.search.as_deref()), ("before", before.as_deref())];
        let parameters = [&of_list, more].concat();
        match self.inbox {
            Some(_) => with_query(&format!("{}/messages/{id}", self.base), &parameters),
            None => with_query(&self.base, &[&[("m", Some(&*id))], &*parameters].concat()),
        }
    }

    /// The page with the message of a row open.
    pub(super) fn row_url(&self, row: &MessageStart) -> String {
        self.url(row.head.id, &[("tab", self.tab.as_deref())])
    }

    /// The page with the message after this one, to which the list moves when it is deleted.
    pub(super) fn after(&self, id: MessageId) -> String {
        let mut rows = self.rows.iter().skip_while(|row| row.head.id != id).skip(1);
        rows.next()
            .map_or_else(|| self.base.clone(), |row| self.row_url(row))
    }

    /// The label of the test, or the address; in an inbox the start of the text.
    pub(super) fn note(&self, row: &MessageStart) -> String {
        match (&self.inbox, &row.head.label, &row.head.shared) {
            (Some(_), ..) => {
                let words = row.text.split_whitespace().take(SNIPPET_CHARACTERS);
                let line = words.collect::<Vec<_>>().join(" ");
                shown(line.chars().take(SNIPPET_CHARACTERS).collect::<String>())
            }
            (None, Some(label), _) => shown(label),
            (None, None, Some(address)) => address.to_string(),
            (None, None, None) => row.head.inbox_id.to_string(),
        }
    }
}

impl SearchProgress {
    fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.split('.').map(|number| number.parse::<u32>().ok());
        let mut number = || usize::try_from(numbers.next()??).ok();
        Some(Self {
            searched: number()?,
            found: number()?,
            partly: number()?,
        })
    }

    /// `total` is the number of messages to look at, if the search is not over.
    fn sentence(self, total: Option<usize>) -> String {
        let [searched, found, partly] = [self.searched, self.found, self.partly].map(grouped);
        let messages = match total {
            None if self.searched == 1 => "all 1 message".to_owned(),
            None => format!("all {searched} messages"),
            Some(total) => {
                let total = grouped(total.max(self.searched));
                format!("{searched} of about {total} messages")
            }
        };
        let partly = match self.partly {
            0 => String::new(),
            1 => " The text of 1 large message was searched only in part.".to_owned(),
            _ => format!(" The texts of {partly} large messages were searched only in part."),
        };
        format!("Searched {messages}, found {found}.{partly}")
    }
}

impl std::fmt::Display for SearchProgress {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            formatter,
            "{}.{}.{}",
            self.searched, self.found, self.partly
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_a_sentence_and_a_parameter() {
        let progress = SearchProgress {
            searched: 40_000,
            found: 3,
            partly: 0,
        };
        assert_eq!(
            progress.sentence(Some(100_000)),
            "Searched 40,000 of about 100,000 messages, found 3."
        );
        assert_eq!(
            progress.sentence(None),
            "Searched all 40,000 messages, found 3."
        );
        assert_eq!(SearchProgress::parse(&progress.to_string()), Some(progress));
        for text in ["", "1.2", "1.2.x", "-1.2.3", "99999999999.0.0"] {
            assert_eq!(SearchProgress::parse(text), None, "{text}");
        }
        let one = SearchProgress {
            searched: 1,
            found: 0,
            partly: 1,
        };
        let text = "Searched all 1 message, found 0. The text of 1 large message was searched only in part.";
        assert_eq!(one.sentence(None), text);
    }
}
