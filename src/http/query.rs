//! The query string: only the first occurrence of a parameter counts, an empty one is absent, an unknown one is
//! ignored.

use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::http::Uri;
use axum::http::request::Parts;

use super::error::Error;
use crate::model::{Features, FieldError};
use crate::service::{LONGEST_WAIT, MessageFilter};

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
        self.first("q").map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
    }

    /// The filters that a list and a wait share.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for a subject or a sender that is too long, or for an unknown word in `has`.
    pub(super) fn message_filter(&self) -> Result<MessageFilter, Error> {
        let filter = MessageFilter::new(self.first("subject"), self.first("from"), self.first("after"));
        let refused = |(FieldError::Missing(name) | FieldError::Invalid(name))| Error::InvalidParameter(name);
        let filter = filter.map_err(refused)?;
        Ok(MessageFilter { has: self.features()?, ..filter })
    }

    /// What a message must have: `otp`, `link`, or both with a comma between.
    fn features(&self) -> Result<Features, Error> {
        let mut features = Features::default();
        for word in self.first("has").iter().flat_map(|words| words.split(',')) {
            match word {
                "otp" => features.otp = true,
                "link" => features.link = true,
                _ => return Err(Error::InvalidParameter("has")),
            }
        }
        Ok(features)
    }

    /// The timeout of a wait: the default if it is not a number, and at most the maximum.
    pub(super) fn timeout(&self) -> Duration {
        let millis = self.first("timeout").as_deref().and_then(integer);
        millis.map_or(DEFAULT_TIMEOUT, Duration::from_millis).min(LONGEST_WAIT)
    }

    /// A number of one or more.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for any other text.
    pub(super) fn limit(&self, name: &'static str) -> Result<Option<u64>, Error> {
        let Some(value) = self.first(name) else { return Ok(None) };
        integer(&value).filter(|&limit| limit > 0).map(Some).ok_or(Error::InvalidParameter(name))
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
        assert_eq!(query("b=1&%61=x%20y+z").first("a").as_deref(), Some("x y z"));
        assert_eq!(query("a=%ff%zz").first("a").as_deref(), Some("\u{fffd}%zz"));
    }

    #[test]
    fn a_timeout_is_capped_or_replaced_by_the_default() {
        for (text, millis) in [
            ("", 15_000),
            ("timeout=", 15_000),
            ("timeout=0", 0),
            ("timeout=1", 1),
            ("timeout=0250", 250),
            ("timeout=120000", 120_000),
            ("timeout=120001", 120_000),
            ("timeout=99999999999999999999999999", 120_000),
            ("timeout=-1", 15_000),
            ("timeout=%2B5", 15_000),
            ("timeout=1.5", 15_000),
            ("timeout=1e3", 15_000),
            ("timeout=5s", 15_000),
            ("timeout=+5", 15_000),
            ("timeout=%D9%A3", 15_000),
        ] {
            assert_eq!(query(text).timeout(), Duration::from_millis(millis), "{text}");
        }
    }

    #[test]
    fn a_limit_is_a_positive_integer() {
        for (text, limit) in
            [("", None), ("limit=", None), ("limit=1", Some(1)), ("limit=99999999999999999999", Some(u64::MAX))]
        {
            assert_eq!(query(text).limit("limit").ok(), Some(limit), "{text}");
        }
        for text in ["limit=0", "limit=-1", "limit=x", "limit=1.0", "limit=+1"] {
            assert!(query(text).limit("limit").is_err(), "{text}");
        }
    }
}
