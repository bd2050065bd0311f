//! The data for an explanation: the latest messages of an inbox with the filters that exclude them, refusals, and other
//! inboxes that got mail.

use super::inboxes::read_inbox;
use super::overview::InboxEnd;
use super::refusals::read_refusal;
use super::{Selection, Store, StoreError};
use crate::db::{DatabaseError, Row, values};
use crate::model::{Inbox, InboxId, MessageId, ProjectId, RefusedMail, Timestamp};

/// Inboxes that are compared with the address: the newest of the project.
const INBOXES: i64 = 1_000;
/// Messages whose inboxes are compared with the address: the newest of the installation.
const MESSAGES: i64 = 2_000;

/// A message in a list of the latest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Latest {
    /// Identifies it.
    pub id: MessageId,
    /// The sender's address.
    pub from: String,
    /// The subject, decoded.
    pub subject: String,
    /// When it was accepted.
    pub received_at: Timestamp,
    /// The names of the filters that exclude it.
    pub missed_by: Vec<&'static str>,
}

/// Another inbox that got mail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Similar {
    /// The inbox.
    pub id: InboxId,
    /// The messages in it.
    pub messages: i64,
    /// When the last one arrived.
    pub last_received_at: Timestamp,
    /// Whether it was created by mail.
    pub opened_by_mail: bool,
}

impl Store {
    /// An inbox of `project` that lives, or that has ended and whose address is still reserved.
    ///
    /// # Errors
    /// If the database fails, as everywhere below.
    pub async fn inbox_or_end(
        &self,
        project: ProjectId,
        id: &InboxId,
        now: Timestamp,
    ) -> Result<Option<(Inbox, Option<InboxEnd>)>, StoreError> {
        const FIND: &str = "
            SELECT id, project_id, kind, created_at, expires_at, closed, deleted_at FROM inboxes
            WHERE id = $1 AND project_id = $2";
        let rows = self.database.look_up(FIND, values![id, project]).await?;
        let Some(mut row) = rows.into_iter().next() else { return Ok(None) };
        let inbox = read_inbox(&mut row)?;
        let is_closed = row.integer()? == 1;
        let deleted_at = row.optional_integer()?.map(Timestamp::from_millis);
        let expired_at = inbox.expires_at.filter(|at| is_closed || *at <= now);
        let end = deleted_at.map(InboxEnd::Deleted).or(expired_at.map(InboxEnd::Expired));
        Ok(Some((inbox, end)))
    }

    /// The messages in a live inbox.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn message_count(&self, inbox: &Inbox) -> Result<i64, StoreError> {
        const COUNT: &str = "SELECT message_count FROM inboxes WHERE id = $1";
        let rows = self.database.look_up(COUNT, values![&inbox.id]).await?;
        Ok(rows.into_iter().next().map(|mut row| row.integer()).transpose()?.unwrap_or(0))
    }

    /// The newest messages of a live inbox, with the filters that exclude each.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn latest_messages(
        &self,
        inbox: &Inbox,
        selection: &Selection,
        most: usize,
        now: Timestamp,
    ) -> Result<Vec<Latest>, StoreError> {
        let heads = self.newest_heads(inbox, 0, i64::MAX, most, now).await?;
        let latest = heads.into_iter().map(|head| Latest {
            missed_by: selection.missed_by(&head),
            id: head.id,
            from: head.sender,
            subject: head.subject,
            received_at: head.received_at,
        });
        Ok(latest.collect())
    }

    /// The newest refusals since `since`: of mail to `inbox`, and of mail without a known recipient that belongs to one
    /// of these projects.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn refusals_of(
        &self,
        inbox: &InboxId,
        projects: [ProjectId; 2],
        since: Timestamp,
        most: usize,
    ) -> Result<Vec<RefusedMail>, StoreError> {
        const NAMED: &str = "
            SELECT peer, sender, recipient, inbox_id, reason, reply, refused_at FROM refusals
            WHERE inbox_id = $1 AND refused_at >= $2 ORDER BY id DESC LIMIT $3";
        const UNNAMED: &str = "
            SELECT peer, sender, recipient, inbox_id, reason, reply, refused_at FROM refusals
            WHERE inbox_id = '' AND refused_at >= $1 AND project_id IN ($2, $3) ORDER BY id DESC LIMIT $4";
        let named = self.database.query(NAMED, values![inbox, since, most]).await?;
        let unnamed = self.database.query(UNNAMED, values![since, projects[0], projects[1], most]).await?;
        let all: Result<Vec<RefusedMail>, _> = named.into_iter().chain(unnamed).map(read_refusal).collect();
        let mut all = all?;
        all.sort_by_key(|refused| std::cmp::Reverse(refused.refused_at));
        all.truncate(most);
        Ok(all)
    }

    /// The newest refusal of a project since `since`.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn last_refusal(&self, project: ProjectId, since: Timestamp) -> Result<Option<RefusedMail>, StoreError> {
        const LAST: &str = "
            SELECT peer, sender, recipient, inbox_id, reason, reply, refused_at FROM refusals
            WHERE project_id = $1 AND refused_at >= $2 ORDER BY id DESC LIMIT 1";
        let rows = self.database.query(LAST, values![project, since]).await?;
        Ok(rows.into_iter().next().map(read_refusal).transpose()?)
    }

    /// Live inboxes of a project that got mail since `since`: of the newest inboxes, and of those with the newest
    /// messages. Newest mail first.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn inboxes_with_mail(
        &self,
        project: ProjectId,
        since: Timestamp,
        now: Timestamp,
    ) -> Result<Vec<Similar>, StoreError> {
        const CREATED: &str = "
            SELECT i.id, i.message_count, m.received_at, i.opened_by_mail
            FROM (SELECT * FROM inboxes WHERE project_id = $1 AND created_at >= $2
                ORDER BY created_at DESC LIMIT $4) i
            JOIN messages m ON m.inbox_number = i.number AND m.sequence = i.last_sequence
            WHERE i.closed = 0 AND (i.expires_at IS NULL OR i.expires_at > $3) AND i.message_count > 0
                AND m.sequence > i.emptied_sequence";
        const WITH_MAIL: &str = "
            SELECT i.id, MAX(i.message_count), MAX(m.received_at), MAX(i.opened_by_mail)
            FROM (SELECT inbox_number, sequence, received_at FROM messages ORDER BY number DESC LIMIT $4) m
            JOIN inboxes i ON i.number = m.inbox_number
            WHERE m.received_at >= $2 AND i.project_id = $1 AND i.closed = 0
                AND (i.expires_at IS NULL OR i.expires_at > $3) AND i.message_count > 0
                AND m.sequence > i.emptied_sequence AND i.created_at < $2
            GROUP BY i.id";
        let created = self.database.query(CREATED, values![project, since, now, INBOXES]).await?;
        let others = self.database.query(WITH_MAIL, values![project, since, now, MESSAGES]).await?;
        let found: Result<Vec<Similar>, DatabaseError> = created.into_iter().chain(others).map(read_similar).collect();
        let mut found = found?;
        found.sort_by_key(|inbox| std::cmp::Reverse(inbox.last_received_at));
        Ok(found)
    }
}

fn read_similar(mut row: Row) -> Result<Similar, DatabaseError> {
    Ok(Similar {
        id: InboxId::from_stored(row.text()?),
        messages: row.integer()?,
        last_received_at: Timestamp::from_millis(row.integer()?),
        opened_by_mail: row.integer()? == 1,
    })
}
