//! How mail is sent to other domains: the flags of `restante serve` for the mail worker.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum};
use percent_encoding::percent_decode_str;
use url::Url;

use super::values::{boolean, domain, readable_file, secret};
use super::{SettingsError, both_or_neither, defaults};
use crate::model::{AcceptedDomains, Domain};

/// The default port for submission (RFC 6409).
const SUBMISSION_PORT: u16 = 587;
/// The default port for submission over implicit TLS (RFC 8314).
const SUBMISSIONS_PORT: u16 = 465;
/// The port on which servers receive mail for their own domains (RFC 5321).
const SMTP_PORT: u16 = 25;

/// The port of DNS servers.
const DNS_PORT: u16 = 53;

/// How mail is sent to other domains.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Sending to other domains")]
pub struct Sending {
    /// How mail is sent to other domains; `off` overrides `--relay` [default: direct, or off with
    /// `--accept-domains *`]
    #[arg(long, env = "RESTANTE_OUTBOUND", value_name = "MODE")]
    pub outbound: Option<Outbound>,
    /// Relay (smarthost) for all mail to other domains, `smtp://USER:PASSWORD@HOST:587` or
    /// `smtps://…`
    #[arg(long, env = "RESTANTE_RELAY", value_name = "URL", hide_env_values = true, value_parser = secret(relay))]
    pub relay: Option<Relay>,
    /// The authorities that may sign the relay's certificate, PEM [default: the public ones]
    #[arg(long, env = "RESTANTE_RELAY_CA", value_name = "FILE", value_parser = readable_file)]
    pub relay_ca: Option<PathBuf>,
    /// The DNS server, `ADDRESS` or `ADDRESS:PORT` [default: the system's servers]
    #[arg(long, env = "RESTANTE_DNS_SERVER", value_name = "ADDRESS", value_parser = dns_server)]
    pub dns_server: Option<SocketAddr>,
    /// Also send to servers at loopback, private and other addresses that are not public
    #[arg(long, env = "RESTANTE_ALLOW_PRIVATE_TARGETS", value_parser = boolean)]
    pub allow_private_targets: bool,
    /// The server's name in EHLO [default: the mail domain]
    #[arg(long, env = "RESTANTE_SMTP_HELLO", value_name = "NAME", value_parser = domain)]
    pub smtp_hello: Option<Domain>,
    /// The private key that signs outgoing mail (DKIM), PEM: RSA or Ed25519
    #[arg(long, env = "RESTANTE_DKIM_KEY", value_name = "FILE")]
    pub dkim_key: Option<PathBuf>,
    /// The DKIM selector; the public key is published at `NAME._domainkey.MAIL-DOMAIN`
    #[arg(long, env = "RESTANTE_DKIM_SELECTOR", value_name = "NAME", value_parser = domain)]
    pub dkim_selector: Option<Domain>,
    // Another one only in tests.
    /// The port of the servers of other domains.
    #[arg(skip = SMTP_PORT)]
    pub port: u16,
}

/// How mail is sent to other domains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Outbound {
    /// deliver to the MX hosts of the domain, or to the relay if one is set
    Direct,
    /// do not send; messages to other domains bounce immediately
    Off,
}

impl Sending {
    /// The key that signs outgoing mail, if there is one.
    #[must_use]
    pub fn dkim(&self) -> Option<Dkim> {
        Some(Dkim {
            key: self.dkim_key.clone()?,
            selector: self.dkim_selector.clone()?,
        })
    }

    /// How mail is sent by a server that accepts these domains: if it accepts all, there is no
    /// other domain.
    #[must_use]
    pub fn mode(&self, accepted: &AcceptedDomains) -> Outbound {
        self.outbound.unwrap_or(if accepted.are_all() {
            Outbound::Off
        } else {
            Outbound::Direct
        })
    }

    pub(super) fn check(&self, accepted: &AcceptedDomains) -> Result<(), SettingsError> {
        let is_wanted = self.outbound.map_or(self.relay.is_some(), |outbound| {
            outbound == Outbound::Direct
        });
        if accepted.are_all() && is_wanted {
            return Err(SettingsError::new(
                "--accept-domains",
                "every domain is accepted, so no mail can be sent to other domains",
                "Leave out --relay and --outbound, or list the accepted domains",
            ));
        }
        both_or_neither(
            ("--dkim-key", self.dkim_key.as_ref()),
            ("--dkim-selector", self.dkim_selector.as_ref()),
        )
    }
}

impl Default for Sending {
    fn default() -> Self {
        defaults()
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
#[error(
    "write it like smtp://USER:PASSWORD@HOST:587 or smtps://HOST, with special characters as %XX"
)]
pub struct InvalidRelay;

fn relay(text: &str) -> Result<Relay, InvalidRelay> {
    text.parse()
}

fn dns_server(text: &str) -> Result<SocketAddr, &'static str> {
    let without_port = text
        .parse()
        .map(|address: IpAddr| SocketAddr::new(address, DNS_PORT));
    let server = without_port
        .or_else(|_| text.parse())
        .ok()
        .filter(|server: &SocketAddr| server.port() != 0);
    server.ok_or("write it like 192.0.2.53, [2001:db8::53]:53 or 127.0.0.1:5353")
}

impl FromStr for Relay {
    type Err = InvalidRelay;

    fn from_str(text: &str) -> Result<Self, InvalidRelay> {
        // The URL library accepts a stray %.
        let escapes_are_whole = text.split('%').skip(1).all(starts_with_two_hex_digits);
        let url = Url::parse(text)
            .ok()
            .filter(|_| escapes_are_whole)
            .ok_or(InvalidRelay)?;
        let implicit_tls = match url.scheme() {
            "smtp" => false,
            "smtps" => true,
            _ => return Err(InvalidRelay),
        };
        if !matches!(url.path(), "" | "/") || url.query().is_some() || url.fragment().is_some() {
            return Err(InvalidRelay);
        }
        let host = url.host_str().and_then(relay_host).ok_or(InvalidRelay)?;
        let port = url.port().unwrap_or(if implicit_tls {
            SUBMISSIONS_PORT
        } else {
            SUBMISSION_PORT
        });
        if port == 0 {
            return Err(InvalidRelay);
        }
        Ok(Self {
            host,
            port,
            implicit_tls,
            credentials: credentials(&url)?,
        })
    }
}

fn starts_with_two_hex_digits(text: &str) -> bool {
    text.as_bytes()
        .get(..2)
        .is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
}

fn relay_host(text: &str) -> Option<RelayHost> {
    let bare = text
        .strip_prefix('[')
        .and_then(|text| text.strip_suffix(']'))
        .unwrap_or(text);
    if let Ok(address) = bare.parse() {
        return Some(RelayHost::Address(address));
    }
    let name = percent_decode_str(text).decode_utf8().ok()?;
    Domain::parse(&name).ok().map(RelayHost::Name)
}

/// A user without a password, or a password without a user, is an error.
fn credentials(url: &Url) -> Result<Option<(String, String)>, InvalidRelay> {
    let decode = |text| {
        percent_decode_str(text)
            .decode_utf8()
            .map(String::from)
            .map_err(|_| InvalidRelay)
    };
    let user = decode(url.username())?;
    let password = decode(url.password().unwrap_or_default())?;
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
        assert_eq!(
            relay.host,
            RelayHost::Name(Domain::parse("mail.example").unwrap())
        );
        assert_eq!((relay.port, relay.implicit_tls), (587, false));
        assert_eq!(
            relay.credentials,
            Some(("user@shop".to_owned(), "p:ss/".to_owned()))
        );
        let relay: Relay = "smtps://[::1]".parse().unwrap();
        assert_eq!(
            (relay.host, relay.port),
            (RelayHost::Address("::1".parse().unwrap()), 465)
        );
        let relay: Relay = "smtp://192.0.2.1:1025/".parse().unwrap();
        assert_eq!(
            (relay.host, relay.port),
            (RelayHost::Address("192.0.2.1".parse().unwrap()), 1025)
        );
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
