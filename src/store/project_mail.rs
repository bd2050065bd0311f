//! The messages of a project as one list, newest first, for the API of Mailpit: a message for
//! several inboxes is one entry of it, with the id that it has in the oldest of these inboxes.
//!
//! As in `mail.rs`, an index leads from one message to the next older one, and the messages are
//! compared here.

use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::stream::{self, StreamExt, TryStreamExt};
use memchr::memmem;
use restante_mail::details::Mailbox;
use restante_mail::{Addressing, addressing};

use super::content::{decompress, fold_case, on_blocking_thread, unpack};
use super::mail::candidates;
use super::messages::{Head, MAX_HEAD_BYTES};
use super::parts::beginning_of_text;
use super::{ContentForm, Store, StoreError, live};
use crate::db::{Row, Value, values};
use crate::model::{
    InboxId, MailEntries, MailEntry, MailSearch, MessageId, ProjectId, Reached, SearchedPart,
    SharedAddress, TextCondition, Timestamp,
};

/// How long a search may take to find a page. The count of further messages ends then, too.
const MAX_SEARCH_TIME: Duration = Duration::from_secs(2);
/// Rows of messages that are read at once, up to [`MAX_HEAD_BYTES`].
const MIN_HEADS: usize = 20;
const MAX_HEADS: usize = 100;
/// Maximum number of messages of a project that are counted.
const MAX_COUNTED: usize = 100_000;
/// Memory for the entries of a page. The page ends before the entry that exceeds it, unless it is
/// the first.
const MAX_PAGE_BYTES: usize = 2 * 1024 * 1024;
/// Contents that are read at once.
const MAX_CONTENTS_AT_ONCE: usize = 4;
/// Bytes of a text that are compared, and that an entry shows.
const MAX_TEXT_BYTES: usize = 256 * 1024;
const MAX_SHOWN_BYTES: usize = 1_024;

/// A walk through the matching messages, newest first.
pub(super) struct Walk<'a> {
    store: &'a Store,
    project: ProjectId,
    search: &'a MailSearch,
    now: Timestamp,
    /// The walk continues before this position; `None` at its end.
    before: Option<i64>,
}

/// A message that may match.
pub(super) struct Candidate {
    pub(super) head: Head,
    /// Whether it had several recipients.
    is_shared: bool,
}

/// What is read of a content.
struct Beginning {
    /// The first bytes of the text.
    text: String,
    addressing: Addressing,
}

/// The message in one inbox.
#[derive(Clone, Debug)]
pub(super) struct Copy {
    pub(super) id: MessageId,
    pub(super) inbox: InboxId,
    reached: Reached,
}

/// Whether an older inbox of the project `$2` has the same message at the time `$1`.
macro_rules! repeated {
    () => {
        concat!(
            "(m.is_shared = 1 AND EXISTS (
                SELECT 1 FROM messages o JOIN inboxes oi ON oi.number = o.inbox_number
                WHERE o.content_number = m.content_number AND o.is_shared = 1 AND o.inbox_number < m.inbox_number
                    AND oi.project_id = $2 AND o.sequence > oi.emptied_sequence AND ",
            live!("oi.", "$1"),
            "))"
        )
    };
}

/// The ids of the messages of the project `$2` at the time `$1`, at most `$3`.
macro_rules! ids {
    () => {
        concat!(
            "
            SELECT m.id FROM messages m JOIN inboxes i ON i.number = m.inbox_number
            WHERE m.project_id = $2 AND i.project_id = $2 AND ",
            live!("i.", "$1"),
            " AND m.content_number IS NOT NULL AND m.sequence > i.emptied_sequence AND NOT ",
            repeated!(),
            " LIMIT $3"
        )
    };
}

impl Store {
    /// The messages of a project that meet the conditions, without the first `start`, and at most
    /// `limit`. `None` if they cannot be found in time.
    pub async fn project_mail(
        &self,
        project: ProjectId,
        search: &MailSearch,
        (start, limit): (usize, usize),
        now: Timestamp,
    ) -> Result<Option<MailEntries>, StoreError> {
        let started = Instant::now();
        let mut walk = Walk::new(self, project, search, now);
        let mut chosen = Vec::new();
        let mut bytes = 0;
        let mut found = 0;
        let mut unread = 0;
        let mut is_full = limit == 0;
        // Of a search, all matches are counted.
        while let Some(batch) = walk
            .next(if search.is_empty() {
                start + limit - found
            } else {
                MAX_HEADS
            })
            .await?
        {
            for candidate in batch {
                found += 1;
                unread += u64::from(!self.read_mail.contains(candidate.head.id));
                bytes += if found > start {
                    candidate.head.subject.len()
                } else {
                    0
                };
                is_full |= bytes > MAX_PAGE_BYTES && !chosen.is_empty();
                if found > start && !is_full {
                    let head = Head {
                        subject_folded: String::new(),
                        ..candidate.head
                    };
                    chosen.push(Candidate { head, ..candidate });
                    is_full = chosen.len() >= limit;
                }
            }
            if is_full && (search.is_empty() || started.elapsed() >= MAX_SEARCH_TIME) {
                break;
            }
            if started.elapsed() >= MAX_SEARCH_TIME {
                return Ok(None);
            }
        }
        let (found, unread) = if search.is_empty() {
            self.count_mail(project, now).await?
        } else {
            (found as u64, unread)
        };
        Ok(Some(MailEntries {
            entries: self.entries(project, chosen, now).await?,
            found,
            unread,
        }))
    }

    /// The number of messages of a project, at most 100,000, and of the unread ones among them.
    pub async fn count_mail(
        &self,
        project: ProjectId,
        now: Timestamp,
    ) -> Result<(u64, u64), StoreError> {
        const COUNT: &str = concat!("SELECT COUNT(*) FROM (", ids!(), ") AS counted");
        let parameters = values![now, project, MAX_COUNTED];
        if self.read_mail.is_empty() {
            let rows = self.database.query(COUNT, parameters).await?;
            let count = Row::only_integer(rows)?.unsigned_abs();
            return Ok((count, count));
        }
        let rows = self.database.query(ids!(), parameters).await?;
        let total = rows.len() as u64;
        let mut unread = 0;
        for mut row in rows {
            unread += u64::from(!self.read_mail.contains(MessageId(row.uuid()?)));
        }
        Ok((total, unread))
    }

    /// A message and the same message in other inboxes of the project, the oldest inbox first.
    pub async fn inboxes_of_message(
        &self,
        project: ProjectId,
        id: MessageId,
        now: Timestamp,
    ) -> Result<Vec<Reached>, StoreError> {
        let Some(head) = self.owned_head(project, id, now).await? else {
            return Ok(Vec::new());
        };
        let own = head.reached();
        let copies = self.copies(project, head.content_number, now).await?;
        Ok(if copies.is_empty() {
            vec![own]
        } else {
            distinct_inboxes(copies)
        })
    }

    /// The copies of a content in the live inboxes of a project; none of a content that has one
    /// recipient.
    pub(super) async fn copies(
        &self,
        project: ProjectId,
        content: i64,
        now: Timestamp,
    ) -> Result<Vec<Copy>, StoreError> {
        const COPIES: &str = concat!(
            "
            SELECT m.id, i.id, i.address, m.recipients FROM messages m JOIN inboxes i ON i.number = m.inbox_number
            WHERE m.content_number = $3 AND m.is_shared = 1 AND i.project_id = $2 AND ",
            live!("i.", "$1"),
            " AND m.sequence > i.emptied_sequence ORDER BY i.number, m.number"
        );
        let rows = self
            .database
            .look_up(COPIES, values![now, project, content])
            .await?;
        let copy = |mut row: Row| {
            let id = MessageId(row.uuid()?);
            let inbox = InboxId::from_stored(row.text()?);
            let reached = Reached {
                inbox: inbox.clone(),
                shared: row.optional_text()?.map(SharedAddress::from_stored),
                recipients: row.optional_text()?,
            };
            Ok(Copy { id, inbox, reached })
        };
        rows.into_iter().map(copy).collect()
    }

    /// The entries for these messages. The page ends before the first that its memory cannot hold.
    async fn entries(
        &self,
        project: ProjectId,
        chosen: Vec<Candidate>,
        now: Timestamp,
    ) -> Result<Vec<MailEntry>, StoreError> {
        let read = stream::iter(chosen).map(|candidate| self.entry(project, candidate, now));
        let mut read = std::pin::pin!(read.buffered(MAX_CONTENTS_AT_ONCE));
        let mut entries = Vec::new();
        let mut bytes = 0;
        while let Some(entry) = read.try_next().await? {
            let Some(entry) = entry else { continue };
            bytes += entry.bytes();
            if bytes > MAX_PAGE_BYTES && !entries.is_empty() {
                break;
            }
            entries.push(entry);
        }
        Ok(entries)
    }

    /// The entry for a message; `None` if it was removed.
    async fn entry(
        &self,
        project: ProjectId,
        Candidate { head, is_shared }: Candidate,
        now: Timestamp,
    ) -> Result<Option<MailEntry>, StoreError> {
        let Some(Beginning { text, addressing }) = self.beginning(&head, MAX_SHOWN_BYTES).await?
        else {
            return Ok(None);
        };
        let copies = if is_shared {
            self.copies(project, head.content_number, now).await?
        } else {
            Vec::new()
        };
        let id = first_id(&copies, &head);
        let mut inboxes = distinct_inboxes(copies);
        if inboxes.is_empty() {
            inboxes.push(head.reached());
        }
        let Head {
            subject,
            received_at,
            raw_size: size,
            attachments,
            ..
        } = head;
        Ok(Some(MailEntry {
            id,
            inboxes,
            addressing,
            subject,
            received_at,
            size,
            attachments,
            text,
            is_read: self.read_mail.contains(id),
        }))
    }

    /// The beginning of the content of a message: at most `most` bytes of its text, and the
    /// addresses of its header. Of a large message, only the first pieces are read. `None` if it
    /// was removed.
    async fn beginning(&self, head: &Head, most: usize) -> Result<Option<Beginning>, StoreError> {
        const CONTENT: &str = "SELECT trace, data FROM contents WHERE number = $1";
        let rows = self
            .database
            .query(CONTENT, values![head.content_number])
            .await?;
        let Some(mut row) = rows.into_iter().next() else {
            return Ok(None);
        };
        let trace = row.text()?;
        let data = row.bytes()?;
        let (parsed, raw) = if head.is_large() {
            let first = async |form| self.pieces(head, form).next().await;
            match (
                first(ContentForm::Parsed).await,
                first(ContentForm::Raw).await,
            ) {
                (Err(StoreError::Removed), _) | (_, Err(StoreError::Removed)) => return Ok(None),
                (parsed, raw) => (parsed?.unwrap_or_default(), raw?.unwrap_or_default()),
            }
        } else {
            let mut parsed = Bytes::from(unpack(data, decompress).await?);
            let raw = parsed.split_off(head.parsed_size.min(parsed.len()));
            (parsed, raw)
        };
        let read = move || {
            let mut addressing = addressing(&raw);
            if addressing.message_id.is_empty() {
                addressing.message_id = restante_mail::addressing(trace.as_bytes()).message_id;
            }
            let text = beginning_of_text(&parsed, most)?.to_owned();
            Ok(Beginning { text, addressing })
        };
        on_blocking_thread(read).await?.map(Some)
    }
}

impl<'a> Walk<'a> {
    pub(super) fn new(
        store: &'a Store,
        project: ProjectId,
        search: &'a MailSearch,
        now: Timestamp,
    ) -> Self {
        Self {
            store,
            project,
            search,
            now,
            before: Some(i64::MAX),
        }
    }

    /// The matching ones of the next messages, of which about `wanted` are needed; `None` at the
    /// end.
    pub(super) async fn next(
        &mut self,
        wanted: usize,
    ) -> Result<Option<Vec<Candidate>>, StoreError> {
        let Some(before) = self.before else {
            return Ok(None);
        };
        let most = wanted.clamp(MIN_HEADS, MAX_HEADS);
        let (rows, is_end) = self.read(before, most).await?;
        self.before = rows
            .last()
            .map(|(position, ..)| *position)
            .filter(|_| !is_end);
        let matching = stream::iter(rows).map(async |(_, candidate, is_entry)| {
            let is_match = is_entry && self.matches(&candidate).await?;
            Ok::<_, StoreError>(is_match.then_some(candidate))
        });
        let matching: Vec<Option<Candidate>> = matching
            .buffered(MAX_CONTENTS_AT_ONCE)
            .try_collect()
            .await?;
        Ok(Some(matching.into_iter().flatten().collect()))
    }

    /// The next messages, with their positions, and whether each is live and an entry of the list;
    /// and whether these are all.
    async fn read(
        &self,
        before: i64,
        most: usize,
    ) -> Result<(Vec<(i64, Candidate, bool)>, bool), StoreError> {
        const IN_PROJECT: &str = candidates!(
            project,
            concat!("m.is_shared, CASE WHEN ", repeated!(), " THEN 1 ELSE 0 END"),
            ""
        );
        // In one inbox, nothing is repeated.
        const IN_INBOX: &str = candidates!(inbox, "m.is_shared, 0", "");
        let mut parameters: Vec<Value> = values![self.now, self.project, before, most];
        let sql = match &self.search.inbox {
            None => IN_PROJECT,
            Some(inbox) => {
                parameters.extend(values![&inbox.id, inbox.created_at]);
                IN_INBOX
            }
        };
        let (rows, has_more) = self
            .store
            .database
            .first_rows(sql, parameters, MAX_HEAD_BYTES)
            .await?;
        let is_end = !has_more && rows.len() < most;
        let read = |mut row: Row| {
            let position = row.integer()?;
            let is_shared = row.integer()? == 1;
            let is_repeated = row.integer()? == 1;
            let candidate = Candidate {
                head: Head::read_from(&mut row)?,
                is_shared,
            };
            Ok((position, candidate, row.integer()? == 1 && !is_repeated))
        };
        let read: Result<Vec<_>, StoreError> = rows.into_iter().map(read).collect();
        Ok((read?, is_end))
    }

    async fn matches(&self, candidate: &Candidate) -> Result<bool, StoreError> {
        let search = self.search;
        let head = &candidate.head;
        let has_attachment = head.attachments > 0;
        let is_read = self.store.read_mail.contains(head.id);
        if search
            .has_attachment
            .is_some_and(|wanted| wanted != has_attachment)
            || search.is_read.is_some_and(|wanted| wanted != is_read)
            || !self.reached(candidate).await?
        {
            return Ok(false);
        }
        let by_subject = search
            .texts
            .iter()
            .filter(|condition| condition.part == SearchedPart::Subject);
        if !by_subject
            .clone()
            .all(|condition| is_met(condition, &head.subject_folded))
        {
            return Ok(false);
        }
        if !search.needs_content() {
            return Ok(true);
        }
        let Some(beginning) = self.store.beginning(head, MAX_TEXT_BYTES).await? else {
            return Ok(false);
        };
        let subject = head.subject_folded.clone();
        let recipients = self.recipients(candidate).await?.join("\n");
        let texts = search.texts.clone();
        let compare = move || {
            texts
                .iter()
                .all(|condition| beginning.meets(condition, &subject, &recipients))
        };
        on_blocking_thread(compare).await
    }

    /// Whether the message was sent to the required addresses, and to none that is excluded.
    async fn reached(&self, candidate: &Candidate) -> Result<bool, StoreError> {
        let wanted = &self.search.recipients;
        let own = candidate.head.reached().addresses(&self.search.mail_domain);
        if wanted
            .iter()
            .all(|(address, is_excluded)| !is_excluded && own.contains(address))
        {
            return Ok(true);
        }
        let all = self.recipients(candidate).await?;
        Ok(wanted
            .iter()
            .all(|(address, is_excluded)| all.contains(address) != *is_excluded))
    }

    /// The recipients of the message in all inboxes that have it.
    async fn recipients(&self, candidate: &Candidate) -> Result<Vec<String>, StoreError> {
        let inboxes = self.inboxes(candidate).await?;
        let addresses = |reached: Reached| reached.addresses(&self.search.mail_domain);
        Ok(inboxes.into_iter().flat_map(addresses).collect())
    }

    async fn inboxes(
        &self,
        Candidate { head, is_shared }: &Candidate,
    ) -> Result<Vec<Reached>, StoreError> {
        if *is_shared {
            let copies = self
                .store
                .copies(self.project, head.content_number, self.now)
                .await?;
            return Ok(distinct_inboxes(copies));
        }
        Ok(vec![head.reached()])
    }
}

impl Beginning {
    /// Whether the content meets a condition. `subject` is case-folded, `recipients` are those of
    /// the envelope.
    fn meets(&self, condition: &TextCondition, subject: &str, recipients: &str) -> bool {
        let Addressing {
            from,
            to,
            cc,
            reply_to,
            message_id,
            ..
        } = &self.addressing;
        let text = match condition.part {
            SearchedPart::Subject => return true,
            SearchedPart::MessageId => message_id.clone(),
            SearchedPart::From => lines([from]),
            SearchedPart::Cc => lines([cc]),
            SearchedPart::ReplyTo => lines([reply_to]),
            SearchedPart::Addresses => lines([from, to, cc, reply_to]) + recipients,
            SearchedPart::All => [
                subject,
                &lines([from, to, cc, reply_to]),
                recipients,
                &self.text,
            ]
            .join("\n"),
        };
        is_met(condition, &fold_case(&text))
    }
}

/// Whether a text, which is case-folded, meets the condition.
fn is_met(condition: &TextCondition, folded: &str) -> bool {
    let wanted = fold_case(&condition.text);
    memmem::find(folded.as_bytes(), wanted.as_bytes()).is_some() != condition.is_excluded
}

/// Names and addresses, one on each line.
fn lines<const N: usize>(lists: [&Vec<Mailbox>; N]) -> String {
    let mut lines = String::new();
    for text in lists
        .into_iter()
        .flatten()
        .flat_map(|mailbox| [&mailbox.name, &mailbox.address])
        .flatten()
    {
        lines.push_str(text);
        lines.push('\n');
    }
    lines
}

/// The id of a message in the oldest inbox that has it. If an inbox has it several times, the same
/// one of them.
fn first_id(copies: &[Copy], head: &Head) -> MessageId {
    let place = copies
        .iter()
        .filter(|copy| copy.inbox == head.inbox_id)
        .position(|copy| copy.id == head.id);
    let first = copies
        .first()
        .map(|first| copies.iter().filter(|copy| copy.inbox == first.inbox));
    let id = place
        .zip(first)
        .and_then(|(place, mut first)| first.nth(place));
    id.map_or(head.id, |copy| copy.id)
}

fn distinct_inboxes(copies: Vec<Copy>) -> Vec<Reached> {
    let mut inboxes: Vec<_> = copies.into_iter().map(|copy| copy.reached).collect();
    inboxes.dedup();
    inboxes
}
