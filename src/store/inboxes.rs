//! Inboxes: making, finding and ending them.

use super::{Store, StoreError};
use crate::db::{DatabaseError, Row, values};
use crate::model::{Inbox, InboxId, InboxKind, ProjectId, Timestamp};

macro_rules! live_inbox {
    ($condition:literal) => {
        concat!(
            "SELECT id, project_id, kind, created_at, expires_at FROM inboxes
             WHERE id = $1 AND (expires_at IS NULL OR expires_at > $2)",
            $condition
        )
    };
}

/// An INSERT of the parameters of [`Store::insert_inbox`], and what is done where the id is taken.
macro_rules! insert_inbox {
    ($taken:literal) => {
        concat!(
            "INSERT INTO inboxes
                (id, project_id, kind, created_at, expires_at, last_sequence, emptied_sequence, swept_sequence)
             VALUES ($1, $2, $3, $4, $5, 0, 0, 0) ON CONFLICT (id) ",
            $taken
        )
    };
}

impl Store {
    /// Makes an inbox; `false` where its id is taken or reserved.
    ///
    /// # Errors
    /// Where the database fails, as everywhere in the store.
    pub async fn create_inbox(&self, inbox: &Inbox) -> Result<bool, StoreError> {
        const INSERT: &str = insert_inbox!("DO NOTHING");
        self.insert_inbox(INSERT, inbox).await
    }

    /// The live inbox `id`, whoever owns it.
    ///
    /// # Errors
    /// Where the database fails.
    pub async fn live_inbox(&self, id: &InboxId, now: Timestamp) -> Result<Option<Inbox>, StoreError> {
        let rows = self.database.look_up(live_inbox!(""), values![id.as_str(), now.as_millis()]).await?;
        Ok(rows.into_iter().next().map(read_inbox).transpose()?)
    }

    /// The live inbox `id` of `project`.
    ///
    /// # Errors
    /// Where the database fails.
    pub async fn inbox(&self, project: ProjectId, id: &InboxId, now: Timestamp) -> Result<Option<Inbox>, StoreError> {
        const OWNED: &str = live_inbox!(" AND project_id = $3");
        let parameters = values![id.as_str(), now.as_millis(), project.0.as_bytes().as_slice()];
        let rows = self.database.look_up(OWNED, parameters).await?;
        Ok(rows.into_iter().next().map(read_inbox).transpose()?)
    }

    /// Makes `inbox`, also where its address is reserved for its own project: it is then empty again. `false` where the
    /// address is a live inbox or another project's.
    ///
    /// # Errors
    /// Where the database fails.
    pub async fn claim_inbox(&self, inbox: &Inbox) -> Result<bool, StoreError> {
        const CLAIM: &str = insert_inbox!(
            "DO UPDATE SET
                kind = $3, created_at = $4, expires_at = $5, emptied_sequence = inboxes.last_sequence, emptied = 0
            WHERE inboxes.project_id = $2 AND inboxes.expires_at <= $4"
        );
        self.insert_inbox(CLAIM, inbox).await
    }

    /// Ends a live permanent inbox: its address becomes a reservation as a temporary one's does. `false` where there was
    /// none.
    ///
    /// # Errors
    /// Where the database fails.
    pub async fn end_permanent_inbox(&self, inbox: &Inbox, now: Timestamp) -> Result<bool, StoreError> {
        const END: &str = "
            UPDATE inboxes SET kind = 'temporary', expires_at = $2, emptied_sequence = last_sequence, emptied = 1
            WHERE id = $1 AND project_id = $3 AND kind = 'permanent'";
        self.end_with(END, inbox, now).await
    }

    /// Ends a live temporary inbox and takes its messages from every reader; `false` where there was none.
    ///
    /// # Errors
    /// Where the database fails.
    pub async fn end_inbox(&self, inbox: &Inbox, now: Timestamp) -> Result<bool, StoreError> {
        const END: &str = "
            UPDATE inboxes SET expires_at = $2, emptied_sequence = last_sequence, emptied = 1
            WHERE id = $1 AND project_id = $3 AND kind = 'temporary' AND expires_at > $2";
        self.end_with(END, inbox, now).await
    }

    /// Runs `sql` with all that an inbox begins with; whether it changed anything.
    async fn insert_inbox(&self, sql: &'static str, inbox: &Inbox) -> Result<bool, StoreError> {
        let parameters = values![
            inbox.id.as_str(),
            inbox.project.0.as_bytes().as_slice(),
            kind_word(inbox.kind),
            inbox.created_at.as_millis(),
            inbox.expires_at.map(Timestamp::as_millis),
        ];
        Ok(self.change(sql, parameters, Some(inbox.id.to_string())).await? == 1)
    }

    /// Runs `sql`, which ends an inbox of a project at an instant; whether it did.
    async fn end_with(&self, sql: &'static str, inbox: &Inbox, now: Timestamp) -> Result<bool, StoreError> {
        let parameters = values![inbox.id.as_str(), now.as_millis(), inbox.project.0.as_bytes().as_slice()];
        Ok(self.change(sql, parameters, Some(inbox.id.to_string())).await? == 1)
    }
}

pub(super) fn kind_word(kind: InboxKind) -> &'static str {
    match kind {
        InboxKind::Temporary => "temporary",
        InboxKind::Permanent => "permanent",
    }
}

pub(super) fn read_kind(word: &str) -> InboxKind {
    if word == kind_word(InboxKind::Permanent) { InboxKind::Permanent } else { InboxKind::Temporary }
}

fn read_inbox(mut row: Row) -> Result<Inbox, DatabaseError> {
    Ok(Inbox {
        id: InboxId::from_stored(row.text()?),
        project: ProjectId(row.uuid()?),
        kind: read_kind(&row.text()?),
        created_at: Timestamp::from_millis(row.integer()?),
        expires_at: row.optional_integer()?.map(Timestamp::from_millis),
    })
}
