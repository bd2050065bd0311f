//! The stored form of the parsed parts of a message. It is not the JSON of a response, which is
//! written when the parts are read.
//!
//! Version 1 has, in this order:
//!
//! | bytes | content |
//! |---|---|
//! | 1 | the version |
//! | 8 | the one-time code, padded with zeros |
//! | 8 and 8 | the lengths of the text and of the HTML, big-endian |
//! | the rest | the text, the HTML, and the links, each followed by a line feed; in UTF-8 |

use bytes::{Buf, Bytes};
use memchr::memchr;
use restante_mail::ParsedMessage;

pub(super) use super::content::CUT_OFF;
use super::{Pieces, StoreError};

/// The version that this program writes, and the only one that it reads.
const VERSION: u8 = 1;
const NOT_TEXT: StoreError = StoreError::Damaged("its parts are not UTF-8");

/// The parts of a message, read piece by piece: first its text, then its HTML, then its links.
#[derive(Clone, Debug)]
pub struct PartsReader {
    otp: String,
    /// Bytes of the text and of the HTML that have not been read.
    text: usize,
    html: usize,
    /// What remains of the current piece.
    piece: Bytes,
    pieces: Pieces,
}

/// What precedes the text.
struct Header {
    otp: String,
    text: usize,
    html: usize,
}

/// Adds the stored form of the parts of `message`.
pub(super) fn encode(message: &ParsedMessage, stored: &mut Vec<u8>) {
    // A code has at most eight digits.
    let mut otp = [0; 8];
    otp.iter_mut()
        .zip(message.otp.bytes())
        .for_each(|(place, digit)| *place = digit);
    stored.push(VERSION);
    stored.extend(otp);
    for part in [&message.text, &message.html] {
        stored.extend((part.len() as u64).to_be_bytes());
    }
    stored.extend_from_slice(message.text.as_bytes());
    stored.extend_from_slice(message.html.as_bytes());
    for link in &message.links {
        stored.extend_from_slice(link.as_bytes());
        stored.push(b'\n');
    }
}

/// The start of the text, at most `most` bytes, of the beginning of stored parts; and whether that
/// is all of it.
pub(super) fn start_of_text(mut stored: &[u8], most: usize) -> Result<(&str, bool), StoreError> {
    let header = Header::read(&mut stored)?;
    let text = &stored[..header.text.min(most).min(stored.len())];
    // The last character may be cut off.
    let text = text.utf8_chunks().next().map_or("", |chunk| chunk.valid());
    Ok((text, text.len() == header.text))
}

impl Header {
    fn read(stored: &mut impl Buf) -> Result<Self, StoreError> {
        const SHORT: StoreError = StoreError::Damaged(CUT_OFF);
        let version = stored.try_get_u8().map_err(|_| SHORT)?;
        if version != VERSION {
            return Err(StoreError::UnknownVersion(version));
        }
        let otp = stored.try_get_u64().map_err(|_| SHORT)?.to_be_bytes();
        let mut length =
            || usize::try_from(stored.try_get_u64().map_err(|_| SHORT)?).map_err(|_| SHORT);
        let text = length()?;
        let html = length()?;
        let otp = String::from_utf8_lossy(&otp)
            .trim_end_matches('\0')
            .to_owned();
        Ok(Self { otp, text, html })
    }
}

impl PartsReader {
    /// Reads the first piece; `None` if the message was removed in the meantime.
    ///
    /// # Errors
    /// [`StoreError::UnknownVersion`] if another version of the program has stored the message;
    /// [`StoreError::Damaged`]; if the database fails.
    pub async fn open(mut pieces: Pieces) -> Result<Option<Self>, StoreError> {
        let mut piece = match pieces.next().await {
            Ok(piece) => piece.unwrap_or_default(),
            Err(StoreError::Removed) => return Ok(None),
            Err(error) => return Err(error),
        };
        let Header { otp, text, html } = Header::read(&mut piece)?;
        Ok(Some(Self {
            otp,
            text,
            html,
            piece,
            pieces,
        }))
    }

    /// The one-time code; empty if there is none.
    #[must_use]
    pub fn otp(&self) -> &str {
        &self.otp
    }

    /// The next bytes of the text, at most `most`; `None` at its end. A character may be split.
    ///
    /// # Errors
    /// [`StoreError::Removed`] if the message was removed in the meantime, [`StoreError::Damaged`],
    /// or if the database fails.
    pub async fn text(&mut self, most: usize) -> Result<Option<Bytes>, StoreError> {
        let text = self.take(self.text.min(most)).await?;
        self.text -= text.as_ref().map_or(0, Bytes::len);
        Ok(text)
    }

    /// The next bytes of the HTML, after the text was read.
    ///
    /// # Errors
    /// See [`Self::text`].
    pub async fn html(&mut self, most: usize) -> Result<Option<Bytes>, StoreError> {
        let html = self.take(self.html.min(most)).await?;
        self.html -= html.as_ref().map_or(0, Bytes::len);
        Ok(html)
    }

    /// The next link, after the HTML was read; `None` after the last.
    ///
    /// # Errors
    /// See [`Self::text`].
    pub async fn link(&mut self) -> Result<Option<String>, StoreError> {
        let mut link = Vec::new();
        while self.fill().await? {
            let end = memchr(b'\n', &self.piece);
            link.extend_from_slice(&self.piece.split_to(end.unwrap_or(self.piece.len())));
            if end.is_some() {
                self.piece.advance(1);
                return Ok(Some(String::from_utf8(link).map_err(|_| NOT_TEXT)?));
            }
        }
        if link.is_empty() {
            Ok(None)
        } else {
            Err(StoreError::Damaged(CUT_OFF))
        }
    }

    async fn take(&mut self, most: usize) -> Result<Option<Bytes>, StoreError> {
        if most == 0 {
            return Ok(None);
        }
        if !self.fill().await? {
            return Err(StoreError::Damaged(CUT_OFF));
        }
        Ok(Some(self.piece.split_to(self.piece.len().min(most))))
    }

    /// Reads the next piece if the current one has been read; `false` after the last.
    async fn fill(&mut self) -> Result<bool, StoreError> {
        if self.piece.is_empty() {
            self.piece = self.pieces.next().await?.unwrap_or_default();
        }
        Ok(!self.piece.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(text: &str, html: &str, links: &[&str], otp: &str) -> Vec<u8> {
        let links = links.iter().map(ToString::to_string).collect();
        let text = text.to_owned();
        let html = html.to_owned();
        let otp = otp.to_owned();
        let mut stored = Vec::new();
        encode(
            &ParsedMessage {
                text,
                html,
                links,
                otp,
                ..Default::default()
            },
            &mut stored,
        );
        stored
    }

    #[tokio::test]
    async fn parts_are_read_as_they_were_written() {
        let cases: [(&str, &str, &[&str], &str); 4] = [
            ("", "", &[], ""),
            ("a \"b\"\n\u{1}é", "", &["https://a.example/"], "481516"),
            (
                "",
                "<p>😀",
                &["https://a.example/", "myapp://b"],
                "12345678",
            ),
            ("x", "y", &[], "1234"),
        ];
        for (text, html, links, otp) in cases {
            let mut reader = PartsReader::open(Pieces::whole(stored(text, html, links, otp)))
                .await
                .unwrap()
                .unwrap();
            assert_eq!(reader.otp(), otp);
            let mut read = [Vec::new(), Vec::new()];
            while let Some(bytes) = reader.text(3).await.unwrap() {
                read[0].extend(bytes);
            }
            while let Some(bytes) = reader.html(3).await.unwrap() {
                read[1].extend(bytes);
            }
            assert_eq!(read, [text.as_bytes(), html.as_bytes()]);
            for link in links {
                assert_eq!(reader.link().await.unwrap().as_deref(), Some(*link));
            }
            assert_eq!(reader.link().await.unwrap(), None);
        }
    }

    #[test]
    fn the_start_of_a_text_has_whole_characters() {
        for (text, most, start) in [
            ("aé", 2, "a"),
            ("aé", 3, "aé"),
            ("aé", 9, "aé"),
            ("é", 0, ""),
        ] {
            let stored = stored(text, "<p>", &[], "");
            assert_eq!(start_of_text(&stored, most).unwrap().0, start);
        }
    }

    #[tokio::test]
    async fn another_version_and_damage_are_errors() {
        let version = |byte| [&[byte], &stored("text", "", &[], "")[1..]].concat();
        for other in [0, VERSION + 1, b'{'] {
            let read = PartsReader::open(Pieces::whole(version(other))).await;
            assert!(matches!(read, Err(StoreError::UnknownVersion(found)) if found == other));
            assert!(start_of_text(&version(other), 9).is_err());
        }
        let whole = stored("text", "html", &["link"], "");
        let without_links = stored("text", "html", &[], "").len();
        for length in 0..whole.len() {
            let is_complete = length == without_links;
            assert_eq!(
                read(&whole[..length]).await.is_ok(),
                is_complete,
                "{length}"
            );
        }
        assert_eq!(read(&whole).await.unwrap().as_deref(), Some("link"));
    }

    async fn read(stored: &[u8]) -> Result<Option<String>, StoreError> {
        let mut reader = PartsReader::open(Pieces::whole(stored.to_vec()))
            .await?
            .unwrap();
        while reader.text(1).await?.is_some() {}
        while reader.html(1).await?.is_some() {}
        reader.link().await
    }
}
