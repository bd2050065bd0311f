//! The messages of a project as one list, newest first, for the API of Mailpit: a message for
//! several inboxes is one entry of it, with the id that it has in the oldest of these inboxes.

use std::time::{Duration, Instant};

use futures_util::stream::{self, StreamExt, TryStreamExt};
use restante_mail::Addressing;

use super::messages::Head;
use super::search::Search;
use super::{Store, StoreError, live};
use crate::db::{Row, values};
use crate::large;
use crate::model::{MailQuery, MessageId, ProjectId, Reached, Timestamp};

/// How long a search may take to find a page. The count of further messages ends then, too.
const MAX_SEARCH_TIME: Duration = Duration::from_secs(2);
/// Maximum number of messages of a project that are counted.
const MAX_COUNTED: usize = 100_000;
/// Memory for the entries of a page. The page ends before the entry that exceeds it, unless it is
/// the first.
const MAX_PAGE_BYTES: usize = 2 * 1024 * 1024;
/// Contents that are read at once.
const MAX_CONTENTS_AT_ONCE: usize = 4;
/// Bytes of a text that an entry shows.
const MAX_SHOWN_BYTES: usize = 1_024;

/// A message of a project. If several of its inboxes have the message, this stands for all of them.
#[derive(Debug)]
pub struct MailEntry {
    /// With the id of the message in the oldest of its inboxes.
    pub head: Head,
    /// The inboxes of the project that have it.
    pub inboxes: Vec<Reached>,
    /// The addresses in its header.
    pub addressing: Addressing,
    /// The start of its text.
    pub text: String,
    /// Whether it was read with Mailpit's API.
    pub is_read: bool,
}

/// Some of the messages that a search finds.
#[derive(Debug, Default)]
pub struct MailEntries {
    /// The messages, newest first.
    pub entries: Vec<MailEntry>,
    /// The number of all messages that were found.
    pub found: u64,
    /// How many of these are unread.
    pub unread: u64,
}

/// The message in one inbox.
pub(super) type Copy = (MessageId, Reached);

/// Whether an older inbox of a project has the same message at the time `$1`.
macro_rules! repeated {
    ($project:literal) => {
        concat!(
            "(m.is_shared = 1 AND EXISTS (
                SELECT 1 FROM messages o JOIN inboxes oi ON oi.number = o.inbox_number
                WHERE o.content_number = m.content_number AND o.is_shared = 1 AND o.inbox_number < m.inbox_number
                    AND o.sequence > oi.emptied_sequence AND oi.project_id = ",
            $project,
            " AND ",
            live!("oi.", "$1"),
            "))"
        )
    };
}
pub(super) use repeated;

/// The ids of the messages of the project `$2` at the time `$1`, at most `$3`.
macro_rules! ids {
    () => {
        concat!(
            "
            SELECT m.id FROM messages m JOIN inboxes i ON i.number = m.inbox_number
            WHERE m.project_id = $2 AND i.project_id = $2 AND ",
            live!("i.", "$1"),
            " AND m.content_number IS NOT NULL AND m.sequence > i.emptied_sequence AND NOT ",
            repeated!("$2"),
            " LIMIT $3"
        )
    };
}

impl Store {
    /// The messages of a project that a query finds, without the first `start`, and at most
    /// `limit`. `None` if they cannot be found in time.
    pub async fn project_mail(
        &self,
        project: ProjectId,
        query: MailQuery,
        (start, limit): (usize, usize),
        now: Timestamp,
    ) -> Result<Option<MailEntries>, StoreError> {
        let deadline = Instant::now() + MAX_SEARCH_TIME;
        let counts_all = query.is_all_of_project();
        let mut search = Search::newest_first(query);
        let mut chosen = Vec::new();
        let mut bytes = 0;
        let mut found = 0;
        let mut unread = 0;
        let mut is_full = limit == 0;
        while !search.is_over() {
            // Of a search, all matches are counted.
            let wanted = if counts_all {
                start + limit - found
            } else {
                usize::MAX
            };
            for candidate in self.step(&mut search, wanted, Some(deadline), now).await? {
                found += 1;
                unread += u64::from(!self.read_mail.contains(candidate.head.id));
                if found <= start || is_full {
                    continue;
                }
                bytes += candidate.head.subject.len();
                is_full = bytes > MAX_PAGE_BYTES && !chosen.is_empty();
                if !is_full {
                    chosen.push(candidate.head.compared());
                    is_full = chosen.len() >= limit;
                }
            }
            let is_late = !search.is_over() && Instant::now() >= deadline;
            if is_late && !is_full {
                return Ok(None);
            }
            if is_late || (is_full && counts_all) {
                break;
            }
        }
        let (found, unread) = if counts_all {
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
            let count: i64 = self.only(COUNT, parameters, Row::get).await?;
            let count = count.unsigned_abs();
            return Ok((count, count));
        }
        let ids = self.all(ids!(), parameters, Row::get).await?;
        let unread = ids.iter().filter(|id| !self.read_mail.contains(**id));
        Ok((ids.len() as u64, unread.count() as u64))
    }

    /// The inboxes of a project that a message has reached, the oldest first.
    pub async fn reached(
        &self,
        project: ProjectId,
        head: &Head,
        now: Timestamp,
    ) -> Result<Vec<Reached>, StoreError> {
        let copies = self.copies(project, head, now).await?;
        Ok(distinct_inboxes(copies, head))
    }

    /// The number of messages in the live inboxes of a project.
    pub async fn count_messages(
        &self,
        project: ProjectId,
        now: Timestamp,
    ) -> Result<i64, StoreError> {
        const COUNT: &str = concat!(
            "SELECT CAST(COALESCE(SUM(message_count), 0) AS BIGINT) FROM inboxes
             WHERE project_id = $2 AND ",
            live!("$1")
        );
        self.only(COUNT, values![now, project], Row::get).await
    }

    /// The id that a message has in the list.
    pub async fn listed_id(
        &self,
        project: ProjectId,
        id: MessageId,
        now: Timestamp,
    ) -> Result<MessageId, StoreError> {
        let Some(head) = self.find_message(project, id, now).await? else {
            return Ok(id);
        };
        let copies = self.copies(project, &head, now).await?;
        Ok(first_id(&copies, &head))
    }

    /// The copies of a message in the live inboxes of a project; none of one with one recipient.
    pub(super) async fn copies(
        &self,
        project: ProjectId,
        head: &Head,
        now: Timestamp,
    ) -> Result<Vec<Copy>, StoreError> {
        const COPIES: &str = concat!(
            "
            SELECT m.id, i.id, i.address, m.recipients FROM messages m JOIN inboxes i ON i.number = m.inbox_number
            WHERE m.content_number = $3 AND m.is_shared = 1 AND i.project_id = $2 AND ",
            live!("i.", "$1"),
            " AND m.sequence > i.emptied_sequence ORDER BY i.number, m.number"
        );
        if !head.is_shared {
            return Ok(Vec::new());
        }
        let copy = |row: &mut Row| {
            let id = row.get()?;
            let reached = Reached {
                inbox: row.get()?,
                shared: row.get()?,
                recipients: row.get()?,
            };
            Ok((id, reached))
        };
        let content = values![now, project, head.content_number];
        let rows = self.database.look_up(COPIES, content).await?;
        Ok(Row::all(rows, copy)?)
    }

    /// The entries for these messages. The page ends before the first that its memory cannot hold.
    async fn entries(
        &self,
        project: ProjectId,
        chosen: Vec<Head>,
        now: Timestamp,
    ) -> Result<Vec<MailEntry>, StoreError> {
        let read = stream::iter(chosen).map(|head| self.entry(project, head, now));
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
        head: Head,
        now: Timestamp,
    ) -> Result<Option<MailEntry>, StoreError> {
        let Some(start) = self.start(&head).await? else {
            return Ok(None);
        };
        let read = move || {
            let text = start.text(MAX_SHOWN_BYTES)?.0.to_owned();
            Ok::<_, StoreError>((text, start.addressing()))
        };
        let (text, addressing) = large::run(head.parsed_size + head.raw_size, read).await??;
        let copies = self.copies(project, &head, now).await?;
        let head = Head {
            id: first_id(&copies, &head),
            ..head.compared()
        };
        let inboxes = distinct_inboxes(copies, &head);
        let is_read = self.read_mail.contains(head.id);
        Ok(Some(MailEntry {
            head,
            inboxes,
            addressing,
            text,
            is_read,
        }))
    }
}

impl MailEntry {
    /// About how many bytes of memory it needs.
    fn bytes(&self) -> usize {
        let all = &self.addressing;
        let lists = [&all.from, &all.to, &all.cc, &all.bcc, &all.reply_to];
        let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        let addresses: usize = lists
            .into_iter()
            .flatten()
            .map(|one| 64 + text(&one.name) + text(&one.address))
            .sum();
        let texts = all.message_id.len() + self.head.subject.len() + self.text.len();
        512 + addresses + texts + self.inboxes.len() * 128
    }
}

/// The id of a message in the oldest inbox that has it. If an inbox has it several times, the same
/// one of them.
fn first_id(copies: &[Copy], head: &Head) -> MessageId {
    let place = copies
        .iter()
        .filter(|(_, reached)| reached.inbox == head.inbox_id)
        .position(|(id, _)| *id == head.id);
    let is_first = |(_, reached): &&Copy| reached.inbox == copies[0].1.inbox;
    let first = copies.iter().filter(is_first);
    let id = place.and_then(|place| first.into_iter().nth(place));
    id.map_or(head.id, |(id, _)| *id)
}

fn distinct_inboxes(copies: Vec<Copy>, head: &Head) -> Vec<Reached> {
    let mut inboxes: Vec<_> = copies.into_iter().map(|(_, reached)| reached).collect();
    inboxes.dedup();
    if inboxes.is_empty() {
        inboxes.push(head.reached());
    }
    inboxes
}
