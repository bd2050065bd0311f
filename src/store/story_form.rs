//! The stored form of the evidence and the timeline of a story: JSON, compressed, of limited size.

use bytes::Bytes;
use restante_api::{Event, MissedBy};
use serde::{Deserialize, Serialize};

use super::StoreError;
use crate::model::{
    Evidence, InboxId, Latest, MessageId, RefusalReason, RefusedMail, SendApisUse, SharedAddress,
    Similar, SmtpUse, Story, Timestamp, parse_id,
};

/// Maximum number of bytes of a story before it is compressed.
const MAX_BYTES: usize = 64 * 1024;
/// Maximum number of characters of each text in it.
const MAX_CHARACTERS: usize = 500;
/// How many of the first events are kept if a timeline is too long; the others are the last.
const FIRST_EVENTS: usize = 3;

#[derive(Deserialize, Serialize)]
struct Stored {
    messages: i64,
    latest: Vec<StoredMessage>,
    refused: Vec<StoredRefusal>,
    similar: Vec<StoredSimilar>,
    connections_open: i64,
    last_connection_at: Option<i64>,
    last_message_at: Option<i64>,
    send_apis: Vec<Option<i64>>,
    timeline: Vec<Event>,
}

#[derive(Deserialize, Serialize)]
struct StoredMessage {
    id: String,
    from: String,
    subject: String,
    received_at: i64,
    missed_by: Vec<MissedBy>,
    /// Stories of older versions do not have it.
    #[serde(default)]
    found: Vec<(MissedBy, String)>,
}

#[derive(Deserialize, Serialize)]
struct StoredRefusal {
    peer: String,
    sender: String,
    recipient: String,
    inbox: Option<String>,
    authenticated: bool,
    reason: String,
    reply: String,
    refused_at: i64,
}

#[derive(Deserialize, Serialize)]
struct StoredSimilar {
    id: String,
    address: Option<String>,
    messages: i64,
    last_received_at: i64,
    opened_by_mail: bool,
}

/// The stored form of a story's evidence and timeline.
pub(super) fn encode(story: &Story) -> Bytes {
    let mut stored = stored(&story.evidence, &story.timeline);
    let json = |stored: &Stored| serde_json::to_vec(stored).expect("its types have a form in JSON");
    let mut form = json(&stored);
    while form.len() > MAX_BYTES && stored.shorten() {
        form = json(&stored);
    }
    lz4_flex::compress_prepend_size(&form).into()
}

impl Stored {
    /// Removes a part of the longest list: of the timeline, half of the events, from its middle; of
    /// the evidence, the last entry. Returns `false` if nothing is left.
    fn shorten(&mut self) -> bool {
        let messages = self.latest.len();
        let refused = self.refused.len();
        let similar = self.similar.len();
        let most = messages.max(refused).max(similar);
        let was_empty = most == 0 && self.timeline.is_empty();
        if self.timeline.len() > most {
            let first = FIRST_EVENTS.min(self.timeline.len() / 2);
            let removed = (self.timeline.len() - first).div_ceil(2);
            self.timeline.drain(first..first + removed);
        } else if refused == most {
            self.refused.pop();
        } else if messages == most {
            self.latest.pop();
        } else {
            self.similar.pop();
        }
        !was_empty
    }
}

/// The evidence and the timeline in this form.
///
/// # Errors
/// [`StoreError::Damaged`].
pub(super) fn decode(bytes: &[u8]) -> Result<(Evidence, Vec<Event>), StoreError> {
    let damaged = || StoreError::Damaged("a story");
    let size = bytes
        .first_chunk()
        .map_or(0, |size| u32::from_le_bytes(*size) as usize);
    if size > 2 * MAX_BYTES {
        return Err(damaged());
    }
    let json = lz4_flex::decompress_size_prepended(bytes).map_err(|_| damaged())?;
    let stored: Stored = serde_json::from_slice(&json).map_err(|_| damaged())?;
    Ok(restored(stored))
}

fn stored(evidence: &Evidence, timeline: &[Event]) -> Stored {
    let latest = evidence.latest.iter().map(|message| StoredMessage {
        id: message.id.to_string(),
        from: short(&message.from),
        subject: short(&message.subject),
        received_at: message.received_at.as_millis(),
        missed_by: message
            .missed_by
            .iter()
            .filter_map(|word| MissedBy::of_word(word))
            .collect(),
        found: message
            .found
            .iter()
            .filter_map(|(word, text)| Some((MissedBy::of_word(word)?, short(text))))
            .collect(),
    });
    let refused = evidence.refused.iter().map(|refused| StoredRefusal {
        peer: refused.peer.clone(),
        sender: short(&refused.sender),
        recipient: short(&refused.recipient),
        inbox: refused.inbox.as_ref().map(InboxId::to_string),
        authenticated: refused.authenticated,
        reason: refused.reason.label().to_owned(),
        reply: short(&refused.reply),
        refused_at: refused.refused_at.as_millis(),
    });
    let similar = evidence.similar.iter().map(|similar| StoredSimilar {
        id: similar.id.to_string(),
        address: similar.shared.as_ref().map(SharedAddress::to_string),
        messages: similar.messages,
        last_received_at: similar.last_received_at.as_millis(),
        opened_by_mail: similar.opened_by_mail,
    });
    let SmtpUse {
        connections_open,
        last_connection_at,
        last_message_at,
    } = evidence.smtp;
    Stored {
        messages: evidence.messages,
        latest: latest.collect(),
        refused: refused.collect(),
        similar: similar.collect(),
        connections_open,
        last_connection_at: last_connection_at.map(Timestamp::as_millis),
        last_message_at: last_message_at.map(Timestamp::as_millis),
        send_apis: evidence
            .send_apis
            .0
            .iter()
            .map(|at| at.map(Timestamp::as_millis))
            .collect(),
        timeline: timeline.to_vec(),
    }
}

fn restored(stored: Stored) -> (Evidence, Vec<Event>) {
    let latest = stored.latest.into_iter().filter_map(|message| {
        Some(Latest {
            id: MessageId(parse_id(&message.id).ok()?),
            from: message.from,
            subject: message.subject,
            received_at: Timestamp::from_millis(message.received_at),
            missed_by: message
                .missed_by
                .into_iter()
                .map(MissedBy::as_str)
                .collect(),
            found: message
                .found
                .into_iter()
                .map(|(word, text)| (word.as_str(), text))
                .collect(),
        })
    });
    let refused = stored.refused.into_iter().map(|refused| RefusedMail {
        peer: refused.peer,
        sender: refused.sender,
        recipient: refused.recipient,
        inbox: refused.inbox.map(InboxId::from_stored),
        authenticated: refused.authenticated,
        reason: RefusalReason::from_label(refused.reason),
        reply: refused.reply,
        refused_at: Timestamp::from_millis(refused.refused_at),
    });
    let similar = stored.similar.into_iter().map(|similar| Similar {
        id: InboxId::from_stored(similar.id),
        shared: similar.address.map(SharedAddress::from_stored),
        messages: similar.messages,
        last_received_at: Timestamp::from_millis(similar.last_received_at),
        opened_by_mail: similar.opened_by_mail,
    });
    let mut send_apis = SendApisUse::default();
    let known = send_apis.0.iter_mut().zip(stored.send_apis);
    known.for_each(|(known, at)| *known = at.map(Timestamp::from_millis));
    let evidence = Evidence {
        messages: stored.messages,
        latest: latest.collect(),
        refused: refused.collect(),
        similar: similar.collect(),
        smtp: SmtpUse {
            connections_open: stored.connections_open,
            last_connection_at: stored.last_connection_at.map(Timestamp::from_millis),
            last_message_at: stored.last_message_at.map(Timestamp::from_millis),
        },
        send_apis,
    };
    (evidence, stored.timeline)
}

fn short(text: &str) -> String {
    text.chars().take(MAX_CHARACTERS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_story_of_an_older_version_is_read() {
        let older =
            br#"{"messages": 1, "latest": [{"id": "0192f0c1-2b1a-7000-8000-000000000001", "from": "a@b.example",
            "subject": "Hi", "received_at": 1, "missed_by": ["text"]}], "refused": [], "similar": [],
            "connections_open": 0, "last_connection_at": null, "last_message_at": null, "send_apis": [],
            "timeline": []}"#;
        let (evidence, _) = decode(&lz4_flex::compress_prepend_size(older)).unwrap();
        assert_eq!(
            (
                evidence.latest[0].missed_by.as_slice(),
                evidence.latest[0].found.len()
            ),
            (&["text"][..], 0)
        );
    }
}
