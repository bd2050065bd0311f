//! JSON bodies of providers: unknown fields are ignored, a null is an absent field, and their
//! parsed form needs little more memory than they do.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::SeqAccessDeserializer;
use serde::de::{self, DeserializeOwned, IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use super::failure::Failure;
use crate::json;

/// Maximum number of strings, objects and lists of a value, and of a batch. Each needs memory,
/// however small it is. Numbers do not: no type here keeps one, except as a byte of a file.
const MAX_VALUES: usize = 10_000;
const MAX_VALUES_OF_BATCH: usize = 100_000;

/// Parses a body, or another value.
///
/// # Errors
/// [`Failure`] that says what is wrong, and where.
pub(super) fn parse<T: DeserializeOwned>(json: &[u8]) -> Result<T, Failure> {
    parse_up_to(MAX_VALUES, json)
}

/// Parses the body of a request for several messages.
///
/// # Errors
/// As [`parse`].
pub(super) fn parse_batch<T: DeserializeOwned>(json: &[u8]) -> Result<T, Failure> {
    parse_up_to(MAX_VALUES_OF_BATCH, json)
}

fn parse_up_to<T: DeserializeOwned>(most: usize, json: &[u8]) -> Result<T, Failure> {
    let counted = json::count(json);
    if counted.strings + counted.brackets > most {
        return Err(Failure::invalid(format!(
            "the JSON has more than {most} values"
        )));
    }
    serde_json::from_slice(json).map_err(|error| Failure::invalid(format!("invalid JSON: {error}")))
}

/// The messages of a request: at most this many, which ends the list while it is read.
#[derive(Debug)]
pub(super) struct Messages<T, const MAX: usize>(pub(super) Vec<T>);

impl<'de, T: Deserialize<'de>, const MAX: usize> Deserialize<'de> for Messages<T, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bounded<T, const MAX: usize>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>, const MAX: usize> Visitor<'de> for Bounded<T, MAX> {
            type Value = Messages<T, MAX>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a list of messages")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut messages = Vec::new();
                while messages.len() < MAX {
                    match list.next_element()? {
                        Some(message) => messages.push(message),
                        None => return Ok(Messages(messages)),
                    }
                }
                match list.next_element::<IgnoredAny>()? {
                    None => Ok(Messages(messages)),
                    Some(_) => Err(de::Error::custom(format_args!(
                        "a request has at most {MAX} messages"
                    ))),
                }
            }
        }
        deserializer.deserialize_seq(Bounded(PhantomData))
    }
}

/// One string, or a list of them.
#[derive(Debug)]
pub(super) struct OneOrMany(Vec<String>);

impl OneOrMany {
    pub(super) fn into_vec(self) -> Vec<String> {
        self.0
    }
}

/// Written by hand, because the derived form would keep every wrong value before it fails.
impl<'de> Deserialize<'de> for OneOrMany {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Texts;
        impl<'de> Visitor<'de> for Texts {
            type Value = OneOrMany;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a string or a list of strings")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<OneOrMany, E> {
                Ok(OneOrMany(vec![text.to_owned()]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<OneOrMany, A::Error> {
                Deserialize::deserialize(SeqAccessDeserializer::new(list)).map(OneOrMany)
            }
        }
        deserializer.deserialize_any(Texts)
    }
}

/// A value that is passed on as it is written.
pub(super) type Json = Box<RawValue>;

/// The text of a JSON value as the value of a header: that of a string itself, anything else as
/// JSON on one line.
pub(super) fn plain(value: &RawValue) -> String {
    serde_json::from_str(value.get())
        .unwrap_or_else(|_| value.get().replace(['\r', '\n', '\t'], " "))
}

/// A template that is stored at the provider, as the text of a message.
#[derive(Serialize)]
pub(super) struct Template<'a> {
    pub(super) template: &'a str,
    pub(super) variables: &'a RawValue,
}

impl Template<'_> {
    pub(super) fn text(&self) -> String {
        // Two fields that are valid JSON cannot fail.
        serde_json::to_string(self).expect("it was JSON")
    }
}

/// `{}`.
pub(super) fn empty_object() -> Json {
    RawValue::from_string("{}".to_owned()).expect("it is JSON")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_values_are_counted_and_their_bytes_are_not() {
        let many = format!("[{}\"\"]", "\"\",".repeat(MAX_VALUES));
        assert!(
            parse::<Vec<String>>(many.as_bytes())
                .unwrap_err()
                .text
                .contains("more than 10000 values")
        );
        let deep = "[".repeat(5_000);
        assert!(
            parse::<Json>(deep.as_bytes())
                .unwrap_err()
                .text
                .starts_with("invalid JSON")
        );
    }

    #[test]
    fn a_list_ends_before_the_message_that_is_one_too_many() {
        let parse = |json: &str| parse_batch::<Messages<OneOrMany, 2>>(json.as_bytes());
        assert_eq!(parse(r#"["a", ["b"]]"#).unwrap().0.len(), 2);
        // The third is not built, and what follows is not read.
        let refused = parse(r#"["a", "b", {}, 1"#).unwrap_err();
        assert!(refused.text.contains("at most 2 messages"), "{refused:?}");
    }

    #[test]
    fn a_list_ends_at_its_first_wrong_value() {
        let texts = |json: &str| parse::<OneOrMany>(json.as_bytes()).map(OneOrMany::into_vec);
        assert_eq!(texts("\"a\"").unwrap(), ["a"]);
        assert_eq!(texts("[\"a\", \"b\"]").unwrap(), ["a", "b"]);
        // The column is that of the first number, so the others were not read.
        let many = format!("[{}1]", "1,".repeat(1_000_000));
        assert!(texts(&many).unwrap_err().text.ends_with("line 1 column 2"));
        for wrong in ["1", "{}", "[[]]", "null"] {
            assert!(
                texts(wrong).unwrap_err().text.starts_with("invalid JSON"),
                "{wrong}"
            );
        }
    }

    #[test]
    fn a_value_becomes_one_line() {
        let plain = |json: &str| plain(&RawValue::from_string(json.to_owned()).unwrap());
        assert_eq!(
            [plain("\"a\""), plain("1"), plain("[1,\n2]")],
            ["a", "1", "[1, 2]"]
        );
    }
}
