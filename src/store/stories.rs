//! The stories of waits that timed out: rows on both engines, so that they outlive their inbox and
//! a restart. Only the latest of each project are kept.

use std::collections::{BTreeSet, HashSet};
use std::time::Duration;

use uuid::Uuid;

use super::{Change, Store, StoreError, story_form};
use crate::db::{DatabaseError, Row, Transaction, Value, values};
use crate::model::{
    Cause, Domain, Failure, FailureFilter, Finding, Inbox, InboxEnd, InboxId, MessageFilter,
    ProjectId, SharedAddress, Story, Timestamp, WaitEnd, WaitRecord, fold_case,
};

/// Maximum number of stories that are kept for each project.
const MAX_STORIES_KEPT: i64 = 1_000;
/// Maximum number of stories that one step of sweeping deletes.
const FORGOTTEN_A_STEP: i64 = 100;

/// A SELECT of the columns of a [`Failure`]. Those of a deleted project remain only until the
/// sweeper has deleted them.
macro_rules! failures {
    ($more:literal, $conditions:literal) => {
        concat!(
            "SELECT id, project_id, inbox_id, inbox_address, inbox_created_at, filter, started_at, timeout_millis, ended_at,
                label, cause, origin, summary, inbox_end, inbox_ended_at",
            $more,
            " FROM stories WHERE project_id IN (SELECT id FROM projects WHERE deleted_at IS NULL) AND ",
            $conditions
        )
    };
}

impl Store {
    /// Stores stories, and deletes the oldest of their projects.
    pub async fn add_stories(&self, stories: &[Story]) -> Result<(), StoreError> {
        const INSERT: &str = "
            INSERT INTO stories (id, project_id, inbox_id, inbox_address, inbox_created_at, filter, started_at,
                timeout_millis, ended_at, label, cause, origin, summary, inbox_end, inbox_ended_at, group_key,
                compared_until, data)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $9, $17)
            ON CONFLICT (id) DO NOTHING";
        const FORGET: &str = "
            DELETE FROM stories WHERE project_id = $1 AND ended_at <= (
                SELECT ended_at FROM stories WHERE project_id = $1 ORDER BY ended_at DESC, id DESC LIMIT 1 OFFSET $2)";
        let rows = stories.iter().map(row).collect();
        let projects: BTreeSet<Uuid> = stories
            .iter()
            .map(|story| story.failure.wait.project.0)
            .collect();
        let forget = projects
            .into_iter()
            .map(|project| values![project, MAX_STORIES_KEPT])
            .collect();
        let add = async move |mut transaction: Transaction| {
            transaction.execute_many(INSERT, rows).await?;
            transaction.execute_many(FORGET, forget).await?;
            transaction.notify(Change::Failures);
            Ok(transaction.commit().await?)
        };
        self.database.transact(add).await
    }

    /// The story with this id, in any project.
    pub async fn story(&self, id: Uuid) -> Result<Option<Story>, StoreError> {
        const STORY: &str = failures!(", data", "id = $1");
        let rows = self.database.query(STORY, values![id]).await?;
        rows.into_iter().next().map(read_story).transpose()
    }

    /// The id of the latest wait on `inbox` with this filter that timed out, if it ended since
    /// `since`.
    pub async fn latest_failure(
        &self,
        inbox: &Inbox,
        filter: &MessageFilter,
        since: Timestamp,
    ) -> Result<Option<Uuid>, StoreError> {
        const LATEST: &str = failures!(
            "",
            "inbox_id = $1 AND project_id = $2 AND inbox_created_at = $3 AND ended_at >= $4
             ORDER BY ended_at DESC, id DESC"
        );
        let parameters = values![&inbox.id, inbox.project, inbox.created_at, since];
        for mut row in self.database.query(LATEST, parameters).await? {
            let wait = read_failure(&mut row)?.wait;
            // Who asks later does not say what only the client compared.
            let same = MessageFilter {
                client: filter.client.clone(),
                began: filter.began.clone(),
                ..wait.filter.clone()
            };
            if same == *filter {
                return Ok(Some(wait.id));
            }
        }
        Ok(None)
    }

    /// The ids of the stories of waits on `inbox` that ended since `since`.
    pub async fn stories_of(
        &self,
        inbox: &Inbox,
        since: Timestamp,
    ) -> Result<HashSet<Uuid>, StoreError> {
        const IDS: &str = "
            SELECT id FROM stories
            WHERE inbox_id = $1 AND project_id = $2 AND inbox_created_at = $3 AND ended_at >= $4";
        let parameters = values![&inbox.id, inbox.project, inbox.created_at, since];
        let rows = self.database.query(IDS, parameters).await?;
        Ok(rows
            .into_iter()
            .map(|mut row| row.uuid())
            .collect::<Result<_, _>>()?)
    }

    /// The failures that match `filter`, newest first: at most `limit`.
    pub async fn failures(
        &self,
        filter: &FailureFilter,
        mail_domain: &Domain,
        limit: usize,
    ) -> Result<Vec<Failure>, StoreError> {
        const FIND: &str = failures!(
            "",
            "($1 = 0 OR project_id = $2) AND ($3 = '' OR cause = $3) AND ($4 = '' OR group_key = $4)
             AND ended_at >= $5 AND ended_at < $6 ORDER BY ended_at DESC, id DESC LIMIT $7"
        );
        let id = filter.project.map_or(Uuid::nil(), |project| project.0);
        let cause = filter.cause.map_or("", Cause::as_str);
        let group = filter.group.as_deref().unwrap_or_default();
        let since = filter.since.map_or(0, Timestamp::as_millis);
        let before = filter.before.map_or(i64::MAX, Timestamp::as_millis);
        let wanted = fold_case(&filter.text);
        let most = if wanted.is_empty() {
            Value::from(limit)
        } else {
            MAX_STORIES_KEPT.into()
        };
        let parameters = values![
            filter.project.is_some(),
            id,
            cause,
            group,
            since,
            before,
            most
        ];
        let mut found = Vec::new();
        for mut row in self.database.query(FIND, parameters).await? {
            let failure = read_failure(&mut row)?;
            let fields = [Some(failure.address(mail_domain)), failure.label.clone()];
            if fields
                .into_iter()
                .flatten()
                .any(|field| fold_case(&field).contains(&*wanted))
            {
                found.push(failure);
            }
        }
        found.truncate(limit);
        Ok(found)
    }

    /// The number of failures of a project since `since`, of each group: the key, the number, and
    /// when the last wait ended. The group with the latest failure first.
    pub async fn failure_groups(
        &self,
        project: ProjectId,
        since: Timestamp,
    ) -> Result<Vec<(String, i64, Timestamp)>, StoreError> {
        const GROUPS: &str = "
            SELECT group_key, COUNT(*), MAX(ended_at) FROM stories WHERE project_id = $1 AND ended_at >= $2
            GROUP BY group_key ORDER BY MAX(ended_at) DESC, group_key";
        let rows = self.database.query(GROUPS, values![project, since]).await?;
        let group = |mut row: Row| {
            Ok((
                row.text()?,
                row.integer()?,
                Timestamp::from_millis(row.integer()?),
            ))
        };
        Ok(rows
            .into_iter()
            .map(group)
            .collect::<Result<_, DatabaseError>>()?)
    }

    /// The stories of waits that ended since `since` on inboxes that received mail after that,
    /// which has not been compared with the wait yet: of one project, or of all. Those whose late
    /// message is known are complete.
    pub async fn stories_with_later_mail(
        &self,
        project: Option<ProjectId>,
        since: Timestamp,
        now: Timestamp,
    ) -> Result<Vec<(Uuid, Timestamp)>, StoreError> {
        const LATER: &str = concat!(
            "SELECT s.id, i.last_received_at FROM stories s JOIN inboxes i ON i.id = s.inbox_id
             WHERE s.ended_at >= $1 AND s.cause <> 'late' AND ($2 = 0 OR s.project_id = $3)
                AND i.project_id = s.project_id
                AND i.created_at = s.inbox_created_at AND i.last_received_at > s.compared_until AND ",
            crate::store::live!("i.", "$4"),
            " ORDER BY s.ended_at LIMIT 100"
        );
        let id = project.map_or(Uuid::nil(), |project| project.0);
        let rows = self
            .database
            .query(LATER, values![since, project.is_some(), id, now])
            .await?;
        let later = rows
            .into_iter()
            .map(|mut row| Ok((row.uuid()?, Timestamp::from_millis(row.integer()?))));
        Ok(later.collect::<Result<_, DatabaseError>>()?)
    }

    /// Records that mail up to `until` was compared with the wait of a story; it is its cause if
    /// `story` is given.
    pub async fn amend_story(
        &self,
        id: Uuid,
        until: Timestamp,
        story: Option<&Story>,
    ) -> Result<(), StoreError> {
        const COMPARED: &str = "UPDATE stories SET compared_until = $2 WHERE id = $1";
        const AMEND: &str = "
            UPDATE stories SET compared_until = $2, cause = $3, origin = $4, summary = $5, group_key = $6, data = $7
            WHERE id = $1";
        let Some(story) = story else {
            self.change(COMPARED, values![id, until], None).await?;
            return Ok(());
        };
        let finding = &story.failure.finding;
        let parameters = values![
            id,
            until,
            finding.cause.as_str(),
            stored_text(&finding.origin),
            stored_text(&finding.marked),
            finding.group(),
            story_form::encode(story),
        ];
        self.change(AMEND, parameters, Some(Change::Failures))
            .await?;
        Ok(())
    }

    /// The number of failures of a project since `since`.
    pub async fn count_failures(
        &self,
        project: ProjectId,
        since: Timestamp,
    ) -> Result<i64, StoreError> {
        const COUNT: &str = "SELECT COUNT(*) FROM stories WHERE project_id = $1 AND ended_at >= $2";
        let rows = self.database.query(COUNT, values![project, since]).await?;
        Ok(Row::only_integer(rows)?)
    }

    /// The mark of the failures of a project: a version that is different after they have changed.
    pub async fn failures_mark(&self, project: ProjectId) -> Result<String, StoreError> {
        const MARK: &str = "
            SELECT COUNT(*), COALESCE(MAX(ended_at), 0), COALESCE(SUM(CASE WHEN cause = 'late' THEN 1 ELSE 0 END), 0)
            FROM stories WHERE project_id = $1";
        let rows = self.database.query(MARK, values![project]).await?;
        let mut row = rows.into_iter().next().ok_or(DatabaseError::NoRow)?;
        Ok(format!(
            "{}-{}-{}",
            row.integer()?,
            row.integer()?,
            row.integer()?
        ))
    }
}

/// Deletes stories of waits that ended before `ended_before`, and those of deleted projects.
/// Returns whether there were any.
pub(super) async fn forget(
    transaction: &mut Transaction,
    ended_before: Timestamp,
) -> Result<bool, StoreError> {
    const FORGET: &str = "
        DELETE FROM stories WHERE id IN (
            SELECT id FROM stories WHERE ended_at <= $1 ORDER BY ended_at LIMIT $2)";
    const FORGET_DELETED: &str = "
        DELETE FROM stories WHERE id IN (
            SELECT id FROM stories WHERE project_id IN (SELECT id FROM projects WHERE deleted_at IS NOT NULL)
            LIMIT $1)";
    let old = transaction
        .execute(FORGET, values![ended_before, FORGOTTEN_A_STEP])
        .await?;
    let deleted = transaction
        .execute(FORGET_DELETED, values![FORGOTTEN_A_STEP])
        .await?;
    Ok(old + deleted > 0)
}

fn row(story: &Story) -> Vec<Value> {
    let Failure {
        wait,
        label,
        finding,
        ended,
    } = &story.failure;
    let inbox_ended_at = ended.map(|(InboxEnd::Expired(at) | InboxEnd::Deleted(at))| at);
    let inbox_end = ended.map(|end| {
        if matches!(end, InboxEnd::Expired(_)) {
            "expired"
        } else {
            "deleted"
        }
    });
    values![
        wait.id,
        wait.project,
        &wait.inbox,
        wait.shared.as_ref(),
        wait.inbox_created_at,
        serde_json::to_string(&wait.filter).expect("its types have a form in JSON"),
        wait.started_at,
        i64::try_from(wait.timeout.as_millis()).unwrap_or(i64::MAX),
        story.failure.ended_at(),
        label.as_deref(),
        finding.cause.as_str(),
        stored_text(&finding.origin),
        stored_text(&finding.marked),
        inbox_end,
        inbox_ended_at,
        finding.group(),
        story_form::encode(story),
    ]
}

/// A text without NUL, which PostgreSQL does not store.
fn stored_text(text: &str) -> String {
    text.replace('\0', " ")
}

fn read_failure(row: &mut Row) -> Result<Failure, StoreError> {
    let wait = WaitRecord {
        id: row.uuid()?,
        project: ProjectId(row.uuid()?),
        inbox: InboxId::from_stored(row.text()?),
        shared: row.optional_text()?.map(SharedAddress::from_stored),
        inbox_created_at: Timestamp::from_millis(row.integer()?),
        filter: serde_json::from_str(&row.text()?)
            .map_err(|_| StoreError::Damaged("the filter of a failed wait"))?,
        started_at: Timestamp::from_millis(row.integer()?),
        timeout: Duration::from_millis(row.count()?),
        end: Some((Timestamp::from_millis(row.integer()?), WaitEnd::Timeout)),
    };
    let label = row.optional_text()?;
    let cause = Cause::of_word(&row.text()?).ok_or(StoreError::Damaged(
        "a failed wait has a cause that this version does not know",
    ))?;
    let origin = row.text()?;
    let marked = row.text()?;
    let end = row.optional_text()?;
    let at = row.optional_integer()?.map(Timestamp::from_millis);
    let ended = at.map(|at| {
        if end.as_deref() == Some("expired") {
            InboxEnd::Expired(at)
        } else {
            InboxEnd::Deleted(at)
        }
    });
    Ok(Failure {
        wait,
        label,
        finding: Finding {
            cause,
            marked,
            origin,
        },
        ended,
    })
}

fn read_story(mut row: Row) -> Result<Story, StoreError> {
    let failure = read_failure(&mut row)?;
    // The cause and the sentence are useful without the evidence.
    let (evidence, timeline) = story_form::decode(&row.bytes()?).unwrap_or_else(|error| {
        tracing::warn!(%error, id = %failure.wait.id, "the evidence of a failure is damaged");
        Default::default()
    });
    Ok(Story {
        failure,
        evidence,
        timeline,
    })
}
