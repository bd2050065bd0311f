//! Reads the content of a message, whole or in pieces.
//!
//! A large message is sent one piece at a time, so only one piece is in memory.

use bytes::Bytes;

use super::content::{PIECE, decode, decompress};
use super::messages::Head;
use super::{ContentForm, Store, StoreError};
use crate::db::values;
use crate::memory::Room;

/// The memory for a piece that is being decompressed.
const PIECE_ROOM: u64 = 2 * PIECE as u64;

/// One form of a message, read in pieces.
#[derive(Debug)]
pub struct Pieces {
    store: Store,
    /// The total number of bytes.
    size: usize,
    rest: Rest,
}

/// The remaining content.
#[derive(Debug)]
enum Rest {
    /// An ordinary message, as one piece.
    Whole(Vec<u8>, Room),
    /// The pieces of a large message, starting with this one.
    From {
        content: i64,
        form: ContentForm,
        position: usize,
        room: Option<Room>,
    },
    Nothing,
}

impl Store {
    /// Reads one form of a message as a whole; `None` if the message was removed in the meantime.
    pub(super) async fn read_form(&self, head: &Head, form: ContentForm) -> Result<Option<Vec<u8>>, StoreError> {
        const DATA: &str = "SELECT data FROM contents WHERE number = $1";
        let rows = self.database.look_up(DATA, values![head.content_number]).await?;
        let Some(mut row) = rows.into_iter().next() else { return Ok(None) };
        let data = row.bytes()?;
        if !data.is_empty() {
            return decode(&data, head.parsed_size, form).map(Some);
        }
        let size = match form {
            ContentForm::Parsed => head.parsed_size,
            ContentForm::Raw => head.raw_size,
        };
        let mut whole = Vec::with_capacity(size);
        for position in 0..size.div_ceil(PIECE) {
            let Some(piece) = self.read_piece(head.content_number, form, position).await? else { return Ok(None) };
            whole.extend_from_slice(&piece);
        }
        Ok(Some(whole))
    }

    /// One form of a large message.
    pub(super) fn pieces(&self, head: &Head, form: ContentForm) -> Pieces {
        let size = match form {
            ContentForm::Parsed => head.parsed_size,
            ContentForm::Raw => head.raw_size,
        };
        let rest = Rest::From { content: head.content_number, form, position: 0, room: None };
        Pieces { store: self.clone(), size, rest }
    }

    /// Reads a piece of a large message, at most [`PIECE`] bytes; `None` if the message was removed in the meantime.
    async fn read_piece(
        &self,
        content: i64,
        form: ContentForm,
        position: usize,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        const PIECE_OF: &str = "SELECT data FROM chunks WHERE content_number = $1 AND form = $2 AND position = $3";
        let rows = self.database.look_up(PIECE_OF, values![content, form, position]).await?;
        let Some(mut row) = rows.into_iter().next() else { return Ok(None) };
        Ok(Some(decompress(&row.bytes()?)?))
    }
}

impl Pieces {
    /// All pieces as one, with their memory reservation.
    pub(super) fn whole(store: &Store, bytes: Vec<u8>, room: Room) -> Self {
        Self { store: store.clone(), size: bytes.len(), rest: Rest::Whole(bytes, room) }
    }

    /// The total number of bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        self.size
    }

    /// Whether all of it is in memory.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        matches!(self.rest, Rest::Whole(..))
    }

    /// The memory reservation of what has been read; `None` for a large message.
    #[must_use]
    pub fn room(&self) -> Option<Room> {
        match &self.rest {
            Rest::Whole(_, room) => Some(room.clone()),
            _ => None,
        }
    }

    /// The next piece; `None` after the last. Its memory is reserved until it is dropped.
    ///
    /// # Errors
    /// [`StoreError::Removed`] if the message was removed in the meantime; other errors if the database fails, or there
    /// is no memory.
    pub async fn next(&mut self) -> Result<Option<Bytes>, StoreError> {
        match std::mem::replace(&mut self.rest, Rest::Nothing) {
            Rest::Nothing => Ok(None),
            Rest::Whole(bytes, room) => Ok(Some(room.hold(bytes))),
            Rest::From { content, form, position, room } => {
                if position * PIECE >= self.size {
                    return Ok(None);
                }
                let room = match room {
                    Some(room) => room,
                    None => self.store.budget().take(PIECE_ROOM).await?,
                };
                let piece = self.store.read_piece(content, form, position).await?.ok_or(StoreError::Removed)?;
                self.rest = Rest::From { content, form, position: position + 1, room: Some(room.clone()) };
                Ok(Some(room.hold(piece)))
            }
        }
    }

    /// All pieces as one, with their memory reservation; `None` if the message was removed in the meantime.
    ///
    /// # Errors
    /// If the database fails, or there is no memory.
    pub async fn join(mut self) -> Result<Option<(Vec<u8>, Room)>, StoreError> {
        if let Rest::Whole(bytes, room) = self.rest {
            return Ok(Some((bytes, room)));
        }
        let room = self.store.room_for(self.size).await?;
        let mut whole = Vec::with_capacity(self.size);
        loop {
            match self.next().await {
                Ok(Some(piece)) => whole.extend_from_slice(&piece),
                Ok(None) => return Ok(Some((whole, room))),
                Err(StoreError::Removed) => return Ok(None),
                Err(error) => return Err(error),
            }
        }
    }
}
