//! Parsers for the values of flags and variables.

use std::ffi::OsStr;
use std::fmt::{self, Display};
use std::fs::File;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use axum::http::Uri;
use axum::http::uri::Authority;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Arg, Command};
use ipnet::IpNet;

use super::DatabaseUrl;
use super::byte_size::{ByteSize, InvalidByteSize};
use crate::model::{ApiKey, Domain};

/// The minimum length of an administrator's token: 20 characters cannot be guessed.
const MIN_ADMIN_TOKEN: usize = 20;

/// The value of a flag without argument, if its variable is set.
pub fn boolean(text: &str) -> Result<bool, &'static str> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" | "1" => Ok(true),
        "false" | "no" | "off" | "0" => Ok(false),
        _ => Err("write true or false"),
    }
}

/// A parser of sizes of at least `min` bytes.
pub(super) fn size<N: TryFrom<u64>>(min: u64) -> impl Fn(&str) -> Result<N, String> + Clone {
    move |text| {
        let ByteSize(bytes) = text
            .parse()
            .map_err(|error: InvalidByteSize| error.to_string())?;
        if bytes < min {
            return Err(format!("it must be {} or more", ByteSize(min)));
        }
        N::try_from(bytes).map_err(|_| "it is too large for this machine".to_owned())
    }
}

pub(super) fn duration(text: &str) -> Result<Duration, String> {
    match humantime::parse_duration(text) {
        Ok(duration) if duration.is_zero() => Err("it must not be zero".to_owned()),
        Ok(duration) => Ok(duration),
        Err(_) => Err("write a number with a unit, like 30s, 15m or 1h30m".to_owned()),
    }
}

pub(super) fn domain(text: &str) -> Result<Domain, &'static str> {
    Domain::parse(text).map_err(|_| "write a domain like restante.example.com, without an @")
}

pub(super) fn network(text: &str) -> Result<IpNet, &'static str> {
    let network = text
        .trim()
        .parse()
        .or_else(|_| text.trim().parse::<IpAddr>().map(IpNet::from));
    network
        .map_err(|_| "write a network or an address, like 10.0.0.0/8, 192.0.2.7 or 2001:db8::/32")
}

/// The address of an HTTP service, without a slash at its end.
///
/// # Errors
/// What to write instead.
pub fn http_url(text: &str) -> Result<String, &'static str> {
    let uri = text.parse::<Uri>().ok().filter(|uri| {
        let known_scheme = matches!(uri.scheme_str(), Some("http" | "https"));
        known_scheme
            && uri.host().is_some_and(|host| !host.is_empty())
            && !text.contains(['?', '#', '@'])
    });
    let trimmed = uri.map(|_| text.trim_end_matches('/').to_owned());
    trimmed.ok_or("write the address of an HTTP service like http://127.0.0.1:8025, without query or fragment")
}

/// A file that can be read. It is used later, and a wrong path must be noticed at the start.
pub(super) fn readable_file(text: &str) -> Result<PathBuf, String> {
    match File::open(text) {
        Ok(_) => Ok(PathBuf::from(text)),
        Err(error) => Err(format!("it cannot be read: {error}")),
    }
}

/// An API key.
///
/// # Errors
/// What a key looks like.
pub fn api_key(text: &str) -> Result<ApiKey, &'static str> {
    text.parse()
        .map_err(|_| "a key is rst_live_ followed by 16 to 128 letters and digits")
}

pub(super) fn admin_token(text: &str) -> Result<String, String> {
    if text.chars().count() < MIN_ADMIN_TOKEN {
        return Err(format!(
            "it has fewer than {MIN_ADMIN_TOKEN} characters; generate one with `openssl rand -hex 20`"
        ));
    }
    Ok(text.to_owned())
}

/// The location of a database.
///
/// # Errors
/// What to write instead.
pub fn database_url(text: &str) -> Result<DatabaseUrl, &'static str> {
    text.parse()
        .map_err(|_| "write sqlite:PATH or postgres://USER@HOST/DATABASE")
}

/// A parser of a setting that is `on` or `off`.
pub(super) fn on_or_off() -> impl TypedValueParser<Value = bool> {
    PossibleValuesParser::new(["on", "off"]).map(|value| value == "on")
}

/// A host name or an IP address, and a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostAndPort {
    /// The host; an IPv6 address has brackets.
    pub host: String,
    /// The port.
    pub port: u16,
}

impl Display for HostAndPort {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.host, self.port)
    }
}

/// The address of a listener. `localhost` is this machine, and without a host it is every address
/// of it.
pub(super) fn listen_address(text: &str) -> Result<SocketAddr, &'static str> {
    let address = match text.rsplit_once(':') {
        Some(("", port)) => format!("0.0.0.0:{port}"),
        Some(("localhost", port)) => format!("127.0.0.1:{port}"),
        _ => text.to_owned(),
    };
    address
        .parse()
        .map_err(|_| "write an address with a port, for example 127.0.0.1:8025")
}

pub(super) fn host_and_port(text: &str) -> Result<HostAndPort, &'static str> {
    let authority: Option<Authority> = text.parse().ok().filter(|_| !text.contains('@'));
    let parts = authority
        .as_ref()
        .and_then(|authority| Some((authority.host(), authority.port_u16()?)));
    match parts {
        Some((host, port @ 1..)) if !host.is_empty() => Ok(HostAndPort {
            host: host.to_owned(),
            port,
        }),
        _ => Err("write it like mail.example:1025 or 192.0.2.7:25"),
    }
}

/// A name or an address in a certificate.
pub(super) fn certificate_name(text: &str) -> Result<String, &'static str> {
    let text = text.trim();
    let is_label = |label: &str| {
        !label.is_empty()
            && label
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-_*".contains(&byte))
    };
    let is_name = text.len() <= 253 && text.split('.').all(is_label);
    if is_name || text.parse::<IpAddr>().is_ok() {
        return Ok(text.to_ascii_lowercase());
    }
    Err("write host names or IP addresses, like restante,mail.internal,10.0.0.7")
}

/// A parser whose error does not contain the value, because it is secret or may contain a password.
pub fn secret<F>(parse: F) -> Secret<F> {
    Secret(parse)
}

/// See [`secret`].
#[derive(Clone, Debug)]
pub struct Secret<F>(F);

impl<F, T, E> TypedValueParser for Secret<F>
where
    F: Fn(&str) -> Result<T, E> + Clone + Send + Sync + 'static,
    T: Clone + Send + Sync + 'static,
    E: Display,
{
    type Value = T;

    fn parse_ref(
        &self,
        command: &Command,
        flag: Option<&Arg>,
        value: &OsStr,
    ) -> Result<T, clap::Error> {
        let Self(parse) = self;
        let parsed = match value.to_str() {
            Some(text) => parse(text).map_err(|error| error.to_string()),
            None => Err("it is not UTF-8".to_owned()),
        };
        let flag = flag.map(ToString::to_string).unwrap_or_default();
        parsed.map_err(|problem| {
            let text = format!("invalid value for '{flag}': {problem}");
            command.clone().error(ErrorKind::ValueValidation, text)
        })
    }
}
