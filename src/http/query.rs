//! The query string: only the first occurrence of a parameter counts, an empty one is absent, an
//! unknown one is ignored. [`Parameters`] reads it as a type of the API.

use std::collections::HashMap;
use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::http::Uri;
use axum::http::request::Parts;
use restante_api::MessageQuery;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::de::value::MapDeserializer;

use super::describe::{Input, Operation};
use super::error::Error;
use crate::model::{Features, FieldError, HeaderFilter, MessageFilter};
use crate::service::MAX_WAIT;

const DEFAULT_TIMEOUT: Duration = Duration::from_secs(15);

/// The query of a request, still encoded.
pub(super) struct Query(String);

impl Query {
    /// The query of a request to `uri`.
    pub(super) fn of(uri: &Uri) -> Self {
        Self(uri.query().unwrap_or_default().to_owned())
    }

    /// The decoded value of `name`.
    pub(super) fn first(&self, name: &str) -> Option<String> {
        let (_, value) = form_urlencoded::parse(self.0.as_bytes()).find(|(key, _)| key == name)?;
        Some(value.into_owned()).filter(|value| !value.is_empty())
    }

    /// The text to search for.
    pub(super) fn search(&self) -> Option<String> {
        self.first("q")
            .map(|text| text.trim().to_owned())
            .filter(|text| !text.is_empty())
    }
}

/// The query of a request as a type of the API.
pub(super) struct Parameters<T>(pub(super) T);

/// The filters that a list, a wait and an explanation share.
///
/// # Errors
/// [`Error::InvalidParameter`] for a text that is too long, a header without a colon, or an unknown
/// word in `has`.
pub(super) fn message_filter(query: MessageQuery) -> Result<MessageFilter, Error> {
    let refused =
        |(FieldError::Missing(name) | FieldError::Invalid(name))| Error::InvalidParameter(name);
    let filter = MessageFilter {
        subject: given(query.subject),
        from: given(query.from),
        to: given(query.to),
        text: given(query.text),
        header: given(query.header)
            .map(|text| HeaderFilter::parse(&text))
            .transpose()
            .map_err(refused)?,
        has: features(&query.has)?,
        after: given(query.after),
        client: None,
    };
    filter.checked().map_err(refused)
}

/// What a message must have: `otp`, `code`, `link`, or several with commas between.
fn features(has: &str) -> Result<Features, Error> {
    let mut features = Features::default();
    for word in has.split(',').filter(|_| !has.is_empty()) {
        match word {
            "otp" => features.otp = true,
            "code" => features.code = true,
            "link" => features.link = true,
            _ => return Err(Error::InvalidParameter("has")),
        }
    }
    Ok(features)
}

/// The timeout of a wait: the default if it is not a number, and at most the maximum.
pub(super) fn timeout(text: &str) -> Duration {
    integer(text)
        .map_or(DEFAULT_TIMEOUT, Duration::from_millis)
        .min(MAX_WAIT)
}

/// A number of one or more.
///
/// # Errors
/// [`Error::InvalidParameter`] for any other text.
pub(super) fn limit(text: String) -> Result<Option<u64>, Error> {
    let Some(text) = given(text) else {
        return Ok(None);
    };
    integer(&text)
        .filter(|&limit| limit > 0)
        .map(Some)
        .ok_or(Error::InvalidParameter("limit"))
}

/// A parameter, unless it is empty.
pub(super) fn given(text: String) -> Option<String> {
    Some(text).filter(|text| !text.is_empty())
}

impl<S: Sync, T: DeserializeOwned + Default> FromRequestParts<S> for Parameters<T> {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Error> {
        let mut first = HashMap::new();
        for (name, value) in
            form_urlencoded::parse(parts.uri.query().unwrap_or_default().as_bytes())
        {
            first.entry(name).or_insert(value);
        }
        let deserializer: MapDeserializer<'_, _, serde::de::value::Error> =
            MapDeserializer::new(first.into_iter());
        // Every field is a text. One that is required and missing is empty, which its handler
        // refuses.
        Ok(Self(T::deserialize(deserializer).unwrap_or_default()))
    }
}

impl<T: JsonSchema> Input for Parameters<T> {
    fn describe(operation: &mut Operation<'_>) {
        operation.add_parameters::<T>("query");
    }
}

impl<S: Sync> FromRequestParts<S> for Query {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Error> {
        Ok(Self::of(&parts.uri))
    }
}

/// A decimal integer without a sign. If it is too large, the result is the largest integer.
fn integer(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use restante_api::ListMessagesQuery;

    use super::*;

    fn query(text: &str) -> Query {
        Query(text.to_owned())
    }

    #[test]
    fn the_first_occurrence_counts_and_an_empty_one_is_absent() {
        assert_eq!(query("a=1&a=2").first("a").as_deref(), Some("1"));
        assert_eq!(query("a=&a=2").first("a"), None);
        assert_eq!(query("a").first("a"), None);
        assert_eq!(query("").first("a"), None);
        assert_eq!(
            query("b=1&%61=x%20y+z").first("a").as_deref(),
            Some("x y z")
        );
        assert_eq!(query("a=%ff%zz").first("a").as_deref(), Some("\u{fffd}%zz"));
    }

    #[tokio::test]
    async fn parameters_are_those_of_the_type() {
        let request = axum::http::Request::builder()
            .uri("/?subject=a+b&subject=c&from=&from=d&limit=2&x=1&before=%ff");
        let (mut parts, ()) = request.body(()).unwrap().into_parts();
        let Parameters(query) =
            Parameters::<ListMessagesQuery>::from_request_parts(&mut parts, &())
                .await
                .unwrap();
        let matching = MessageQuery {
            subject: "a b".to_owned(),
            ..MessageQuery::default()
        };
        let expected = ListMessagesQuery {
            matching,
            limit: "2".to_owned(),
            before: "\u{fffd}".to_owned(),
        };
        assert_eq!(query, expected);
    }

    #[test]
    fn a_timeout_is_capped_or_replaced_by_the_default() {
        for (text, millis) in [
            ("", 15_000),
            ("0", 0),
            ("1", 1),
            ("0250", 250),
            ("120000", 120_000),
            ("120001", 120_000),
            ("99999999999999999999999999", 120_000),
            ("-1", 15_000),
            ("+5", 15_000),
            (" 5", 15_000),
            ("1.5", 15_000),
            ("1e3", 15_000),
            ("5s", 15_000),
            ("٣", 15_000),
        ] {
            assert_eq!(timeout(text), Duration::from_millis(millis), "{text}");
        }
    }

    #[test]
    fn a_limit_is_a_positive_integer() {
        for (text, number) in [
            ("", None),
            ("1", Some(1)),
            ("99999999999999999999", Some(u64::MAX)),
        ] {
            assert_eq!(limit(text.to_owned()).ok(), Some(number), "{text}");
        }
        for text in ["0", "-1", "x", "1.0", "+1"] {
            assert!(limit(text.to_owned()).is_err(), "{text}");
        }
    }
}
