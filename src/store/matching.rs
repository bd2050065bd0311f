//! Compares a filter with the content of messages: their text and their header.
//!
//! Nothing is parsed again: the text is stored, and of the bytes as received only the header
//! section is read. Contents are read one at a time, and of a large message only the start, so the
//! memory does not depend on the messages.

use bytes::Bytes;

use super::content::{PIECE, decompress, fold_case, on_blocking_thread, unpack};
use super::messages::Head;
use super::selection::{COMPARED_HERE, ContentFilter, Selection};
use super::{ContentForm, PartsReader, Store, StoreError, parts};
use crate::db::values;
use restante_mail::header_values;

/// Maximum number of bytes of a text and of a header section that are compared. Of a longer one,
/// only the start is compared.
pub(super) const COMPARED_BYTES: usize = PIECE;

/// Of a text filter, how many characters are compared to find the closest line; and the maximum
/// length of that line.
const CLOSEST_CHARACTERS: usize = 40;
const SHOWN_CHARACTERS: usize = 300;

/// What is compared of a message.
enum Compared {
    /// The parsed parts, and after this position the bytes as received.
    Both(Vec<u8>, usize),
    /// The start of the text, and the start of the bytes as received.
    Starts(String, Bytes),
}

impl Store {
    /// The first `most` of these messages that match, in their order.
    pub(super) async fn matching_heads(
        &self,
        selection: &Selection,
        heads: Vec<Head>,
        most: usize,
    ) -> Result<Vec<Head>, StoreError> {
        let mut heads = selection.matching(heads).await?;
        let Some(filter) = &selection.content else {
            heads.truncate(most);
            return Ok(heads);
        };
        let mut matching = Vec::new();
        for head in heads {
            if self
                .missed_in_content(filter, &head)
                .await?
                .is_some_and(|missed| missed.is_empty())
            {
                matching.push(head);
                if matching.len() >= most {
                    break;
                }
            }
        }
        Ok(matching)
    }

    /// The names of the filters that exclude a message, and for those for the content, the part of
    /// it that comes closest.
    pub(super) async fn missed_by(
        &self,
        selection: &Selection,
        head: &Head,
    ) -> Result<(Vec<&'static str>, Vec<(&'static str, String)>), StoreError> {
        let mut missed = selection.missed_by(head);
        let mut found = Vec::new();
        if let Some(filter) = &selection.content
            && let Some(compared) = self.compared(filter, head).await?
        {
            let filter = filter.clone();
            let compare = move || {
                let names = compared.missed_by(&filter)?;
                let closest = compared.closest(&filter, &names)?;
                Ok::<_, StoreError>((names, closest))
            };
            let (names, closest) = on_blocking_thread(compare).await??;
            missed.extend(names);
            found = closest;
        }
        Ok((missed, found))
    }

    /// The names of the filters for the content that exclude a message; `None` if it was removed in
    /// the meantime.
    async fn missed_in_content(
        &self,
        filter: &ContentFilter,
        head: &Head,
    ) -> Result<Option<Vec<&'static str>>, StoreError> {
        // Reading may not have to wait, and another request must not wait for all of it.
        tokio::task::coop::consume_budget().await;
        let Some(compared) = self.compared(filter, head).await? else {
            return Ok(None);
        };
        if compared.size() <= COMPARED_HERE {
            return compared.missed_by(filter).map(Some);
        }
        let filter = filter.clone();
        on_blocking_thread(move || compared.missed_by(&filter))
            .await?
            .map(Some)
    }

    async fn compared(
        &self,
        filter: &ContentFilter,
        head: &Head,
    ) -> Result<Option<Compared>, StoreError> {
        const DATA: &str = "SELECT data FROM contents WHERE number = $1";
        if !head.is_large() {
            let rows = self
                .database
                .query(DATA, values![head.content_number])
                .await?;
            let Some(mut row) = rows.into_iter().next() else {
                return Ok(None);
            };
            let both = unpack(row.bytes()?, decompress).await?;
            return Ok(Some(Compared::Both(both, head.parsed_size)));
        }
        let mut text = String::new();
        let mut header = Bytes::new();
        if filter.text.is_some() {
            let Some(mut parts) = PartsReader::open(self.pieces(head, ContentForm::Parsed)).await?
            else {
                return Ok(None);
            };
            text = match parts.start_of_text(COMPARED_BYTES).await {
                Err(StoreError::Removed) => return Ok(None),
                text => text?,
            };
        }
        if filter.reads_header() {
            // The first piece is all that is compared.
            header = match self.pieces(head, ContentForm::Raw).next().await {
                Err(StoreError::Removed) => return Ok(None),
                piece => piece?.unwrap_or_default(),
            };
        }
        Ok(Some(Compared::Starts(text, header)))
    }
}

impl Compared {
    fn size(&self) -> usize {
        match self {
            Self::Both(both, _) => both.len(),
            Self::Starts(text, header) => text.len() + header.len(),
        }
    }

    /// The text and the start of the bytes as received.
    fn parts(&self) -> Result<(&str, &[u8]), StoreError> {
        let (text, raw) = match self {
            Self::Both(both, parsed) => {
                let (parsed, raw) = both
                    .split_at_checked(*parsed)
                    .ok_or(StoreError::Damaged(parts::CUT_OFF))?;
                (parts::text(parsed)?, raw)
            }
            Self::Starts(text, header) => (text.as_str(), header.as_ref()),
        };
        Ok((
            &text[..text.floor_char_boundary(COMPARED_BYTES)],
            &raw[..raw.len().min(COMPARED_BYTES)],
        ))
    }

    fn missed_by(&self, filter: &ContentFilter) -> Result<Vec<&'static str>, StoreError> {
        let (text, raw) = self.parts()?;
        let contains = |text: &str, part: &str| {
            memchr::memmem::find(text.as_bytes(), part.as_bytes()).is_some()
        };
        let mut missed = Vec::new();
        if let Some(part) = &filter.text
            && !contains(&fold_case(text), part)
        {
            missed.push("text");
        }
        let has_field = |names: &[&str], part: &str| {
            header_values(raw, names).any(|value| contains(&fold_case(&value), part))
        };
        if filter
            .to
            .as_ref()
            .is_some_and(|part| !has_field(&["to", "cc"], part))
        {
            missed.push("to");
        }
        if filter
            .header
            .as_ref()
            .is_some_and(|(name, part)| !has_field(&[name.as_str()], part))
        {
            missed.push("header");
        }
        Ok(missed)
    }

    /// For each of these filters the part of the message that comes closest to it.
    fn closest(
        &self,
        filter: &ContentFilter,
        missed: &[&'static str],
    ) -> Result<Vec<(&'static str, String)>, StoreError> {
        let (text, raw) = self.parts()?;
        let fields =
            |names: &[&str]| short(&header_values(raw, names).collect::<Vec<_>>().join(", "));
        let closest = |name: &&'static str| {
            let part = match (*name, &filter.header) {
                ("text", _) => closest_line(text, filter.text.as_deref().unwrap_or_default()),
                ("header", Some((field, _))) => fields(&[field.as_str()]),
                _ => fields(&["to", "cc"]),
            };
            (*name, part)
        };
        Ok(missed.iter().map(closest).collect())
    }
}

/// The line most similar to `part`: the one that contains most of its groups of three characters.
fn closest_line(text: &str, part: &str) -> String {
    let part: Vec<char> = part.chars().take(CLOSEST_CHARACTERS).collect();
    let groups: Vec<String> = part
        .windows(3)
        .map(|group| group.iter().collect())
        .collect();
    let score = |line: &str| {
        let folded = fold_case(line);
        groups
            .iter()
            .filter(|group| folded.contains(group.as_str()))
            .count()
    };
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    // Of equal lines the first.
    lines
        .rev()
        .max_by_key(|line| score(line))
        .map(|line| short(line.trim()))
        .unwrap_or_default()
}

fn short(text: &str) -> String {
    text.chars().take(SHOWN_CHARACTERS).collect()
}
