//! The search in stored mail: of a wait, a list, the dashboard, MCP and the API of Mailpit.
//!
//! An index leads from one message to the next one. Rows are read in batches and compared here, and
//! a search continues where it stopped, so the time of a step does not depend on the number of
//! messages, and deliveries do not have to update a text index.

use std::time::Instant;

use futures_util::stream::{self, StreamExt, TryStreamExt};

use super::comparing::{COMPARED_BYTES, Start};
use super::messages::{FEW_HEADS, Head, MAX_HEAD_BYTES, head_columns};
use super::project_mail::repeated;
use super::{Store, StoreError, live};
use crate::db::{DatabaseError, Row, Value, values};
use crate::large;
use crate::model::{Condition, MailQuery, Reached, Scope, Timestamp};

/// Maximum number of rows that are read at once, without and with their contents. They have at most
/// `MAX_HEAD_BYTES`.
const MAX_ROWS: usize = 1_000;
const MAX_ROWS_WITH_CONTENT: usize = 50;
/// Bytes of rows with contents that are read at once to be opened: less than a page has.
const MAX_OPENED_BYTES: usize = 256 * 1024;
/// The inboxes of several messages are read at once.
const INBOXES_AT_ONCE: usize = 4;

/// A search. It compares each message once: the next step continues after the last one, until the
/// search has to [restart](Self::restart).
#[derive(Debug)]
pub struct Search {
    query: MailQuery,
    is_oldest_first: bool,
    /// Whether the messages that are found are opened.
    pub(super) is_opened: bool,
    /// The last position that was compared.
    position: i64,
    is_over: bool,
    /// The rows of the last step, if it found fewer messages than it should.
    rows: usize,
    /// The number of messages that were compared.
    pub compared: usize,
    /// How many of them were compared only in part, because they are long or damaged.
    pub partly: usize,
}

/// A message that may match.
pub(super) struct Candidate {
    position: i64,
    pub(super) head: Head,
    /// Whether it is live and an entry of the list.
    is_entry: bool,
    /// The inboxes that it has reached, if other recipients than its own are compared.
    reached: Vec<Reached>,
}

/// The next rows of messages between the positions `$2` and `$3`; `$1` is the current time. If `$5`
/// is 1, they have their contents. SQLite does not reorder a CROSS JOIN, so the rows come from the
/// index one by one, and a reader that stops early makes it read no more.
macro_rules! rows {
    ($tables:literal, $position:literal, $order:literal, $conditions:expr, $is_entry:expr) => {
        concat!(
            "SELECT ",
            $position,
            ", CASE WHEN ",
            $is_entry,
            " THEN 1 ELSE 0 END,
             CASE WHEN $5 = 1 THEN (SELECT trace FROM contents WHERE number = m.content_number) END,
             CASE WHEN $5 = 1 THEN (SELECT data FROM contents WHERE number = m.content_number) END, ",
            head_columns!(),
            " FROM ",
            $tables,
            " WHERE i.number = m.inbox_number AND ",
            $position,
            " < $3 AND ",
            $conditions,
            " ORDER BY ",
            $position,
            $order,
            " LIMIT $4"
        )
    };
}

/// The live rows of an inbox. SQLite uses only one lower bound for an index range, so the larger of
/// `$2` and `emptied_sequence` is computed first.
macro_rules! rows_of_inbox {
    ($order:literal) => {
        rows!(
            "inboxes i CROSS JOIN messages m",
            "m.sequence",
            $order,
            concat!(
                "m.sequence > CASE WHEN i.emptied_sequence > $2 THEN i.emptied_sequence ELSE $2 END
                    AND i.id = $6 AND i.created_at = $7 AND m.content_number IS NOT NULL AND ",
                live!("i.", "$1")
            ),
            "1 = 1"
        )
    };
}

/// The rows of a project. Those that are not live are read, too: otherwise one statement could read
/// any number of them.
const IN_PROJECT: &str = rows!(
    "messages m CROSS JOIN inboxes i",
    "m.number",
    " DESC",
    "m.number > $2 AND m.project_id = $6",
    concat!(
        live!("i.", "$1"),
        " AND m.content_number IS NOT NULL AND m.sequence > i.emptied_sequence",
        " AND i.project_id = $6 AND ($7 = 0 OR NOT ",
        repeated!("$6"),
        ")"
    )
);
const NEWEST: &str = rows_of_inbox!(" DESC");
pub(super) const OLDEST: &str = rows_of_inbox!("");

impl Search {
    /// A search from the newest message to older ones.
    #[must_use]
    pub fn newest_first(query: MailQuery) -> Self {
        Self {
            position: query.before.unwrap_or(i64::MAX),
            query,
            is_oldest_first: false,
            is_opened: false,
            is_over: false,
            rows: 0,
            compared: 0,
            partly: 0,
        }
    }

    /// A search in an inbox from the oldest message to newer ones.
    #[must_use]
    pub fn oldest_first(query: MailQuery) -> Self {
        Self {
            position: query.after,
            is_oldest_first: true,
            ..Self::newest_first(query)
        }
    }

    /// Lets the next step of a search from the oldest message start there again.
    pub fn restart(&mut self) {
        self.position = self.query.after;
    }

    /// Whether the last step has reached the end.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// The position after which it continues; `None` at the end.
    #[must_use]
    pub fn position(&self) -> Option<i64> {
        Some(self.position).filter(|_| !self.is_over)
    }

    /// Lets the next step continue after a message of this one.
    pub(super) fn return_to(&mut self, candidate: &Candidate) {
        self.position = candidate.position;
        self.is_over = false;
    }

    /// Whether contents are compared as they are read with the rows, because most are needed.
    fn compares_contents(&self) -> bool {
        let conditions = &self.query.conditions;
        self.query.takes_all_rows()
            && !conditions.is_empty()
            && conditions.iter().all(Condition::reads_content)
    }

    /// How many rows the next statement reads to find `wanted` messages. A step of a wait usually
    /// finds few new messages.
    fn next_rows(&self, wanted: usize) -> usize {
        let most = if self.compares_contents() {
            MAX_ROWS_WITH_CONTENT
        } else {
            MAX_ROWS
        };
        let few = if self.query.is_filter() { FEW_HEADS } else { 1 };
        wanted.max(few).max(self.rows * 4).min(most)
    }
}

impl Store {
    /// The next step of a search: the matching ones of the next messages, at most `wanted`. If the
    /// time is up, it stops before it reads another content, but not before the first.
    pub(super) async fn step(
        &self,
        search: &mut Search,
        wanted: usize,
        deadline: Option<Instant>,
        now: Timestamp,
    ) -> Result<Vec<Candidate>, StoreError> {
        let (batch, is_end) = self.batch(search, wanted, now).await?;
        let positions: Vec<i64> = batch.iter().map(|candidate| candidate.position).collect();
        let since = search.query.since.filter(|_| !search.is_oldest_first);
        let is_past = since.is_some_and(|since| {
            let mut times = batch.iter().map(|candidate| candidate.head.received_at);
            times.any(|received_at| received_at < since)
        });
        let chosen = self.chosen(search, batch, now).await?;
        let conditions = search.query.conditions.clone();
        let bytes = chosen.iter().map(Candidate::bytes).sum();
        let judge = move || judge(&conditions, chosen, wanted);
        let (judged, mut is_cut) = large::run(bytes, judge).await?;
        let mut found = Vec::new();
        let mut reached = None;
        let mut has_read = false;
        for (candidate, is_met) in judged {
            let is_late = deadline.is_some_and(|deadline| Instant::now() >= deadline);
            if found.len() >= wanted || (is_met.is_none() && has_read && is_late) {
                is_cut = true;
                break;
            }
            reached = Some(candidate.position);
            has_read |= is_met.is_none();
            let is_met = match is_met {
                Some(is_met) => is_met,
                None => match self.met_by_content(search, &candidate).await {
                    // A search in steps has to come to an end; a wait or a list fails.
                    Err(error @ (StoreError::Damaged(_) | StoreError::UnknownVersion(_)))
                        if deadline.is_some() || search.query.is_merged =>
                    {
                        let id = candidate.head.id;
                        tracing::warn!(%id, %error, "a message cannot be searched");
                        search.partly += 1;
                        false
                    }
                    is_met => is_met?,
                },
            };
            found.extend(Some(candidate).filter(|_| is_met));
        }
        let last = positions.last().copied();
        let reached = reached.filter(|_| is_cut).or(last);
        let compared = positions.iter().position(|one| Some(*one) == reached);
        search.compared += compared.map_or(0, |place| place + 1);
        search.is_over = reached == last && (is_end || is_past);
        search.position = reached.unwrap_or(search.position);
        let is_enough = search.is_over || found.len() >= wanted;
        search.rows = if is_enough { 0 } else { positions.len() };
        Ok(found)
    }

    /// The next messages, and whether these are all.
    async fn batch(
        &self,
        search: &Search,
        wanted: usize,
        now: Timestamp,
    ) -> Result<(Vec<Candidate>, bool), DatabaseError> {
        let query = &search.query;
        let most = search.next_rows(wanted);
        // Without a filter, the contents of all are needed. Reading them with the rows saves a
        // round trip; without one, two statements are faster.
        let opens_all = search.is_opened && self.is_shared() && !query.is_filter();
        let with_contents = search.compares_contents() || opens_all;
        let max_bytes = if opens_all {
            MAX_OPENED_BYTES
        } else {
            MAX_HEAD_BYTES
        };
        let (after, before) = if search.is_oldest_first {
            (search.position, query.before.unwrap_or(i64::MAX))
        } else {
            (query.after, search.position)
        };
        // One more from the newest on, so that the last page knows that it is the last.
        let read = most + usize::from(!search.is_oldest_first);
        let mut parameters: Vec<Value> = values![now, after, before, read, with_contents];
        let sql = match &query.scope {
            Scope::Project(project) => {
                parameters.extend(values![*project, query.is_merged]);
                IN_PROJECT
            }
            Scope::Inbox(inbox) => {
                parameters.extend(values![&inbox.id, inbox.created_at]);
                if search.is_oldest_first {
                    OLDEST
                } else {
                    NEWEST
                }
            }
        };
        let (mut rows, has_more) = if most <= FEW_HEADS {
            (self.database.look_up(sql, parameters).await?, false)
        } else {
            self.database.first_rows(sql, parameters, max_bytes).await?
        };
        let is_end = !has_more && rows.len() < read;
        rows.truncate(most);
        let batch: Result<_, DatabaseError> = rows.into_iter().map(Candidate::read).collect();
        Ok((batch?, is_end))
    }

    /// The messages that meet what is no text, with their other recipients if these are compared.
    async fn chosen(
        &self,
        search: &Search,
        batch: Vec<Candidate>,
        now: Timestamp,
    ) -> Result<Vec<Candidate>, StoreError> {
        let query = &search.query;
        let chosen = batch
            .into_iter()
            .filter(|Candidate { is_entry, head, .. }| {
                let is_read = |wanted| wanted == self.read_mail.contains(head.id);
                *is_entry && query.admits(head) && query.is_read.is_none_or(is_read)
            });
        if !query.is_merged {
            return Ok(chosen.collect());
        }
        let project = query.scope.project();
        let with_recipients = async |mut candidate: Candidate| {
            let is_open = |condition: &Condition| {
                let is_met = candidate.met_by_row(condition) == Some(true);
                condition.reads_recipients() && (condition.is_excluded || !is_met)
            };
            if candidate.head.is_shared && query.conditions.iter().any(is_open) {
                candidate.reached = self.reached(project, &candidate.head, now).await?;
            }
            Ok(candidate)
        };
        stream::iter(chosen)
            .map(with_recipients)
            .buffered(INBOXES_AT_ONCE)
            .try_collect()
            .await
    }

    /// Whether the content of a message meets the conditions that its row does not.
    async fn met_by_content(
        &self,
        search: &mut Search,
        candidate: &Candidate,
    ) -> Result<bool, StoreError> {
        // Reading may not have to wait, and another request must not wait for all of it.
        tokio::task::coop::consume_budget().await;
        let head = &candidate.head;
        let Some(start) = self.start(head).await? else {
            return Ok(false);
        };
        let is_open = |condition: &&Condition| candidate.met_by_row(condition).is_none();
        let open: Vec<Condition> = search
            .query
            .conditions
            .iter()
            .filter(is_open)
            .cloned()
            .collect();
        let compare = move || {
            let is_whole = start.text(COMPARED_BYTES)?.1;
            Ok::<_, StoreError>((all_met(&open, &start)?, is_whole))
        };
        let (is_met, is_whole) = large::run(head.parsed_size + head.raw_size, compare).await??;
        search.partly += usize::from(!is_whole);
        Ok(is_met)
    }
}

impl Candidate {
    fn read(mut row: Row) -> Result<Self, DatabaseError> {
        let position = row.get()?;
        let is_entry = row.get()?;
        let content = row.get::<Option<_>>()?.zip(row.get()?);
        let head = Head {
            content,
            ..Head::read(&mut row)?
        };
        Ok(Self {
            position,
            head,
            is_entry,
            reached: Vec::new(),
        })
    }

    fn met_by_row(&self, condition: &Condition) -> Option<bool> {
        condition.met_by_row(&self.head, &self.reached)
    }

    /// Whether it meets all conditions; `None` if its content has to be read for that, or is
    /// damaged.
    fn meets(&self, conditions: &[Condition]) -> Option<bool> {
        let mut open = Vec::new();
        for condition in conditions {
            match self.met_by_row(condition) {
                Some(true) => {}
                Some(false) => return Some(false),
                None => open.push(condition),
            }
        }
        if open.is_empty() {
            return Some(true);
        }
        let content = self.head.content.as_ref();
        let (trace, data) = content.filter(|_| !self.head.is_large())?;
        let start = Start::of_ordinary(trace.clone(), data, self.head.parsed_size).ok()?;
        all_met(open, &start).ok()
    }

    /// How many bytes are compared.
    fn bytes(&self) -> usize {
        let content = self.head.content.as_ref();
        content.map_or(0, |_| self.head.parsed_size + self.head.raw_size)
            + self.head.subject_folded.len()
    }
}

/// For each message whether it meets all conditions, until `wanted` are known to do, and whether
/// others are left.
fn judge(
    conditions: &[Condition],
    candidates: Vec<Candidate>,
    wanted: usize,
) -> (Vec<(Candidate, Option<bool>)>, bool) {
    let mut judged = Vec::with_capacity(candidates.len());
    let mut met = 0;
    for candidate in candidates {
        if met >= wanted {
            return (judged, true);
        }
        let is_met = candidate.meets(conditions);
        met += usize::from(is_met == Some(true));
        judged.push((candidate, is_met));
    }
    (judged, false)
}

fn all_met<'a>(
    conditions: impl IntoIterator<Item = &'a Condition>,
    start: &Start,
) -> Result<bool, StoreError> {
    for condition in conditions {
        if !condition.met_by_content(start)? {
            return Ok(false);
        }
    }
    Ok(true)
}
