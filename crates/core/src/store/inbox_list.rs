//! The list of a project's inboxes, with what failed there: those with the latest activity first,
//! page by page in both directions.

use super::inboxes::read_inbox;
use super::{Store, StoreError, live};
use crate::db::{DatabaseError, Row, values};
use crate::model::{
    InboxFilter, InboxKind, InboxSummary, InboxTotals, ListPart, ProjectId, SearchText, Timestamp,
    fold_case,
};

/// A SELECT of inboxes with their last messages. The parameters `$5` and `$6` are the activity and
/// the id of the inbox next to the page. What failed is counted only for the rows of the page, with
/// an index. Of a subject, the start is read: one character more than `SUBJECT_CHARACTERS`, so that
/// a page sees that it is cut.
macro_rules! list {
    ($side:literal, $order:literal) => {
        concat!(
            "SELECT i.id, i.address, i.project_id, i.kind, i.created_at, i.expires_at, i.message_count, i.activity,
                m.sender, SUBSTR(m.subject, 1, 1001), m.received_at, i.label,
                CASE WHEN $11 = 0 THEN 0 ELSE (SELECT COUNT(*) FROM journal j
                    WHERE j.subject = i.id AND j.project_id = $1 AND j.kind = 'failed' AND j.at >= i.created_at) END,
                CASE WHEN $11 = 0 THEN 0 ELSE (SELECT COUNT(*) FROM journal j
                    WHERE j.subject = i.id AND j.project_id = $1 AND j.kind = 'refused' AND j.at >= i.created_at) END
             FROM (SELECT * FROM (
                    SELECT *, CASE WHEN last_received_at > created_at THEN last_received_at ELSE created_at END
                        AS activity
                    FROM inboxes
                    WHERE project_id = $1 AND ",
            live!("$2"),
            "
                        AND COALESCE(address, id || $9) LIKE $3 ESCAPE '\\'
                        AND ($4 = '' OR kind = $4) AND message_count >= $7
                        AND ($10 = 0 OR EXISTS (SELECT 1 FROM journal j
                            WHERE j.subject = inboxes.id AND j.project_id = $1 AND j.kind IN ('failed', 'refused')
                                AND j.at >= inboxes.created_at))) AS live
                WHERE activity ",
            $side,
            " $5 OR (activity = $5 AND id ",
            $side,
            " $6)
                ORDER BY activity ",
            $order,
            ", id ",
            $order,
            " LIMIT $8) i
             LEFT JOIN messages m
                ON m.inbox_number = i.number AND m.sequence = i.last_sequence AND m.sequence > i.emptied_sequence
                    AND m.content_number IS NOT NULL
             ORDER BY i.activity ",
            $order,
            ", i.id ",
            $order
        )
    };
}

impl Store {
    /// At most `limit` live inboxes of a project with the last message of each, those with the
    /// latest activity first.
    pub async fn list_inboxes(
        &self,
        project: ProjectId,
        filter: &InboxFilter,
        limit: i64,
        now: Timestamp,
    ) -> Result<Vec<InboxSummary>, StoreError> {
        const OLDER: &str = list!("<", "DESC");
        const NEWER: &str = list!(">", "ASC");
        let (sql, activity, id) = match &filter.part {
            ListPart::Start => (OLDER, i64::MAX, ""),
            ListPart::After(activity, id) => (OLDER, activity.as_millis(), id.as_str()),
            ListPart::Before(activity, id) => (NEWER, activity.as_millis(), id.as_str()),
        };
        let parameters = values![
            project,
            now,
            pattern(&filter.address).0,
            filter.kind.map_or("", InboxKind::as_str),
            activity,
            id,
            i64::from(filter.with_mail),
            limit,
            filter.address.domain_part(),
            filter.with_failures,
            filter.counts_failures,
        ];
        let mut found = self.all(sql, parameters, read_summary).await?;
        if sql == NEWER {
            found.reverse();
        }
        Ok(found)
    }

    /// Totals of the live inboxes of a project.
    pub async fn inbox_totals(
        &self,
        project: ProjectId,
        now: Timestamp,
    ) -> Result<InboxTotals, StoreError> {
        const TOTALS: &str = concat!(
            "
            SELECT COUNT(*), COUNT(CASE WHEN message_count > 0 THEN 1 END),
                CAST(COALESCE(SUM(message_count), 0) AS BIGINT)
            FROM inboxes WHERE project_id = $1 AND ",
            live!("$2")
        );
        let read = |row: &mut Row| {
            Ok(InboxTotals {
                inboxes: row.get()?,
                with_mail: row.get()?,
                messages: row.get()?,
            })
        };
        self.only(TOTALS, values![project, now], read).await
    }
}

fn read_summary(row: &mut Row) -> Result<InboxSummary, DatabaseError> {
    Ok(InboxSummary {
        inbox: read_inbox(row)?,
        messages: row.get()?,
        active_at: row.get()?,
        last_sender: row.get()?,
        last_subject: row.get()?,
        last_received_at: row.get()?,
        label: row.get()?,
        timeouts: row.get()?,
        rejections: row.get()?,
    })
}

/// A LIKE pattern for the addresses that a text finds, case-folded and with escaped wildcards; and
/// the address that is exactly this text.
pub(super) fn pattern(text: &SearchText) -> (String, String) {
    // No address contains NUL, and no engine accepts one in text.
    let exact = fold_case(text.as_str()).replace('\0', "\u{fffd}");
    let mut pattern = String::from(if text.begins_address() { "" } else { "%" });
    for character in exact.chars() {
        if matches!(character, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    if !text.is_empty() {
        pattern.push('%');
    }
    (pattern, exact)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Domain;

    #[test]
    fn a_pattern_takes_wildcards_for_themselves() {
        let mail_domain = Domain::parse("restante.example.com").unwrap();
        let pattern = |text| pattern(&SearchText::new(text, &mail_domain)).0;
        assert_eq!(pattern(""), "%");
        assert_eq!(pattern("Save 100%_\\"), "%save 100\\%\\_\\\\%");
        assert_eq!(pattern("U5@shop"), "u5@shop%");
    }
}
