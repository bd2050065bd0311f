//! The credential of a request: applications keep theirs. Only an API key of this service has a
//! meaning.

use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;

use super::base64;
use crate::model::ApiKey;
use crate::service::Caller;

/// Headers for a key alone: Postmark's, and that of this service.
const KEY_HEADERS: [&str; 2] = ["x-postmark-server-token", "x-api-key"];

/// What a client presents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Credential {
    Missing,
    /// A dummy, or a key of the real provider.
    Any,
    /// What should be an API key of this service, because it contains the prefix of one.
    Key(String),
}

/// The caller of a request that was checked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Admitted {
    /// The owner of the messages.
    pub(super) caller: Caller,
    /// Whether the client has presented a key.
    pub(super) has_key: bool,
}

impl Credential {
    /// The credential in these headers: a bearer token, the password or the user of HTTP Basic, the
    /// access key id of an AWS signature, or the value of a header for a key.
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let text = |name: &str| {
            headers
                .get(name)
                .and_then(|value| value.to_str().ok())
                .map(str::trim)
        };
        let mut presented: Vec<String> = KEY_HEADERS
            .into_iter()
            .filter_map(text)
            .map(str::to_owned)
            .collect();
        if let Some(authorization) = text(AUTHORIZATION.as_str()) {
            presented.extend(secrets(authorization));
            // A key in the wrong place is no dummy.
            presented.extend(is_like_key(authorization).then(|| authorization.to_owned()));
        }
        presented.retain(|secret| !secret.is_empty());
        match presented.iter().find(|secret| is_like_key(secret)) {
            Some(key) => Self::Key(key.clone()),
            None if presented.is_empty() => Self::Missing,
            None => Self::Any,
        }
    }
}

/// Whether a credential contains what every key begins with.
fn is_like_key(credential: &str) -> bool {
    credential.contains(ApiKey::PREFIX)
}

/// What may be the key in an Authorization header.
fn secrets(authorization: &str) -> Vec<String> {
    let (scheme, rest) = authorization.split_once(' ').unwrap_or((authorization, ""));
    if scheme.eq_ignore_ascii_case("basic") {
        let pair = base64::decode(rest)
            .ok()
            .and_then(|pair| String::from_utf8(pair).ok())
            .unwrap_or_default();
        let (user, password) = pair.split_once(':').unwrap_or((&pair, ""));
        return [password]
            .into_iter()
            .chain(Some(user).filter(|user| is_like_key(user)))
            .map(str::to_owned)
            .collect();
    }
    // AWS4-HMAC-SHA256 Credential=KEY/20261120/us-east-1/ses/aws4_request, SignedHeaders=…,
    // Signature=…
    if let Some((_, scope)) = rest.split_once("Credential=") {
        return vec![
            scope
                .split(['/', ',', ' '])
                .next()
                .unwrap_or_default()
                .to_owned(),
        ];
    }
    vec![rest.trim().to_owned()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_found_wherever_a_client_puts_it() {
        let of = |name: &'static str, value: &str| {
            Credential::of(
                &[(name.parse().unwrap(), value.parse().unwrap())]
                    .into_iter()
                    .collect(),
            )
        };
        let key = |text: &str| Credential::Key(text.to_owned());
        for (value, expected) in [
            ("Bearer rst_live_1", key("rst_live_1")),
            ("bearer  rst_live_1 ", key("rst_live_1")),
            ("Bearer re_123", Credential::Any),
            // api:rst_live_1, rst_live_1:x, api:key-1
            ("Basic YXBpOnJzdF9saXZlXzE=", key("rst_live_1")),
            ("Basic cnN0X2xpdmVfMTp4", key("rst_live_1")),
            ("Basic YXBpOmtleS0x", Credential::Any),
            ("Basic %%%", Credential::Missing),
            (
                "AWS4-HMAC-SHA256 Credential=rst_live_1/20261120/x/ses/aws4_request, Signature=1",
                key("rst_live_1"),
            ),
            (
                "AWS4-HMAC-SHA256 Credential=AKIA1/20261120/x/ses/aws4_request, Signature=1",
                Credential::Any,
            ),
            ("Bearer xrst_live_1", key("xrst_live_1")),
            ("Bearer Bearer rst_live_1", key("Bearer rst_live_1")),
            ("rst_live_1", key("rst_live_1")),
            // xrst_live_1:re_123
            ("Basic eHJzdF9saXZlXzE6cmVfMTIz", key("xrst_live_1")),
            ("Bearer", Credential::Missing),
            ("", Credential::Missing),
        ] {
            assert_eq!(of("authorization", value), expected, "{value}");
        }
        for name in ["x-postmark-server-token", "x-api-key"] {
            assert_eq!(of(name, "rst_live_1"), key("rst_live_1"));
        }
        assert_eq!(
            of("x-postmark-server-token", "POSTMARK_API_TEST"),
            Credential::Any
        );
        assert_eq!(Credential::of(&HeaderMap::new()), Credential::Missing);
    }
}
