//! The settings of the mail worker: how mail is sent to other domains.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;

use percent_encoding::percent_decode_str;
use url::Url;

use crate::model::Domain;

/// The default port for submission (RFC 6409).
const SUBMISSION_PORT: u16 = 587;
/// The default port for submission over implicit TLS (RFC 8314).
const SUBMISSIONS_PORT: u16 = 465;
/// The port on which servers receive mail for their own domains (RFC 5321).
const SMTP_PORT: u16 = 25;

/// All settings of the mail worker.
#[derive(Clone, Debug)]
pub struct Sending {
    /// How mail is sent.
    pub outbound: Outbound,
    /// The server's name in EHLO.
    pub hello: Domain,
    /// The key that signs outgoing mail, if there is one.
    pub dkim: Option<Dkim>,
}

/// How mail is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outbound {
    /// No mail is sent: a message to another domain bounces immediately.
    Off,
    /// To the servers that the DNS lists for the recipient's domain.
    Direct(Direct),
    /// Through one server that accepts mail for all domains.
    Relay(Relay),
}

/// How recipients' servers are found and reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Direct {
    /// The DNS server; by default the system's servers.
    pub dns_server: Option<SocketAddr>,
    /// Whether connections to private addresses are allowed.
    pub allow_private_targets: bool,
    /// The port of all servers.
    pub port: u16,
}

impl Default for Direct {
    fn default() -> Self {
        Self { dns_server: None, allow_private_targets: false, port: SMTP_PORT }
    }
}

/// A server that accepts mail for all domains.
#[derive(Clone, PartialEq, Eq)]
pub struct Relay {
    /// Its name or address. Its certificate must be valid for it.
    pub host: RelayHost,
    /// Its port.
    pub port: u16,
    /// Whether the connection uses implicit TLS (`smtps`) instead of STARTTLS.
    pub implicit_tls: bool,
    /// The user name and password, if the relay requires them.
    pub credentials: Option<(String, String)>,
    /// The authorities that may sign its certificate, in PEM; they replace the public ones.
    pub authorities: Option<PathBuf>,
}

/// The name or the address of a relay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RelayHost {
    /// A name, resolved by the system's resolver.
    Name(Domain),
    /// An address.
    Address(IpAddr),
}

/// A DKIM key (RFC 6376).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dkim {
    /// The private key, PEM: RSA or Ed25519.
    pub key: PathBuf,
    /// The DNS contains the public key at `SELECTOR._domainkey.MAIL-DOMAIN`.
    pub selector: Domain,
}

/// The text is not the URL of a relay.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected smtp://USER:PASSWORD@HOST:PORT or smtps://USER:PASSWORD@HOST:PORT")]
pub struct InvalidRelay;

impl FromStr for Relay {
    type Err = InvalidRelay;

    fn from_str(text: &str) -> Result<Self, InvalidRelay> {
        // The URL library accepts a stray %.
        let escapes_are_whole = text.split('%').skip(1).all(starts_with_two_hex_digits);
        let url = Url::parse(text).ok().filter(|_| escapes_are_whole).ok_or(InvalidRelay)?;
        let implicit_tls = match url.scheme() {
            "smtp" => false,
            "smtps" => true,
            _ => return Err(InvalidRelay),
        };
        if !matches!(url.path(), "" | "/") || url.query().is_some() || url.fragment().is_some() {
            return Err(InvalidRelay);
        }
        let host = url.host_str().and_then(relay_host).ok_or(InvalidRelay)?;
        let port = url.port().unwrap_or(if implicit_tls { SUBMISSIONS_PORT } else { SUBMISSION_PORT });
        if port == 0 {
            return Err(InvalidRelay);
        }
        Ok(Self { host, port, implicit_tls, credentials: credentials(&url)?, authorities: None })
    }
}

fn starts_with_two_hex_digits(text: &str) -> bool {
    text.as_bytes().get(..2).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
}

fn relay_host(text: &str) -> Option<RelayHost> {
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    if let Ok(address) = bare.parse() {
        return Some(RelayHost::Address(address));
    }
    let name = percent_decode_str(text).decode_utf8().ok()?;
    Domain::parse(&name).ok().map(RelayHost::Name)
}

/// A user without a password, or a password without a user, is an error.
fn credentials(url: &Url) -> Result<Option<(String, String)>, InvalidRelay> {
    let decode = |text| percent_decode_str(text).decode_utf8().map(String::from).map_err(|_| InvalidRelay);
    let (user, password) = (decode(url.username())?, decode(url.password().unwrap_or_default())?);
    // NUL separates the parts of AUTH PLAIN (RFC 4616).
    if user.is_empty() != password.is_empty() || user.contains('\0') || password.contains('\0') {
        return Err(InvalidRelay);
    }
    Ok((!user.is_empty()).then_some((user, password)))
}

impl fmt::Display for RelayHost {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => name.fmt(formatter),
            Self::Address(address) => address.fmt(formatter),
        }
    }
}

/// Omits the password.
impl fmt::Debug for Relay {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.implicit_tls { "smtps" } else { "smtp" };
        write!(formatter, "{scheme}://{}:{}", self.host, self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relay_is_a_url() {
        let relay: Relay = "smtp://user%40shop:p%3Ass%2F@mail.Example".parse().unwrap();
        assert_eq!(relay.host, RelayHost::Name(Domain::parse("mail.example").unwrap()));
        assert_eq!((relay.port, relay.implicit_tls), (587, false));
        assert_eq!(relay.credentials, Some(("user@shop".to_owned(), "p:ss/".to_owned())));
        let relay: Relay = "smtps://[::1]".parse().unwrap();
        assert_eq!((relay.host, relay.port), (RelayHost::Address("::1".parse().unwrap()), 465));
        let relay: Relay = "smtp://192.0.2.1:1025/".parse().unwrap();
        assert_eq!((relay.host, relay.port), (RelayHost::Address("192.0.2.1".parse().unwrap()), 1025));
    }

    #[test]
    fn everything_else_is_refused() {
        for text in [
            "",
            "mail.example",
            "http://mail.example",
            "smtp://",
            "smtp://user@mail.example",
            "smtp://:password@mail.example",
            "smtp://a:b%00@mail.example",
            "smtp://mail.example/path",
            "smtp://user:%zz@mail.example",
            "smtp://user:p%4@mail.example",
            "smtp://mail.example:0",
            "smtp://mail.example?a=b",
            "smtp://mail.example:0x19",
            "smtp://mail..example",
        ] {
            assert_eq!(text.parse::<Relay>(), Err(InvalidRelay), "{text}");
        }
    }

    #[test]
    fn a_password_is_not_shown() {
        let relay: Relay = "smtp://user:secret@mail.example".parse().unwrap();
        assert_eq!(format!("{relay:?}"), "smtp://mail.example:587");
    }
}
