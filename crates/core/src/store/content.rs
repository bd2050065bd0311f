//! A message as it is stored: its parsed parts (`parts.rs`) and its bytes as received, compressed
//! with LZ4.
//!
//! The two forms have similar content, so an ordinary message is compressed as one block. A large
//! message is stored in pieces, which are read one at a time, so that a list or a download does not
//! need memory for all of it.

use bytes::Bytes;

use super::{StoreError, parts};
use crate::db::{DatabaseError, Transaction, Value, values};
use crate::large;
use crate::model::{Features, Reception, Via, fold_case};
use restante_mail::ParsedMessage;

/// Messages with at most this many bytes, both forms together, are compressed as one block.
pub(super) const ORDINARY: usize = 128 * 1024;
/// Bytes in one piece of a large message.
pub(super) const PIECE: usize = 256 * 1024;
/// The largest ratio of LZ4; a row with a larger one is damaged.
const MAX_RATIO: usize = 255;

/// One of the two forms of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContentForm {
    Parsed,
    /// The bytes as received.
    Raw,
}

/// A message ready to be stored: encoded once, shared by all its recipients.
#[derive(Clone, Debug)]
pub struct Content {
    pub(super) sender: String,
    pub(super) subject: String,
    pub(super) subject_folded: String,
    pub(super) has: Features,
    pub(super) code: String,
    pub(super) attachments: usize,
    pub(super) origin: Origin,
    /// Bytes of the parsed parts.
    pub(super) parsed_size: usize,
    /// Bytes of the message as received.
    pub(super) raw_size: usize,
    /// Both forms; empty for a large message.
    pub(super) data: Bytes,
    pub(super) chunks: Vec<Chunk>,
}

/// The origin of a message.
#[derive(Clone, Debug, Default)]
pub struct Origin {
    /// The fields that this server put before it: Return-Path, Received, and Message-ID if it had
    /// none.
    pub trace: String,
    /// The sender of the envelope; empty for the null reverse-path.
    pub reverse_path: String,
    /// The connection; `None` for messages that this server composed.
    pub reception: Option<Reception>,
}

/// A piece of a large message.
#[derive(Clone, Debug)]
pub(super) struct Chunk {
    pub(super) form: ContentForm,
    pub(super) position: i64,
    pub(super) data: Bytes,
}

impl Content {
    /// Compresses a parsed message. This takes about a millisecond for 256 KiB.
    #[must_use]
    pub fn encode(message: ParsedMessage, sender: String, origin: Origin, raw: &[u8]) -> Self {
        let has = Features {
            otp: !message.otp.is_empty(),
            code: !message.code.is_empty(),
            link: !message.links.is_empty(),
        };
        let mut parsed = Vec::with_capacity(2 * raw.len().min(ORDINARY) + 1024);
        parts::encode(&message, &mut parsed);
        let parsed_size = parsed.len();
        let raw_size = raw.len();
        let (data, chunks) = if parsed_size + raw_size <= ORDINARY {
            parsed.extend_from_slice(raw);
            (compress(&parsed), Vec::new())
        } else {
            let both = [
                (ContentForm::Parsed, parsed.as_slice()),
                (ContentForm::Raw, raw),
            ];
            (
                Bytes::new(),
                both.into_iter()
                    .flat_map(|(form, bytes)| chunks(form, bytes))
                    .collect(),
            )
        };
        let subject_folded = fold_case(&message.subject);
        let attachments = message.attachments;
        let subject = message.subject;
        let code = message.code;
        Self {
            sender,
            subject,
            subject_folded,
            has,
            code,
            attachments,
            origin,
            parsed_size,
            raw_size,
            data,
            chunks,
        }
    }
}

impl Content {
    /// The beginning of the message as received: all of an ordinary message, the first piece of a
    /// large one.
    ///
    /// # Errors
    /// [`StoreError::Damaged`], which cannot happen for the result of [`Content::encode`].
    pub fn beginning(&self) -> Result<Vec<u8>, StoreError> {
        match self
            .chunks
            .iter()
            .find(|chunk| chunk.form == ContentForm::Raw)
        {
            Some(chunk) => decompress(&chunk.data),
            None => decode(&self.data, self.parsed_size, ContentForm::Raw),
        }
    }

    /// The bytes that are stored.
    #[must_use]
    pub fn stored_size(&self) -> usize {
        self.data.len()
            + self
                .chunks
                .iter()
                .map(|chunk| chunk.data.len())
                .sum::<usize>()
    }

    #[must_use]
    pub fn subject(&self) -> &str {
        &self.subject
    }

    /// The origin of the message.
    #[must_use]
    pub fn origin(&self) -> &Origin {
        &self.origin
    }
}

fn chunks(form: ContentForm, bytes: &[u8]) -> impl Iterator<Item = Chunk> {
    let pieces = bytes.chunks(PIECE).zip(0..);
    pieces.map(move |(piece, position)| Chunk {
        form,
        position,
        data: compress(piece),
    })
}

/// Unpacks compressed bytes.
pub(super) async fn unpack<T: Send + 'static>(
    data: Bytes,
    work: impl FnOnce(&[u8]) -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    large::run(data.len(), move || work(&data)).await?
}

/// One form of an ordinary message.
pub(super) fn decode(
    data: &[u8],
    parsed_size: usize,
    form: ContentForm,
) -> Result<Vec<u8>, StoreError> {
    let mut both = decompress(data)?;
    if parsed_size > both.len() {
        return Err(StoreError::Damaged("it is shorter than its parts"));
    }
    match form {
        ContentForm::Parsed => both.truncate(parsed_size),
        ContentForm::Raw => drop(both.drain(..parsed_size)),
    }
    Ok(both)
}

pub(super) fn compress(bytes: &[u8]) -> Bytes {
    lz4_flex::block::compress_prepend_size(bytes).into()
}

pub(super) fn decompress(compressed: &[u8]) -> Result<Vec<u8>, StoreError> {
    let (size, block) =
        lz4_flex::block::uncompressed_size(compressed).map_err(|_| StoreError::Damaged(CUT_OFF))?;
    if size > block.len().saturating_mul(MAX_RATIO) {
        return Err(StoreError::Damaged("it claims to be larger than it can be"));
    }
    lz4_flex::block::decompress(block, size)
        .map_err(|_| StoreError::Damaged("it cannot be decompressed"))
}

pub(super) const CUT_OFF: &str = "it is cut off";

fn content_row(content: &Content) -> Vec<Value> {
    let Origin {
        trace,
        reverse_path,
        reception,
    } = &content.origin;
    let reception = reception.as_ref();
    values![
        // Its number.
        None::<i64>,
        trace.as_str(),
        reverse_path.as_str(),
        reception.map(|reception| reception.client.to_string()),
        reception.and_then(|reception| reception.helo.as_deref()),
        reception.and_then(|reception| reception.tls),
        reception.map(|reception| reception.authenticated),
        reception
            .map(|reception| reception.via)
            .filter(|via| *via != Via::Smtp)
            .map(Via::as_str),
        content.data.clone(),
    ]
}

/// Stores one row per content, shared by all its recipients; returns their numbers.
pub(super) async fn insert_contents<'a>(
    transaction: &mut Transaction,
    contents: impl Iterator<Item = &'a Content> + Clone,
) -> Result<Vec<i64>, DatabaseError> {
    const INSERT: &str = "
        INSERT INTO contents (number, trace, reverse_path, client, helo, tls, authenticated, via, data)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
    const INSERT_CHUNK: &str =
        "INSERT INTO chunks (content_number, form, position, data) VALUES ($1, $2, $3, $4)";
    let rows = contents.clone().map(content_row).collect();
    let numbers = transaction
        .insert_numbered("contents", INSERT, rows)
        .await?;
    let mut chunks = Vec::new();
    for (content, &number) in contents.zip(&numbers) {
        chunks.extend(content.chunks.iter().map(
            |Chunk {
                 form,
                 position,
                 data,
             }| values![number, *form, *position, data.clone()],
        ));
    }
    transaction.queue_many(INSERT_CHUNK, chunks).await?;
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes that do not compress.
    fn noise(size: usize) -> Vec<u8> {
        let next = |state: &u32| Some(state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223));
        std::iter::successors(Some(1), next)
            .map(|state: u32| state.to_be_bytes()[0])
            .take(size)
            .collect()
    }

    fn content(raw: &[u8]) -> Content {
        let message = ParsedMessage {
            text: "text".to_owned(),
            ..Default::default()
        };
        Content::encode(message, String::new(), Origin::default(), raw)
    }

    #[test]
    fn both_forms_of_an_ordinary_message_can_be_read() {
        for size in [0, 1, 4_096, ORDINARY - 100] {
            let content = content(&noise(size));
            assert!(content.chunks.is_empty());
            assert_eq!(
                decode(&content.data, content.parsed_size, ContentForm::Raw).unwrap(),
                noise(size)
            );
            let parsed = decode(&content.data, content.parsed_size, ContentForm::Parsed).unwrap();
            assert_eq!(parts::start_of_text(&parsed, 9).unwrap(), ("text", true));
        }
    }

    #[test]
    fn a_large_message_is_the_same_after_it_is_read_in_pieces() {
        for size in [ORDINARY, PIECE, 3 * PIECE + 1] {
            let content = content(&noise(size));
            let raw: Vec<&Chunk> = content
                .chunks
                .iter()
                .filter(|chunk| chunk.form == ContentForm::Raw)
                .collect();
            assert!(
                raw.iter()
                    .map(|chunk| chunk.position)
                    .eq(0..i64::try_from(size.div_ceil(PIECE)).unwrap())
            );
            let bytes: Vec<u8> = raw
                .iter()
                .flat_map(|chunk| decompress(&chunk.data).unwrap())
                .collect();
            assert!(content.data.is_empty() && bytes == noise(size));
        }
    }

    #[test]
    fn damage_is_noticed() {
        for bytes in [&b""[..], b"a", b"\0\xff\r\n.", &[7; 100_000]] {
            assert_eq!(decompress(&compress(bytes)).unwrap(), bytes);
        }
        for damaged in [&b"not compressed"[..], b"", b"\xff\xff\xff\xff\0"] {
            assert!(matches!(decompress(damaged), Err(StoreError::Damaged(_))));
        }
    }
}
