//! Reads the content of a message, whole or in pieces.
//!
//! A large message is sent one piece at a time, so only one piece is in memory.

use bytes::Bytes;

use super::content::{PIECE, decode, decompress, unpack};
use super::messages::Head;
use super::{ContentForm, Store, StoreError};
use crate::db::{Row, values};
use crate::jobs::LARGE;

/// One form of a message, read in pieces.
#[derive(Clone, Debug)]
pub struct Pieces {
    /// The total number of bytes.
    size: usize,
    rest: Rest,
}

#[derive(Clone, Debug)]
enum Rest {
    /// An ordinary message, as one piece.
    Whole(Vec<u8>),
    /// The pieces of a large message, starting with this one.
    From {
        store: Store,
        content: i64,
        form: ContentForm,
        position: usize,
    },
    Nothing,
}

impl Store {
    /// Reads one form of a message as a whole; `None` if the message was removed in the meantime.
    pub(super) async fn read_form(
        &self,
        head: &Head,
        form: ContentForm,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let Some((_, data)) = self.content(head).await? else {
            return Ok(None);
        };
        if !data.is_empty() {
            let parsed = head.parsed_size;
            return unpack(data, move |data| decode(data, parsed, form))
                .await
                .map(Some);
        }
        let size = match form {
            ContentForm::Parsed => head.parsed_size,
            ContentForm::Raw => head.raw_size,
        };
        let mut whole = Vec::with_capacity(size);
        for position in 0..size.div_ceil(PIECE) {
            let Some(piece) = self.read_piece(head.content_number, form, position).await? else {
                return Ok(None);
            };
            whole.extend_from_slice(&piece);
        }
        Ok(Some(whole))
    }

    /// The trace of a message, and its content unless it is large; `None` if the message was removed
    /// in the meantime.
    pub(super) async fn content(&self, head: &Head) -> Result<Option<(String, Bytes)>, StoreError> {
        const CONTENT: &str = "SELECT trace, data FROM contents WHERE number = $1";
        if head.content.is_some() {
            return Ok(head.content.clone());
        }
        let read = |row: &mut Row| Ok((row.get()?, row.get()?));
        let number = values![head.content_number];
        self.first(CONTENT, number, read).await
    }

    /// The header fields that this server put before a message; `None` if it was removed in the
    /// meantime.
    pub async fn trace(&self, head: &Head) -> Result<Option<String>, StoreError> {
        Ok(self.content(head).await?.map(|(trace, _)| trace))
    }

    /// One form of a large message.
    pub(super) fn pieces(&self, head: &Head, form: ContentForm) -> Pieces {
        let size = match form {
            ContentForm::Parsed => head.parsed_size,
            ContentForm::Raw => head.raw_size,
        };
        let rest = Rest::From {
            store: self.clone(),
            content: head.content_number,
            form,
            position: 0,
        };
        Pieces { size, rest }
    }

    /// Reads a piece of a large message, at most [`PIECE`] bytes; `None` if the message was removed
    /// in the meantime.
    async fn read_piece(
        &self,
        content: i64,
        form: ContentForm,
        position: usize,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        const PIECE_OF: &str =
            "SELECT data FROM chunks WHERE content_number = $1 AND form = $2 AND position = $3";
        let parameters = values![content, form, position];
        match self.all(PIECE_OF, parameters, Row::get).await?.pop() {
            Some(piece) => unpack(piece, decompress).await.map(Some),
            None => Ok(None),
        }
    }
}

impl Pieces {
    /// All pieces as one.
    pub(super) fn whole(bytes: Vec<u8>) -> Self {
        Self {
            size: bytes.len(),
            rest: Rest::Whole(bytes),
        }
    }

    /// The total number of bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        self.size
    }

    /// Whether an answer with all of them is one of the large ones of its key.
    #[must_use]
    pub fn is_large(&self) -> bool {
        self.size > LARGE
    }

    /// The next piece; `None` after the last.
    ///
    /// # Errors
    /// [`StoreError::Removed`] if the message was removed in the meantime; other errors if the
    /// database fails.
    pub async fn next(&mut self) -> Result<Option<Bytes>, StoreError> {
        match std::mem::replace(&mut self.rest, Rest::Nothing) {
            Rest::Nothing => Ok(None),
            Rest::Whole(bytes) => Ok(Some(bytes.into())),
            Rest::From {
                store,
                content,
                form,
                position,
            } => {
                if position * PIECE >= self.size {
                    return Ok(None);
                }
                let piece = store
                    .read_piece(content, form, position)
                    .await?
                    .ok_or(StoreError::Removed)?;
                self.rest = Rest::From {
                    store,
                    content,
                    form,
                    position: position + 1,
                };
                Ok(Some(piece.into()))
            }
        }
    }
}
