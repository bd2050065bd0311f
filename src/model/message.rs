//! A received message, parsed.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{InboxId, InvalidId, SharedAddress, Timestamp, parse_id};

/// Bytes of the text that an abridged message has.
const ABRIDGED: usize = 64 * 1024;
/// The last member with its code, and more.
const OTP_BYTES: usize = 32;

/// Identifies a message; a UUID of version 7, opaque to callers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MessageId(pub Uuid);

impl MessageId {
    /// Generates an id.
    #[must_use]
    pub fn generate() -> Self {
        Self(Uuid::now_v7())
    }

    /// Parses an id from outside: the hyphenated form, case-insensitively.
    ///
    /// # Errors
    /// [`InvalidId`] for anything else.
    pub fn parse(text: &str) -> Result<Self, InvalidId> {
        parse_id(text).map(Self)
    }
}

impl fmt::Display for MessageId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// What a message has, or what a filter requires it to have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Features {
    /// A one-time code.
    pub otp: bool,
    /// At least one link.
    pub link: bool,
}

/// The parsed parts of a message that are needed only to read it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parts {
    /// The plain text, with `\n` as line end.
    pub text: String,
    /// The HTML; empty if there is none.
    pub html: String,
    /// Absolute URIs in the order of the message, each once.
    pub links: Vec<String>,
    /// The one-time code, 4 to 8 digits; empty if there is none.
    pub otp: String,
}

/// The parts as stored: a JSON object. Responses contain it without parsing it.
#[derive(Clone, Debug)]
pub struct PartsJson {
    bytes: Vec<u8>,
}

/// The stored parts are not the expected JSON object.
#[derive(Debug, thiserror::Error)]
#[error("the parts of a message are damaged: {0}")]
pub struct DamagedParts(#[from] serde_json::Error);

impl PartsJson {
    /// Wraps the bytes of a JSON object; `None` if they are not in braces.
    #[must_use]
    pub fn from_stored(bytes: Vec<u8>) -> Option<Self> {
        (bytes.len() > 2 && bytes.starts_with(b"{") && bytes.ends_with(b"}")).then_some(Self { bytes })
    }

    /// A small object with the start of the text and the code, from the first and last bytes of a large one. `text` is
    /// its first member, and `otp` its last.
    #[must_use]
    pub fn from_ends(first: &[u8], last: &[u8]) -> Vec<u8> {
        let text = first.strip_prefix(b"{\"text\":\"").map(start_of_text).unwrap_or_default();
        let otp = &last[last.len().saturating_sub(OTP_BYTES)..];
        let otp = String::from_utf8_lossy(otp).rsplit_once(",\"otp\":\"").map(|(_, otp)| otp.to_owned());
        let otp = otp.unwrap_or_default().chars().filter(char::is_ascii_digit).collect();
        let parts = Parts { text, html: String::new(), links: Vec::new(), otp };
        serde_json::to_vec(&parts).unwrap_or_default()
    }

    /// The members of the object, without the braces.
    #[must_use]
    pub fn members(&self) -> &[u8] {
        &self.bytes[1..self.bytes.len() - 1]
    }

    /// Parses the text and the code: the first `most` bytes of the text, and the whole code.
    ///
    /// # Errors
    /// [`DamagedParts`].
    pub fn abridged(&self, most: usize) -> Result<(String, String), DamagedParts> {
        #[derive(Deserialize)]
        struct Abridged<'a> {
            #[serde(borrow)]
            text: Cow<'a, str>,
            otp: String,
        }
        let Abridged { text, otp } = serde_json::from_slice(&self.bytes)?;
        Ok((text[..text.floor_char_boundary(most)].to_owned(), otp))
    }

    /// Parses the parts.
    ///
    /// # Errors
    /// [`DamagedParts`].
    pub fn read(&self) -> Result<Parts, DamagedParts> {
        Ok(serde_json::from_slice(&self.bytes)?)
    }
}

/// The start of a JSON string whose end may be missing.
fn start_of_text(json: &[u8]) -> String {
    let mut end = 0;
    while end < json.len().min(ABRIDGED) && json[end] != b'"' {
        end += match json.get(end..end + 2) {
            Some(b"\\u") => 6,
            Some([b'\\', _]) => 2,
            _ => 1,
        };
    }
    let start = String::from_utf8_lossy(json.get(..end).unwrap_or_default());
    let start = start.trim_end_matches(char::REPLACEMENT_CHARACTER);
    serde_json::from_str(&format!("\"{start}\"")).unwrap_or_default()
}

/// A received message with its parsed parts.
#[derive(Clone, Debug)]
pub struct Message {
    /// Identifies it; also the `after` cursor.
    pub id: MessageId,
    /// The inbox in which it is.
    pub inbox_id: InboxId,
    /// The address of the inbox, if that is not on the mail domain.
    pub shared: Option<SharedAddress>,
    /// Its position in the inbox: 1, 2, 3 … in commit order.
    pub sequence: i64,
    /// The sender's address; empty if there is none.
    pub from: String,
    /// The subject, decoded; empty if there is none.
    pub subject: String,
    /// Its parts.
    pub parts: PartsJson,
    /// When it was accepted.
    pub received_at: Timestamp,
    /// The number of its attachments, without images that its HTML shows.
    pub attachments: i64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_passed_on_as_they_are_and_read_when_asked() {
        let parts = Parts {
            text: "a \"b\"\n".to_owned(),
            html: String::new(),
            links: vec!["https://a.example/".to_owned()],
            otp: "481516".to_owned(),
        };
        let stored = serde_json::to_vec(&parts).unwrap();
        let json = PartsJson::from_stored(stored.clone()).unwrap();
        assert_eq!([b"{", json.members(), b"}"].concat(), stored);
        assert_eq!(json.abridged(3).unwrap(), ("a \"".to_owned(), parts.otp.clone()));
        assert_eq!(json.read().unwrap(), parts);
    }

    #[test]
    fn large_parts_are_abridged_to_the_start_of_the_text_and_the_code() {
        for (unit, ends) in [("é", '"'), ("\u{1}", '\\'), ("\\\"", '"'), ("😀x", 'x')] {
            let parts =
                Parts { text: unit.repeat(ABRIDGED), html: ends.into(), links: Vec::new(), otp: "481516".to_owned() };
            let stored = serde_json::to_vec(&parts).unwrap();
            let abridged = PartsJson::from_ends(&stored[..ABRIDGED + 500], &stored[stored.len() - 40..]);
            let abridged = PartsJson::from_stored(abridged).unwrap().read().unwrap();
            assert!(parts.text.starts_with(&abridged.text) && abridged.text.len() > ABRIDGED / 8, "{unit:?}");
            assert_eq!((abridged.otp.as_str(), abridged.html.as_str()), ("481516", ""));
        }
        let short = br#"{"text":"a","html":"","links":[],"otp":""}"#;
        assert_eq!(PartsJson::from_ends(short, short), short);
    }

    #[test]
    fn what_is_cut_off_is_not_taken_for_parts() {
        for bytes in [&b""[..], b"{", b"{}", b"{\"text\":\"a", b"text"] {
            assert!(PartsJson::from_stored(bytes.to_vec()).is_none());
        }
        assert!(PartsJson::from_stored(b"{\"text\":1}".to_vec()).unwrap().read().is_err());
    }
}
