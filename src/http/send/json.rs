//! JSON bodies of providers: unknown fields are ignored, a null is an absent field, and their
//! parsed form needs little more memory than they do.

use std::fmt;

use serde::de::value::SeqAccessDeserializer;
use serde::de::{self, DeserializeOwned, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use super::failure::Failure;

/// Maximum number of strings, objects and lists of a body. Each needs memory, however small it is.
/// Numbers do not: no type here keeps one, except as a byte of a file.
const MAX_VALUES: usize = 100_000;

/// Parses a body.
///
/// # Errors
/// [`Failure`] that says what is wrong, and where.
pub(super) fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, Failure> {
    if values(body) > MAX_VALUES {
        return Err(Failure::invalid(format!(
            "the JSON has more than {MAX_VALUES} values"
        )));
    }
    serde_json::from_slice(body).map_err(|error| Failure::invalid(format!("invalid JSON: {error}")))
}

/// The strings, objects and lists in JSON.
fn values(json: &[u8]) -> usize {
    let (mut count, mut in_string, mut is_escaped) = (0, false, false);
    for byte in json {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = in_string,
            b'"' => {
                count += usize::from(!in_string);
                in_string = !in_string;
            }
            b'{' | b'[' if !in_string => count += 1,
            _ => {}
        }
    }
    count
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
    /// The JSON object.
    pub(super) fn text(&self) -> String {
        // Two fields that are valid JSON cannot fail.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// `{}`.
pub(super) fn empty_object() -> Json {
    RawValue::from_string("{}".to_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_values_are_counted_and_their_bytes_are_not() {
        assert_eq!(values(br#"{"a": ["b,{[\"", 1, 2, 3, {}]}"#), 5);
        let many = format!("[{}\"\"]", "\"\",".repeat(MAX_VALUES));
        assert!(
            parse::<Vec<String>>(many.as_bytes())
                .unwrap_err()
                .text
                .contains("more than 100000 values")
        );
        let deep = "[".repeat(50_000);
        assert!(
            parse::<Json>(deep.as_bytes())
                .unwrap_err()
                .text
                .starts_with("invalid JSON")
        );
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
