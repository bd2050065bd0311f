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
    /// Which column, counted from 0, holds the number of a content, if one does.
    content_number: Option<usize>,
}

macro_rules! table {
    ($name:literal, $key:literal, $first_key:expr, $page_rows:literal, $columns:literal, $places:literal) => {
        table!($name, $key, $first_key, $page_rows, $columns, $places, content_number: None)
    };
    ($name:literal, $key:literal, $first_key:expr, $page_rows:literal, $columns:literal, $places:literal,
     content_number: $content_number:expr) => {
        Table {
            name: $name,
            count: concat!("SELECT COUNT(*) FROM ", $name),
            page: concat!("SELECT ", $columns, " FROM ", $name, " WHERE ", $key, " > $1 ORDER BY ", $key, " LIMIT $2"),
            insert: concat!("INSERT INTO ", $name, " (", $columns, ") VALUES (", $places, ")"),
            first_key: $first_key,
            page_rows: $page_rows,
            content_number: $content_number,
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
    table!(
        "contents",
        "number",
        least_number,
        8,
        "number, trace, parsed, raw",
        "$1, $2, $3, $4",
        content_number: Some(0)
    ),
    table!(
        "messages",
        "id",
        no_octets,
        500,
        "id, inbox_id, sequence, content_number, is_shared, sender, subject, subject_folded, parsed_size, received_at",
        "$1, $2, $3, $4, $5, $6, $7, $8, $9, $10",
        content_number: Some(3)
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

impl Table {
    /// Gives contents numbers below zero, so that the target can count from one, whatever it counts with.
    fn renumber(&self, row: &mut [Value], newest_content: i64) {
        if let Some(Value::Integer(number)) = self.content_number.and_then(|column| row.get_mut(column)) {
            *number -= newest_content + 1;
        }
    }
}

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
            let newest = source.newest_content().await?;
            for table in TABLES {
                source.copy_table(table, newest, &mut transaction, &mut progress).await?;
            }
            Ok(transaction.commit().await?)
        };
        target.database.transact(copy).await
    }

    async fn newest_content(&self) -> Result<i64, StoreError> {
        const NEWEST: &str = "SELECT COALESCE(MAX(number), 0) FROM contents";
        let mut rows = self.database.query(NEWEST, vec![]).await?;
        Ok(rows.pop().ok_or(DatabaseError::Closed)?.integer()?)
    }

    async fn copy_table(
        &self,
        table: &Table,
        newest_content: i64,
        target: &mut Transaction,
        progress: &mut (impl FnMut(Progress) + Send),
    ) -> Result<(), StoreError> {
        let counted = self.database.query(table.count, vec![]).await?.pop();
        let rows = counted.map(|mut row| row.integer()).transpose()?.unwrap_or_default();
        let (mut behind, mut copied) = ((table.first_key)(), 0);
        loop {
            let page = self.database.query(table.page, values![behind, table.page_rows]).await?;
            let mut page: Vec<Vec<Value>> = page.into_iter().map(crate::db::Row::into_values).collect();
            let Some(last) = page.last().and_then(|row| row.first()) else { return Ok(()) };
            behind = last.clone();
            copied += i64::try_from(page.len()).unwrap_or(i64::MAX);
            page.iter_mut().for_each(|row| table.renumber(row, newest_content));
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

fn least_number() -> Value {
    Value::from(i64::MIN)
}
