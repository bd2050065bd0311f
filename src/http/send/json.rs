//! JSON bodies of providers: unknown fields are ignored, a null is an absent field, and their parsed form needs little
//! more memory than they do.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::failure::Failure;

/// The most strings, objects and lists of a body. Each needs memory, however small it is.
const MOST_VALUES: usize = 100_000;

/// Parses a body.
///
/// # Errors
/// [`Failure`] that says what is wrong, and where.
pub(super) fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, Failure> {
    if values(body) > MOST_VALUES {
        return Err(Failure::invalid(format!("the JSON has more than {MOST_VALUES} values")));
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
#[derive(Deserialize, Clone, Debug)]
#[serde(untagged)]
pub(super) enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl OneOrMany {
    pub(super) fn into_vec(self) -> Vec<String> {
        match self {
            Self::One(text) => vec![text],
            Self::Many(texts) => texts,
        }
    }
}

/// A value that is passed on as it is written.
pub(super) type Json = Box<RawValue>;

/// The text of a JSON value as the value of a header: that of a string itself, anything else as JSON on one line.
pub(super) fn plain(value: &RawValue) -> String {
    serde_json::from_str(value.get()).unwrap_or_else(|_| value.get().replace(['\r', '\n', '\t'], " "))
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
        let many = format!("[{}\"\"]", "\"\",".repeat(MOST_VALUES));
        assert!(parse::<Vec<String>>(many.as_bytes()).unwrap_err().text.contains("more than 100000 values"));
        let deep = "[".repeat(50_000);
        assert!(parse::<Json>(deep.as_bytes()).unwrap_err().text.starts_with("invalid JSON"));
    }

    #[test]
    fn a_value_becomes_one_line() {
        let plain = |json: &str| plain(&RawValue::from_string(json.to_owned()).unwrap());
        assert_eq!([plain("\"a\""), plain("1"), plain("[1,\n2]")], ["a", "1", "[1, 2]"]);
    }
}
