//! All messages of a project, of one inbox or of all projects, newest first, and the search in
//! them.
//!
//! An index leads from one message to the next older one. A search compares the messages here and
//! in `mail_terms.rs`, in batches, until it has found a page or its time is up; the caller can then
//! continue where it stopped. The time for a page is therefore independent of the number of
//! messages, and deliveries do not have to update a text index.

use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::stream::{self, StreamExt, TryStreamExt};
use uuid::Uuid;

use super::content::{ORDINARY, on_blocking_thread};
use super::mail_terms::{Match, TEXT_BYTES, Terms};
use super::messages::{CONTENTS_AT_ONCE, Head, MAX_HEAD_BYTES};
use super::{ContentForm, PartsReader, Store, StoreError, StoredMessage, live};
use crate::db::{DatabaseError, Row, Value, values};
use crate::model::{Features, MailFilter, ProjectId, Timestamp};

/// The time limit of a search for one page.
const SEARCH_TIME: Duration = Duration::from_millis(60);
/// Maximum number of messages that are compared at once, without and with their text.
const BATCH: usize = 1_000;
const TEXT_BATCH: usize = 50;
/// Bytes of subjects and parsed parts in one page; the page ends before the message that exceeds
/// them, unless it is the first.
const PAGE_BYTES: usize = 4 * 1024 * 1024;

/// A page of the messages of a project, newest first.
#[derive(Debug)]
pub struct MailPage {
    pub messages: Vec<StoredMessage>,
    /// The list continues before this position; `None` at its end.
    pub next: Option<i64>,
    /// The messages that were compared.
    pub compared: usize,
    /// Those of them whose text was compared only in part, because it is long or damaged.
    pub partly: usize,
}

/// A message to be compared, with its content if the text is needed.
struct Candidate {
    /// Its position in the list: its number, or in an inbox its sequence.
    position: i64,
    head: Head,
    data: Option<Bytes>,
}

/// The result of comparing a batch.
#[derive(Default)]
struct Compared {
    matching: Vec<Candidate>,
    partly: usize,
    /// The last message that was compared, if the time was up before the end of the batch.
    stopped: Option<i64>,
}

/// A SELECT of a position, of `$data`, of the columns of a [`Head`], and of whether the message is
/// live, from the next messages of a project, of an inbox or of all projects; `$1` is the current
/// time. SQLite does not reorder a CROSS JOIN, so the rows come from the index one by one, and a
/// reader that stops early makes it read no more.
macro_rules! candidates {
    (everywhere, $data:expr, $join:literal) => {
        candidates!("m.number", "m.number < $2", "$3", "", $data, $join)
    };
    (project, $data:expr, $join:literal) => {
        candidates!("m.number", "m.project_id = $2 AND m.number < $3", "$4", " AND i.project_id = $2", $data, $join)
    };
    (inbox, $data:expr, $join:literal) => {
        candidates!(
            "m.sequence",
            "m.inbox_number = (SELECT number FROM inboxes WHERE id = $5 AND created_at = $6)
                AND m.sequence < $3 AND m.sequence > (SELECT emptied_sequence FROM inboxes WHERE id = $5)",
            "$4",
            " AND i.project_id = $2",
            $data,
            $join
        )
    };
    ($position:literal, $conditions:literal, $limit:literal, $owner:literal, $data:expr, $join:literal) => {
        concat!(
            "SELECT ",
            $position,
            ", ",
            $data,
            ", m.id, i.id, i.address, m.sequence, m.sender, m.subject, m.subject_folded,
                m.received_at, m.has_otp, m.has_link, m.code, m.attachments, COALESCE(m.content_number, 0),
                m.parsed_size, m.raw_size, m.recipients,
                CASE WHEN ",
            live!("i.", "$1"),
            " AND m.content_number IS NOT NULL
                    AND m.sequence > i.emptied_sequence",
            $owner,
            " THEN 1 ELSE 0 END
             FROM messages m CROSS JOIN inboxes i ",
            $join,
            " WHERE i.number = m.inbox_number AND ",
            $conditions,
            " ORDER BY ",
            $position,
            " DESC LIMIT ",
            $limit
        )
    };
}
pub(super) use candidates;

impl Candidate {
    /// Without what is needed only to compare it.
    fn compared(self) -> Self {
        Self {
            head: Head {
                subject_folded: String::new(),
                ..self.head
            },
            ..self
        }
    }
}

impl MailFilter {
    /// After this many bytes, a batch is compared even if it has fewer messages.
    fn batch_bytes(&self) -> usize {
        if self.reads_text() {
            TEXT_BATCH * ORDINARY
        } else {
            MAX_HEAD_BYTES
        }
    }

    /// How many messages are compared at once, if `wanted` more are needed.
    fn batch(&self, wanted: usize) -> usize {
        match (self.is_any(), self.reads_text()) {
            (false, _) => wanted,
            (true, false) => BATCH,
            (true, true) => TEXT_BATCH,
        }
    }

    /// Whether the row of a message meets the conditions that are no texts.
    fn admits(&self, head: &Head) -> bool {
        let Features { otp, code, link } = self.has;
        (head.has.otp || !otp)
            && (head.has.code || !code)
            && (head.has.link || !link)
            && (head.attachments > 0 || !self.has_attachment)
            && self.since.is_none_or(|since| head.received_at >= since)
            && self.until.is_none_or(|until| head.received_at < until)
    }
}

impl Store {
    /// A page of at most `limit` messages of a project or of one of its inboxes; without a project,
    /// of all projects.
    pub async fn mail(
        &self,
        project: Option<ProjectId>,
        filter: &MailFilter,
        limit: usize,
        now: Timestamp,
    ) -> Result<MailPage, StoreError> {
        let started = Instant::now();
        let terms = Terms::new(filter);
        let mut before = filter.before.unwrap_or(i64::MAX);
        let (mut found, mut compared, mut partly): (Vec<Candidate>, usize, usize) =
            (Vec::new(), 0, 0);
        let next = loop {
            let most = filter.batch(limit + 1 - found.len());
            let (batch, live, is_end) = self.candidates(project, filter, before, most, now).await?;
            let Some(last) = batch.last().map(|candidate| candidate.position) else {
                break None;
            };
            let positions: Vec<i64> = batch.iter().map(|candidate| candidate.position).collect();
            let is_past = filter
                .since
                .is_some_and(|since| batch.iter().any(|one| one.head.received_at < since));
            let result = self.compare(batch, live, filter, &terms, started).await?;
            let stopped = result.stopped.filter(|stopped| *stopped != last);
            partly += result.partly;
            compared += positions
                .iter()
                .filter(|position| **position >= stopped.unwrap_or(last))
                .count();
            found.extend(result.matching.into_iter().map(Candidate::compared));
            let fitting = fitting(&found).min(limit);
            if fitting < found.len() {
                found.truncate(fitting);
                break found.last().map(|last| last.position);
            }
            before = stopped.unwrap_or(last);
            if stopped.is_none() && (is_end || is_past) {
                break None;
            }
            if started.elapsed() >= SEARCH_TIME {
                break Some(before);
            }
        };
        let opened = stream::iter(found)
            .map(|candidate| self.opened(candidate.head))
            .buffered(CONTENTS_AT_ONCE);
        let messages: Vec<Option<StoredMessage>> = opened.try_collect().await?;
        Ok(MailPage {
            messages: messages.into_iter().flatten().collect(),
            next,
            compared,
            partly,
        })
    }

    /// The number of messages in the live inboxes of a project, or of all projects.
    pub async fn count_messages(
        &self,
        project: Option<ProjectId>,
        now: Timestamp,
    ) -> Result<i64, StoreError> {
        const COUNT: &str = concat!(
            "SELECT CAST(COALESCE(SUM(message_count), 0) AS BIGINT) FROM inboxes
             WHERE ($2 = 0 OR project_id = $3) AND ",
            live!("$1")
        );
        let one = project.unwrap_or(ProjectId(Uuid::nil()));
        let rows = self
            .database
            .query(COUNT, values![now, project.is_some(), one])
            .await?;
        Ok(Row::only_integer(rows)?)
    }

    /// The next messages of the list, for each whether it is live, and whether these are all.
    async fn candidates(
        &self,
        project: Option<ProjectId>,
        filter: &MailFilter,
        before: i64,
        most: usize,
        now: Timestamp,
    ) -> Result<(Vec<Candidate>, Vec<bool>, bool), DatabaseError> {
        macro_rules! with_data {
            ($place:ident) => {
                candidates!(
                    $place,
                    "c.data",
                    "LEFT JOIN contents c ON c.number = m.content_number"
                )
            };
        }
        const EVERYWHERE: [&str; 2] = [candidates!(everywhere, "NULL", ""), with_data!(everywhere)];
        const IN_PROJECT: [&str; 2] = [candidates!(project, "NULL", ""), with_data!(project)];
        const IN_INBOX: [&str; 2] = [candidates!(inbox, "NULL", ""), with_data!(inbox)];
        let (place, parameters): (_, Vec<Value>) = match (project, &filter.inbox) {
            (None, _) => (EVERYWHERE, values![now, before, most]),
            (Some(project), None) => (IN_PROJECT, values![now, project, before, most]),
            (Some(project), Some(inbox)) => (
                IN_INBOX,
                values![now, project, before, most, &inbox.id, inbox.created_at],
            ),
        };
        let sql = place[usize::from(filter.reads_text())];
        let (rows, has_more) = self
            .database
            .first_rows(sql, parameters, filter.batch_bytes())
            .await?;
        let is_end = !has_more && rows.len() < most;
        let read = |mut row: Row| {
            let position = row.integer()?;
            let data = row.optional_bytes()?;
            let head = Head::read_from(&mut row)?;
            Ok((
                Candidate {
                    position,
                    head,
                    data,
                },
                row.integer()? == 1,
            ))
        };
        let read: Result<Vec<_>, DatabaseError> = rows.into_iter().map(read).collect();
        let (batch, live) = read?.into_iter().unzip();
        Ok((batch, live, is_end))
    }

    /// Compares a batch with the filter. The large messages are read one by one, until the time is
    /// up.
    async fn compare(
        &self,
        batch: Vec<Candidate>,
        live: Vec<bool>,
        filter: &MailFilter,
        terms: &Terms,
        started: Instant,
    ) -> Result<Compared, StoreError> {
        let live = batch
            .into_iter()
            .zip(live)
            .filter_map(|(candidate, is_live)| is_live.then_some(candidate));
        let chosen: Vec<Candidate> = live
            .filter(|candidate| filter.admits(&candidate.head))
            .collect();
        if terms.is_empty() || chosen.is_empty() {
            return Ok(Compared {
                matching: chosen,
                ..Compared::default()
            });
        }
        let shared = terms.clone();
        let compare = move |candidate: Candidate| {
            let result = shared.compare(&candidate.head, candidate.data.as_ref());
            (
                Candidate {
                    data: None,
                    ..candidate
                },
                result,
            )
        };
        let results =
            on_blocking_thread(move || chosen.into_iter().map(compare).collect::<Vec<_>>()).await?;
        let mut compared = Compared::default();
        let mut has_read = false;
        for (candidate, result) in results {
            let needs_text = matches!(result, Match::Unread);
            // At least one, so that the search moves on.
            if needs_text && has_read && started.elapsed() >= SEARCH_TIME {
                return Ok(compared);
            }
            has_read |= needs_text;
            compared.stopped = Some(candidate.position);
            let (is_match, is_partial) = match result {
                Match::Yes => (true, false),
                Match::No => (false, false),
                Match::Unread => self.compare_large(&candidate.head, terms).await?,
            };
            compared.partly += usize::from(is_partial);
            compared.matching.extend(is_match.then_some(candidate));
        }
        compared.stopped = None;
        Ok(compared)
    }

    /// Whether the text of a large message matches, and whether only a part of the text was
    /// compared.
    async fn compare_large(&self, head: &Head, terms: &Terms) -> Result<(bool, bool), StoreError> {
        let (text, is_whole) = match self.start_of_text(head).await {
            Ok(Some(read)) => read,
            Ok(None) | Err(StoreError::Removed) => return Ok((false, false)),
            Err(StoreError::Damaged(_) | StoreError::UnknownVersion(_)) => {
                return Ok((false, true));
            }
            Err(error) => return Err(error),
        };
        let (terms, open) = (terms.clone(), terms.rest_of(head));
        let is_match = on_blocking_thread(move || terms.all_in_text(&open, &text)).await?;
        Ok((is_match, !is_whole))
    }

    /// The start of the text of a large message, and whether that is all of it; `None` if the
    /// message was removed.
    async fn start_of_text(&self, head: &Head) -> Result<Option<(String, bool)>, StoreError> {
        if !head.is_large() {
            // Its text could not be read from its row.
            return Err(StoreError::Damaged(super::content::CUT_OFF));
        }
        let Some(mut parts) = PartsReader::open(self.pieces(head, ContentForm::Parsed)).await?
        else {
            return Ok(None);
        };
        let is_whole = parts.text_size() <= TEXT_BYTES;
        Ok(Some((parts.start_of_text(TEXT_BYTES).await?, is_whole)))
    }
}

/// How many of these messages fit into a page: at least one.
fn fitting(found: &[Candidate]) -> usize {
    let mut total = 0_usize;
    let fits = |candidate: &&Candidate| {
        total = total
            .saturating_add(candidate.head.parsed_size)
            .saturating_add(candidate.head.subject.len());
        total <= PAGE_BYTES
    };
    found
        .iter()
        .take_while(fits)
        .count()
        .max(1)
        .min(found.len())
}
