//! JSON bodies: reads them up to a limit, and parses them as a type of the API.
//!
//! The Content-Type is ignored.

use std::fmt;
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use bytes::BytesMut;
use http_body_util::BodyExt;
use serde::Deserialize;
use serde::de::value::StrDeserializer;
use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::error::Error;
use crate::jobs::{Job, LARGE};
use crate::model::cut;

/// How long a body may take to arrive, so that a stalled client cannot keep a connection.
pub(super) const ARRIVAL: Duration = Duration::from_secs(60);
/// How much of a body that is too large is read and discarded. If the connection were closed
/// earlier, a client that is still sending would get a broken pipe instead of the response.
const DISCARDED_BYTES: usize = 32 * 1024 * 1024;
/// Maximum number of characters of a field name in an error.
const SHOWN_NAME_CHARACTERS: usize = 64;

/// Reads a whole body, then takes a place for what is made of it. While it arrives, a body over 1
/// MiB is one of the large ones of its key; nothing is taken for what its length announces.
///
/// # Errors
/// [`Error::BodyTooLarge`] for more than `limit` bytes, [`Error::Busy`] if too many others are
/// large, [`Error::SlowBody`] if it does not arrive in time, [`Error::InvalidJson`] if the client
/// disconnects.
pub(super) async fn read(body: Body, limit: usize, job: &mut Job) -> Result<Bytes, Error> {
    let reading = collect(body, limit, job);
    let body = tokio::time::timeout(ARRIVAL, reading)
        .await
        .map_err(|_| Error::SlowBody)??;
    job.take_place(body.len()).await?;
    Ok(body)
}

async fn collect(mut body: Body, limit: usize, job: &mut Job) -> Result<Bytes, Error> {
    if body.size_hint().lower() > (limit + DISCARDED_BYTES) as u64 {
        return Err(Error::BodyTooLarge);
    }
    let mut collected = BytesMut::new();
    let mut received = 0;
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| Error::InvalidJson)?.into_data() else {
            continue;
        };
        received += data.len();
        if received <= limit {
            if received > LARGE {
                job.be_large().await?;
            }
            collected.extend_from_slice(&data);
        } else if received > limit + DISCARDED_BYTES {
            break;
        } else {
            collected = BytesMut::new();
        }
    }
    if received > limit {
        Err(Error::BodyTooLarge)
    } else {
        Ok(collected.freeze())
    }
}

/// Parses a JSON object as `T`: only its fields are allowed, and none may be null.
///
/// # Errors
/// [`Error::InvalidJson`] if this is not a JSON object, else [`Error::UnknownField`] for its first
/// unknown field, else [`Error::InvalidField`] for the first field of `T` that is of another type,
/// else [`Error::MissingField`].
pub(super) fn parse<'a, T: Deserialize<'a>>(json: &'a [u8]) -> Result<T, Error> {
    T::deserialize(Json(json)).map_err(|Problem(error)| error)
}

/// Why a body is not of the type.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
struct Problem(Error);

impl de::Error for Problem {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self(Error::InvalidJson)
    }

    fn missing_field(name: &'static str) -> Self {
        Self(Error::MissingField(name))
    }
}

/// A body as a deserializer of structs. It offers their fields in the order of their definition.
struct Json<'a>(&'a [u8]);

impl<'de> Deserializer<'de> for Json<'de> {
    type Error = Problem;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Problem> {
        Err(de::Error::custom("not a struct"))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Problem> {
        let values = read_object(self.0, names).map_err(Problem)?;
        visitor.visit_map(Fields {
            names,
            values,
            position: 0,
        })
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

type Values<'a> = Vec<(&'static str, &'a RawValue)>;

fn read_object<'a>(json: &'a [u8], known: &'static [&'static str]) -> Result<Values<'a>, Error> {
    let text = std::str::from_utf8(json).map_err(|_| Error::InvalidJson)?;
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let (fields, unknown) = Object(known)
        .deserialize(&mut deserializer)
        .map_err(|_| Error::InvalidJson)?;
    deserializer.end().map_err(|_| Error::InvalidJson)?;
    unknown.map_or(Ok(fields), |name| Err(Error::UnknownField(name)))
}

/// The fields of a struct, each with its value in the body.
struct Fields<'a> {
    names: &'static [&'static str],
    values: Values<'a>,
    position: usize,
}

impl<'a> Fields<'a> {
    fn value(&self) -> Option<&'a RawValue> {
        let name = self.names[self.position];
        self.values
            .iter()
            .find(|(field, _)| *field == name)
            .map(|(_, value)| *value)
    }
}

impl<'de> MapAccess<'de> for Fields<'de> {
    type Error = Problem;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Problem> {
        while self.position < self.names.len() {
            if self.value().is_some() {
                return seed
                    .deserialize(StrDeserializer::new(self.names[self.position]))
                    .map(Some);
            }
            self.position += 1;
        }
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Problem> {
        let invalid = Problem(Error::InvalidField(self.names[self.position]));
        let value = self
            .value()
            .map(RawValue::get)
            .filter(|value| *value != "null");
        self.position += 1;
        let Some(value) = value else {
            return Err(invalid);
        };
        let mut deserializer = serde_json::Deserializer::from_str(value);
        seed.deserialize(&mut deserializer).map_err(|_| invalid)
    }
}

/// Parses an object with these fields. Unknown fields are skipped, so that they need no additional
/// memory; the name of the first one is kept.
struct Object(&'static [&'static str]);

impl<'de> DeserializeSeed<'de> for Object {
    type Value = (Values<'de>, Option<String>);

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Object {
    type Value = (Values<'de>, Option<String>);

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
    cut(name, SHOWN_NAME_CHARACTERS)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures_util::{FutureExt, StreamExt};

    use super::*;
    use crate::jobs::Jobs;

    #[derive(Debug, Deserialize)]
    struct Example {
        a: String,
        b: Option<String>,
        c: u8,
    }

    fn refusal(json: &str) -> String {
        parse::<Example>(json.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn only_an_object_is_taken() {
        #[derive(Debug, Deserialize)]
        struct Nothing {}
        let deep = "[".repeat(100_000);
        for json in [
            "",
            " ",
            "[]",
            "1",
            "null",
            "\"a\"",
            "{",
            "{\"a\"}",
            "{\"a\":1,}",
            "{} {}",
            "{'a':1}",
            &deep,
        ] {
            assert_eq!(refusal(json), "invalid JSON", "{json:.20}");
        }
        assert!(matches!(
            parse::<Example>(b"{\"a\":\"\xff\"}"),
            Err(Error::InvalidJson)
        ));
        assert!(parse::<Nothing>(b" {\r\n} ").is_ok());
        assert_eq!(
            parse::<Nothing>(b"{\"a\":1}").unwrap_err().to_string(),
            "unknown field: a"
        );
    }

    #[test]
    fn the_first_unknown_field_is_named_and_its_name_shortened() {
        assert_eq!(
            refusal(r#"{"a":1,"x":{"y":[1]},"z":2}"#),
            "unknown field: x"
        );
        assert_eq!(refusal(r#"{"x":1,"#), "invalid JSON");
        assert_eq!(
            refusal(&format!("{{\"{}\":1}}", "é".repeat(70))),
            format!("unknown field: {}…", "é".repeat(64))
        );
    }

    #[test]
    fn the_first_field_that_is_missing_or_of_another_type_is_named() {
        let parsed = parse::<Example>(br#"{"c":1,"a":"x","a":"\u0041\n\ud83d\ude00"}"#).unwrap();
        assert_eq!((parsed.a.as_str(), parsed.b, parsed.c), ("A\n😀", None, 1));
        for (json, error) in [
            ("{}", "missing field: a"),
            (r#"{"c":"x"}"#, "invalid field: c"),
            (r#"{"a":"","b":1}"#, "invalid field: b"),
            (r#"{"a":"","c":"x","b":1}"#, "invalid field: b"),
            (r#"{"a":"","b":""}"#, "missing field: c"),
            (r#"{"a":"","b":null,"c":1}"#, "invalid field: b"),
        ] {
            assert_eq!(refusal(json), error, "{json}");
        }
        for value in ["null", "1", "[]", "{}", "true", "\"\\ud800\""] {
            assert_eq!(
                refusal(&format!("{{\"a\":{value}}}")),
                "invalid field: a",
                "{value}"
            );
        }
    }

    #[tokio::test]
    async fn a_body_is_read_up_to_its_limit() {
        let jobs = Jobs::new(1);
        let mut job = jobs.job([0; 32]);
        let body = read(Body::from("12345"), 5, &mut job).await.unwrap();
        assert_eq!(&body[..], b"12345");
        assert!(matches!(
            read(Body::from("123456"), 5, &mut job).await,
            Err(Error::BodyTooLarge)
        ));
        let endless = Body::from_stream(futures_util::stream::repeat(Ok::<_, Infallible>(
            Bytes::from_static(&[0; 65_536]),
        )));
        assert!(matches!(
            read(endless, 5, &mut job).await,
            Err(Error::BodyTooLarge)
        ));
        assert!(jobs.are_idle());
    }

    #[tokio::test]
    async fn a_body_that_stalls_after_70_kb_keeps_no_place() {
        let jobs = Jobs::new(64);
        let stalled = || {
            let start = futures_util::stream::iter([Ok::<_, Infallible>(vec![b' '; 70_000])]);
            Body::from_stream(start.chain(futures_util::stream::pending()))
        };
        let mut own: Vec<_> = (0..4).map(|_| jobs.job([1; 32])).collect();
        let mut reading: Vec<_> = own
            .iter_mut()
            .map(|job| Box::pin(read(stalled(), 10 * LARGE, job)))
            .collect();
        for one in &mut reading {
            assert!(one.as_mut().now_or_never().is_none());
        }
        let mut other = jobs.job([1; 32]);
        let body = Body::from(vec![b' '; 2 * LARGE]);
        let read = read(body, 10 * LARGE, &mut other).now_or_never();
        assert_eq!(read.unwrap().unwrap().len(), 2 * LARGE);
        assert!(!jobs.are_idle());
    }
}
