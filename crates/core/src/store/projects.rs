//! Projects and their keys.

use super::{Change, Store, StoreError, live, until_undisturbed};
use crate::db::{DatabaseError, Row, Transaction, Value, values};
use crate::model::{ApiKey, KeyHash, Project, ProjectId, Timestamp, WorkingKey};

const LIVE_BY_NAME: &str = "SELECT id FROM projects WHERE name = $1 AND deleted_at IS NULL";

/// A change of a project's keys locks the project, so that two simultaneous changes never leave two
/// live keys.
const HOLD_PROJECT: &str = "SELECT id FROM projects WHERE id = $1 {for_update}";

/// A SELECT of live projects; `$1` is the current time.
macro_rules! project_columns {
    ($rest:literal) => {
        concat!(
            "SELECT id, name, is_default, created_at,
                COALESCE((SELECT last_four FROM api_keys WHERE project_id = projects.id
                          ORDER BY created_at DESC, expires_at IS NULL DESC LIMIT 1), ''),
                (SELECT COUNT(*) FROM inboxes
                 WHERE project_id = projects.id AND ",
            live!("$1"),
            ")
             FROM projects WHERE deleted_at IS NULL ",
            $rest
        )
    };
}

impl Store {
    /// Creates a project with its first key; `None` if another project has the name.
    pub async fn create_project(
        &self,
        name: &str,
        key: &ApiKey,
        now: Timestamp,
    ) -> Result<Option<ProjectId>, StoreError> {
        let name = name.to_owned();
        let key = key.clone();
        let create = async move |mut transaction: Transaction| {
            let Some(project) = insert_project(&mut transaction, &name, false, now).await? else {
                return Ok(None);
            };
            insert_key(&mut transaction, project, &key, now).await?;
            transaction.commit().await?;
            Ok(Some(project))
        };
        self.database.transact(create).await
    }

    /// The default project, which is created if it is missing.
    pub async fn default_project(
        &self,
        name: &str,
        now: Timestamp,
    ) -> Result<ProjectId, StoreError> {
        const DEFAULT: &str = "SELECT id FROM projects WHERE is_default = 1";
        let name = name.to_owned();
        let find_or_make = async move |mut transaction: Transaction| {
            let known = transaction.query(DEFAULT, vec![]).await?;
            if let Some(known) = Row::first(known, Row::get)? {
                return Ok(known);
            }
            if let Some(made) = insert_project(&mut transaction, &name, true, now).await? {
                transaction.commit().await?;
                return Ok(made);
            }
            // Another node has just created it.
            let rows = transaction.query(DEFAULT, vec![]).await?;
            Ok(Row::only(rows, Row::get)?)
        };
        self.database.transact(find_or_make).await
    }

    /// The live project called `name`.
    pub async fn project_by_name(&self, name: &str) -> Result<Option<ProjectId>, StoreError> {
        self.first(LIVE_BY_NAME, values![name], Row::get).await
    }

    /// All live projects, oldest first.
    pub async fn projects(&self, now: Timestamp) -> Result<Vec<Project>, StoreError> {
        const ALL: &str = project_columns!("ORDER BY created_at, id");
        self.all(ALL, values![now], read_project).await
    }

    /// The live project `id`.
    pub async fn project(
        &self,
        id: ProjectId,
        now: Timestamp,
    ) -> Result<Option<Project>, StoreError> {
        const ONE: &str = project_columns!("AND id = $2");
        Ok(self.all(ONE, values![now, id], read_project).await?.pop())
    }

    /// How many projects have been deleted, and may still have reserved addresses.
    pub async fn deleted_projects(&self) -> Result<i64, StoreError> {
        const DELETED: &str = "SELECT COUNT(*) FROM projects WHERE deleted_at IS NOT NULL";
        self.only(DELETED, vec![], Row::get).await
    }

    /// The project of this key, if it is valid at `now`.
    pub async fn project_of_key(
        &self,
        hash: &KeyHash,
        now: Timestamp,
    ) -> Result<Option<ProjectId>, StoreError> {
        Ok(self
            .working_key(hash, now)
            .await?
            .map(|(project, _)| project))
    }

    /// The project of this key, and when the key expires, if it is valid at `now`.
    pub async fn working_key(
        &self,
        hash: &KeyHash,
        now: Timestamp,
    ) -> Result<Option<(ProjectId, Option<Timestamp>)>, StoreError> {
        const OWNER: &str = "
            SELECT project_id, expires_at FROM api_keys JOIN projects ON projects.id = project_id
            WHERE hash = $1 AND (expires_at IS NULL OR expires_at > $2) AND deleted_at IS NULL";
        let read = |row: &mut Row| Ok((row.get()?, row.get()?));
        self.first(OWNER, values![*hash, now], read).await
    }

    /// The newest valid key of a project.
    pub async fn newest_key(
        &self,
        project: ProjectId,
        now: Timestamp,
    ) -> Result<Option<KeyHash>, StoreError> {
        const NEWEST: &str = "
            SELECT hash FROM api_keys WHERE project_id = $1 AND (expires_at IS NULL OR expires_at > $2)
            ORDER BY created_at DESC, hash LIMIT 1";
        self.first(NEWEST, values![project, now], Row::get).await
    }

    /// The valid keys of a project, newest first.
    pub async fn keys(
        &self,
        project: ProjectId,
        now: Timestamp,
    ) -> Result<Vec<WorkingKey>, StoreError> {
        const KEYS: &str = "
            SELECT last_four, created_at, expires_at FROM api_keys
            WHERE project_id = $1 AND (expires_at IS NULL OR expires_at > $2) ORDER BY created_at DESC, hash";
        let key = |row: &mut Row| {
            Ok(WorkingKey {
                last_four: row.get()?,
                created_at: row.get()?,
                expires_at: row.get()?,
            })
        };
        self.all(KEYS, values![project, now], key).await
    }

    /// Adds the first key of the project; `false` if it has a valid key at `now`.
    pub async fn add_first_key(
        &self,
        project: ProjectId,
        key: &ApiKey,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        const KEYS: &str = "
            SELECT 1 FROM api_keys WHERE project_id = $1 AND (expires_at IS NULL OR expires_at > $2) LIMIT 1";
        let key = key.clone();
        let add = async move |mut transaction: Transaction| {
            let id = Value::from(project);
            transaction.query(HOLD_PROJECT, vec![id.clone()]).await?;
            if !transaction
                .query(KEYS, vec![id, now.into()])
                .await?
                .is_empty()
            {
                return Ok(false);
            }
            let added = insert_key(&mut transaction, project, &key, now).await?;
            transaction.commit().await?;
            Ok(added)
        };
        self.database.transact(add).await
    }

    /// Makes `key` the current key of the project; its other keys end at `others_end`. `false` if
    /// the key belongs to another project.
    pub async fn replace_key(
        &self,
        project: ProjectId,
        key: &ApiKey,
        others_end: Timestamp,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        const END_OTHERS: &str = "
            UPDATE api_keys SET expires_at = $3
            WHERE project_id = $1 AND hash <> $2 AND (expires_at IS NULL OR expires_at > $3)";
        let key = key.clone();
        let replace = async move |mut transaction: Transaction| {
            let id = Value::from(project);
            transaction.query(HOLD_PROJECT, vec![id.clone()]).await?;
            if !insert_key(&mut transaction, project, &key, now).await? {
                return Ok(false);
            }
            let hash = Value::from(key.hash());
            transaction
                .execute(END_OTHERS, vec![id, hash, others_end.into()])
                .await?;
            transaction.commit().await?;
            Ok(true)
        };
        self.database.transact(replace).await
    }

    /// Renames a project; `false` if another project has the name or there is no such project.
    pub async fn rename_project(&self, project: ProjectId, name: &str) -> Result<bool, StoreError> {
        const RENAME: &str = "UPDATE projects SET name = $2 WHERE id = $1 AND deleted_at IS NULL";
        let id = Value::from(project);
        let name = Value::from(name);
        let rename = async move |mut transaction: Transaction| {
            if !transaction
                .query(LIVE_BY_NAME, vec![name.clone()])
                .await?
                .is_empty()
            {
                return Ok(false);
            }
            let renamed = transaction.execute(RENAME, vec![id, name]).await?;
            transaction.commit().await?;
            Ok(renamed == 1)
        };
        self.database.transact(rename).await
    }

    /// Deletes a project: its keys become invalid and its inboxes end. Its addresses remain
    /// reserved. `false` if `name` is the default project or does not exist.
    pub async fn delete_project(&self, name: &str, now: Timestamp) -> Result<bool, StoreError> {
        let name = Value::from(name);
        until_undisturbed(|| {
            let name = name.clone();
            self.database
                .transact(async move |transaction| delete_project(transaction, name, now).await)
        })
        .await
    }
}

async fn delete_project(
    mut transaction: Transaction,
    name: Value,
    now: Timestamp,
) -> Result<bool, StoreError> {
    const DELETE: &str = "
            UPDATE projects SET deleted_at = $2 WHERE name = $1 AND deleted_at IS NULL AND is_default = 0 RETURNING id";
    const ATTEMPTS: &str =
        "DELETE FROM attempts WHERE outgoing_id IN (SELECT id FROM outgoing WHERE project_id = $1)";
    const CHUNKS: &str = "DELETE FROM outgoing_chunks WHERE outgoing_id IN (SELECT id FROM outgoing WHERE project_id = $1)";
    const END_INBOXES: &str = concat!(
        "
            UPDATE inboxes SET kind = 'temporary', expires_at = $2, deleted_at = $2, closed = 1, message_count = 0,
                emptied_sequence = last_sequence, retention_days = NULL
            WHERE project_id = $1 AND ",
        live!("$2"),
        " RETURNING id"
    );
    let deleted = transaction.query(DELETE, vec![name, now.into()]).await?;
    let Some(mut row) = deleted.into_iter().next() else {
        return Ok(false);
    };
    let id = Value::from(row.get::<ProjectId>()?);
    transaction
        .execute(
            "DELETE FROM api_keys WHERE project_id = $1",
            vec![id.clone()],
        )
        .await?;
    transaction.execute(ATTEMPTS, vec![id.clone()]).await?;
    transaction.execute(CHUNKS, vec![id.clone()]).await?;
    transaction
        .execute(
            "DELETE FROM outgoing WHERE project_id = $1",
            vec![id.clone()],
        )
        .await?;
    for mut row in transaction.query(END_INBOXES, vec![id, now.into()]).await? {
        transaction.notify(Change::Inbox(row.get()?));
    }
    transaction.notify(Change::Projects);
    transaction.commit().await?;
    Ok(true)
}

fn read_project(row: &mut Row) -> Result<Project, DatabaseError> {
    Ok(Project {
        id: row.get()?,
        name: row.get()?,
        is_default: row.get()?,
        created_at: row.get()?,
        key_last_four: row.get()?,
        inboxes: row.get()?,
    })
}

async fn insert_project(
    transaction: &mut Transaction,
    name: &str,
    is_default: bool,
    now: Timestamp,
) -> Result<Option<ProjectId>, DatabaseError> {
    const INSERT: &str = "
        INSERT INTO projects (id, name, is_default, created_at) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING";
    let id = ProjectId(uuid::Uuid::now_v7());
    let parameters = values![id, name, is_default, now];
    let made = transaction.execute(INSERT, parameters).await?;
    Ok((made == 1).then_some(id))
}

/// Stores a key, or makes the project's own key valid again; `false` if it belongs to another
/// project.
async fn insert_key(
    transaction: &mut Transaction,
    project: ProjectId,
    key: &ApiKey,
    now: Timestamp,
) -> Result<bool, DatabaseError> {
    const INSERT: &str = "
        INSERT INTO api_keys (hash, project_id, last_four, created_at) VALUES ($1, $2, $3, $4)
        ON CONFLICT (hash) DO UPDATE SET expires_at = NULL WHERE api_keys.project_id = $2";
    let hash = key.hash();
    let parameters = values![hash, project, key.last_four(), now];
    Ok(transaction.execute(INSERT, parameters).await? == 1)
}
