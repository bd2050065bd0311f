//! Reads messages: one by its id, the oldest match of a wait, and the pages of a list.
//!
//! Messages are read only from live inboxes. List and wait queries also check that the inbox was
//! not deleted and created again since the caller looked it up. A list or a wait first reads the
//! heads of messages (rows without content), a page at a time, and compares them with its
//! [`Selection`].

use bytes::Bytes;
use futures_util::stream::{self, StreamExt, TryStreamExt};

use super::content::ORDINARY;
use super::reading::Pieces;
use super::{ContentForm, PartsReader, Search, Selection, Store, StoreError, live};
use crate::db::{DatabaseError, Row, Value, values};
use crate::model::{
    Features, Inbox, InboxId, MessageId, MessageStart, ProjectId, Reached, SharedAddress, Timestamp,
};

/// Messages in one page of a list.
const PAGE_MESSAGES: usize = 64;
/// Heads that are read on the calling thread.
pub(super) const FEW_HEADS: usize = 4;
/// Bytes of heads that are read at once; the last one may exceed them. A subject has at most 100
/// KiB, and is read as it is and case-folded.
pub(super) const MAX_HEAD_BYTES: usize = 2 * 1024 * 1024;
/// Contents that are read at once.
pub(super) const CONTENTS_AT_ONCE: usize = 8;

/// The position of a message in its inbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor(pub i64);

/// A message whose parts have not been read yet. Large parts are read in pieces.
#[derive(Debug)]
pub struct StoredMessage {
    /// Identifies it; also the `after` cursor.
    pub id: MessageId,
    /// The inbox in which it is.
    pub inbox_id: InboxId,
    /// The address of the inbox, if that is not on the mail domain.
    pub shared: Option<SharedAddress>,
    /// Its position in the inbox.
    pub sequence: i64,
    /// The sender's address; empty if there is none.
    pub from: String,
    /// The subject, decoded; empty if there is none.
    pub subject: String,
    /// When it was accepted.
    pub received_at: Timestamp,
    /// The labelled code in any form; empty if there is none.
    pub code: String,
    /// The number of its attachments, without images that its HTML shows.
    pub attachments: i64,
    /// Its parts, for a [`PartsReader`].
    pub parts: Pieces,
}

/// One page of a list, newest first.
#[derive(Debug)]
pub struct Page {
    pub messages: Vec<StoredMessage>,
    /// The list continues before this sequence; `None` at its end.
    pub next: Option<i64>,
}

/// A message without its content.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) id: MessageId,
    pub(super) inbox_id: InboxId,
    pub(super) shared: Option<SharedAddress>,
    pub(super) sequence: i64,
    pub(super) sender: String,
    pub(super) subject: String,
    pub(super) subject_folded: String,
    pub(super) received_at: Timestamp,
    pub(super) has: Features,
    pub(super) code: String,
    pub(super) attachments: i64,
    pub(super) content_number: i64,
    pub(super) parsed_size: usize,
    pub(super) raw_size: usize,
    /// The recipients as addressed, if not only the inbox's address.
    pub(super) recipients: Option<String>,
    /// The content, if it was read with the head.
    pub(super) data: Option<Bytes>,
}

/// A SELECT of the columns of a [`Head`] from live messages; `$1` is the current time.
macro_rules! live_heads {
    ($conditions:literal) => {
        concat!(
            "SELECT m.id, i.id, i.address, m.sequence, m.sender, m.subject, m.subject_folded, m.received_at, m.has_otp,
                m.has_link, m.code, m.attachments, m.content_number, m.parsed_size, m.raw_size, m.recipients
             FROM messages m JOIN inboxes i ON i.number = m.inbox_number
             WHERE ",
            live!("i.", "$1"),
            " AND m.content_number IS NOT NULL AND ",
            $conditions
        )
    };
}

/// The newest of [`live_heads`] in one inbox between two sequences.
macro_rules! newest_heads {
    () => {
        live_heads!(
            "i.id = $2 AND i.created_at = $3 AND m.sequence < $5
             AND m.sequence > CASE WHEN i.emptied_sequence > $4 THEN i.emptied_sequence ELSE $4 END
             ORDER BY m.sequence DESC LIMIT $6"
        )
    };
}

impl Store {
    /// A message by its id, if `project` owns it.
    ///
    /// # Errors
    /// If the database fails or the message is damaged.
    pub async fn message(
        &self,
        project: ProjectId,
        id: MessageId,
        now: Timestamp,
    ) -> Result<Option<StoredMessage>, StoreError> {
        let Some(head) = self.owned_head(project, id, now).await? else {
            return Ok(None);
        };
        self.opened(head).await
    }

    /// The bytes of a message as received, in pieces, if `project` owns it.
    ///
    /// # Errors
    /// See [`Store::message`].
    pub async fn raw_pieces(
        &self,
        project: ProjectId,
        id: MessageId,
        now: Timestamp,
    ) -> Result<Option<Pieces>, StoreError> {
        let Some(head) = self.owned_head(project, id, now).await? else {
            return Ok(None);
        };
        if head.is_large() {
            return Ok(Some(self.pieces(&head, ContentForm::Raw)));
        }
        Ok(self
            .read_form(&head, ContentForm::Raw)
            .await?
            .map(Pieces::whole))
    }

    /// The position of the message `id` in `inbox`; `None` if it is not there.
    ///
    /// # Errors
    /// See [`Store::message`].
    pub async fn cursor(
        &self,
        inbox: &InboxId,
        id: MessageId,
        now: Timestamp,
    ) -> Result<Option<Cursor>, StoreError> {
        // A deleted message still has a position.
        const BY_ID: &str = concat!(
            "
            SELECT m.sequence FROM messages m JOIN inboxes i ON i.number = m.inbox_number
            WHERE ",
            live!("i.", "$1"),
            " AND m.sequence > i.emptied_sequence
                AND m.id = $2 AND i.id = $3"
        );
        let rows = self
            .database
            .look_up(BY_ID, values![now, id, inbox])
            .await?;
        Ok(rows
            .into_iter()
            .next()
            .map(|mut row| row.integer().map(Cursor))
            .transpose()?)
    }

    /// The oldest match among the messages that `search` has not compared yet.
    ///
    /// # Errors
    /// See [`Store::message`].
    pub async fn oldest_match(
        &self,
        inbox: &Inbox,
        search: &mut Search,
        now: Timestamp,
    ) -> Result<Option<StoredMessage>, StoreError> {
        let mut most = 0;
        loop {
            most = search.heads_after(most);
            let (heads, is_end) = self.oldest_heads(inbox, search.after, most, now).await?;
            let Some(last) = heads.last().map(|head| head.sequence) else {
                return Ok(None);
            };
            search.compared += heads.len();
            let Some(head) = self
                .matching_heads(search.selection(), heads, 1)
                .await?
                .pop()
            else {
                search.after = last;
                if is_end {
                    return Ok(None);
                }
                continue;
            };
            let sequence = head.sequence;
            if let Some(message) = self.opened(head).await? {
                return Ok(Some(message));
            }
            // It was removed after its head was read.
            search.after = sequence;
        }
    }

    /// The newest messages of the selection before the sequence `before`: at most `limit` messages
    /// and `bytes` of parsed parts, without those of large messages. A page has at least one
    /// message.
    ///
    /// # Errors
    /// See [`Store::message`].
    pub async fn page(
        &self,
        inbox: &Inbox,
        selection: &Selection,
        before: i64,
        (limit, bytes): (i64, usize),
        now: Timestamp,
    ) -> Result<Page, StoreError> {
        let limit = usize::try_from(limit)
            .unwrap_or(PAGE_MESSAGES)
            .min(PAGE_MESSAGES);
        let (mut heads, mut next) = self
            .newest_matches(inbox, selection, before, (limit, bytes), now)
            .await?;
        let fitting = fitting(&heads, bytes);
        if fitting < heads.len() {
            heads.truncate(fitting);
            next = heads.last().map(|head| head.sequence);
        }
        let read = stream::iter(heads)
            .map(|head| self.opened(head))
            .buffered(CONTENTS_AT_ONCE);
        let messages: Vec<Option<StoredMessage>> = read.try_collect().await?;
        Ok(Page {
            messages: messages.into_iter().flatten().collect(),
            next,
        })
    }

    /// The heads of the newest matches before a sequence, and the sequence before which the search
    /// continues.
    async fn newest_matches(
        &self,
        inbox: &Inbox,
        selection: &Selection,
        mut before: i64,
        (limit, bytes): (usize, usize),
        now: Timestamp,
    ) -> Result<(Vec<Head>, Option<i64>), StoreError> {
        let mut matches = Vec::new();
        let most = selection.heads_for(limit);
        // Of filtered messages, only the contents of the matches are needed.
        let bytes = Some(bytes).filter(|_| self.is_shared() && !selection.is_filter());
        loop {
            let (heads, is_end) = self
                .newest_heads(inbox, (selection.after, before), (most, bytes), now)
                .await?;
            before = heads.last().map_or(before, |head| head.sequence);
            matches.extend(
                self.matching_heads(selection, heads, limit - matches.len())
                    .await?,
            );
            if matches.len() >= limit {
                let next = matches.last().map(|head| head.sequence);
                return Ok((matches, next));
            }
            if is_end {
                return Ok((matches, None));
            }
        }
    }

    pub(super) async fn owned_head(
        &self,
        project: ProjectId,
        id: MessageId,
        now: Timestamp,
    ) -> Result<Option<Head>, DatabaseError> {
        const OWNED: &str =
            live_heads!("m.sequence > i.emptied_sequence AND m.id = $2 AND i.project_id = $3");
        let rows = self
            .database
            .look_up(OWNED, values![now, id, project])
            .await?;
        rows.into_iter().next().map(Head::read).transpose()
    }

    /// The oldest heads after a sequence, at most `most`, and whether these are all.
    async fn oldest_heads(
        &self,
        inbox: &Inbox,
        after: i64,
        most: usize,
        now: Timestamp,
    ) -> Result<(Vec<Head>, bool), DatabaseError> {
        // SQLite uses only one lower bound for an index range, so the larger of `$4` and
        // `emptied_sequence` is computed first.
        const OLDEST: &str = live_heads!(
            "i.id = $2 AND i.created_at = $3
             AND m.sequence > CASE WHEN i.emptied_sequence > $4 THEN i.emptied_sequence ELSE $4 END
             ORDER BY m.sequence LIMIT $5"
        );
        self.heads(
            OLDEST,
            values![now, &inbox.id, inbox.created_at, after, most],
            most,
        )
        .await
    }

    /// The newest heads of a range of sequences, at most `most`, and whether these are all. With
    /// `bytes`, the contents of the first are read with the same statement, as many as fit. That
    /// saves a round trip; without one, two statements are faster.
    async fn newest_heads(
        &self,
        inbox: &Inbox,
        (after, before): (i64, i64),
        (most, bytes): (usize, Option<usize>),
        now: Timestamp,
    ) -> Result<(Vec<Head>, bool), DatabaseError> {
        const WITH_CONTENTS: &str = concat!(
            "SELECT h.*, CASE
                WHEN CAST(SUM(h.parsed_size + h.raw_size) OVER (ORDER BY h.sequence DESC) AS BIGINT) <= $7
                THEN (SELECT data FROM contents WHERE number = h.content_number) END
             FROM (",
            newest_heads!(),
            ") h ORDER BY h.sequence DESC"
        );
        let mut parameters = values![now, &inbox.id, inbox.created_at, after, before, most];
        let Some(bytes) = bytes else {
            return self.heads(newest_heads!(), parameters, most).await;
        };
        parameters.extend(values![bytes]);
        let with_data = |mut row| {
            let head = Head::read_from(&mut row)?;
            Ok(Head {
                data: row.optional_bytes()?,
                ..head
            })
        };
        let (rows, is_end) = self.rows(WITH_CONTENTS, parameters, most).await?;
        let heads: Result<_, DatabaseError> = rows.into_iter().map(with_data).collect();
        Ok((heads?, is_end))
    }

    /// The newest heads of an inbox that was live then.
    pub(super) async fn heads_until(
        &self,
        inbox: &Inbox,
        most: usize,
        until: Timestamp,
    ) -> Result<Vec<Head>, DatabaseError> {
        const NEWEST: &str = live_heads!(
            "i.id = $2 AND i.created_at = $3 AND m.received_at <= $1 AND m.sequence > i.emptied_sequence
             ORDER BY m.sequence DESC LIMIT $4"
        );
        Ok(self
            .heads(
                NEWEST,
                values![until, &inbox.id, inbox.created_at, most],
                most,
            )
            .await?
            .0)
    }

    async fn heads(
        &self,
        sql: &'static str,
        parameters: Vec<Value>,
        most: usize,
    ) -> Result<(Vec<Head>, bool), DatabaseError> {
        let (rows, is_end) = self.rows(sql, parameters, most).await?;
        let heads: Result<_, DatabaseError> = rows.into_iter().map(Head::read).collect();
        Ok((heads?, is_end))
    }

    /// Runs a statement that reads at most `most` heads. Returns them, and whether these are all.
    async fn rows(
        &self,
        sql: &'static str,
        parameters: Vec<Value>,
        most: usize,
    ) -> Result<(Vec<Row>, bool), DatabaseError> {
        let (rows, has_more) = if most <= FEW_HEADS {
            (self.database.look_up(sql, parameters).await?, false)
        } else {
            self.database
                .first_rows(sql, parameters, MAX_HEAD_BYTES)
                .await?
        };
        let is_end = !has_more && rows.len() < most;
        Ok((rows, is_end))
    }

    /// Reads the content for a head, unless it is large; `None` if the message was removed in the
    /// meantime.
    pub(super) async fn opened(&self, head: Head) -> Result<Option<StoredMessage>, StoreError> {
        let parts = if head.is_large() {
            self.pieces(&head, ContentForm::Parsed)
        } else {
            let Some(parsed) = self.read_form(&head, ContentForm::Parsed).await? else {
                return Ok(None);
            };
            Pieces::whole(parsed)
        };
        let Head {
            id,
            inbox_id,
            shared,
            sequence,
            sender: from,
            subject,
            received_at,
            code,
            attachments,
            ..
        } = head;
        Ok(Some(StoredMessage {
            id,
            inbox_id,
            shared,
            sequence,
            from,
            subject,
            received_at,
            code,
            attachments,
            parts,
        }))
    }
}

impl StoredMessage {
    /// The message with the start of its text, at most `most` bytes; `None` if it was removed in
    /// the meantime. Of a large message, only the pieces with this start are read.
    ///
    /// # Errors
    /// See [`PartsReader::open`] and [`PartsReader::text`].
    pub async fn start(self, most: usize) -> Result<Option<MessageStart>, StoreError> {
        let Self {
            id,
            inbox_id,
            shared,
            from,
            subject,
            received_at,
            code,
            attachments,
            parts,
            ..
        } = self;
        let Some(mut parts) = PartsReader::open(parts).await? else {
            return Ok(None);
        };
        let text = match parts.start_of_text(most).await {
            Err(StoreError::Removed) => return Ok(None),
            text => text?,
        };
        Ok(Some(MessageStart {
            id,
            inbox_id,
            shared,
            from,
            subject,
            text,
            code,
            received_at,
            attachments,
        }))
    }
}

impl Head {
    fn read(mut row: Row) -> Result<Self, DatabaseError> {
        Self::read_from(&mut row)
    }

    pub(super) fn read_from(row: &mut Row) -> Result<Self, DatabaseError> {
        let id = row.uuid()?;
        let inbox_id = row.text()?;
        let shared = row.optional_text()?;
        let sequence = row.integer()?;
        let sender = row.text()?;
        let subject = row.text()?;
        let subject_folded = row.text()?;
        let received_at = row.integer()?;
        let has_otp = row.integer()?;
        let has_link = row.integer()?;
        let code = row.text()?;
        Ok(Self {
            id: MessageId(id),
            inbox_id: InboxId::from_stored(inbox_id),
            shared: shared.map(SharedAddress::from_stored),
            sequence,
            sender,
            subject,
            subject_folded,
            received_at: Timestamp::from_millis(received_at),
            has: Features {
                otp: has_otp == 1,
                code: !code.is_empty(),
                link: has_link == 1,
            },
            code,
            attachments: row.integer()?,
            content_number: row.integer()?,
            parsed_size: row.count()?,
            raw_size: row.count()?,
            recipients: row.optional_text()?,
            data: None,
        })
    }

    pub(super) fn reached(&self) -> Reached {
        Reached {
            inbox: self.inbox_id.clone(),
            shared: self.shared.clone(),
            recipients: self.recipients.clone(),
        }
    }

    /// Whether the content is stored in pieces.
    pub(super) fn is_large(&self) -> bool {
        self.parsed_size + self.raw_size > ORDINARY
    }

    /// The parsed bytes that are read into memory as a whole; 0 for large messages.
    fn held(&self) -> usize {
        if self.is_large() { 0 } else { self.parsed_size }
    }
}

/// How many of these messages fit into a page of this many bytes: at least one.
fn fitting(heads: &[Head], bytes: usize) -> usize {
    let mut total = 0_usize;
    let fits = |head: &&Head| {
        total = total.saturating_add(head.held());
        total <= bytes
    };
    heads
        .iter()
        .take_while(fits)
        .count()
        .max(1)
        .min(heads.len())
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::config::DatabaseUrl;
    use crate::db::Database;
    use crate::store::{Content, Delivery, Locking, Origin, Policy, apply, load};
    use restante_delivery::{NewIds, Request, Source, decide};
    use restante_mail::ParsedMessage;

    /// Counts the rows that are read, because a query that reads too many still gives the right
    /// result, only slowly.
    #[tokio::test]
    async fn a_wait_after_a_cursor_does_not_read_what_is_older() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("restante.db");
        let store = Store::open(
            Database::open(&DatabaseUrl::Sqlite(path.clone()))
                .await
                .unwrap(),
        )
        .await
        .unwrap();
        let now = Timestamp::from_millis(1);
        let default_project = store.default_project("default", now).await.unwrap();
        let lifetime = std::time::Duration::from_secs(60);
        let mail_domain = crate::model::Domain::parse("restante.example.com").unwrap();
        let policy = Policy {
            now,
            lifetime,
            inbox_messages: 1_000,
            default_project,
            mail_domain,
        };
        let content = Content::encode(
            ParsedMessage::default(),
            String::new(),
            Origin::default(),
            b"x",
        );
        let recipients = vec![InboxId::parse("box").unwrap().into()];
        let request = Request {
            recipients,
            source: Source::Client {
                project: None,
                reverse_path: String::new(),
            },
        };
        let batch = vec![
            Delivery {
                request,
                content,
                outgoing: None
            };
            1_000
        ];
        let write = async move |mut transaction| {
            let loaded = load(&mut transaction, &batch, &policy, Locking::WaitBriefly).await?;
            let new_ids = NewIds {
                uuid: &mut uuid::Uuid::now_v7,
                inbox: &mut crate::model::generate_inbox_id,
            };
            let requests = batch.iter().map(|delivery| &delivery.request);
            let decision = decide(&loaded.facts, requests, new_ids);
            apply(&mut transaction, &batch, loaded, &decision, &policy).await?;
            Ok(transaction.commit().await?)
        };
        store.transact(write).await.unwrap();

        const OLDEST: &str = live_heads!(
            "i.id = ?2 AND i.created_at = ?3
             AND m.sequence > CASE WHEN i.emptied_sequence > ?4 THEN i.emptied_sequence ELSE ?4 END
             ORDER BY m.sequence LIMIT 1"
        );
        let connection = rusqlite::Connection::open(path).unwrap();
        let mut statement = connection.prepare(&OLDEST.replace('$', "?")).unwrap();
        let sequence = |row: &rusqlite::Row<'_>| row.get::<_, i64>("sequence");
        assert_eq!(
            statement.query_row((1, "box", 1, 998), sequence).unwrap(),
            999
        );
        assert!(statement.get_status(rusqlite::StatementStatus::VmStep) < 200);
    }
}
