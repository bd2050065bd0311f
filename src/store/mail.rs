//! All messages of a project or of one inbox, newest first, and the search in them.
//!
//! An index leads from one message to the next older one. A search compares the messages here, in batches,
//! until it has found a page or its time is up; the caller can then continue where it stopped. The time for a page is
//! therefore independent of the number of messages, and deliveries do not have to update a text index.

use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::stream::{self, StreamExt, TryStreamExt};
use memchr::memmem;

use super::content::{ORDINARY, decode, fold_case, on_blocking_thread};
use super::messages::{CONTENTS_AT_ONCE, Head};
use super::{ContentForm, Store, StoreError, StoredMessage, live, parts};
use crate::db::{DatabaseError, Row, Value, values};
use crate::model::{MailFilter, ProjectId, SharedAddress, Timestamp};

/// The time limit of a search for one page.
const SEARCH_TIME: Duration = Duration::from_millis(60);
/// Messages that are compared at once, without and with their text.
const BATCH: usize = 1_000;
const TEXT_BATCH: usize = 50;
/// Maximum number of bytes of a text that are compared. Of a longer text, only the start is compared.
const TEXT_BYTES: usize = 256 * 1024;
/// Bytes of parsed parts in one page; the page ends before the message that exceeds them, unless it is the first.
const PAGE_BYTES: usize = 4 * 1024 * 1024;

/// A page of the messages of a project, newest first.
#[derive(Debug)]
pub struct MailPage {
    /// The messages.
    pub messages: Vec<StoredMessage>,
    /// The list continues before this position; `None` at its end.
    pub next: Option<i64>,
    /// The messages that were compared.
    pub compared: usize,
}

/// A message to be compared, with its content if the text is needed.
struct Candidate {
    /// Its position in the list: its number, or in an inbox its sequence.
    position: i64,
    head: Head,
    data: Option<Bytes>,
}

/// A SELECT of a position, of `$data`, of the columns of a [`Head`], and of whether the message is live, from the next
/// messages of a project or of an inbox; `$1` is the current time.
macro_rules! candidates {
    (project, $data:expr, $join:literal) => {
        candidates!(
            "m.number",
            "SELECT * FROM messages WHERE project_id = $2 AND number < $3 ORDER BY number DESC LIMIT $4",
            $data,
            $join
        )
    };
    (inbox, $data:expr, $join:literal) => {
        candidates!(
            "m.sequence",
            "SELECT * FROM messages WHERE inbox_number = (SELECT number FROM inboxes WHERE id = $5 AND created_at = $6)
                AND sequence < $3 AND sequence > (SELECT emptied_sequence FROM inboxes WHERE id = $5)
             ORDER BY sequence DESC LIMIT $4",
            $data,
            $join
        )
    };
    ($position:literal, $source:literal, $data:expr, $join:literal) => {
        concat!(
            "SELECT ",
            $position,
            ", ",
            $data,
            ", m.id, i.id, i.address, m.sequence, m.sender, m.subject, m.subject_folded,
                m.received_at, m.has_otp, m.has_link, m.code, m.attachments, COALESCE(m.content_number, 0),
                m.parsed_size, m.raw_size,
                CASE WHEN ",
            live!("i.", "$1"),
            " AND m.content_number IS NOT NULL
                    AND m.sequence > i.emptied_sequence AND i.project_id = $2 THEN 1 ELSE 0 END
             FROM (",
            $source,
            ") m
             JOIN inboxes i ON i.number = m.inbox_number ",
            $join,
            " ORDER BY ",
            $position,
            " DESC"
        )
    };
}
pub(super) use candidates;

impl MailFilter {
    /// The memory for comparing the texts of one batch; 0 if no texts are compared.
    #[must_use]
    pub fn working_memory(&self) -> usize {
        if self.text.is_empty() { 0 } else { TEXT_BATCH * ORDINARY }
    }
}

impl Store {
    /// A page of at most `limit` messages of a project, or of one of its inboxes.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn mail(
        &self,
        project: ProjectId,
        filter: &MailFilter,
        limit: usize,
        now: Timestamp,
    ) -> Result<MailPage, StoreError> {
        let (started, wanted) = (Instant::now(), fold_case(&filter.text));
        let mut before = filter.before.unwrap_or(i64::MAX);
        let (mut found, mut compared): (Vec<Candidate>, usize) = (Vec::new(), 0);
        let is_filtered = !wanted.is_empty() || filter.has_code || filter.has_attachment;
        let mut next = loop {
            let most = match (is_filtered, wanted.is_empty()) {
                (false, _) => limit + 1 - found.len(),
                (true, true) => BATCH,
                (true, false) => TEXT_BATCH,
            };
            let (batch, live) = self.candidates(project, filter, before, most, now).await?;
            let Some(last) = batch.last().map(|candidate| candidate.position) else { break None };
            let is_end = batch.len() < most;
            let is_past = filter.since.is_some_and(|since| batch.iter().any(|one| one.head.received_at < since));
            compared += batch.len();
            let matching = self.matching(batch, live, filter, wanted.clone()).await?;
            found.extend(matching);
            if found.len() > limit {
                found.truncate(limit);
                break found.last().map(|last| last.position);
            }
            if is_end || is_past {
                break None;
            }
            before = last;
            if started.elapsed() >= SEARCH_TIME {
                break Some(before);
            }
        };
        let fitting = fitting(&found);
        if fitting < found.len() {
            found.truncate(fitting);
            next = found.last().map(|last| last.position);
        }
        let opened = stream::iter(found).map(|candidate| self.opened(candidate.head)).buffered(CONTENTS_AT_ONCE);
        let messages: Vec<Option<StoredMessage>> = opened.try_collect().await?;
        Ok(MailPage { messages: messages.into_iter().flatten().collect(), next, compared })
    }

    /// The next messages of a project or an inbox, and for each whether it is live.
    async fn candidates(
        &self,
        project: ProjectId,
        filter: &MailFilter,
        before: i64,
        most: usize,
        now: Timestamp,
    ) -> Result<(Vec<Candidate>, Vec<bool>), DatabaseError> {
        const HEADS: &str = candidates!(project, "NULL", "");
        const WITH_DATA: &str = candidates!(project, "c.data", "LEFT JOIN contents c ON c.number = m.content_number");
        const IN_INBOX: &str = candidates!(inbox, "NULL", "");
        const IN_INBOX_WITH_DATA: &str =
            candidates!(inbox, "c.data", "LEFT JOIN contents c ON c.number = m.content_number");
        let mut parameters: Vec<Value> = values![now, project, before, most];
        if let Some(inbox) = &filter.inbox {
            parameters.extend(values![&inbox.id, inbox.created_at]);
        }
        let sql = match (&filter.inbox, filter.text.is_empty()) {
            (None, true) => HEADS,
            (None, false) => WITH_DATA,
            (Some(_), true) => IN_INBOX,
            (Some(_), false) => IN_INBOX_WITH_DATA,
        };
        let rows = self.database.query(sql, parameters).await?;
        let read = |mut row: Row| {
            let (position, data) = (row.integer()?, row.optional_bytes()?);
            let head = Head::read_from(&mut row)?;
            Ok((Candidate { position, head, data }, row.integer()? == 1))
        };
        let read: Result<Vec<_>, DatabaseError> = rows.into_iter().map(read).collect();
        Ok(read?.into_iter().unzip())
    }

    /// The live candidates that match the filter.
    async fn matching(
        &self,
        batch: Vec<Candidate>,
        live: Vec<bool>,
        filter: &MailFilter,
        wanted: String,
    ) -> Result<Vec<Candidate>, StoreError> {
        let (code, attachment, since) = (filter.has_code, filter.has_attachment, filter.since);
        let by_address = filter.inbox.is_none();
        let passes = move |head: &Head| {
            (head.has.code || !code)
                && (head.attachments > 0 || !attachment)
                && since.is_none_or(|since| head.received_at >= since)
        };
        let live = batch.into_iter().zip(live).filter_map(|(candidate, is_live)| is_live.then_some(candidate));
        let chosen: Vec<Candidate> = live.filter(|candidate| passes(&candidate.head)).collect();
        if wanted.is_empty() || chosen.is_empty() {
            return Ok(chosen);
        }
        on_blocking_thread(move || {
            let found = chosen.into_iter().filter(|candidate| candidate.contains(&wanted, by_address));
            found.map(|candidate| Candidate { data: None, ..candidate }).collect()
        })
        .await
    }
}

impl Candidate {
    /// Whether it contains `wanted`, which is case-folded. The text is not compared if it is stored in pieces (a large
    /// message) or damaged.
    fn contains(&self, wanted: &str, by_address: bool) -> bool {
        let finder = memmem::Finder::new(wanted.as_bytes());
        let has = |text: &str| finder.find(fold_case(text).as_bytes()).is_some();
        let head = &self.head;
        let address = head.shared.as_ref().map_or(head.inbox_id.as_str(), SharedAddress::as_str);
        let has_address = by_address && has(address);
        if has_address || finder.find(head.subject_folded.as_bytes()).is_some() || has(&head.sender) {
            return true;
        }
        let Some(data) = self.data.as_ref().filter(|data| !data.is_empty()) else { return false };
        let Ok(parsed) = decode(data, head.parsed_size, ContentForm::Parsed) else { return false };
        parts::text(&parsed).is_ok_and(|text| has(&text[..text.floor_char_boundary(TEXT_BYTES)]))
    }
}

/// How many of these messages fit into a page: at least one.
fn fitting(found: &[Candidate]) -> usize {
    let mut total = 0_usize;
    let fits = |candidate: &&Candidate| {
        total = total.saturating_add(candidate.head.parsed_size);
        total <= PAGE_BYTES
    };
    found.iter().take_while(fits).count().max(1).min(found.len())
}
