//! Creates, finds and ends inboxes.

use super::{Change, Store, StoreError, live};
use crate::db::{DatabaseError, Row, Transaction, Value, values};
use crate::model::{Inbox, InboxId, InboxKind, ProjectId, Timestamp};

impl Store {
    /// Creates an inbox; `false` if its id is in use or reserved.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn create_inbox(&self, inbox: &Inbox) -> Result<bool, StoreError> {
        self.create_labelled_inbox(inbox, None).await
    }

    /// Like [`Store::create_inbox`], with a label that the dashboard shows.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn create_labelled_inbox(&self, inbox: &Inbox, label: Option<&str>) -> Result<bool, StoreError> {
        const CREATE: &str = "
            INSERT INTO inboxes (id, project_id, kind, created_at, expires_at, label) VALUES ($1, $2, $3, $4, $5, $6)
            ON CONFLICT (id) DO NOTHING";
        let mut parameters = with_all_fields(inbox);
        parameters.extend(values![label]);
        self.change_inbox(CREATE, &inbox.id, parameters).await
    }

    /// The label of an inbox, if it was created with one.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn label(&self, inbox: &Inbox) -> Result<Option<String>, StoreError> {
        const LABEL: &str = "SELECT label FROM inboxes WHERE id = $1 AND project_id = $2";
        let rows = self.database.look_up(LABEL, values![&inbox.id, inbox.project]).await?;
        Ok(rows.into_iter().next().map(|mut row| row.optional_text()).transpose()?.flatten())
    }

    /// Creates `inbox`, empty, even if its address is reserved for its own project. `false` if the address is a live
    /// inbox or belongs to another project. An address with a tag belongs to the owner of the address without it.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn claim_inbox(&self, inbox: &Inbox) -> Result<bool, StoreError> {
        const CLAIM: &str = "
            INSERT INTO inboxes (id, project_id, kind, created_at, expires_at) VALUES ($1, $2, $3, $4, $5)
            ON CONFLICT (id) DO UPDATE SET project_id = $2, kind = $3, created_at = $4, expires_at = $5,
                deleted_at = NULL, opened_by_mail = 0, label = NULL, closed = 0, message_count = 0,
                emptied_sequence = inboxes.last_sequence,
                faults_left = CASE WHEN inboxes.faults_left IS NULL THEN NULL ELSE -1 END
            WHERE ($6 = 1 OR inboxes.project_id = $2) AND (inboxes.closed = 1 OR inboxes.expires_at <= $4)";
        const OWNER: &str = "SELECT project_id FROM inboxes WHERE id = $1 {for_update}";
        let inbox = inbox.clone();
        let claim = async move |mut transaction: Transaction| {
            let mut owns_base = false;
            if let Some(base) = inbox.id.without_tag() {
                let rows = transaction.query(OWNER, values![&base]).await?;
                let owner = rows.into_iter().next().map(|mut row| row.uuid()).transpose()?.map(ProjectId);
                if owner.is_some_and(|owner| owner != inbox.project) {
                    return Ok(false);
                }
                owns_base = owner.is_some();
            }
            let mut parameters = with_all_fields(&inbox);
            parameters.extend(values![owns_base]);
            let claimed = transaction.execute(CLAIM, parameters).await? == 1;
            transaction.notify(Change::Inbox(inbox.id));
            transaction.commit().await?;
            Ok(claimed)
        };
        self.database.transact(claim).await
    }

    /// The live inbox `id` of any project.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn live_inbox(&self, id: &InboxId, now: Timestamp) -> Result<Option<Inbox>, StoreError> {
        const LIVE: &str = concat!(
            "
            SELECT id, project_id, kind, created_at, expires_at FROM inboxes
            WHERE id = $1 AND ",
            live!("$2")
        );
        let rows = self.database.look_up(LIVE, values![id, now]).await?;
        Ok(rows.into_iter().next().map(|mut row| read_inbox(&mut row)).transpose()?)
    }

    /// The live inbox `id` of `project`.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn inbox(&self, project: ProjectId, id: &InboxId, now: Timestamp) -> Result<Option<Inbox>, StoreError> {
        Ok(self.live_inbox(id, now).await?.filter(|inbox| inbox.project == project))
    }

    /// Ends a live inbox, temporary or permanent, so that its messages can no longer be read; its address is then
    /// reserved. `false` if there was none.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn end_inbox(&self, inbox: &Inbox, now: Timestamp) -> Result<bool, StoreError> {
        const END: &str = concat!(
            "
            UPDATE inboxes SET kind = 'temporary', expires_at = $2, deleted_at = $2, closed = 1, message_count = 0,
                emptied_sequence = last_sequence, retention_days = NULL
            WHERE id = $1 AND project_id = $3 AND kind = $4 AND ",
            live!("$2")
        );
        self.change_inbox(END, &inbox.id, values![&inbox.id, now, inbox.project, inbox.kind]).await
    }

    /// Runs `sql`, which changes one inbox; returns whether it did.
    async fn change_inbox(&self, sql: &'static str, id: &InboxId, parameters: Vec<Value>) -> Result<bool, StoreError> {
        Ok(self.change(sql, parameters, Some(Change::Inbox(id.clone()))).await? == 1)
    }
}

fn with_all_fields(inbox: &Inbox) -> Vec<Value> {
    values![&inbox.id, inbox.project, inbox.kind, inbox.created_at, inbox.expires_at]
}

/// Reads the columns `id, project_id, kind, created_at, expires_at`.
pub(super) fn read_inbox(row: &mut Row) -> Result<Inbox, DatabaseError> {
    Ok(Inbox {
        id: InboxId::from_stored(row.text()?),
        project: ProjectId(row.uuid()?),
        kind: InboxKind::of_word(&row.text()?).unwrap_or(InboxKind::Temporary),
        created_at: Timestamp::from_millis(row.integer()?),
        expires_at: row.optional_integer()?.map(Timestamp::from_millis),
    })
}
