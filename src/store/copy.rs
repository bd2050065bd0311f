//! Moving an installation from one database to another: every row of every table, in one transaction of the target.

use super::{Store, StoreError};
use crate::db::{DatabaseError, Transaction, Value, values};

/// How far a copy has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The table that is being copied.
    pub table: &'static str,
    /// Rows of it that have been copied.
    pub copied: i64,
    /// Rows that it has.
    pub rows: i64,
}

/// Why nothing was copied.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// The target has projects already.
    #[error("the target is in use: it has projects already. Name an empty database")]
    TargetInUse,
    /// One of the two databases failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<DatabaseError> for CopyError {
    fn from(error: DatabaseError) -> Self {
        Self::Store(error.into())
    }
}

struct Table {
    name: &'static str,
    count: &'static str,
    /// The rows behind the key `$1`, which is the first column; `$2` of them.
    page: &'static str,
    insert: &'static str,
    /// Before every key.
    first_key: fn() -> Value,
    /// Rows held in memory at once.
    page_rows: i64,
}

macro_rules! table {
    ($name:literal, $key:literal, $first_key:expr, $page_rows:literal, $columns:literal, $places:literal) => {
        Table {
            name: $name,
            count: concat!("SELECT COUNT(*) FROM ", $name),
            page: concat!("SELECT ", $columns, " FROM ", $name, " WHERE ", $key, " > $1 ORDER BY ", $key, " LIMIT $2"),
            insert: concat!("INSERT INTO ", $name, " (", $columns, ") VALUES (", $places, ")"),
            first_key: $first_key,
            page_rows: $page_rows,
        }
    };
}

/// All tables but that of the dashboard's sessions: whoever is signed in signs in anew. What is referred to comes before what refers to it.
const TABLES: &[Table] = &[
    table!("projects", "id", no_octets, 500, "id, name, is_default, created_at, deleted_at", "$1, $2, $3, $4, $5"),
    table!(
        "api_keys",
        "hash",
        no_octets,
        500,
        "hash, project_id, last_four, created_at, expires_at",
        "$1, $2, $3, $4, $5"
    ),
    table!(
        "inboxes",
        "id",
        no_text,
        500,
        "id, project_id, kind, created_at, expires_at, last_sequence, emptied_sequence, swept_sequence, emptied",
        "$1, $2, $3, $4, $5, $6, $7, $8, $9"
    ),
    table!("contents", "id", no_octets, 8, "id, trace, parsed, raw", "$1, $2, $3, $4"),
    table!(
        "messages",
        "id",
        no_octets,
        500,
        "id, inbox_id, sequence, content_id, sender, subject, subject_folded, parsed_size, received_at",
        "$1, $2, $3, $4, $5, $6, $7, $8, $9"
    ),
    table!(
        "outgoing",
        "id",
        no_octets,
        8,
        "id, project_id, inbox_id, recipient, subject, message_id, status, created_at, raw, domain, attempts,
         attempted_at, due_at, expires_at, worker, leased_until, last_reply",
        "$1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17"
    ),
    table!("attempts", "id", no_octets, 500, "id, outgoing_id, attempt, attempted_at, reply", "$1, $2, $3, $4, $5"),
    table!(
        "refusals",
        "id",
        no_octets,
        500,
        "id, project_id, peer, sender, recipient, reason, reply, refused_at",
        "$1, $2, $3, $4, $5, $6, $7, $8"
    ),
    table!("settings", "name", no_text, 500, "name, value", "$1, $2"),
];

impl Store {
    /// Copies everything into `target`, which must be empty, and tells `progress` behind every page. Nobody may write to
    /// either of the two meanwhile.
    ///
    /// # Errors
    /// [`CopyError`]; the target is then as empty as before.
    pub async fn copy_to(
        &self,
        target: &Self,
        mut progress: impl FnMut(Progress) + Send + 'static,
    ) -> Result<(), CopyError> {
        const IN_USE: &str = "SELECT 1 FROM projects LIMIT 1";
        let source = self.clone();
        let copy = async move |mut transaction: Transaction| {
            if !transaction.query(IN_USE, vec![]).await?.is_empty() {
                return Err(CopyError::TargetInUse);
            }
            for table in TABLES {
                source.copy_table(table, &mut transaction, &mut progress).await?;
            }
            Ok(transaction.commit().await?)
        };
        target.database.transact(copy).await
    }

    async fn copy_table(
        &self,
        table: &Table,
        target: &mut Transaction,
        progress: &mut (impl FnMut(Progress) + Send),
    ) -> Result<(), StoreError> {
        let counted = self.database.query(table.count, vec![]).await?.pop();
        let rows = counted.map(|mut row| row.integer()).transpose()?.unwrap_or_default();
        let (mut behind, mut copied) = ((table.first_key)(), 0);
        loop {
            let page = self.database.query(table.page, values![behind, table.page_rows]).await?;
            let page: Vec<Vec<Value>> = page.into_iter().map(crate::db::Row::into_values).collect();
            let Some(last) = page.last().and_then(|row| row.first()) else { return Ok(()) };
            behind = last.clone();
            copied += i64::try_from(page.len()).unwrap_or(i64::MAX);
            target.execute_many(table.insert, page).await?;
            progress(Progress { table: table.name, copied, rows });
        }
    }
}

fn no_octets() -> Value {
    Value::from(&b""[..])
}

fn no_text() -> Value {
    Value::from("")
}
