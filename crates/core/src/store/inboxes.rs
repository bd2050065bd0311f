//! Creates, finds and ends inboxes.

use super::{Change, Store, StoreError, base_of, live, until_undisturbed};
use crate::db::{DatabaseError, Row, Transaction, Value, values};
use crate::model::{Inbox, InboxId, InboxKind, ProjectId, SharedAddress, Timestamp};

impl Store {
    /// Creates an inbox; `false` if its id is in use or reserved.
    pub async fn create_inbox(&self, inbox: &Inbox) -> Result<bool, StoreError> {
        self.create_labelled_inbox(inbox, None).await
    }

    /// Like [`Store::create_inbox`], with a label that the dashboard shows.
    pub async fn create_labelled_inbox(
        &self,
        inbox: &Inbox,
        label: Option<&str>,
    ) -> Result<bool, StoreError> {
        const CREATE: &str = "
            INSERT INTO inboxes (id, project_id, kind, created_at, expires_at, address, base, label)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING";
        let mut parameters = with_all_fields(inbox);
        parameters.extend(values![label]);
        self.change_inbox(CREATE, &inbox.id, parameters).await
    }

    /// The label of an inbox, if it has one.
    pub async fn label(&self, inbox: &Inbox) -> Result<Option<String>, StoreError> {
        const LABEL: &str =
            "SELECT label FROM inboxes WHERE id = $1 AND project_id = $2 AND label IS NOT NULL";
        let parameters = values![&inbox.id, inbox.project];
        self.first(LABEL, parameters, Row::get).await
    }

    /// Creates `wanted`, empty, even if its address is reserved for its own project. Returns the
    /// inbox, which keeps its former id; `None` if the address is a live inbox or belongs to
    /// another project. On the mail domain, an address with a tag belongs to the owner of the
    /// address without it.
    pub async fn claim_inbox(&self, wanted: &Inbox) -> Result<Option<Inbox>, StoreError> {
        let wanted = wanted.clone();
        let claim = async move |mut transaction: Transaction| {
            let claimed = claim(&mut transaction, &wanted, None).await?;
            transaction.commit().await?;
            Ok(claimed)
        };
        self.database.transact(claim).await
    }

    /// Returns the live inbox of the project with the address of `wanted`, and `false`: if it is
    /// temporary, it ends when `wanted` would. If there is none, it is created as by
    /// [`Self::claim_inbox`]. `None` if the address belongs to another project. A `label` replaces
    /// the one that the inbox has.
    pub async fn ensure_inbox(
        &self,
        wanted: &Inbox,
        label: Option<&str>,
    ) -> Result<Option<(Inbox, bool)>, StoreError> {
        until_undisturbed(|| {
            let wanted = wanted.clone();
            let label = label.map(str::to_owned);
            self.database
                .transact(async move |mut transaction: Transaction| {
                    let mut ensured = extend(&mut transaction, &wanted, label.as_deref())
                        .await?
                        .map(|inbox| (inbox, false));
                    if ensured.is_none() {
                        ensured = claim(&mut transaction, &wanted, label.as_deref())
                            .await?
                            .map(|inbox| (inbox, true));
                    }
                    if ensured.is_none() {
                        // Another request of the project may have created it in the meantime.
                        ensured = extend(&mut transaction, &wanted, label.as_deref())
                            .await?
                            .map(|inbox| (inbox, false));
                    }
                    transaction.commit().await?;
                    Ok(ensured)
                })
        })
        .await
    }

    /// The id of the inbox of `project` with a shared address, live or not.
    pub async fn id_of_shared(
        &self,
        project: ProjectId,
        address: &SharedAddress,
    ) -> Result<Option<InboxId>, StoreError> {
        const ID: &str = "SELECT id FROM inboxes WHERE address = $1 AND project_id = $2";
        self.first(ID, values![address, project], Row::get).await
    }

    /// The live inbox `id` of any project.
    pub async fn live_inbox(
        &self,
        id: &InboxId,
        now: Timestamp,
    ) -> Result<Option<Inbox>, StoreError> {
        const LIVE: &str = concat!(
            "
            SELECT id, address, project_id, kind, created_at, expires_at FROM inboxes
            WHERE id = $1 AND ",
            live!("$2")
        );
        self.first(LIVE, values![id, now], read_inbox).await
    }

    /// The live inbox `id` of `project`.
    pub async fn inbox(
        &self,
        project: ProjectId,
        id: &InboxId,
        now: Timestamp,
    ) -> Result<Option<Inbox>, StoreError> {
        Ok(self
            .live_inbox(id, now)
            .await?
            .filter(|inbox| inbox.project == project))
    }

    /// Ends a live inbox, temporary or permanent, so that its messages can no longer be read; its
    /// address is then reserved. `false` if there was none.
    pub async fn end_inbox(&self, inbox: &Inbox, now: Timestamp) -> Result<bool, StoreError> {
        const END: &str = concat!(
            "
            UPDATE inboxes SET kind = 'temporary', expires_at = $2, deleted_at = $2, closed = 1, message_count = 0,
                emptied_sequence = last_sequence, retention_days = NULL
            WHERE id = $1 AND project_id = $3 AND kind = $4 AND ",
            live!("$2")
        );
        self.change_inbox(
            END,
            &inbox.id,
            values![&inbox.id, now, inbox.project, inbox.kind],
        )
        .await
    }

    /// Runs `sql`, which changes one inbox; returns whether it did.
    async fn change_inbox(
        &self,
        sql: &'static str,
        id: &InboxId,
        parameters: Vec<Value>,
    ) -> Result<bool, StoreError> {
        Ok(self
            .change(sql, parameters, Some(Change::Inbox(id.clone())))
            .await?
            == 1)
    }
}

/// Lets a live inbox of the project with the address of `wanted` end when `wanted` would, if it is
/// temporary.
async fn extend(
    transaction: &mut Transaction,
    wanted: &Inbox,
    label: Option<&str>,
) -> Result<Option<Inbox>, DatabaseError> {
    macro_rules! extend {
        ($address:literal) => {
            concat!(
                "UPDATE inboxes SET changes = changes + 1, label = COALESCE($5, label),
                    expires_at = CASE WHEN kind = 'temporary' THEN $4 ELSE expires_at END
                 WHERE project_id = $2 AND ",
                $address,
                " AND ",
                live!("$3"),
                " RETURNING id, address, project_id, kind, created_at, expires_at"
            )
        };
    }
    const BY_ID: &str = extend!("id = $1 AND address IS NULL");
    const BY_ADDRESS: &str = extend!("address = $1");
    let (sql, key) = match &wanted.shared {
        None => (BY_ID, wanted.id.as_str()),
        Some(address) => (BY_ADDRESS, address.as_str()),
    };
    let parameters = values![
        key,
        wanted.project,
        wanted.created_at,
        wanted.expires_at,
        label
    ];
    changed(transaction, sql, parameters).await
}

/// See [`Store::claim_inbox`].
async fn claim(
    transaction: &mut Transaction,
    wanted: &Inbox,
    label: Option<&str>,
) -> Result<Option<Inbox>, DatabaseError> {
    macro_rules! claim {
        ($conflict:literal, $owns:literal) => {
            concat!(
                "INSERT INTO inboxes (id, project_id, kind, created_at, expires_at, address, base, label)
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
                 ON CONFLICT ",
                $conflict,
                " DO UPDATE SET project_id = $2, kind = $3, created_at = $4, expires_at = $5,
                    deleted_at = NULL, opened_by_mail = 0, label = $8, closed = 0, message_count = 0,
                    emptied_sequence = inboxes.last_sequence,
                    faults_left = CASE WHEN inboxes.faults_left IS NULL THEN NULL ELSE -1 END
                 WHERE ",
                $owns,
                " AND (inboxes.closed = 1 OR inboxes.expires_at <= $4)
                 RETURNING id, address, project_id, kind, created_at, expires_at"
            )
        };
    }
    const BY_ID: &str = claim!(
        "(id)",
        "inboxes.address IS NULL AND ($9 = 1 OR inboxes.project_id = $2)"
    );
    const BY_ADDRESS: &str = claim!(
        "(address, project_id) WHERE address IS NOT NULL",
        "inboxes.address = $6"
    );
    // The owner of an address with a tag also owns the address without it.
    const BASE: &str = "
        INSERT INTO inboxes (id, project_id, kind, created_at, closed) VALUES ($1, $2, 'temporary', $3, 1)
        ON CONFLICT (id) DO UPDATE SET id = inboxes.id RETURNING project_id";
    let mut parameters = with_all_fields(wanted);
    parameters.extend(values![label]);
    if wanted.shared.is_some() {
        return changed(transaction, BY_ADDRESS, parameters).await;
    }
    let base = wanted.id.without_tag();
    if let Some(base) = &base {
        let row = values![base, wanted.project, wanted.created_at];
        let owner: ProjectId = Row::only(transaction.query(BASE, row).await?, Row::get)?;
        if owner != wanted.project {
            return Ok(None);
        }
    }
    parameters.extend(values![base.is_some()]);
    changed(transaction, BY_ID, parameters).await
}

/// Runs a statement that changes at most one inbox and returns it, and announces the change.
async fn changed(
    transaction: &mut Transaction,
    sql: &'static str,
    parameters: Vec<Value>,
) -> Result<Option<Inbox>, DatabaseError> {
    let inbox = Row::first(transaction.query(sql, parameters).await?, read_inbox)?;
    if let Some(inbox) = &inbox {
        transaction.notify(Change::Inbox(inbox.id.clone()));
    }
    Ok(inbox)
}

fn with_all_fields(inbox: &Inbox) -> Vec<Value> {
    values![
        &inbox.id,
        inbox.project,
        inbox.kind,
        inbox.created_at,
        inbox.expires_at,
        inbox.shared.as_ref(),
        base_of(&inbox.id, inbox.shared.as_ref()).as_ref()
    ]
}

/// Reads the columns `id, address, project_id, kind, created_at, expires_at`.
pub(super) fn read_inbox(row: &mut Row) -> Result<Inbox, DatabaseError> {
    Ok(Inbox {
        id: row.get()?,
        shared: row.get()?,
        project: row.get()?,
        kind: InboxKind::of_word(&row.get::<String>()?).unwrap_or(InboxKind::Temporary),
        created_at: row.get()?,
        expires_at: row.get()?,
    })
}
