//! The two stored forms of a message, compressed: what was parsed out of it, and its octets as they came.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::StoreError;

/// zstd's fastest ordinary level: it halves what is written and costs less than writing it.
const COMPRESSION_LEVEL: i32 = 1;

/// A message ready to be stored: encoded once, shared by all its recipients.
#[derive(Clone, Debug)]
pub struct Content {
    pub(super) sender: String,
    pub(super) subject: String,
    pub(super) trace: String,
    pub(super) parsed: Bytes,
    pub(super) parsed_size: i64,
    pub(super) raw: Bytes,
}

/// The parsed parts that only a reader of the message needs.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Parts {
    pub(super) text: String,
    pub(super) html: String,
    pub(super) links: Vec<String>,
    pub(super) otp: String,
}

impl Content {
    /// Compresses a parsed message. This takes about a millisecond for 256 KiB.
    ///
    /// # Errors
    /// [`StoreError::Compression`], which only a lack of memory brings about.
    pub fn encode(
        message: crate::mime::ParsedMessage,
        sender: String,
        trace: String,
        raw: &[u8],
    ) -> Result<Self, StoreError> {
        let parts = Parts { text: message.text, html: message.html, links: message.links, otp: message.otp };
        let json = serde_json::to_vec(&parts).map_err(|error| StoreError::Damaged(error.into()))?;
        Ok(Self {
            sender,
            subject: message.subject,
            trace,
            parsed: compress(&json)?,
            parsed_size: i64::try_from(json.len()).unwrap_or(i64::MAX),
            raw: compress(raw)?,
        })
    }
}

pub(super) fn decode_parts(parsed: &[u8]) -> Result<Parts, StoreError> {
    serde_json::from_slice(&decompress(parsed)?).map_err(|error| StoreError::Damaged(error.into()))
}

pub(super) fn compress(octets: &[u8]) -> Result<Bytes, StoreError> {
    zstd::bulk::compress(octets, COMPRESSION_LEVEL).map(Bytes::from).map_err(StoreError::Compression)
}

pub(super) fn decompress(compressed: &[u8]) -> Result<Vec<u8>, StoreError> {
    zstd::stream::decode_all(compressed).map_err(|error| StoreError::Damaged(error.into()))
}

/// Folds case so that a substring can be looked for whatever the case of its letters, in every script: `Straße` and
/// `STRASSE` fold alike, as do the two small sigmas.
pub(super) fn fold_case(text: &str) -> String {
    text.chars().flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folding_ignores_the_case_of_every_script() {
        for (one, other) in
            [("Code", "cODE"), ("Straße", "STRASSE"), ("ΟΔΟΣ", "οδος"), ("Привет", "ПРИВЕТ"), ("ǅ", "ǆ")]
        {
            assert_eq!(fold_case(one), fold_case(other));
        }
        assert_ne!(fold_case("a"), fold_case("b"));
    }

    #[test]
    fn octets_come_back_as_they_were() {
        for octets in [&b""[..], b"a", b"\0\xff\r\n.", &[7; 100_000]] {
            assert_eq!(decompress(&compress(octets).unwrap()).unwrap(), octets);
        }
        assert!(decompress(b"not compressed").is_err());
    }
}
