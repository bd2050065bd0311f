//! Finds inboxes of a project by their address or label: live ones, and those that have ended and
//! whose address is still reserved.

use super::explanation::read_end;
use super::inbox_list::pattern;
use super::inboxes::read_inbox;
use super::sweep::RESERVATION;
use super::{Store, StoreError, live};
use crate::db::{Row, values};
use crate::model::{FoundInbox, ProjectId, SearchText, Timestamp};

/// A SELECT of inboxes under a condition. The one that has exactly this address is first, then the
/// latest.
macro_rules! find {
    ($condition:expr, $latest:literal) => {
        concat!(
            "SELECT id, address, project_id, kind, created_at, expires_at, closed, deleted_at, label,
                CASE WHEN last_received_at > created_at THEN last_received_at ELSE created_at END AS activity
             FROM inboxes
             WHERE project_id = $2 AND (COALESCE(address, id || $3) LIKE $4 ESCAPE '\\'
                OR LOWER(label) LIKE $4 ESCAPE '\\') AND ",
            $condition,
            " ORDER BY CASE WHEN COALESCE(address, id || $3) = $5 THEN 0 ELSE 1 END, ",
            $latest,
            " DESC, id LIMIT $6"
        )
    };
}

impl Store {
    /// At most `limit` inboxes of a project whose address or label contains a text: live ones, or
    /// those that have ended in the last 30 days.
    pub async fn find_inboxes(
        &self,
        project: ProjectId,
        text: &SearchText,
        have_ended: bool,
        limit: usize,
        now: Timestamp,
    ) -> Result<Vec<FoundInbox>, StoreError> {
        const LIVE: &str = find!(live!("$1"), "activity");
        const ENDED: &str = find!(
            "(closed = 1 OR expires_at <= $1) AND COALESCE(deleted_at, expires_at) > $7",
            "COALESCE(deleted_at, expires_at)"
        );
        let (pattern, exact) = pattern(text);
        let mut parameters = values![now, project, text.domain_part(), pattern, exact, limit];
        let sql = if have_ended {
            parameters.extend(values![now.before(RESERVATION)]);
            ENDED
        } else {
            LIVE
        };
        let read = |row: &mut Row| {
            let inbox = read_inbox(row)?;
            Ok(FoundInbox {
                end: read_end(row, &inbox, now)?,
                label: row.get()?,
                active_at: row.get()?,
                inbox,
            })
        };
        self.all(sql, parameters, read).await
    }
}
