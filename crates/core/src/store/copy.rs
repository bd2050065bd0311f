//! Copies an installation to another database: every row of the copied tables, in one transaction
//! of the target.

use super::{Store, StoreError};
use crate::db::{DatabaseError, Row, Transaction, Value, values};

/// The progress of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The table that is being copied.
    pub table: &'static str,
    /// How many of its rows have been copied.
    pub copied: i64,
    /// How many rows it has.
    pub rows: i64,
}

/// Why nothing was copied.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// The target already has projects.
    #[error("the target already has projects. Use an empty database")]
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
    /// Selects `$2` rows after the key `$1`, which is the first column.
    page: &'static str,
    insert: &'static str,
    /// Less than every key.
    first_key: fn() -> Value,
    /// Rows held in memory at once.
    page_rows: i64,
    /// The columns, counted from 0, with the number of a row, which the engine assigned.
    numbers: &'static [(usize, Numbered)],
}

/// The tables whose rows have assigned numbers.
#[derive(Clone, Copy)]
enum Numbered {
    Inboxes = 0,
    Contents = 1,
    Messages = 2,
    Chunks = 3,
    Faults = 4,
    FaultUses = 5,
    Journal = 6,
}

/// A table: its name, its key and a value less than every key, rows per page, columns, and their
/// placeholders.
macro_rules! table {
    ($name:literal, $key:literal, $first_key:expr, $page_rows:literal, $columns:literal, $places:literal) => {
        table!($name, $key, $first_key, $page_rows, $columns, $places, &[])
    };
    ($name:literal, $key:literal, $first_key:expr, $page_rows:literal, $columns:literal, $places:literal,
     $numbers:expr) => {
        Table {
            name: $name,
            count: concat!("SELECT COUNT(*) FROM ", $name),
            page: concat!(
                "SELECT ",
                $columns,
                " FROM ",
                $name,
                " WHERE ",
                $key,
                " > $1 ORDER BY ",
                $key,
                " LIMIT $2"
            ),
            insert: concat!(
                "INSERT INTO ",
                $name,
                " (",
                $columns,
                ") VALUES (",
                $places,
                ")"
            ),
            first_key: $first_key,
            page_rows: $page_rows,
            numbers: $numbers,
        }
    };
}

/// All tables except those of the dashboard's sessions, and of the nodes: users sign in
/// again, and nodes report again. A table is listed after the tables that it refers to.
const TABLES: &[Table] = &[
    table!("projects", "id", no_bytes, 500, "id, name, is_default, created_at, deleted_at", "$1, $2, $3, $4, $5"),
    table!(
        "api_keys",
        "hash",
        no_bytes,
        500,
        "hash, project_id, last_four, created_at, expires_at",
        "$1, $2, $3, $4, $5"
    ),
    table!(
        "inboxes",
        "number",
        min_number,
        500,
        "number, id, project_id, kind, created_at, expires_at, deleted_at, opened_by_mail, closed, message_count,
         last_sequence, emptied_sequence, swept_sequence, retention_days, last_received_at, faults_left,
         changes, address, label, base",
        "$1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20",
        &[(0, Numbered::Inboxes)]
    ),
    table!(
        "faults",
        "number",
        min_number,
        500,
        "number, inbox_number, position, point, action, reply, stores, seconds, times, used",
        "$1, $2, $3, $4, $5, $6, $7, $8, $9, $10",
        &[(0, Numbered::Faults), (1, Numbered::Inboxes)]
    ),
    table!(
        "fault_uses",
        "number",
        min_number,
        500,
        "number, fault_number, used_at",
        "$1, $2, $3",
        &[(0, Numbered::FaultUses), (1, Numbered::Faults)]
    ),
    table!(
        "contents",
        "number",
        min_number,
        9,
        "number, trace, reverse_path, client, helo, tls, authenticated, via, data",
        "$1, $2, $3, $4, $5, $6, $7, $8, $9",
        &[(0, Numbered::Contents)]
    ),
    table!(
        "chunks",
        "number",
        min_number,
        8,
        "number, content_number, form, position, data",
        "$1, $2, $3, $4, $5",
        &[(0, Numbered::Chunks), (1, Numbered::Contents)]
    ),
    table!(
        "messages",
        "number",
        min_number,
        500,
        "number, id, inbox_number, sequence, content_number, is_shared, parsed_size, raw_size, received_at,
         has_otp, has_link, code, sender, subject, subject_folded, project_id, attachments, recipients",
        "$1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18",
        &[(0, Numbered::Messages), (2, Numbered::Inboxes), (4, Numbered::Contents)]
    ),
    table!(
        "outgoing",
        "id",
        no_bytes,
        500,
        "id, project_id, inbox_id, recipient, subject, message_id, status, created_at, raw_size, domain, attempts,
         attempted_at, due_at, expires_at, worker, leased_until, last_reply, is_report",
        "$1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18"
    ),
    table!("outgoing_chunks", "id", no_bytes, 8, "id, outgoing_id, position, data", "$1, $2, $3, $4"),
    table!(
        "attempts",
        "id",
        no_bytes,
        500,
        "id, outgoing_id, attempt, attempted_at, server, reply",
        "$1, $2, $3, $4, $5, $6"
    ),
    table!(
        "journal",
        "position",
        min_number,
        50,
        "position, project_id, subject, kind, word, key, at, data",
        "$1, $2, $3, $4, $5, $6, $7, $8",
        &[(0, Numbered::Journal)]
    ),
    table!("repeatable_requests", "hash", no_bytes, 500, "hash, body_hash, started_at, answer", "$1, $2, $3, $4"),
    table!("settings", "name", no_text, 500, "name, value", "$1, $2"),
];

/// The newest number of each table whose rows have numbers.
type Newest = [i64; 7];

impl Table {
    /// Makes row numbers negative. The target's sequences do not know the copied rows, and would
    /// otherwise assign the same positive numbers again.
    fn renumber(&self, row: &mut [Value], newest: &Newest) {
        for (column, table) in self.numbers {
            if let Some(Value::Integer(number)) = row.get_mut(*column) {
                *number -= newest[*table as usize] + 1;
            }
        }
    }
}

impl Store {
    /// Copies all tables to `target`, which must be empty, and calls `progress` after every page.
    /// No other program may write to either database during the copy.
    ///
    /// # Errors
    /// [`CopyError`]; then the target remains empty.
    pub async fn copy_to(
        &self,
        target: &Self,
        mut progress: impl FnMut(Progress) + Send + 'static,
    ) -> Result<(), CopyError> {
        const IN_USE: &str = "SELECT 1 FROM projects LIMIT 1";
        let source = self.clone();
        let copy = async move |mut transaction: Transaction| {
            transaction.wait_as_long_as_it_takes();
            if !transaction.query(IN_USE, vec![]).await?.is_empty() {
                return Err(CopyError::TargetInUse);
            }
            let newest = source.newest_numbers().await?;
            for table in TABLES {
                source
                    .copy_table(table, &newest, &mut transaction, &mut progress)
                    .await?;
            }
            Ok(transaction.commit().await?)
        };
        target.database.transact(copy).await
    }

    async fn newest_numbers(&self) -> Result<Newest, StoreError> {
        const NEWEST: &str = "
            SELECT COALESCE((SELECT MAX(number) FROM inboxes), 0), COALESCE((SELECT MAX(number) FROM contents), 0),
                COALESCE((SELECT MAX(number) FROM messages), 0), COALESCE((SELECT MAX(number) FROM chunks), 0),
                COALESCE((SELECT MAX(number) FROM faults), 0), COALESCE((SELECT MAX(number) FROM fault_uses), 0),
                COALESCE((SELECT MAX(position) FROM journal), 0)";
        let read = |row: &mut Row| {
            let mut newest = Newest::default();
            for number in &mut newest {
                *number = row.get()?;
            }
            Ok(newest)
        };
        self.only(NEWEST, vec![], read).await
    }

    async fn copy_table(
        &self,
        table: &Table,
        newest: &Newest,
        target: &mut Transaction,
        progress: &mut (impl FnMut(Progress) + Send),
    ) -> Result<(), StoreError> {
        let rows = self.only(table.count, vec![], Row::get).await?;
        let mut after = (table.first_key)();
        let mut copied = 0;
        loop {
            let page = self
                .database
                .query(table.page, values![after, table.page_rows])
                .await?;
            let mut page: Vec<Vec<Value>> = page.into_iter().map(Row::into_values).collect();
            let Some(last) = page.last().and_then(|row| row.first()) else {
                return Ok(());
            };
            after = last.clone();
            copied += i64::try_from(page.len()).unwrap_or(i64::MAX);
            page.iter_mut().for_each(|row| table.renumber(row, newest));
            target.execute_many(table.insert, page).await?;
            progress(Progress {
                table: table.name,
                copied,
                rows,
            });
        }
    }
}

fn no_bytes() -> Value {
    Value::from(&b""[..])
}

fn no_text() -> Value {
    Value::from("")
}

fn min_number() -> Value {
    Value::from(i64::MIN)
}
