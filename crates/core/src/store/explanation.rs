//! The data for an explanation: how an inbox ended, its latest messages with the filters that
//! exclude them, and other inboxes that received mail.

use std::time::Duration;

use super::comparing::Start;
use super::inboxes::read_inbox;
use super::messages::Head;
use super::search::Search;
use super::{Store, StoreError, live};
use crate::db::{DatabaseError, Row, values};
use crate::large;
use crate::model::{
    Condition, Inbox, InboxEnd, InboxId, Latest, MailQuery, MessageFilter, Period, ProjectId,
    Scope, Similar, Timestamp,
};

/// How many of the newest messages of the project are examined; their inboxes are compared with the
/// address.
const MESSAGES: i64 = 2_000;

impl Store {
    /// Finds an inbox of `project` that is live, or that has ended and whose address is still
    /// reserved.
    pub async fn inbox_or_end(
        &self,
        project: ProjectId,
        id: &InboxId,
        now: Timestamp,
    ) -> Result<Option<(Inbox, Option<InboxEnd>)>, StoreError> {
        const FIND: &str = "
            SELECT id, address, project_id, kind, created_at, expires_at, closed, deleted_at FROM inboxes
            WHERE id = $1 AND project_id = $2 AND (closed = 0 OR expires_at IS NOT NULL)";
        let read = |row: &mut Row| {
            let inbox = read_inbox(row)?;
            let end = read_end(row, &inbox, now)?;
            Ok((inbox, end))
        };
        self.first(FIND, values![id, project], read).await
    }

    /// The messages in a live inbox.
    pub async fn message_count(&self, inbox: &Inbox) -> Result<i64, StoreError> {
        const COUNT: &str = "SELECT message_count FROM inboxes WHERE id = $1";
        let count = self.first(COUNT, values![&inbox.id], Row::get).await?;
        Ok(count.unwrap_or(0))
    }

    /// The messages that were in a live inbox then.
    pub async fn message_count_at(
        &self,
        inbox: &Inbox,
        until: Timestamp,
    ) -> Result<i64, StoreError> {
        const COUNT: &str = "
            SELECT i.message_count - (
                SELECT COUNT(*) FROM messages m WHERE m.inbox_number = i.number AND m.sequence > i.emptied_sequence
                AND m.content_number IS NOT NULL AND m.received_at > $3)
            FROM inboxes i WHERE i.id = $1 AND i.created_at = $2";
        let parameters = values![&inbox.id, inbox.created_at, until];
        let count = self.all(COUNT, parameters, Row::get).await?.pop();
        Ok(count.unwrap_or(0))
    }

    /// The newest messages that were in a live inbox then, with the filters that exclude each.
    /// `after` is the sequence of the filter's cursor.
    pub async fn latest_messages(
        &self,
        inbox: &Inbox,
        (filter, after): (&MessageFilter, i64),
        most: usize,
        until: Timestamp,
    ) -> Result<Vec<Latest>, StoreError> {
        let mut search = Search::newest_first(MailQuery {
            until: Some(until.after(Duration::from_millis(1))),
            ..MailQuery::new(Scope::Inbox(inbox.clone()))
        });
        let mut latest = Vec::with_capacity(most);
        while latest.len() < most && !search.is_over() {
            let wanted = most - latest.len();
            for candidate in self.step(&mut search, wanted, None, until).await? {
                latest.push(self.latest(candidate.head, filter, after).await?);
            }
        }
        Ok(latest)
    }

    /// A message with the names of the filters that exclude it, and for those for the content, the
    /// part of it that comes closest.
    async fn latest(
        &self,
        head: Head,
        filter: &MessageFilter,
        after: i64,
    ) -> Result<Latest, StoreError> {
        let mut missed_by = Vec::new();
        let mut open = Vec::new();
        for (name, condition) in filter.conditions() {
            match condition.met_by_row(&head, &[]) {
                Some(true) => {}
                Some(false) => missed_by.push(name),
                None => open.push((name, condition)),
            }
        }
        missed_by.extend(Some("has").filter(|_| !head.has.has_all(filter.has)));
        missed_by.extend(Some("after").filter(|_| head.sequence <= after));
        let mut found = Vec::new();
        if !open.is_empty()
            && let Some(start) = self.start(&head).await?
        {
            found = large::run(head.parsed_size + head.raw_size, move || {
                missed_in(open, &start)
            })
            .await??;
            missed_by.extend(found.iter().map(|(name, _)| *name));
        }
        Ok(Latest {
            missed_by,
            found,
            id: head.id,
            from: head.from,
            subject: head.subject,
            received_at: head.received_at,
        })
    }

    /// Live inboxes of a project that received mail in a period: those of its newest messages.
    /// Newest mail first.
    pub async fn inboxes_with_mail(
        &self,
        project: ProjectId,
        period: Period,
    ) -> Result<Vec<Similar>, StoreError> {
        // Messages after the period are not counted.
        const WITH_MAIL: &str = concat!(
            "
            SELECT i.id, i.address,
                MAX(i.message_count) - SUM(CASE WHEN m.received_at > $3 AND m.content_number IS NOT NULL
                    THEN 1 ELSE 0 END),
                MAX(CASE WHEN m.received_at <= $3 THEN m.received_at END), MAX(i.opened_by_mail)
            FROM (SELECT inbox_number, sequence, content_number, received_at FROM messages WHERE project_id = $1
                ORDER BY number DESC LIMIT $4) m
            JOIN inboxes i ON i.number = m.inbox_number
            WHERE m.received_at >= $2 AND i.project_id = $1 AND ",
            live!("i.", "$3"),
            " AND i.message_count > 0 AND m.sequence > i.emptied_sequence
            GROUP BY i.id, i.address HAVING MIN(m.received_at) <= $3"
        );
        let parameters = values![project, period.since, period.until, MESSAGES];
        let mut found = self.all(WITH_MAIL, parameters, read_similar).await?;
        found.sort_by_key(|inbox| std::cmp::Reverse(inbox.last_received_at));
        Ok(found)
    }
}

fn read_similar(row: &mut Row) -> Result<Similar, DatabaseError> {
    Ok(Similar {
        id: row.get()?,
        shared: row.get()?,
        messages: row.get()?,
        last_received_at: row.get()?,
        opened_by_mail: row.get()?,
    })
}

/// The filters that exclude a content, each with the part of it that comes closest.
fn missed_in(
    filters: Vec<(&'static str, Condition)>,
    start: &Start,
) -> Result<Vec<(&'static str, String)>, StoreError> {
    let mut missed = Vec::new();
    for (name, condition) in filters {
        if !condition.met_by_content(start)? {
            missed.push((name, condition.closest(start)?));
        }
    }
    Ok(missed)
}

/// Reads the columns `closed, deleted_at` of an inbox: how it ended, if it has.
pub(super) fn read_end(
    row: &mut Row,
    inbox: &Inbox,
    now: Timestamp,
) -> Result<Option<InboxEnd>, DatabaseError> {
    let is_closed = row.get()?;
    let deleted_at: Option<Timestamp> = row.get()?;
    let expired_at = inbox.expires_at.filter(|at| is_closed || *at <= now);
    Ok(deleted_at
        .map(InboxEnd::Deleted)
        .or(expired_at.map(InboxEnd::Expired)))
}
