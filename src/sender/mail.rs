//! A message and its envelope, as the client transfers it. The message is read in pieces, so that
//! an attempt never has all of it in memory.

use bytes::Bytes;

use super::dkim::{BodyHash, Signer};
use crate::model::OutgoingId;
use crate::service::Outbox;
use crate::store::{OUTGOING_PIECE, StoreError};

/// A message and its envelope.
#[derive(Clone, Debug)]
pub(super) struct Mail {
    /// The reverse-path without angle brackets.
    pub(super) sender: String,
    /// The forward-paths without angle brackets.
    pub(super) recipients: Vec<String>,
    /// The field with the signature, sent before the message; empty if there is none.
    pub(super) signature: String,
    pub(super) message: Message,
    /// Whether the message contains only ASCII.
    pub(super) is_ascii: bool,
}

/// A message that is read in pieces, once for each server that is tried. Its lines end with CR LF.
#[derive(Clone, Debug)]
pub(super) struct Message {
    source: Source,
    size: usize,
}

#[derive(Clone, Debug)]
enum Source {
    Memory(Bytes),
    Queue(Outbox, OutgoingId),
}

impl Mail {
    /// Reads the message once, to sign it and to find out whether it contains only ASCII.
    ///
    /// # Errors
    /// If the message cannot be read.
    pub(super) async fn new(
        sender: String,
        recipients: Vec<String>,
        message: Message,
        signer: Option<&Signer>,
    ) -> Result<Self, StoreError> {
        let mut is_ascii = true;
        let mut hash = signer.map(|_| BodyHash::default());
        let mut position = 0;
        while let Some(piece) = message.piece(position).await? {
            is_ascii &= piece.is_ascii();
            if let Some(hash) = &mut hash {
                hash.add(&piece);
            }
            position += 1;
            // Hashing a large message must not delay other tasks.
            tokio::task::yield_now().await;
        }
        let signature = signer
            .zip(hash)
            .and_then(|(signer, hash)| signer.sign(hash))
            .unwrap_or_default();
        Ok(Self {
            sender,
            recipients,
            signature,
            message,
            is_ascii,
        })
    }

    /// Bytes of the message with its signature.
    pub(super) fn size(&self) -> usize {
        self.signature.len() + self.message.size
    }

    /// Whether an address needs SMTPUTF8 (RFC 6531).
    pub(super) fn needs_utf8(&self) -> bool {
        !self.sender.is_ascii() || !self.recipients.iter().all(|recipient| recipient.is_ascii())
    }

    /// Whether the message needs 8BITMIME (RFC 6152).
    pub(super) fn needs_eight_bits(&self) -> bool {
        !self.is_ascii
    }
}

impl Message {
    /// A message in memory.
    pub(super) fn in_memory(bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        Self {
            size: bytes.len(),
            source: Source::Memory(bytes),
        }
    }

    /// The message of a queued item, which has `size` bytes.
    pub(super) fn queued(outbox: Outbox, id: OutgoingId, size: usize) -> Self {
        Self {
            source: Source::Queue(outbox, id),
            size,
        }
    }

    /// The piece at `position`, counted from 0; `None` after the last.
    ///
    /// # Errors
    /// If the message cannot be read, or was removed in the meantime.
    pub(super) async fn piece(&self, position: usize) -> Result<Option<Bytes>, StoreError> {
        let start = position.saturating_mul(OUTGOING_PIECE);
        if start >= self.size {
            return Ok(None);
        }
        let end = self.size.min(start + OUTGOING_PIECE);
        let piece = match &self.source {
            Source::Memory(bytes) => bytes.slice(start..end),
            Source::Queue(outbox, id) => outbox
                .store()
                .outgoing_piece(*id, position)
                .await?
                .ok_or(StoreError::Removed)?
                .into(),
        };
        // Without this check, half a message could be sent as a whole one.
        if piece.len() == end - start {
            Ok(Some(piece))
        } else {
            Err(StoreError::Damaged("a piece is incomplete"))
        }
    }

    /// The first `limit` bytes of the message, or a little more.
    ///
    /// # Errors
    /// If the message cannot be read.
    pub(super) async fn beginning(&self, limit: usize) -> Result<Vec<u8>, StoreError> {
        let mut beginning = Vec::new();
        let mut position = 0;
        while beginning.len() < limit
            && let Some(piece) = self.piece(position).await?
        {
            beginning.extend_from_slice(&piece);
            position += 1;
        }
        Ok(beginning)
    }
}
