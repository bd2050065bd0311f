//! Reads messages: one by its id, the oldest match of a wait, and the pages of a list.
//!
//! Messages are read only from live inboxes. List and wait queries also check that the inbox was
//! not deleted and created again since the caller looked it up.

use std::time::Instant;

use bytes::Bytes;
use futures_util::stream::{self, StreamExt, TryStreamExt};

use super::content::ORDINARY;
use super::reading::Pieces;
use super::search::{Candidate, Search};
use super::{ContentForm, Store, StoreError, live};
use crate::db::{DatabaseError, Row, values};
use crate::model::{Features, InboxId, MessageId, ProjectId, Reached, SharedAddress, Timestamp};

/// Heads that are read on the calling thread.
pub(super) const FEW_HEADS: usize = 4;
/// Bytes of heads that are read at once; the last one may exceed them. A subject has at most 100
/// KiB, and is read as it is and case-folded.
pub(super) const MAX_HEAD_BYTES: usize = 2 * 1024 * 1024;
/// Contents that are read at once.
pub(super) const CONTENTS_AT_ONCE: usize = 8;

/// A message without its content.
#[derive(Debug)]
pub struct Head {
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
    pub(super) subject_folded: String,
    /// When it was accepted.
    pub received_at: Timestamp,
    pub(super) has: Features,
    /// The labelled code in any form; empty if there is none.
    pub code: String,
    /// The number of its attachments, without images that its HTML shows.
    pub attachments: i64,
    pub(super) content_number: i64,
    pub(super) parsed_size: usize,
    /// The size of its bytes as received.
    pub raw_size: usize,
    /// Whether it had several recipients.
    pub(super) is_shared: bool,
    /// The recipients as addressed, if not only the inbox's address.
    pub(super) recipients: Option<String>,
    /// The label of the inbox, for example the title of its test.
    pub label: Option<String>,
    /// The trace and the content, if they were read with the head.
    pub(super) content: Option<(String, Bytes)>,
}

/// A message whose parts have not been read yet. Large parts are read in pieces.
#[derive(Debug)]
pub struct StoredMessage {
    pub head: Head,
    /// Its parts, for a [`PartsReader`](super::PartsReader).
    pub parts: Pieces,
}

/// A message, the way a list shows it.
#[derive(Debug)]
pub struct MessageStart {
    pub head: Head,
    /// The start of its text.
    pub text: String,
    /// The name beside the sender's address, if the message has one.
    pub sender_name: Option<String>,
}

/// The columns of a [`Head`].
macro_rules! head_columns {
    () => {
        "m.id, i.id, i.address, m.sequence, m.sender, m.subject, m.subject_folded, m.received_at, m.has_otp, m.has_link,
            m.code, m.attachments, COALESCE(m.content_number, 0), m.parsed_size, m.raw_size, m.is_shared,
            m.recipients, i.label"
    };
}
pub(super) use head_columns;

impl Store {
    /// A message without its content, if it is in a live inbox of `project`.
    pub async fn find_message(
        &self,
        project: ProjectId,
        id: MessageId,
        now: Timestamp,
    ) -> Result<Option<Head>, StoreError> {
        const OWNED: &str = concat!(
            "SELECT ",
            head_columns!(),
            " FROM messages m JOIN inboxes i ON i.number = m.inbox_number WHERE ",
            live!("i.", "$1"),
            " AND m.content_number IS NOT NULL AND m.sequence > i.emptied_sequence
                AND m.id = $2 AND i.project_id = $3"
        );
        self.first(OWNED, values![now, id, project], Head::read)
            .await
    }

    /// Reads the content for a head, unless it is large; `None` if the message was removed in the
    /// meantime.
    ///
    /// # Errors
    /// If the database fails or the message is damaged.
    pub async fn opened(&self, head: Head) -> Result<Option<StoredMessage>, StoreError> {
        let parts = self.form(&head, ContentForm::Parsed).await?;
        let head = head.compared();
        Ok(parts.map(|parts| StoredMessage { head, parts }))
    }

    /// A form of a message in pieces; `None` if the message was removed in the meantime.
    ///
    /// # Errors
    /// See [`Store::opened`].
    pub async fn form(&self, head: &Head, form: ContentForm) -> Result<Option<Pieces>, StoreError> {
        if head.is_large() {
            return Ok(Some(self.pieces(head, form)));
        }
        Ok(self.read_form(head, form).await?.map(Pieces::whole))
    }

    /// The position of the message `id` in `inbox`; `None` if it is not there.
    pub async fn cursor(
        &self,
        inbox: &InboxId,
        id: MessageId,
        now: Timestamp,
    ) -> Result<Option<i64>, StoreError> {
        // A deleted message still has a position.
        const BY_ID: &str = concat!(
            "
            SELECT m.sequence FROM messages m JOIN inboxes i ON i.number = m.inbox_number
            WHERE ",
            live!("i.", "$1"),
            " AND m.sequence > i.emptied_sequence
                AND m.id = $2 AND i.id = $3"
        );
        let parameters = values![now, id, inbox];
        self.first(BY_ID, parameters, Row::get).await
    }

    /// The oldest match among the messages that `search` has not compared yet.
    ///
    /// # Errors
    /// See [`Store::opened`].
    pub async fn oldest_match(
        &self,
        search: &mut Search,
        now: Timestamp,
    ) -> Result<Option<StoredMessage>, StoreError> {
        loop {
            let found = self.next_match(search, now).await?;
            if found.is_some() || search.is_over() {
                return Ok(found);
            }
        }
    }

    /// The same among the next messages only, which are few at first.
    ///
    /// # Errors
    /// See [`Store::opened`].
    pub async fn next_match(
        &self,
        search: &mut Search,
        now: Timestamp,
    ) -> Result<Option<StoredMessage>, StoreError> {
        for candidate in self.step(search, 1, None, now).await? {
            // `None` if it was removed after its head was read.
            if let Some(message) = self.opened(candidate.head).await? {
                return Ok(Some(message));
            }
        }
        Ok(None)
    }

    /// The next messages of a search: at most `limit`, with `bytes` of subjects and parsed parts,
    /// without those of large messages. A page has at least one message, unless the search is over
    /// or the time is up.
    ///
    /// # Errors
    /// See [`Store::opened`].
    pub async fn page(
        &self,
        search: &mut Search,
        most: (usize, usize),
        deadline: Option<Instant>,
        now: Timestamp,
    ) -> Result<Vec<StoredMessage>, StoreError> {
        let found = self.found(search, most, deadline, now).await?;
        let opened = stream::iter(found)
            .map(|candidate| self.opened(candidate.head))
            .buffered(CONTENTS_AT_ONCE);
        let messages: Vec<Option<StoredMessage>> = opened.try_collect().await?;
        Ok(messages.into_iter().flatten().collect())
    }

    /// The same as a list shows it, each with at most `text` bytes of its text, until `deadline`.
    ///
    /// # Errors
    /// See [`Store::opened`].
    pub async fn page_of_starts(
        &self,
        search: &mut Search,
        most: (usize, usize),
        (text, deadline): (usize, Instant),
        now: Timestamp,
    ) -> Result<Vec<MessageStart>, StoreError> {
        let found = self.found(search, most, Some(deadline), now).await?;
        let started = stream::iter(found)
            .map(|candidate| self.started(candidate.head, text))
            .buffered(CONTENTS_AT_ONCE);
        let messages: Vec<Option<MessageStart>> = started.try_collect().await?;
        Ok(messages.into_iter().flatten().collect())
    }

    /// A message as a list shows it; `None` if it was removed in the meantime. Of a large one, only
    /// the first pieces are read.
    ///
    /// # Errors
    /// See [`Store::opened`].
    pub async fn started(
        &self,
        head: Head,
        text: usize,
    ) -> Result<Option<MessageStart>, StoreError> {
        let Some(start) = self.start(&head).await? else {
            return Ok(None);
        };
        let mut senders = start.addressing().from.into_iter();
        Ok(Some(MessageStart {
            text: start.text(text)?.0.to_owned(),
            sender_name: senders.find_map(|sender| sender.name),
            head: head.compared(),
        }))
    }

    async fn found(
        &self,
        search: &mut Search,
        (limit, bytes): (usize, usize),
        deadline: Option<Instant>,
        now: Timestamp,
    ) -> Result<Vec<Candidate>, StoreError> {
        let mut found = Vec::new();
        search.is_opened = true;
        loop {
            found.extend(
                self.step(search, limit - found.len(), deadline, now)
                    .await?,
            );
            let fitting = fitting(&found, bytes);
            if fitting < found.len() {
                found.truncate(fitting);
                found.last().inspect(|last| search.return_to(last));
                break;
            }
            let is_late = deadline.is_some_and(|deadline| Instant::now() >= deadline);
            if found.len() >= limit || search.is_over() || is_late {
                break;
            }
        }
        Ok(found)
    }
}

impl Head {
    pub(super) fn read(row: &mut Row) -> Result<Self, DatabaseError> {
        let mut head = Self {
            id: row.get()?,
            inbox_id: row.get()?,
            shared: row.get()?,
            sequence: row.get()?,
            from: row.get()?,
            subject: row.get()?,
            subject_folded: row.get()?,
            received_at: row.get()?,
            has: Features {
                otp: row.get()?,
                link: row.get()?,
                code: false,
            },
            code: row.get()?,
            attachments: row.get()?,
            content_number: row.get()?,
            parsed_size: row.get()?,
            raw_size: row.get()?,
            is_shared: row.get()?,
            recipients: row.get()?,
            label: row.get()?,
            content: None,
        };
        head.has.code = !head.code.is_empty();
        Ok(head)
    }

    pub(super) fn reached(&self) -> Reached {
        Reached {
            inbox: self.inbox_id.clone(),
            shared: self.shared.clone(),
            recipients: self.recipients.clone(),
        }
    }

    /// Without what is needed only to compare and to open it.
    pub(super) fn compared(self) -> Self {
        Self {
            subject_folded: String::new(),
            content: None,
            ..self
        }
    }

    /// Whether the content is stored in pieces.
    pub(super) fn is_large(&self) -> bool {
        self.parsed_size + self.raw_size > ORDINARY
    }

    /// The bytes that are in memory or will be, without the pieces of a large message.
    fn held(&self) -> usize {
        let parsed = if self.is_large() { 0 } else { self.parsed_size };
        let content = self.content.as_ref().map_or(0, |(_, data)| data.len());
        parsed + content + self.subject.len()
    }
}

/// How many of these messages fit into a page of this many bytes: at least one.
fn fitting(found: &[Candidate], bytes: usize) -> usize {
    let mut total = 0_usize;
    let fits = |candidate: &&Candidate| {
        total = total.saturating_add(candidate.head.held());
        total <= bytes
    };
    found
        .iter()
        .take_while(fits)
        .count()
        .max(1)
        .min(found.len())
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::db::Database;
    use crate::db::DatabaseUrl;
    use crate::store::search::OLDEST;
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

        let connection = rusqlite::Connection::open(path).unwrap();
        let mut statement = connection.prepare(&OLDEST.replace('$', "?")).unwrap();
        let sequence = |row: &rusqlite::Row<'_>| row.get::<_, i64>("sequence");
        assert_eq!(
            statement
                .query_row((1, 998, i64::MAX, 1, 0, "box", 1), sequence)
                .unwrap(),
            999
        );
        assert!(statement.get_status(rusqlite::StatementStatus::VmStep) < 200);
    }
}
