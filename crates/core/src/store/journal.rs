//! The journal: what happened to addresses and is in no other table, at all nodes. Only the latest
//! entries of each project are kept.
//!
//! The position of an entry grows in the order in which entries become visible, so it is also the
//! mark of a page that shows them.

use std::collections::HashSet;

use bytes::Bytes;

use super::{Change, Store, StoreError, live};
use crate::db::{DatabaseError, Row, Transaction, Value, values};
use crate::evidence::{Entry, NewEntry, Recorded, Story};
use crate::large;
use crate::model::{
    Inbox, InboxClaim, Period, ProjectId, RefusedMail, SmtpSession, Timestamp, WaitRecord,
};

/// The lock of a transaction that appends or deletes entries; an arbitrary number that is not used
/// for anything else.
const APPENDING: i64 = 0x7265_7374_616e_7406;
/// Maximum number of entries of each kind that are kept for each project.
const MAX_KEPT: i64 = 5_000;
/// Maximum number of stories, and of rejections.
const MAX_EXPLAINED_KEPT: i64 = 1_000;
/// What a list reads for an entry, on average.
const ENTRY_BYTES: usize = 1_024;
/// The kinds, for the sweeper.
const KINDS: [&str; 5] = [
    InboxClaim::KIND,
    WaitRecord::KIND,
    SmtpSession::KIND,
    RefusedMail::KIND,
    Story::KIND,
];
/// Maximum number of entries that one step of sweeping deletes.
const FORGOTTEN_A_STEP: i64 = 100;
/// Maximum number of bytes of an entry before it is compressed.
const MAX_BYTES: usize = 64 * 1024;

/// A SELECT of entries.
macro_rules! entries {
    ($conditions:literal) => {
        concat!("SELECT project_id, data FROM journal WHERE ", $conditions)
    };
}

impl Store {
    /// Appends entries in the order in which they happened. Does not wait until they are on stable
    /// storage where the engine allows that.
    pub async fn append(&self, entries: Vec<NewEntry>) -> Result<(), StoreError> {
        const INSERT: &str = "
            INSERT INTO journal (project_id, subject, kind, word, key, at, data)
            VALUES ($1, $2, $3, $4, $5, $6, $7)";
        const REPLACE: &str = "
            DELETE FROM journal WHERE project_id = $1 AND kind = $2 AND key = $3 AND position <> (
                SELECT position FROM journal WHERE project_id = $1 AND kind = $2 AND key = $3
                ORDER BY at DESC, position DESC LIMIT 1)";
        const DISPROVE: &str =
            "DELETE FROM journal WHERE project_id = $1 AND kind = $2 AND key = $3 AND at <= $4";
        let disproved = entries
            .iter()
            .filter_map(|NewEntry { project, entry, .. }| {
                let story = entry.disproved_story()?.to_string();
                Some(values![*project, Story::KIND, story, entry.at()])
            })
            .collect();
        let mut replaced = HashSet::new();
        let mut rows = Vec::with_capacity(entries.len());
        // Of those that replace each other, only the last is stored.
        for NewEntry {
            project,
            subject,
            entry,
        } in entries.into_iter().rev()
        {
            let key = entry.key();
            if let Some(key) = &key
                && !replaced.insert((project, entry.kind(), key.clone()))
            {
                continue;
            }
            rows.push(values![
                project,
                subject,
                entry.kind(),
                entry.word(),
                key,
                entry.at(),
                encode(entry)
            ]);
        }
        rows.reverse();
        let replace = replaced
            .into_iter()
            .map(|(project, kind, key)| values![project, kind, key])
            .collect();
        let append = async move |mut transaction: Transaction| {
            transaction.without_flush();
            // So that no position becomes visible after a later one.
            transaction.lock(APPENDING).await?;
            transaction.execute_many(INSERT, rows).await?;
            transaction.execute_many(REPLACE, replace).await?;
            transaction.execute_many(DISPROVE, disproved).await?;
            transaction.notify(Change::Journal);
            Ok(transaction.commit().await?)
        };
        self.database.transact(append).await
    }

    /// Deletes all but the latest entries of these kinds of these projects.
    pub async fn forget_surplus(
        &self,
        kinds: impl IntoIterator<Item = (ProjectId, &'static str)>,
    ) -> Result<(), StoreError> {
        const FORGET: &str = "
            DELETE FROM journal WHERE word <> 'open' AND position IN (
                SELECT position FROM journal WHERE project_id = $1 AND kind = $2
                ORDER BY at DESC, position DESC LIMIT 1000000 OFFSET $3)";
        let kinds = kinds
            .into_iter()
            .map(|(project, kind)| values![project, kind, most_kept(kind)])
            .collect();
        let forget = async move |mut transaction: Transaction| {
            transaction.without_flush();
            transaction.lock(APPENDING).await?;
            transaction.execute_many(FORGET, kinds).await?;
            Ok(transaction.commit().await?)
        };
        self.database.transact(forget).await
    }

    /// The entries of a project, or of all, in a period, newest first, each with its project: at
    /// most `most`, and only those with this word unless it is empty.
    pub async fn recorded<T: Recorded>(
        &self,
        project: Option<ProjectId>,
        word: &str,
        (since, until): (Timestamp, Timestamp),
        most: usize,
    ) -> Result<Vec<(ProjectId, T)>, StoreError> {
        const OF_PROJECT: &str = entries!(
            "kind = $1 AND ($2 = '' OR word = $2) AND at >= $3 AND at <= $4 AND project_id = $6
             ORDER BY at DESC, position DESC LIMIT $5"
        );
        const OF_ALL: &str = entries!(
            "kind = $1 AND ($2 = '' OR word = $2) AND at >= $3 AND at <= $4
             AND project_id IN (SELECT id FROM projects WHERE deleted_at IS NULL)
             ORDER BY at DESC, position DESC LIMIT $5"
        );
        let mut parameters = values![T::KIND, word, since, until, most];
        parameters.extend(project.map(Value::from));
        let sql = match project {
            Some(_) => OF_PROJECT,
            None => OF_ALL,
        };
        let rows = self.database.query(sql, parameters).await?;
        let bytes = rows.len() * ENTRY_BYTES;
        Ok(large::run(bytes, move || read_all(rows)).await??)
    }

    /// The entries about an inbox or an address in a period, newest first: at most `most`.
    pub async fn recorded_about<T: Recorded>(
        &self,
        project: ProjectId,
        subject: &str,
        (since, until): (Timestamp, Timestamp),
        most: usize,
    ) -> Result<Vec<T>, StoreError> {
        const ABOUT: &str = entries!(
            "project_id = $1 AND subject = $2 AND kind = $3 AND at >= $4 AND at <= $5
             ORDER BY at DESC, position DESC LIMIT $6"
        );
        let parameters = values![project, subject, T::KIND, since, until, most];
        let rows = self.database.query(ABOUT, parameters).await?;
        Ok(without_projects(read_all(rows)?))
    }

    /// The entries about an inbox in a period, newest first: at most `most`.
    pub async fn about<T: Recorded>(
        &self,
        inbox: &Inbox,
        times: (Timestamp, Timestamp),
        most: usize,
    ) -> Result<Vec<T>, StoreError> {
        let subject = inbox.id.as_str();
        let entries = self.recorded_about(inbox.project, subject, times, most);
        entries.await
    }

    /// The entry with this key, in any project.
    pub async fn recorded_with_key<T: Recorded>(&self, key: &str) -> Result<Option<T>, StoreError> {
        const ENTRY: &str = entries!(
            "key = $1 AND kind = $2 AND project_id IN (SELECT id FROM projects WHERE deleted_at IS NULL)"
        );
        let rows = self.database.query(ENTRY, values![key, T::KIND]).await?;
        Ok(without_projects(read_all(rows)?).pop())
    }

    /// The number of entries of a kind in a project since then.
    pub async fn count_recorded<T: Recorded>(
        &self,
        project: ProjectId,
        since: Timestamp,
    ) -> Result<i64, StoreError> {
        const COUNT: &str =
            "SELECT COUNT(*) FROM journal WHERE project_id = $1 AND kind = $2 AND at >= $3";
        let parameters = values![project, T::KIND, since];
        self.only(COUNT, parameters, Row::get).await
    }

    /// The newest rejections in a period, of mail to an inbox and of mail to no known recipient in
    /// its project. Those of `default_project` without a key and a known recipient may concern
    /// any project. They are returned without addresses, because the sender may be a client of
    /// another project.
    pub async fn rejections_of(
        &self,
        inbox: &Inbox,
        default_project: ProjectId,
        period: Period,
        most: usize,
    ) -> Result<Vec<RefusedMail>, StoreError> {
        let project = inbox.project;
        let times = (period.since, period.until);
        let mut all: Vec<RefusedMail> = self.about(inbox, times, most).await?;
        let mut unnamed: Vec<RefusedMail> = self.recorded_about(project, "", times, most).await?;
        unnamed
            .iter_mut()
            .for_each(|refused| refused.sender.clear());
        if project != default_project {
            let mut keyless: Vec<RefusedMail> = self
                .recorded_about(default_project, "", times, most)
                .await?;
            keyless.retain(|refused| !refused.authenticated);
            for refused in &mut keyless {
                refused.sender.clear();
                refused.recipient.clear();
            }
            unnamed.extend(keyless);
            unnamed.sort_by_key(|refused| std::cmp::Reverse(refused.refused_at));
        }
        // Rejections of mail to the inbox first, so that other clients displace none of them.
        all.extend(unnamed);
        all.truncate(most);
        Ok(all)
    }

    /// The keys of the stories of waits that ended since `since` on inboxes that received mail after
    /// that, each with the time of the latest: of one project, or of all. Those whose late message
    /// is known are complete.
    pub async fn stories_with_later_mail(
        &self,
        project: Option<ProjectId>,
        since: Timestamp,
        now: Timestamp,
    ) -> Result<Vec<(String, Timestamp)>, StoreError> {
        const LATER: &str = concat!(
            "SELECT j.key, i.last_received_at
             FROM journal j JOIN inboxes i ON i.id = j.subject AND i.project_id = j.project_id
             WHERE j.project_id >= $1 AND j.project_id <= $2 AND j.kind = $3 AND j.at >= $4 AND j.word <> 'late'
                AND i.last_received_at > j.at AND ",
            live!("i.", "$5"),
            " ORDER BY j.at, j.position LIMIT 1000"
        );
        let (first, last) = project.map_or((uuid::Uuid::nil(), uuid::Uuid::max()), |project| {
            (project.0, project.0)
        });
        let parameters = values![first, last, Story::KIND, since, now];
        let read = |row: &mut Row| Ok((row.get()?, row.get()?));
        self.all(LATER, parameters, read).await
    }
}

/// Deletes entries that are older than `before`, and those of deleted projects. Returns whether
/// there were any.
pub(super) async fn forget(
    transaction: &mut Transaction,
    before: Timestamp,
) -> Result<bool, StoreError> {
    const FORGET: &str = "
        DELETE FROM journal WHERE position IN (
            SELECT position FROM journal WHERE kind = $1 AND at <= $2 ORDER BY at, position LIMIT $3)";
    const FORGET_DELETED: &str = "
        DELETE FROM journal WHERE position IN (
            SELECT position FROM journal WHERE project_id IN (SELECT id FROM projects WHERE deleted_at IS NOT NULL)
            LIMIT $1)";
    transaction.lock(APPENDING).await?;
    let old = KINDS
        .map(|kind| values![kind, before, FORGOTTEN_A_STEP])
        .into();
    let old = transaction.execute_many(FORGET, old).await?;
    let deleted = transaction
        .execute(FORGET_DELETED, values![FORGOTTEN_A_STEP])
        .await?;
    Ok(old + deleted > 0)
}

fn most_kept(kind: &str) -> i64 {
    if [Story::KIND, RefusedMail::KIND].contains(&kind) {
        MAX_EXPLAINED_KEPT
    } else {
        MAX_KEPT
    }
}

/// JSON, compressed, of limited size.
fn encode(mut entry: Entry) -> Bytes {
    let json = |entry: &Entry| serde_json::to_vec(entry).expect("its types have a form in JSON");
    if let Entry::Failed(story) = &mut entry {
        story.shorten_texts();
    }
    let mut form = json(&entry);
    while let Entry::Failed(story) = &mut entry
        && form.len() > MAX_BYTES
        && story.shorten()
    {
        form = json(&entry);
    }
    lz4_flex::compress_prepend_size(&form).into()
}

/// The entry in this form; `None` if another version of this program has written it in another one.
fn decode<T: Recorded>(form: &[u8]) -> Option<T> {
    let size = form
        .first_chunk()
        .map_or(usize::MAX, |size| u32::from_le_bytes(*size) as usize);
    let json = (size <= 4 * MAX_BYTES)
        .then(|| lz4_flex::decompress_size_prepended(form).ok())
        .flatten();
    let entry = json.and_then(|json| serde_json::from_slice(&json).ok());
    if entry.is_none() {
        tracing::warn!(kind = T::KIND, "an entry of the journal cannot be read");
    }
    entry
}

fn read_all<T: Recorded>(rows: Vec<Row>) -> Result<Vec<(ProjectId, T)>, DatabaseError> {
    let read = |row: &mut Row| {
        let project = row.get()?;
        Ok(decode(&row.get::<Bytes>()?).map(|entry| (project, entry)))
    };
    Ok(Row::all(rows, read)?.into_iter().flatten().collect())
}

fn without_projects<T>(entries: Vec<(ProjectId, T)>) -> Vec<T> {
    entries.into_iter().map(|(_, entry)| entry).collect()
}
