//! Reading messages: one by its id, the oldest match of a wait, and the pages of a list.
//!
//! Every statement holds the inbox's own conditions (live, and still in the life that the caller saw), so that no
//! message is read out of an inbox that has ended.

use bytes::Bytes;

use super::content::{aside, decode_parts, decode_raw, fold_case};
use super::{Store, StoreError};
use crate::db::{DatabaseError, Row, Value, values};
use crate::model::{Inbox, InboxId, Message, MessageId, ProjectId, Timestamp};

/// Octets of parsed parts in one page of a list, unless a single message has more.
const PAGE_SIZE: i64 = 1024 * 1024;

/// Which messages of an inbox are meant.
#[derive(Clone, Debug)]
pub struct Selection {
    after: i64,
    subject: String,
    /// Whether messages have to be read to know whether they match.
    searches: bool,
}

impl Selection {
    /// Messages behind the sequence `after` whose subject contains `subject`, whatever its case.
    #[must_use]
    pub fn new(after: i64, subject: Option<&str>) -> Self {
        let subject = subject.unwrap_or_default();
        Self { after, subject: contains_pattern(subject), searches: !subject.is_empty() }
    }
}

/// Where a message stands in its inbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor(pub i64);

/// A part of a list, newest first.
#[derive(Debug)]
pub struct Page {
    /// The messages.
    pub messages: Vec<Message>,
    /// The list goes on before this sequence; `None` at its end.
    pub next: Option<i64>,
}

/// A SELECT of `columns` from live messages; `$1` is now.
macro_rules! live_messages {
    ($columns:expr, $rest:expr) => {
        live_messages!($columns, "", "i.emptied_sequence", $rest)
    };
    ($columns:expr, $join:expr, $behind:expr, $rest:expr) => {
        concat!(
            "SELECT ",
            $columns,
            " FROM messages m JOIN inboxes i ON i.id = m.inbox_id ",
            $join,
            " WHERE (i.expires_at IS NULL OR i.expires_at > $1) AND m.sequence > ",
            $behind,
            " ",
            $rest
        )
    };
}

/// The same with their contents.
macro_rules! live_contents {
    ($columns:expr, $rest:expr) => {
        live_contents!($columns, "i.emptied_sequence", $rest)
    };
    ($columns:expr, $behind:expr, $rest:expr) => {
        live_messages!($columns, "JOIN contents c ON c.number = m.content_number", $behind, $rest)
    };
}

/// The later of `$4` and where the inbox's present life begins. SQLite enters the index with one lower bound alone, so that one
/// must not be the mere beginning of the life; PostgreSQL enters it with the other, plain one.
macro_rules! live_behind {
    () => {
        "CASE WHEN i.emptied_sequence > $4 THEN i.emptied_sequence ELSE $4 END AND m.sequence > $4"
    };
}

macro_rules! message_columns {
    () => {
        message_columns!("c.parsed")
    };
    ($parsed:expr) => {
        concat!("m.id, m.inbox_id, m.sequence, m.sender, m.subject, m.received_at, m.parsed_size, ", $parsed)
    };
}

/// The messages of a selection before the sequence `$5`, newest first.
macro_rules! newest {
    ($parsed:expr, $limit:expr) => {
        live_contents!(
            message_columns!($parsed),
            live_behind!(),
            concat!(
                "AND m.inbox_id = $2 AND i.created_at = $3 AND m.sequence < $5
                 AND m.subject_folded LIKE $6 ESCAPE '\\' ORDER BY m.sequence DESC ",
                $limit
            )
        )
    };
}

/// The oldest message of a selection.
const OLDEST: &str = live_contents!(
    message_columns!(),
    live_behind!(),
    "AND m.inbox_id = $2 AND i.created_at = $3 AND m.subject_folded LIKE $5 ESCAPE '\\'
     ORDER BY m.sequence LIMIT 1"
);

impl Store {
    /// A message by its id, where `project` owns it.
    ///
    /// # Errors
    /// Where the database fails or the message is damaged, as everywhere below.
    pub async fn message(
        &self,
        project: ProjectId,
        id: MessageId,
        now: Timestamp,
    ) -> Result<Option<Message>, StoreError> {
        const OWNED: &str = live_contents!(message_columns!(), "AND m.id = $2 AND i.project_id = $3");
        let rows = self.database.look_up(OWNED, owned(project, id, now)).await?;
        read_message(rows).await
    }

    /// The octets of a message as they came, where `project` owns it.
    ///
    /// # Errors
    /// As [`Store::message`].
    pub async fn raw_message(
        &self,
        project: ProjectId,
        id: MessageId,
        now: Timestamp,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        const RAW: &str = live_contents!("c.parsed, m.parsed_size, c.raw", "AND m.id = $2 AND i.project_id = $3");
        let rows = self.database.query(RAW, owned(project, id, now)).await?;
        let Some(mut row) = rows.into_iter().next() else { return Ok(None) };
        read_raw(&mut row).await.map(Some)
    }

    /// The trace that this server put in front of a message, and its octets as they came, where `project` owns it.
    ///
    /// # Errors
    /// As [`Store::message`].
    pub async fn message_source(
        &self,
        project: ProjectId,
        id: MessageId,
        now: Timestamp,
    ) -> Result<Option<(String, Vec<u8>)>, StoreError> {
        const SOURCE: &str =
            live_contents!("c.trace, c.parsed, m.parsed_size, c.raw", "AND m.id = $2 AND i.project_id = $3");
        let rows = self.database.query(SOURCE, owned(project, id, now)).await?;
        let Some(mut row) = rows.into_iter().next() else { return Ok(None) };
        Ok(Some((row.text()?, read_raw(&mut row).await?)))
    }

    /// Where the message `id` stands in `inbox`; `None` where it does not lie there.
    ///
    /// # Errors
    /// As [`Store::message`].
    pub async fn cursor(&self, inbox: &InboxId, id: MessageId, now: Timestamp) -> Result<Option<Cursor>, StoreError> {
        const SEQUENCE: &str = live_messages!("m.sequence", "AND m.id = $2 AND m.inbox_id = $3");
        let parameters = values![now.as_millis(), id.0.as_bytes().as_slice(), inbox.as_str()];
        let rows = self.database.look_up(SEQUENCE, parameters).await?;
        let Some(mut row) = rows.into_iter().next() else { return Ok(None) };
        Ok(Some(Cursor(row.integer()?)))
    }

    /// The oldest message of the selection.
    ///
    /// # Errors
    /// As [`Store::message`].
    pub async fn oldest_match(
        &self,
        inbox: &Inbox,
        selection: &Selection,
        now: Timestamp,
    ) -> Result<Option<Message>, StoreError> {
        let mut parameters = in_inbox(inbox, now);
        parameters.extend(values![selection.after, selection.subject.as_str()]);
        let rows = self.select(selection, OLDEST, parameters).await?;
        read_message(rows).await
    }

    /// The newest messages of the selection before the sequence `before`: at most `limit`, and few enough to be held in
    /// memory.
    ///
    /// # Errors
    /// As [`Store::message`].
    pub async fn page(
        &self,
        inbox: &Inbox,
        selection: &Selection,
        before: i64,
        limit: i64,
        now: Timestamp,
    ) -> Result<Page, StoreError> {
        /// Messages looked at for one page.
        const MOST: i64 = 64;
        // Most pages hold no large message, and are read at once.
        const WITHOUT_LARGE: &str = newest!("CASE WHEN m.parsed_size <= 32768 THEN c.parsed END", "LIMIT $7");
        const WHOLE: &str = newest!("c.parsed", "");
        let most = limit.min(MOST);
        let mut parameters = in_inbox(inbox, now);
        parameters.extend(values![selection.after, before, selection.subject.as_str(), most]);
        let rows = self.select(selection, WITHOUT_LARGE, parameters).await?;
        let mut rows = rows.into_iter().map(MessageRow::read).collect::<Result<Vec<_>, _>>()?;
        let looked_at_all = i64::try_from(rows.len()).is_ok_and(|found| found < most);
        let fitting = fitting(&rows);
        let all_fit = fitting == rows.len();
        rows.truncate(fitting);
        let Some(last) = rows.last().map(|row| row.sequence) else {
            return Ok(Page { messages: Vec::new(), next: None });
        };
        if rows.iter().any(|row| row.parsed.is_none()) {
            let mut parameters = in_inbox(inbox, now);
            parameters.extend(values![last - 1, before, selection.subject.as_str()]);
            let whole = self.select(selection, WHOLE, parameters).await?;
            rows = whole.into_iter().map(MessageRow::read).collect::<Result<_, _>>()?;
        }
        let messages = decoded(rows).await?;
        Ok(Page { messages, next: (!(looked_at_all && all_fit)).then_some(last) })
    }

    async fn select(
        &self,
        selection: &Selection,
        sql: &'static str,
        parameters: Vec<Value>,
    ) -> Result<Vec<Row>, DatabaseError> {
        if selection.searches {
            return self.database.query(sql, parameters).await;
        }
        self.database.look_up(sql, parameters).await
    }
}

fn owned(project: ProjectId, id: MessageId, now: Timestamp) -> Vec<Value> {
    values![now.as_millis(), id.0.as_bytes().as_slice(), project.0.as_bytes().as_slice()]
}

fn in_inbox(inbox: &Inbox, now: Timestamp) -> Vec<Value> {
    values![now.as_millis(), inbox.id.as_str(), inbox.created_at.as_millis()]
}

/// How many of these messages fit into a page: one at least.
fn fitting(rows: &[MessageRow]) -> usize {
    let mut total = 0_i64;
    let fits = |row: &&MessageRow| {
        total = total.saturating_add(row.parsed_size);
        total <= PAGE_SIZE
    };
    rows.iter().take_while(fits).count().max(1).min(rows.len())
}

async fn read_raw(row: &mut Row) -> Result<Vec<u8>, StoreError> {
    let (parsed, parsed_size, raw) = (row.bytes()?, row.integer()?, row.bytes()?);
    aside(move || decode_raw(&parsed, parsed_size, &raw)).await
}

/// The only message of these rows, if there is one.
async fn read_message(rows: Vec<Row>) -> Result<Option<Message>, StoreError> {
    let rows = rows.into_iter().map(MessageRow::read).collect::<Result<_, _>>()?;
    Ok(decoded(rows).await?.pop())
}

/// Decompresses messages.
async fn decoded(rows: Vec<MessageRow>) -> Result<Vec<Message>, StoreError> {
    let decode = |rows: Vec<MessageRow>| rows.into_iter().map(MessageRow::message).collect();
    let size: i64 = rows.iter().map(|row| row.parsed_size).sum();
    if size <= PAGE_SIZE { decode(rows) } else { aside(move || decode(rows)).await }
}

/// A message as it is stored.
struct MessageRow {
    id: MessageId,
    inbox_id: InboxId,
    sequence: i64,
    from: String,
    subject: String,
    received_at: Timestamp,
    parsed_size: i64,
    /// `None` where it is too large to have been read with the others.
    parsed: Option<Bytes>,
}

impl MessageRow {
    fn read(mut row: Row) -> Result<Self, StoreError> {
        Ok(Self {
            id: MessageId(row.uuid()?),
            inbox_id: InboxId::from_stored(row.text()?),
            sequence: row.integer()?,
            from: row.text()?,
            subject: row.text()?,
            received_at: Timestamp::from_millis(row.integer()?),
            parsed_size: row.integer()?,
            parsed: row.optional_bytes()?,
        })
    }

    fn message(self) -> Result<Message, StoreError> {
        let Self { id, inbox_id, sequence, from, subject, received_at, parsed_size, parsed } = self;
        let parts = decode_parts(&parsed.unwrap_or_default(), parsed_size)?;
        Ok(Message { id, inbox_id, sequence, from, subject, parts, received_at })
    }
}

/// A LIKE pattern for "contains `text`", its case folded and its wildcards escaped.
pub(super) fn contains_pattern(text: &str) -> String {
    let mut pattern = String::from("%");
    for character in fold_case(text).chars() {
        if matches!(character, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        // No stored subject contains NUL, and no engine takes one in text.
        pattern.push(if character == '\0' { '\u{fffd}' } else { character });
    }
    if !text.is_empty() {
        pattern.push('%');
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::DatabaseUrl;
    use crate::db::Database;
    use crate::store::{Batch, Content, Delivery, Policy};
    use restante_mail::ParsedMessage;

    /// Counted, because it is right either way, and slow only where the inbox is long.
    #[tokio::test]
    async fn a_wait_behind_a_cursor_does_not_walk_over_what_is_older() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("restante.db");
        let store = Store::open(Database::open(&DatabaseUrl::Sqlite(path.clone())).await.unwrap()).await.unwrap();
        let now = Timestamp::from_millis(1);
        let default_project = store.default_project("default", now).await.unwrap();
        let lifetime = std::time::Duration::from_secs(60);
        let policy = Policy { now, lifetime, inbox_messages: 1_000, default_project };
        let content = Content::encode(ParsedMessage::default(), String::new(), String::new(), b"x").unwrap();
        let recipients = vec![InboxId::parse("box").unwrap()];
        let delivery = Delivery { recipients, project: None, content, outgoing: None };
        store.deliver(&Batch::known(vec![delivery; 1_000], policy)).await.unwrap();

        let connection = rusqlite::Connection::open(path).unwrap();
        let mut statement = connection.prepare(&OLDEST.replace('$', "?")).unwrap();
        let sequence = |row: &rusqlite::Row<'_>| row.get::<_, i64>("sequence");
        assert_eq!(statement.query_row((1, "box", 1, 998, "%"), sequence).unwrap(), 999);
        assert!(statement.get_status(rusqlite::StatementStatus::VmStep) < 200);
    }

    #[test]
    fn a_pattern_takes_wildcards_for_themselves() {
        assert_eq!(contains_pattern(""), "%");
        assert_eq!(contains_pattern("Save 100%_\\"), "%save 100\\%\\_\\\\%");
    }
}
