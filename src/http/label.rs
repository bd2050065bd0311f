//! Headers with a text that is only shown: `X-Restante-Label`, a label for an inbox, such as the
//! title of its test, and `X-Restante-Filters`, what only the client of a wait compares.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::request::Parts;
use percent_encoding::percent_decode;

use super::describe::Input;
use crate::model::MessageFilter;

/// Maximum number of characters of a label; the rest is cut off.
const CHARACTERS: usize = 200;
const NAME: &str = "x-restante-label";

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
        client: text_of(headers, "x-restante-filters"),
        began: text_of(headers, "x-restante-began"),
        ..filter
    }
}

/// The text of a header that is only shown or compared, if the request has one.
fn text_of(headers: &HeaderMap, name: &str) -> Option<String> {
    shown(headers.get(name)?.as_bytes())
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
    use super::*;

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
