//! Reads the content of a message, whole or in pieces.

use bytes::Bytes;

use super::content::{PIECE, decode, decompress};
use super::messages::Head;
use super::{Form, Store, StoreError};
use crate::db::values;

impl Store {
    /// One form of a message, whole; `None` if the message was removed meanwhile.
    pub(super) async fn read_form(&self, head: &Head, form: Form) -> Result<Option<Vec<u8>>, StoreError> {
        const DATA: &str = "SELECT data FROM contents WHERE number = $1";
        let rows = self.database.look_up(DATA, values![head.content_number]).await?;
        let Some(mut row) = rows.into_iter().next() else { return Ok(None) };
        let data = row.bytes()?;
        if !data.is_empty() {
            return decode(&data, head.parsed_size, form).map(Some);
        }
        let size = match form {
            Form::Parsed => head.parsed_size,
            Form::Raw => head.raw_size,
        };
        let mut whole = Vec::with_capacity(size);
        for position in 0..size.div_ceil(PIECE) {
            let Some(piece) = self.read_piece(head.content_number, form, position).await? else { return Ok(None) };
            whole.extend_from_slice(&piece);
        }
        Ok(Some(whole))
    }

    /// A piece of a large message, at most [`PIECE`] bytes; `None` if the message was removed meanwhile.
    async fn read_piece(&self, content: i64, form: Form, position: usize) -> Result<Option<Bytes>, StoreError> {
        const PIECE_OF: &str = "SELECT data FROM chunks WHERE content_number = $1 AND form = $2 AND position = $3";
        let rows = self.database.look_up(PIECE_OF, values![content, form, position]).await?;
        let Some(mut row) = rows.into_iter().next() else { return Ok(None) };
        Ok(Some(decompress(&row.bytes()?)?.into()))
    }
}
