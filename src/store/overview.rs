//! The lists and totals of the dashboard: inboxes with their messages, and the size of a project. Also marks, which
//! show whether a list has changed.

use uuid::Uuid;

use super::content::fold_case;
use super::inboxes::read_inbox;
use super::{Store, StoreError};
use crate::db::{DatabaseError, Row, values};
use crate::model::{InboxId, InboxKind, InboxSummary, ProjectId, Timestamp};

/// The filter of a list of inboxes, the newest first.
#[derive(Clone, Debug, Default)]
pub struct InboxFilter {
    /// A substring of the address, case-insensitive.
    pub address: String,
    /// Only those of this kind.
    pub kind: Option<InboxKind>,
    /// Only those after this one in the list: its creation and its id.
    pub after: Option<(Timestamp, InboxId)>,
}

/// What a page shows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Watched {
    /// The list of a project's inboxes.
    Inboxes(ProjectId),
    /// One inbox of a project.
    Inbox(ProjectId, InboxId),
    /// The outgoing items of a project.
    Outgoing(ProjectId),
    /// The refusals: of a project, or of all.
    Refused(Option<ProjectId>),
}

/// How an inbox ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InboxEnd {
    /// It expired.
    Expired(Timestamp),
    /// It was deleted.
    Deleted(Timestamp),
}

impl Store {
    /// How an inbox of a project ended, if it has; its address is then reserved for the project.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn inbox_end(
        &self,
        project: ProjectId,
        id: &InboxId,
        now: Timestamp,
    ) -> Result<Option<InboxEnd>, StoreError> {
        const ENDED: &str =
            "SELECT expires_at, deleted_at FROM inboxes WHERE id = $1 AND project_id = $2 AND expires_at <= $3";
        let Some(mut row) = self.database.query(ENDED, values![id, project, now]).await?.into_iter().next() else {
            return Ok(None);
        };
        let expired_at = Timestamp::from_millis(row.integer()?);
        let deleted_at = row.optional_integer()?.map(Timestamp::from_millis);
        Ok(Some(deleted_at.map_or(InboxEnd::Expired(expired_at), InboxEnd::Deleted)))
    }

    /// At most `limit` live inboxes of a project with the last message of each.
    ///
    /// # Errors
    /// If the database fails, as everywhere below.
    pub async fn list_inboxes(
        &self,
        project: ProjectId,
        filter: &InboxFilter,
        limit: i64,
        now: Timestamp,
    ) -> Result<Vec<InboxSummary>, StoreError> {
        const LIST: &str = "
            SELECT i.id, i.project_id, i.kind, i.created_at, i.expires_at, i.message_count,
                m.sender, m.subject, m.received_at
            FROM inboxes i
            LEFT JOIN messages m
                ON m.inbox_number = i.number AND m.sequence = i.last_sequence AND m.sequence > i.emptied_sequence
                    AND m.content_number IS NOT NULL
            WHERE i.project_id = $1 AND i.closed = 0 AND (i.expires_at IS NULL OR i.expires_at > $2)
                AND i.id LIKE $3 ESCAPE '\\' AND ($4 = '' OR i.kind = $4)
                AND (i.created_at < $5 OR (i.created_at = $5 AND i.id < $6))
            ORDER BY i.created_at DESC, i.id DESC LIMIT $7";
        let (after, after_id) =
            filter.after.as_ref().map_or((i64::MAX, ""), |(created_at, id)| (created_at.as_millis(), id.as_str()));
        let parameters = values![
            project,
            now,
            contains_pattern(&filter.address),
            filter.kind.map_or("", InboxKind::as_str),
            after,
            after_id,
            limit,
        ];
        let rows = self.database.query(LIST, parameters).await?;
        Ok(rows.into_iter().map(read_summary).collect::<Result<_, _>>()?)
    }

    /// The bytes of the live messages of a project, as they were received.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn project_bytes(&self, project: ProjectId, now: Timestamp) -> Result<i64, StoreError> {
        const SUM: &str = "
            SELECT CAST(COALESCE(SUM(m.raw_size), 0) AS BIGINT)
            FROM messages m JOIN inboxes i ON i.number = m.inbox_number
            WHERE i.project_id = $1 AND i.closed = 0 AND (i.expires_at IS NULL OR i.expires_at > $2)
                AND m.sequence > i.emptied_sequence";
        let rows = self.database.query(SUM, values![project, now]).await?;
        Ok(rows.into_iter().next().ok_or(DatabaseError::NoRow)?.integer()?)
    }

    /// The live messages of a project.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn project_messages(&self, project: ProjectId, now: Timestamp) -> Result<i64, StoreError> {
        const COUNT: &str = "
            SELECT CAST(COALESCE(SUM(message_count), 0) AS BIGINT) FROM inboxes
            WHERE project_id = $1 AND closed = 0 AND (expires_at IS NULL OR expires_at > $2)";
        let rows = self.database.query(COUNT, values![project, now]).await?;
        Ok(rows.into_iter().next().ok_or(DatabaseError::NoRow)?.integer()?)
    }

    /// A text that differs after `watched` has changed.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn mark(&self, watched: &Watched, now: Timestamp) -> Result<String, StoreError> {
        const INBOXES: &str = "
            SELECT COUNT(*), COALESCE(MAX(created_at), 0), CAST(COALESCE(SUM(last_sequence), 0) AS BIGINT),
                CAST(COALESCE(SUM(message_count), 0) AS BIGINT)
            FROM inboxes WHERE project_id = $1 AND closed = 0 AND (expires_at IS NULL OR expires_at > $2)";
        const INBOX: &str = "
            SELECT COUNT(*), COALESCE(MAX(created_at), 0), COALESCE(MAX(last_sequence), 0),
                COALESCE(MAX(message_count), 0) + 1000000 * COALESCE(MAX(faults_left), -1)
            FROM inboxes WHERE project_id = $1 AND closed = 0 AND (expires_at IS NULL OR expires_at > $2) AND id = $3";
        const OUTGOING: &str = "
            SELECT COUNT(*), COALESCE(MAX(created_at), 0),
                CAST(COALESCE(SUM(attempts), 0) AS BIGINT) + (
                    SELECT COUNT(*) FROM attempts WHERE outgoing_id IN (SELECT id FROM outgoing WHERE project_id = $1)),
                CAST(COALESCE(SUM(CASE status WHEN 'queued' THEN 0 WHEN 'sent' THEN 1 ELSE 1000000 END), 0) AS BIGINT)
            FROM outgoing WHERE project_id = $1";
        const REFUSED: &str = "
            SELECT COUNT(*), COALESCE(MAX(refused_at), 0), 0, 0 FROM refusals WHERE $1 = 0 OR project_id = $2";

        let (sql, parameters) = match watched {
            Watched::Inboxes(project) => (INBOXES, vec![(*project).into(), now.into()]),
            Watched::Inbox(project, id) => (INBOX, vec![(*project).into(), now.into(), id.as_str().into()]),
            Watched::Outgoing(project) => (OUTGOING, vec![(*project).into()]),
            Watched::Refused(project) => {
                let id = project.unwrap_or(ProjectId(Uuid::nil())).into();
                (REFUSED, vec![project.is_some().into(), id])
            }
        };
        let rows = self.database.query(sql, parameters).await?;
        let mut row = rows.into_iter().next().ok_or(DatabaseError::NoRow)?;
        Ok(format!("{}-{}-{}-{}", row.integer()?, row.integer()?, row.integer()?, row.integer()?))
    }
}

fn read_summary(mut row: Row) -> Result<InboxSummary, DatabaseError> {
    let inbox = read_inbox(&mut row)?;
    let messages = row.integer()?;
    let (last_sender, last_subject) = (row.optional_text()?, row.optional_text()?);
    let last_received_at = row.optional_integer()?.map(Timestamp::from_millis);
    Ok(InboxSummary { inbox, messages, last_sender, last_subject, last_received_at })
}

/// A LIKE pattern for "contains `text`", case-folded and with escaped wildcards.
fn contains_pattern(text: &str) -> String {
    let mut pattern = String::from("%");
    for character in fold_case(text).chars() {
        if matches!(character, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        // No address contains NUL, and no engine accepts one in text.
        pattern.push(if character == '\0' { '\u{fffd}' } else { character });
    }
    if !text.is_empty() {
        pattern.push('%');
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_takes_wildcards_for_themselves() {
        assert_eq!(contains_pattern(""), "%");
        assert_eq!(contains_pattern("Save 100%_\\"), "%save 100\\%\\_\\\\%");
    }
}
