//! The totals of the dashboard. Also marks, which show whether a list has changed.

use std::collections::HashMap;

use uuid::Uuid;

use super::{Store, StoreError, live};
use crate::db::{Row, values};
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
        let read = |row: &mut Row| {
            let project = row.get()?;
            let messages = row.get()?;
            let bytes = row.get()?;
            Ok((project, Holdings { messages, bytes }))
        };
        let held = self.all(HELD, values![first, last, now], read).await?;
        Ok(held.into_iter().collect())
    }

    /// The mark of `watched`: a version that is different after `watched` has changed.
    pub async fn mark(&self, watched: &Watched, now: Timestamp) -> Result<String, StoreError> {
        const MAIL: &str = concat!(
            "
            SELECT COUNT(*) || '-' || COALESCE(MAX(created_at), 0) || '-' || COALESCE(SUM(last_sequence), 0)
                || '-' || COALESCE(SUM(changes), 0)
            FROM inboxes WHERE project_id = $1 AND ",
            live!("$2")
        );
        const INBOX: &str = concat!(
            "
            SELECT COALESCE(MAX(created_at), 0) || '-' || COALESCE(MAX(last_sequence), 0)
                || '-' || COALESCE(MAX(changes), 0)
                || '-' || (SELECT COALESCE(MAX(position), 0) FROM journal WHERE project_id = $1 AND subject = $3)
            FROM inboxes WHERE project_id = $1 AND ",
            live!("$2"),
            " AND id = $3"
        );
        const OUTGOING: &str = "
            SELECT COUNT(*) || '-' || COALESCE(MAX(created_at), 0) || '-' || COALESCE(SUM(attempts), 0)
                || '-' || (SELECT COUNT(*) FROM attempts
                    WHERE outgoing_id IN (SELECT id FROM outgoing WHERE project_id = $1))
                || '-' || COUNT(CASE status WHEN 'sent' THEN 1 END) || '-' || COUNT(CASE status WHEN 'failed' THEN 1 END)
                || '-' || COUNT(CASE status WHEN 'cancelled' THEN 1 END) || '-' || COALESCE(SUM(due_at), 0)
            FROM outgoing WHERE project_id = $1";
        const RECORDED: &str =
            "SELECT COALESCE(MAX(position), 0) || '' FROM journal WHERE project_id = $1";
        const RECORDED_OF_ALL: &str = "SELECT COALESCE(MAX(position), 0) || '' FROM journal";
        let (sql, parameters) = match watched {
            Watched::Mail(project) | Watched::Inboxes(project) => (MAIL, values![*project, now]),
            Watched::Inbox(project, id) => (INBOX, values![*project, now, id]),
            Watched::Outgoing(project) => (OUTGOING, values![*project]),
            Watched::Failures(project) | Watched::Refused(Some(project)) => {
                (RECORDED, values![*project])
            }
            Watched::Refused(None) => (RECORDED_OF_ALL, vec![]),
        };
        let mut mark: String = self.only(sql, parameters, Row::get).await?;
        if let Watched::Inboxes(project) = watched {
            let recorded: String = self.only(RECORDED, values![*project], Row::get).await?;
            mark = format!("{mark}-{recorded}");
        }
        Ok(mark)
    }
}
