//! The cursor of a timeline. Some events are recorded a moment after they happened, so a cursor has
//! a time before which all are recorded, and a short hash of each later event that its reader has.

use std::fmt;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use restante_api::{Event, EventKind};
use sha2::{Digest, Sha256};

use crate::model::Timestamp;

/// An event is recorded at most this long after it happened.
const RECORDED_WITHIN: Duration = Duration::from_secs(60);
/// Bytes of the hash of an event.
const HASH: usize = 4;

/// What a reader of a timeline has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventCursor {
    /// The reader has all events until then.
    horizon: Timestamp,
    /// The later events that it has.
    given: Vec<[u8; HASH]>,
}

impl EventCursor {
    /// Parses the text form.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (horizon, given) = text.split_once('.')?;
        let horizon = Timestamp::from_millis(horizon.parse().ok()?);
        let bytes = BASE64_URL_SAFE_NO_PAD.decode(given).ok()?;
        let (given, rest) = bytes.as_chunks();
        rest.is_empty().then(|| Self {
            horizon,
            given: given.to_vec(),
        })
    }

    /// Of all events those that the reader does not have, and the cursor after them.
    pub(super) fn advance(
        after: Option<&Self>,
        all: Vec<Event>,
        now: Timestamp,
    ) -> (Vec<Event>, Self) {
        let horizon = now.before(RECORDED_WITHIN);
        let horizon = after.map_or(horizon, |cursor| cursor.horizon.max(horizon));
        // The texts of times have the order of the times.
        let before = after.map_or(String::new(), |cursor| cursor.horizon.to_string());
        let recent = horizon.to_string();
        let mut known = after.map_or_else(Vec::new, |cursor| cursor.given.clone());
        let mut events = Vec::new();
        let mut given = Vec::new();
        for event in all.into_iter().filter(|event| event.at > before) {
            let hash = hash_of(&event);
            if event.at > recent {
                given.push(hash);
            }
            // Two events can be equal: each known one stands for one of them.
            match known.iter().position(|known| *known == hash) {
                Some(place) => drop(known.swap_remove(place)),
                None => events.push(event),
            }
        }
        (events, Self { horizon, given })
    }
}

impl fmt::Display for EventCursor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let given = BASE64_URL_SAFE_NO_PAD.encode(self.given.as_flattened());
        write!(formatter, "{}.{given}", self.horizon.as_millis())
    }
}

/// The start of the hash of an event. The result of an attempt to send is not part of it, because
/// it changes; nor is what a wait looks for, because that changes with its next request.
fn hash_of(event: &Event) -> [u8; HASH] {
    let is_start = event.kind == EventKind::WaitStarted;
    let identity = (
        &event.at,
        &event.kind,
        Some(&event.text).filter(|_| !is_start),
        event.filters.as_ref().filter(|_| !is_start),
        &event.message_id,
        &event.failure,
        &event.client,
    );
    let text = serde_json::to_vec(&identity).expect("its types have a form in JSON");
    let hash = Sha256::digest(text);
    [hash[0], hash[1], hash[2], hash[3]]
}
