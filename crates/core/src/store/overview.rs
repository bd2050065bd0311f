//! The totals of the dashboard. Also marks, which show whether a list has changed.

use std::collections::HashMap;

use uuid::Uuid;

use super::{Store, StoreError, live};
use crate::db::{DatabaseError, Row, values};
use crate::model::{Holdings, ProjectId, Timestamp, Watched};

impl Store {
    /// The live messages of a project, or of each: projects without messages are left out.
    pub async fn holdings(
        &self,
        project: Option<ProjectId>,
        now: Timestamp,
    ) -> Result<HashMap<ProjectId, Holdings>, StoreError> {
        // A range, because an index can also be used for it with one project.
        const HELD: &str = concat!(
            "
            SELECT i.project_id, COUNT(m.content_number), CAST(SUM(m.raw_size) AS BIGINT)
            FROM messages m JOIN inboxes i ON i.number = m.inbox_number
            WHERE i.project_id >= $1 AND i.project_id <= $2 AND ",
            live!("i.", "$3"),
            " AND m.sequence > i.emptied_sequence
            GROUP BY i.project_id"
        );
        let (first, last) =
            project.map_or((Uuid::nil(), Uuid::max()), |project| (project.0, project.0));
        let rows = self.database.query(HELD, values![first, last, now]).await?;
        let read = |mut row: Row| {
            let project = ProjectId(row.uuid()?);
            Ok((
                project,
                Holdings {
                    messages: row.integer()?,
                    bytes: row.integer()?,
                },
            ))
        };
        rows.into_iter().map(read).collect()
    }

    /// The mark of `watched`: a version that is different after `watched` has changed.
    pub async fn mark(&self, watched: &Watched, now: Timestamp) -> Result<String, StoreError> {
        const INBOXES: &str = concat!(
            "
            SELECT COUNT(*), COALESCE(MAX(created_at), 0), CAST(COALESCE(SUM(last_sequence), 0) AS BIGINT),
                CAST(COALESCE(SUM(changes), 0) AS BIGINT)
            FROM inboxes WHERE project_id = $1 AND ",
            live!("$2")
        );
        const INBOX: &str = concat!(
            "
            SELECT COALESCE(MAX(created_at), 0), COALESCE(MAX(last_sequence), 0), COALESCE(MAX(changes), 0)
            FROM inboxes WHERE project_id = $1 AND ",
            live!("$2"),
            " AND id = $3"
        );
        const OUTGOING: &str = "
            SELECT COUNT(*), COALESCE(MAX(created_at), 0), CAST(COALESCE(SUM(attempts), 0) AS BIGINT),
                (SELECT COUNT(*) FROM attempts WHERE outgoing_id IN (SELECT id FROM outgoing WHERE project_id = $1)),
                COUNT(CASE status WHEN 'sent' THEN 1 END), COUNT(CASE status WHEN 'failed' THEN 1 END),
                COUNT(CASE status WHEN 'cancelled' THEN 1 END), CAST(COALESCE(SUM(due_at), 0) AS BIGINT)
            FROM outgoing WHERE project_id = $1";
        const JOURNAL: &str = "SELECT COALESCE(MAX(position), 0) FROM journal";

        let (sql, columns, parameters) = match watched {
            Watched::Inboxes(project) | Watched::Mail(project) => {
                (INBOXES, 4, vec![(*project).into(), now.into()])
            }
            Watched::Inbox(project, id) => (
                INBOX,
                3,
                vec![(*project).into(), now.into(), id.as_str().into()],
            ),
            Watched::Outgoing(project) => (OUTGOING, 8, vec![(*project).into()]),
            Watched::Failures(project) | Watched::Refused(Some(project)) => {
                return Ok(self.journal_mark(*project, None).await?.to_string());
            }
            Watched::Refused(None) => (JOURNAL, 1, vec![]),
        };
        let rows = self.database.query(sql, parameters).await?;
        let mut row = rows.into_iter().next().ok_or(DatabaseError::NoRow)?;
        let numbers: Result<Vec<String>, _> = (0..columns)
            .map(|_| Ok(row.integer()?.to_string()))
            .collect();
        numbers.map(|numbers| numbers.join("-"))
    }
}
