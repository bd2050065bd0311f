//! The exchange after AUTH (RFC 4954) with the mechanisms PLAIN (RFC 4616), LOGIN, OAUTHBEARER (RFC 7628) and XOAUTH2.
//!
//! The token of the last two counts as the password. If it is wrong, the client first gets the
//! reason as a challenge, and the failure after its response (RFC 7628, section 3.2.3).

use std::fmt;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use crate::reply::Refusal;

/// Maximum number of bytes of a response line: 12,288 of base64 (RFC 4954, section 4) and CR LF.
pub const RESPONSE_BYTES: usize = 12_290;

/// "Username:" and "Password:" in base64.
const USERNAME: &str = "VXNlcm5hbWU6";
const PASSWORD: &str = "UGFzc3dvcmQ6";
/// `{"status":"401","schemes":"bearer"}` in base64: the reason why a token was rejected.
const WRONG_TOKEN: &str = "eyJzdGF0dXMiOiI0MDEiLCJzY2hlbWVzIjoiYmVhcmVyIn0=";
/// Separates the fields of a response with a token.
const FIELD_END: char = '\u{1}';

/// The names of the mechanisms, as EHLO lists them.
pub(crate) const MECHANISMS: &str = "PLAIN LOGIN XOAUTH2 OAUTHBEARER";

/// The supported mechanisms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mechanism {
    /// One response with user name and password.
    Plain,
    /// The user name first, then the password.
    Login,
    /// One response with an OAuth 2 token; XOAUTH2 and OAUTHBEARER differ only in its first field.
    Token,
}

/// A client's credentials.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    /// The user name.
    pub username: String,
    /// The password, or the token.
    pub password: String,
    /// Whether it is a token, so that a rejection needs one more step.
    pub is_token: bool,
}

/// The response that the server waits for.
#[derive(Debug, PartialEq, Eq)]
pub enum Exchange {
    /// The response of PLAIN.
    Plain,
    /// The user name of LOGIN.
    Username,
    /// The password of LOGIN; contains the user name from the response before.
    Password(String),
    /// The response of XOAUTH2 or OAUTHBEARER.
    Token,
    /// The response to the reason why the token was rejected; its content has no meaning.
    WrongToken,
}

/// The next step of the exchange.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// Request another response with this challenge, in base64.
    Challenge(&'static str, Exchange),
    /// The user name and the password are known.
    Credentials(Credentials),
}

impl Mechanism {
    /// Parses the name of a mechanism, case-insensitively.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        [
            ("PLAIN", Self::Plain),
            ("LOGIN", Self::Login),
            ("XOAUTH2", Self::Token),
            ("OAUTHBEARER", Self::Token),
        ]
        .into_iter()
        .find_map(|(known, mechanism)| known.eq_ignore_ascii_case(name).then_some(mechanism))
    }

    /// Starts the exchange, with the initial response if there was one.
    ///
    /// # Errors
    /// See [`Exchange::answer`].
    pub fn start(self, initial: Option<&str>) -> Result<Step, Refusal> {
        let (challenge, exchange) = match self {
            Self::Plain => ("", Exchange::Plain),
            Self::Login => (USERNAME, Exchange::Username),
            Self::Token => ("", Exchange::Token),
        };
        match initial {
            None => Ok(Step::Challenge(challenge, exchange)),
            // An initial response without bytes (RFC 4954, section 4).
            Some("=") => exchange.respond(String::new()),
            Some(initial) => exchange.answer(initial.as_bytes()),
        }
    }
}

impl Exchange {
    /// The challenge with the reason why a token was rejected.
    pub(crate) fn wrong_token() -> (&'static str, Self) {
        (WRONG_TOKEN, Self::WrongToken)
    }

    /// Handles a response line without its CR LF.
    ///
    /// # Errors
    /// [`Refusal::AuthenticationCancelled`] for `*`, [`Refusal::MalformedAuthentication`] if the
    /// line is not UTF-8 in base64, or does not have the form that the mechanism requires;
    /// [`Refusal::AuthenticationFailed`] after the reason why a token was rejected.
    pub fn answer(self, line: &[u8]) -> Result<Step, Refusal> {
        if self == Self::WrongToken {
            return Err(Refusal::AuthenticationFailed);
        }
        if line == b"*" {
            return Err(Refusal::AuthenticationCancelled);
        }
        let bytes = BASE64_STANDARD
            .decode(line)
            .map_err(|_| Refusal::MalformedAuthentication)?;
        self.respond(String::from_utf8(bytes).map_err(|_| Refusal::MalformedAuthentication)?)
    }

    fn respond(self, response: String) -> Result<Step, Refusal> {
        match self {
            Self::Plain => plain(&response)
                .map(Step::Credentials)
                .ok_or(Refusal::MalformedAuthentication),
            Self::Token => token(&response)
                .map(Step::Credentials)
                .ok_or(Refusal::MalformedAuthentication),
            Self::WrongToken => Err(Refusal::AuthenticationFailed),
            Self::Username => Ok(Step::Challenge(PASSWORD, Self::Password(response))),
            Self::Password(username) => Ok(Step::Credentials(Credentials {
                username,
                password: response,
                is_token: false,
            })),
        }
    }
}

/// Parses `[authorization identity] NUL user name NUL password`.
fn plain(response: &str) -> Option<Credentials> {
    let mut parts = response.split('\0').skip(1);
    let username = parts.next()?.to_owned();
    let password = parts.next()?.to_owned();
    parts.next().is_none().then_some(Credentials {
        username,
        password,
        is_token: false,
    })
}

/// Parses `user=NAME` or `n,a=NAME,`, then fields, of which `auth=Bearer TOKEN` counts; each ends
/// with 0x01.
fn token(response: &str) -> Option<Credentials> {
    let (first, fields) = response.split_once(FIELD_END)?;
    let named = |header: &str| {
        header
            .split(',')
            .find_map(|part| part.strip_prefix("a=").map(str::to_owned))
    };
    let username = first
        .strip_prefix("user=")
        .map(str::to_owned)
        .or_else(|| named(first))
        .unwrap_or_default();
    let (scheme, token) = fields
        .split(FIELD_END)
        .find_map(|field| field.strip_prefix("auth="))?
        .split_once(' ')?;
    let is_bearer = scheme.eq_ignore_ascii_case("Bearer") && !token.is_empty();
    is_bearer.then(|| Credentials {
        username,
        password: token.to_owned(),
        is_token: true,
    })
}

impl fmt::Debug for Credentials {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Credentials")
            .field("username", &self.username)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn credentials(username: &str, password: &str) -> Result<Step, Refusal> {
        let username = username.to_owned();
        let password = password.to_owned();
        Ok(Step::Credentials(Credentials {
            username,
            password,
            is_token: false,
        }))
    }

    fn base64(bytes: &[u8]) -> String {
        BASE64_STANDARD.encode(bytes)
    }

    #[test]
    fn plain_takes_one_response() {
        let response = base64(b"admin\0user\0secret");
        assert_eq!(
            Mechanism::Plain.start(None),
            Ok(Step::Challenge("", Exchange::Plain))
        );
        assert_eq!(
            Mechanism::Plain.start(Some(&response)),
            credentials("user", "secret")
        );
        assert_eq!(
            Exchange::Plain.answer(base64(b"\0\0secret").as_bytes()),
            credentials("", "secret")
        );
    }

    #[test]
    fn login_takes_two() {
        assert_eq!(
            Mechanism::Login.start(None),
            Ok(Step::Challenge("VXNlcm5hbWU6", Exchange::Username))
        );
        let Ok(Step::Challenge("UGFzc3dvcmQ6", password)) =
            Mechanism::Login.start(Some("dXNlcg=="))
        else {
            panic!()
        };
        assert_eq!(password.answer(b"c2VjcmV0"), credentials("user", "secret"));
        let empty = Exchange::Password(String::new());
        assert_eq!(
            Mechanism::Login.start(Some("=")),
            Ok(Step::Challenge("UGFzc3dvcmQ6", empty))
        );
    }

    #[test]
    fn a_token_is_a_password() {
        let read = |response: &str| Mechanism::Token.start(Some(&base64(response.as_bytes())));
        for (response, username) in [
            (
                "user=ada@app.example\x01auth=Bearer t0k\x01\x01",
                "ada@app.example",
            ),
            (
                "n,a=ada@app.example,\x01host=mx\x01port=25\x01auth=bearer t0k\x01\x01",
                "ada@app.example",
            ),
            ("n,,\x01auth=Bearer t0k\x01\x01", ""),
        ] {
            let Ok(Step::Credentials(credentials)) = read(response) else {
                panic!("{response:?}")
            };
            assert_eq!(
                (credentials.username.as_str(), credentials.password.as_str()),
                (username, "t0k")
            );
            assert!(credentials.is_token);
        }
        for response in [
            "",
            "user=ada",
            "user=ada\x01",
            "user=ada\x01auth=Bearer\x01\x01",
            "user=a\x01auth=Basic x\x01",
        ] {
            assert_eq!(
                read(response),
                Err(Refusal::MalformedAuthentication),
                "{response:?}"
            );
        }
        for response in [&b""[..], b"AQ==", b"*", b"!"] {
            assert_eq!(
                Exchange::WrongToken.answer(response),
                Err(Refusal::AuthenticationFailed)
            );
        }
    }

    #[test]
    fn refuses_malformed_responses() {
        for response in [&b"!"[..], b"c2VjcmV0=", b"c2Vj cmV0", b"c", b"=", b"/w=="] {
            assert_eq!(
                Exchange::Username.answer(response),
                Err(Refusal::MalformedAuthentication)
            );
        }
        for response in [&b""[..], b"user", b"\0user", b"\0user\0a\0b"] {
            assert_eq!(
                Exchange::Plain.answer(base64(response).as_bytes()),
                Err(Refusal::MalformedAuthentication)
            );
        }
        assert_eq!(
            Mechanism::Plain.start(Some("=")),
            Err(Refusal::MalformedAuthentication)
        );
        assert_eq!(
            Exchange::Plain.answer(b"*"),
            Err(Refusal::AuthenticationCancelled)
        );
    }

    #[test]
    fn debug_output_hides_the_password() {
        let Ok(Step::Credentials(credentials)) = credentials("user", "secret") else {
            panic!()
        };
        assert!(!format!("{credentials:?}").contains("secret"));
    }
}
