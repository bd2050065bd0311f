//! Headers with a text that is only shown: `X-Restante-Label`, a label for an inbox, such as the
//! title of its test, and `X-Restante-Filters`, what only the client of a wait compares; and
//! `X-Restante-Wait`, which is the same in all requests of a wait.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::request::Parts;
use percent_encoding::percent_decode;

use super::describe::Input;
use super::error::Error;
use crate::model::MessageFilter;

/// Maximum number of characters of a label; the rest is cut off.
const CHARACTERS: usize = 200;
const NAME: &str = "x-restante-label";
pub(super) const WAIT: &str = "x-restante-wait";
/// Maximum number of characters of the name of a wait.
const MAX_NAME: usize = 64;

/// The label of the request, if it has one. It never makes a request fail.
pub(super) struct LabelHeader(pub(super) Option<String>);

impl<S: Sync> FromRequestParts<S> for LabelHeader {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Infallible> {
        Ok(Self(
            parts
                .headers
                .get(NAME)
                .and_then(|value| shown(value.as_bytes())),
        ))
    }
}

// The description of the operation names the header.
impl Input for LabelHeader {}

/// The filter of a wait, with what only its client compares.
pub(super) fn compared_by_client(filter: MessageFilter, headers: &HeaderMap) -> MessageFilter {
    MessageFilter {
        client: headers
            .get("x-restante-filters")
            .and_then(|value| shown(value.as_bytes())),
        ..filter
    }
}

/// What the client has named the wait, if it has.
///
/// # Errors
/// [`Error::InvalidParameter`] if it is empty, too long, or has other characters than visible ones
/// of ASCII.
pub(super) fn name_of_wait(headers: &HeaderMap) -> Result<Option<&str>, Error> {
    let Some(value) = headers.get(WAIT) else {
        return Ok(None);
    };
    let name = value.to_str().ok().filter(|name| {
        (1..=MAX_NAME).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_graphic())
    });
    name.map(Some).ok_or(Error::InvalidParameter(WAIT))
}

/// The decoded text on one line; `None` if it is empty.
fn shown(value: &[u8]) -> Option<String> {
    let text = percent_decode(value).decode_utf8_lossy();
    let line = text.split(|character: char| character.is_whitespace() || character.is_control());
    let line = line
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(" ");
    Some(line.chars().take(CHARACTERS).collect()).filter(|label: &String| !label.is_empty())
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};

    use super::*;

    #[test]
    fn the_name_of_a_wait_is_short_and_visible() {
        let name_of = |value: &[u8]| {
            let value = HeaderValue::from_bytes(value).unwrap();
            let headers = HeaderMap::from_iter([(HeaderName::from_static(WAIT), value)]);
            name_of_wait(&headers)
                .map(|name| name.unwrap().to_owned())
                .map_err(|error| error.to_string())
        };
        let longest = "x".repeat(MAX_NAME);
        for name in ["7", "b3c9/4-f", &longest] {
            assert_eq!(name_of(name.as_bytes()), Ok(name.to_owned()));
        }
        for name in ["", "a b", "\u{e9}", &format!("{longest}x")] {
            assert_eq!(
                name_of(name.as_bytes()),
                Err("invalid x-restante-wait".to_owned())
            );
        }
        assert!(matches!(name_of_wait(&HeaderMap::new()), Ok(None)));
    }

    #[test]
    fn a_label_is_one_line_of_limited_length() {
        assert_eq!(
            shown(b"sign%20up%20%E2%80%BA works").as_deref(),
            Some("sign up \u{203a} works")
        );
        assert_eq!(shown(b"a%0d%0A%00b%zz").as_deref(), Some("a b%zz"));
        assert_eq!(
            shown("x".repeat(500).as_bytes()).map(|label| label.len()),
            Some(CHARACTERS)
        );
        assert_eq!((shown(b""), shown(b"%20")), (None, None));
    }
}
