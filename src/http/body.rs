//! JSON bodies: reads them up to a limit and parses the fields of a resource.
//!
//! The Content-Type is ignored.

use std::fmt;
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use bytes::BytesMut;
use http_body_util::BodyExt;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::error::Error;
use crate::memory::{Budget, Holder, NoMemory, Room, UNCOUNTED};

/// How long a body may take to arrive, so that a stalled client cannot keep a connection.
pub(super) const ARRIVAL: Duration = Duration::from_secs(60);
/// How much of a body that is too large is read and discarded. If the connection were closed earlier, a client that is
/// still sending would get a broken pipe instead of the response.
const DISCARDED_BYTES: usize = 32 * 1024 * 1024;
/// How many times its size a large body takes: the body, its text, the message composed of it, with its encoding, and
/// the parsed parts of that.
const COPIES: usize = 6;
/// The most characters of a field name in an error.
const SHOWN_NAME_CHARACTERS: usize = 64;

/// Reads a whole body. A body of more than 64 KiB first gets memory for all that is made of it, because bodies that are
/// only partly read could block each other.
///
/// # Errors
/// [`Error::BodyTooLarge`] for more than `limit` bytes, [`Error::BodyOverMemory`] if it can never fit into memory,
/// [`Error::Busy`] if no memory becomes free, [`Error::SlowBody`] if it does not arrive in time, [`Error::InvalidJson`]
/// if the client disconnects.
pub(super) async fn read(body: Body, limit: usize, budget: &Budget, holder: Holder) -> Result<(Bytes, Room), Error> {
    let reading = collect(body, limit, budget, holder);
    tokio::time::timeout(ARRIVAL, reading).await.map_err(|_| Error::SlowBody)?
}

async fn collect(mut body: Body, limit: usize, budget: &Budget, holder: Holder) -> Result<(Bytes, Room), Error> {
    if body.size_hint().lower() > (limit + DISCARDED_BYTES) as u64 {
        return Err(Error::BodyTooLarge);
    }
    let announced = body.size_hint().upper().and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(limit);
    let mut room = Room::default();
    let mut collected = BytesMut::new();
    let mut received = 0;
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| Error::InvalidJson)?.into_data() else { continue };
        received += data.len();
        if received <= limit {
            if received > UNCOUNTED && !room.is_reserved() {
                room = room_for(announced.min(limit), budget, holder).await?;
            }
            collected.extend_from_slice(&data);
        } else if received > limit + DISCARDED_BYTES {
            break;
        } else {
            collected = BytesMut::new();
        }
    }
    if received > limit { Err(Error::BodyTooLarge) } else { Ok((collected.freeze(), room)) }
}

async fn room_for(body: usize, budget: &Budget, holder: Holder) -> Result<Room, Error> {
    budget.reserve(holder, body.saturating_mul(COPIES)).await.map_err(|error| match error {
        NoMemory::InTime => Error::Busy,
        NoMemory::Ever { .. } => Error::BodyOverMemory(error),
    })
}

/// The fields of a JSON object, with values that are not parsed yet.
#[derive(Debug)]
pub(super) struct Fields<'a>(Vec<(&'static str, &'a RawValue)>);

impl<'a> Fields<'a> {
    /// Parses an object that may only have the fields `known`.
    ///
    /// # Errors
    /// [`Error::InvalidJson`] if this is not a JSON object, [`Error::UnknownField`] for its first unknown field.
    pub(super) fn parse(json: &'a [u8], known: &'static [&'static str]) -> Result<Self, Error> {
        let text = std::str::from_utf8(json).map_err(|_| Error::InvalidJson)?;
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let (fields, unknown) = Object(known).deserialize(&mut deserializer).map_err(|_| Error::InvalidJson)?;
        deserializer.end().map_err(|_| Error::InvalidJson)?;
        match unknown {
            Some(name) => Err(Error::UnknownField(name)),
            None => Ok(Self(fields)),
        }
    }

    /// A required field.
    ///
    /// # Errors
    /// [`Error::MissingField`], or [`Error::InvalidField`] if it is of another type.
    pub(super) fn required<T: Deserialize<'a>>(&self, name: &'static str) -> Result<T, Error> {
        self.optional(name)?.ok_or(Error::MissingField(name))
    }

    /// An optional field.
    ///
    /// # Errors
    /// [`Error::InvalidField`] if it is of another type.
    pub(super) fn optional<T: Deserialize<'a>>(&self, name: &'static str) -> Result<Option<T>, Error> {
        let Some((_, json)) = self.0.iter().find(|(field, _)| *field == name) else { return Ok(None) };
        serde_json::from_str(json.get()).map(Some).map_err(|_| Error::InvalidField(name))
    }
}

/// Parses an object with these fields. Unknown fields are skipped, so that they need no additional memory; the name of
/// the first one is kept.
struct Object(&'static [&'static str]);

type KnownAndUnknown<'a> = (Vec<(&'static str, &'a RawValue)>, Option<String>);

impl<'de> DeserializeSeed<'de> for Object {
    type Value = KnownAndUnknown<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Object {
    type Value = KnownAndUnknown<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut fields = Vec::new();
        let mut unknown = None;
        while let Some(name) = map.next_key::<String>()? {
            let Some(known) = self.0.iter().copied().find(|known| *known == name) else {
                unknown.get_or_insert_with(|| shown(&name));
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            let value = map.next_value()?;
            fields.retain(|(field, _)| *field != known);
            fields.push((known, value));
        }
        Ok((fields, unknown))
    }
}

fn shown(name: &str) -> String {
    match name.char_indices().nth(SHOWN_NAME_CHARACTERS) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    const KNOWN: &[&str] = &["a", "b"];

    fn refusal(json: &str) -> String {
        Fields::parse(json.as_bytes(), KNOWN).unwrap_err().to_string()
    }

    #[test]
    fn only_an_object_is_taken() {
        let deep = "[".repeat(100_000);
        for json in ["", " ", "[]", "1", "null", "\"a\"", "{", "{\"a\"}", "{\"a\":1,}", "{} {}", "{'a':1}", &deep] {
            assert_eq!(refusal(json), "invalid JSON", "{json:.20}");
        }
        assert!(matches!(Fields::parse(b"{\"a\":\"\xff\"}", KNOWN), Err(Error::InvalidJson)));
        assert!(Fields::parse(b" {\r\n} ", KNOWN).is_ok());
    }

    #[test]
    fn the_first_unknown_field_is_named_and_its_name_shortened() {
        assert_eq!(refusal(r#"{"a":"1","x":{"y":[1]},"z":2}"#), "unknown field: x");
        assert_eq!(refusal(r#"{"x":1,"#), "invalid JSON");
        assert_eq!(refusal(&format!("{{\"{}\":1}}", "é".repeat(70))), format!("unknown field: {}…", "é".repeat(64)));
    }

    #[test]
    fn a_field_is_a_text_or_refused() {
        let fields = Fields::parse(br#"{"a":"\u0041\n\ud83d\ude00"}"#, KNOWN).unwrap();
        assert_eq!(fields.required::<String>("a").unwrap(), "A\n😀");
        assert_eq!(fields.optional::<String>("b").unwrap(), None);
        assert_eq!(fields.required::<String>("b").unwrap_err().to_string(), "missing field: b");
        for value in ["null", "1", "[]", "{}", "true", "\"\\ud800\""] {
            let json = format!("{{\"a\":{value}}}");
            let refused = Fields::parse(json.as_bytes(), KNOWN).unwrap().optional::<String>("a");
            assert_eq!(refused.unwrap_err().to_string(), "invalid field: a", "{value}");
        }
    }

    #[tokio::test]
    async fn a_body_is_read_up_to_its_limit() {
        let budget = Budget::new(0);
        let read = |body, limit| read(body, limit, &budget, [0; 32]);
        let (body, room) = read(Body::from("12345"), 5).await.unwrap();
        assert_eq!((&body[..], room.is_reserved()), (&b"12345"[..], false));
        assert!(matches!(read(Body::from("123456"), 5).await, Err(Error::BodyTooLarge)));
        let endless =
            Body::from_stream(futures_util::stream::repeat(Ok::<_, Infallible>(Bytes::from_static(&[0; 65_536]))));
        assert!(matches!(read(endless, 5).await, Err(Error::BodyTooLarge)));
    }

    #[tokio::test]
    async fn a_large_body_takes_memory_for_all_that_is_made_of_it() {
        let budget = Budget::new(16 * 1024 * 1024);
        let size = 1024 * 1024;
        let (_, room) = read(Body::from(vec![b'x'; size]), size, &budget, [0; 32]).await.unwrap();
        assert_eq!(budget.free(), 10 * size);
        drop(room);
        let refused = read(Body::from(vec![b'x'; 2 * size]), 4 * size, &budget, [0; 32]).await.unwrap_err();
        assert_eq!(refused.status(), 413);
        assert_eq!(
            refused.to_string(),
            "body too large: this needs 12 MiB of memory, but one key may use 8 MiB (--max-body-memory)"
        );
    }
}
