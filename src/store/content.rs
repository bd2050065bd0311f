//! The two stored forms of a message, compressed: what was parsed out of it, and its octets as they came.
//!
//! The two say much the same, so those of a message that is not large are compressed as one, parsed parts first: that takes
//! half the time and half the room. A large message keeps them apart, so that a list does not read attachments; of its
//! octets, what the parsed parts say as well is stored as references to them.

use std::cell::RefCell;
use std::io::{self, Read as _};

use bytes::Bytes;
use zstd::zstd_safe::{self, CParameter};

use super::StoreError;
use crate::model::{Parts, PartsJson};

thread_local! {
    /// To set one up takes longer than to use it. It is made anew where its memory could not be had.
    static COMPRESSOR: RefCell<Option<zstd::bulk::Compressor<'static>>> = const { RefCell::new(None) };
    static DECOMPRESSOR: RefCell<Option<zstd::bulk::Decompressor<'static>>> = const { RefCell::new(None) };
}

/// Octets that are decompressed into memory taken beforehand; a damaged row that claims to be larger gets no more than it
/// fills.
const AT_ONCE: usize = 64 * 1024 * 1024;

/// zstd's fastest ordinary level: it halves what is written and costs less than writing it.
const COMPRESSION_LEVEL: i32 = 1;

/// Up to so many octets, zstd leaves letters as they are, which takes three quarters of the time and hardly more pages of the
/// database, and looks for repetitions in a table of this many entries (as a power of two): one that stays in the processor's
/// cache, where its own choice is eight times as large and finds no more.
const SMALL: usize = 16 * 1024;
const SMALL_LEVEL: i32 = -1;
const SMALL_TABLE: u32 = 12;

/// Octets of both forms that are compressed as one.
const TOGETHER: usize = 128 * 1024;

/// Two forms of at least so many octets are compressed at the same time.
const AT_THE_SAME_TIME: usize = 1024 * 1024;

/// Octets that a reference reaches back at most: a reader needs memory for as many, and zstd refuses more than twice that.
const FARTHEST: usize = 64 * 1024 * 1024;

/// A message ready to be stored: encoded once, shared by all its recipients.
#[derive(Clone, Debug)]
pub struct Content {
    pub(super) sender: String,
    pub(super) subject: String,
    pub(super) trace: String,
    /// The parsed parts, and behind them the octets where `raw` is empty.
    pub(super) parsed: Bytes,
    /// Octets of the parsed parts alone.
    pub(super) parsed_size: i64,
    pub(super) raw: Bytes,
}

impl Content {
    /// Compresses a parsed message. This takes about a millisecond for 256 KiB.
    ///
    /// # Errors
    /// [`StoreError::Compression`], which only a lack of memory brings about.
    pub fn encode(
        message: restante_mail::ParsedMessage,
        sender: String,
        trace: String,
        raw: &[u8],
    ) -> Result<Self, StoreError> {
        let parts = Parts { text: message.text, html: message.html, links: message.links, otp: message.otp };
        let mut json = Vec::with_capacity(2 * raw.len().min(TOGETHER) + 1024);
        serde_json::to_writer(&mut json, &parts).map_err(|error| StoreError::Damaged(error.into()))?;
        let parsed_size = i64::try_from(json.len()).unwrap_or(i64::MAX);
        let apart = json.len() + raw.len() > TOGETHER;
        let (parsed, raw) = if apart {
            compress_both(&json, raw)?
        } else {
            json.extend_from_slice(raw);
            (compress(&json)?, Bytes::new())
        };
        Ok(Self { sender, subject: message.subject, trace, parsed, parsed_size, raw })
    }
}

/// Encodes or decodes what is large on a thread where it holds up nobody.
pub(crate) async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| StoreError::Damaged(error.into()))?
}

/// The parsed parts out of the column of that name.
pub(super) fn decode_parts(parsed: &[u8], size: i64) -> Result<PartsJson, StoreError> {
    let mut octets = decompress(parsed)?;
    octets.truncate(usize::try_from(size).unwrap_or(usize::MAX));
    PartsJson::from_stored(octets).ok_or_else(|| StoreError::Damaged("its parts are cut off".into()))
}

/// The octets as they came, out of both columns.
pub(super) fn decode_raw(parsed: &[u8], size: i64, raw: &[u8]) -> Result<Vec<u8>, StoreError> {
    let mut octets = decompress(parsed)?;
    if !raw.is_empty() {
        return decompress_behind(&octets, raw);
    }
    let size = usize::try_from(size).unwrap_or(usize::MAX).min(octets.len());
    Ok(octets.split_off(size))
}

/// Compresses parsed parts and the octets that they come from; both at once where that takes longer than to start a thread.
fn compress_both(parts: &[u8], octets: &[u8]) -> Result<(Bytes, Bytes), StoreError> {
    if parts.len().min(octets.len()) < AT_THE_SAME_TIME {
        return Ok((compress(parts)?, compress_behind(parts, octets)?));
    }
    std::thread::scope(|scope| {
        let begun = std::thread::Builder::new().spawn_scoped(scope, || compress_behind(parts, octets));
        let parsed = compress(parts)?;
        let raw = begun.ok().and_then(|thread| thread.join().ok()).unwrap_or_else(|| compress_behind(parts, octets))?;
        Ok((parsed, raw))
    })
}

/// Compresses octets as if `parts` stood before them, where the two may have much in common.
fn compress_behind(parts: &[u8], octets: &[u8]) -> Result<Bytes, StoreError> {
    let window = (parts.len() + octets.len()).next_power_of_two();
    if parts.len() < octets.len() / 2 || window > FARTHEST {
        return compress(octets);
    }
    let refer = || {
        let mut compressor = zstd::bulk::Compressor::new(COMPRESSION_LEVEL)?;
        compressor.set_parameter(CParameter::WindowLog(window.ilog2()))?;
        compressor.set_parameter(CParameter::EnableLongDistanceMatching(true))?;
        let referred = compressor.context_mut().ref_prefix(parts);
        referred.map_err(|code| io::Error::other(zstd_safe::get_error_name(code)))?;
        compressor.compress(octets)
    };
    refer().map(Bytes::from).map_err(StoreError::Compression)
}

/// The reverse. Octets that were compressed without regard to `parts` come back as well.
fn decompress_behind(parts: &[u8], compressed: &[u8]) -> Result<Vec<u8>, StoreError> {
    let mut octets = Vec::new();
    let decoder = zstd::stream::read::Decoder::with_ref_prefix(compressed, parts);
    let read = decoder.and_then(|mut decoder| decoder.read_to_end(&mut octets));
    read.map_err(|error| StoreError::Damaged(error.into()))?;
    Ok(octets)
}

pub(super) fn compress(octets: &[u8]) -> Result<Bytes, StoreError> {
    let compress = |compressor: &mut Option<zstd::bulk::Compressor<'static>>| {
        let made = match compressor.take() {
            Some(compressor) => compressor,
            None => zstd::bulk::Compressor::new(COMPRESSION_LEVEL)?,
        };
        let compressor = compressor.insert(made);
        // 0 leaves it to zstd.
        let (level, table) = if octets.len() <= SMALL { (SMALL_LEVEL, SMALL_TABLE) } else { (COMPRESSION_LEVEL, 0) };
        compressor.set_parameter(CParameter::CompressionLevel(level))?;
        compressor.set_parameter(CParameter::HashLog(table))?;
        compressor.compress(octets)
    };
    COMPRESSOR.with_borrow_mut(compress).map(Bytes::from).map_err(StoreError::Compression)
}

pub(super) fn decompress(compressed: &[u8]) -> Result<Vec<u8>, StoreError> {
    let size = zstd_safe::get_frame_content_size(compressed).ok().flatten();
    let Some(size) = size.and_then(|size| usize::try_from(size).ok()).filter(|size| *size <= AT_ONCE) else {
        return zstd::stream::decode_all(compressed).map_err(|error| StoreError::Damaged(error.into()));
    };
    let decompress = |decompressor: &mut Option<zstd::bulk::Decompressor<'static>>| {
        let made = match decompressor.take() {
            Some(decompressor) => decompressor,
            None => zstd::bulk::Decompressor::new()?,
        };
        decompressor.insert(made).decompress(compressed, size)
    };
    DECOMPRESSOR.with_borrow_mut(decompress).map_err(|error| StoreError::Damaged(error.into()))
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

    fn content(text: String, raw: &[u8]) -> Content {
        let message = restante_mail::ParsedMessage { text, ..Default::default() };
        let content = Content::encode(message, String::new(), String::new(), raw).unwrap();
        assert_eq!(decode_raw(&content.parsed, content.parsed_size, &content.raw).unwrap(), raw);
        content
    }

    /// Octets that do not compress.
    fn noise(size: usize) -> Vec<u8> {
        let next = |state: &u32| Some(state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223));
        std::iter::successors(Some(1), next).map(|state: u32| state.to_be_bytes()[0]).take(size).collect()
    }

    fn letters(size: usize) -> String {
        noise(size).iter().map(|octet| char::from(b'a' + octet % 26)).collect()
    }

    #[test]
    fn both_forms_come_back_whether_they_lie_together_or_apart() {
        for size in [0, 1, 4_096, TOGETHER - 100, TOGETHER, 3 * TOGETHER] {
            let content = content("text".to_owned(), &noise(size));
            assert_eq!(content.raw.is_empty(), size < TOGETHER - 50, "{size}");
            assert_eq!(decode_parts(&content.parsed, content.parsed_size).unwrap().read().unwrap().text, "text");
        }
    }

    #[test]
    fn what_a_large_text_says_is_stored_once() {
        for size in [TOGETHER, AT_THE_SAME_TIME, 3 * AT_THE_SAME_TIME] {
            let text = letters(size);
            let content = content(text.clone(), text.as_bytes());
            assert!(content.raw.len() < content.parsed.len() / 10, "{size}: {}", content.raw.len());
        }
        content(letters(TOGETHER), &noise(TOGETHER));
    }

    #[test]
    fn octets_that_were_stored_by_themselves_come_back() {
        let parts = noise(TOGETHER);
        for octets in [parts.clone(), vec![7; TOGETHER], noise(10)] {
            assert_eq!(decompress_behind(&parts, &compress(&octets).unwrap()).unwrap(), octets);
        }
        assert!(decompress_behind(&parts, b"not compressed").is_err());
    }

    #[test]
    fn octets_come_back_as_they_were() {
        for octets in [&b""[..], b"a", b"\0\xff\r\n.", &[7; 100_000]] {
            assert_eq!(decompress(&compress(octets).unwrap()).unwrap(), octets);
        }
        assert!(decompress(b"not compressed").is_err());
    }
}
