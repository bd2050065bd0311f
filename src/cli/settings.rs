//! Validates the flags and resolves them to settings; an error contains the name of its flag.

use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use axum::http::Uri;
use ipnet::IpNet;

use super::error::CliError;
use super::flags::{DatabaseFlags, OutboundMode, SendingFlags, ServeFlags};
use crate::config::{DatabaseUrl, Direct, Dkim, Limits, Outbound, Relay, Sending, Settings, TlsFiles};
use crate::model::{AcceptedDomains, ApiKey, Domain};

/// The shortest administrator's token: 20 characters cannot be guessed.
const MIN_ADMIN_TOKEN: usize = 20;
/// The port of DNS servers.
const DNS_PORT: u16 = 53;

/// A flag or its variable has an invalid value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{flag}: {problem}. {remedy}.")]
pub(super) struct SettingsError {
    flag: &'static str,
    problem: String,
    remedy: &'static str,
}

impl SettingsError {
    pub(super) fn new(flag: &'static str, problem: impl Into<String>, remedy: &'static str) -> Self {
        Self { flag, problem: problem.into(), remedy }
    }
}

impl From<SettingsError> for CliError {
    fn from(error: SettingsError) -> Self {
        Self::refused(error)
    }
}

/// Resolves the flags of `restante serve`.
///
/// # Errors
/// [`SettingsError`] for the first flag that cannot be used.
pub(super) fn resolve(flags: &ServeFlags) -> Result<Settings, SettingsError> {
    let mail_domain = mail_domain(&flags.mail_domain)?;
    Ok(Settings {
        listeners: flags.listeners.clone(),
        sending: sending(&flags.sending, &mail_domain, &flags.accepting.accept_domains)?,
        accepted: flags.accepting.accept_domains.clone(),
        mail_domain,
        base_url: given(flags.base_url.as_deref()).map(base_url).transpose()?,
        trusted_proxies: trusted_proxies(&flags.trusted_proxies)?,
        data_dir: flags.database.data_dir.clone(),
        database: database(&flags.database)?,
        api_key: given(flags.api_key.as_deref()).map(api_key).transpose()?,
        admin_token: flags.admin_token.as_deref().map(admin_token).transpose()?,
        tls: tls(flags.tls_cert.as_deref(), flags.tls_key.as_deref())?,
        limits: limits(&flags.limits)?,
    })
}

/// Resolves the location of the database.
///
/// # Errors
/// [`SettingsError`] if `--database` is not the URL of a database.
pub(super) fn database(flags: &DatabaseFlags) -> Result<DatabaseUrl, SettingsError> {
    match given(flags.database.as_deref()) {
        None => Ok(DatabaseUrl::Sqlite(flags.data_dir.join("restante.db"))),
        Some(url) => database_url("--database", url),
    }
}

/// Parses the location of a database.
///
/// # Errors
/// [`SettingsError`], which does not contain the URL, because the URL may contain a password.
pub(super) fn database_url(flag: &'static str, text: &str) -> Result<DatabaseUrl, SettingsError> {
    text.parse().map_err(|_| {
        SettingsError::new(
            flag,
            "this is not the URL of a SQLite or PostgreSQL database",
            "Write sqlite:PATH or postgres://USER@HOST/DATABASE",
        )
    })
}

/// Reads an API key.
///
/// # Errors
/// [`SettingsError`], which does not contain the key.
pub(super) fn api_key(text: &str) -> Result<ApiKey, SettingsError> {
    text.parse().map_err(|_| {
        SettingsError::new(
            "--api-key",
            "this is not an API key",
            "A key is rst_live_ followed by 16 to 128 letters and digits",
        )
    })
}

/// An empty token is rejected like a short one, because a variable that is set but empty is a mistake.
fn admin_token(text: &str) -> Result<String, SettingsError> {
    if text.chars().count() < MIN_ADMIN_TOKEN {
        let problem = format!("the token has fewer than {MIN_ADMIN_TOKEN} characters");
        return Err(SettingsError::new("--admin-token", problem, "Generate one with `openssl rand -hex 20`"));
    }
    Ok(text.to_owned())
}

/// The value; `None` if it is empty, because compose files pass an absent variable as an empty one.
pub(super) fn given(text: Option<&str>) -> Option<&str> {
    text.filter(|text| !text.is_empty())
}

/// Parses the address of an HTTP service and returns it without a slash at its end.
///
/// # Errors
/// [`SettingsError`] for `flag`.
pub(super) fn http_url(flag: &'static str, text: &str) -> Result<String, SettingsError> {
    let invalid = || {
        let problem = format!("{} is not the address of an HTTP service", text.escape_debug());
        SettingsError::new(flag, problem, "Write it like http://127.0.0.1:8025, without query or fragment")
    };
    let uri: Uri = text.parse().map_err(|_| invalid())?;
    let known_scheme = matches!(uri.scheme_str(), Some("http" | "https"));
    let has_host = uri.host().is_some_and(|host| !host.is_empty());
    if !known_scheme || !has_host || text.contains(['?', '#', '@']) {
        return Err(invalid());
    }
    Ok(text.trim_end_matches('/').to_owned())
}

fn base_url(text: &str) -> Result<String, SettingsError> {
    http_url("--base-url", text)
}

fn trusted_proxies(networks: &[String]) -> Result<Vec<IpNet>, SettingsError> {
    let given = networks.iter().map(|network| network.trim()).filter(|network| !network.is_empty());
    let network = |text: &str| text.parse().or_else(|_| text.parse::<IpAddr>().map(IpNet::from));
    let parsed = given.map(|text| {
        network(text).map_err(|_| {
            let problem = format!("{} is neither a network nor an address", text.escape_debug());
            SettingsError::new("--trusted-proxy", problem, "Write it like 10.0.0.0/8, 192.0.2.7 or 2001:db8::/32")
        })
    });
    parsed.collect()
}

fn mail_domain(text: &str) -> Result<Domain, SettingsError> {
    domain("--mail-domain", text)
}

fn domain(flag: &'static str, text: &str) -> Result<Domain, SettingsError> {
    Domain::parse(text).map_err(|_| {
        let problem = format!("{} is not a domain name", text.escape_debug());
        SettingsError::new(flag, problem, "Write it like restante.example.com, without an @")
    })
}

fn tls(certificate: Option<&Path>, key: Option<&Path>) -> Result<Option<TlsFiles>, SettingsError> {
    match (certificate, key) {
        (None, None) => Ok(None),
        (Some(certificate), Some(key)) => {
            Ok(Some(TlsFiles { certificate: certificate.to_owned(), key: key.to_owned() }))
        }
        (Some(_), None) => Err(SettingsError::new("--tls-cert", "it requires --tls-key", "Set both or neither")),
        (None, Some(_)) => Err(SettingsError::new("--tls-key", "it requires --tls-cert", "Set both or neither")),
    }
}

fn sending(
    flags: &SendingFlags,
    mail_domain: &Domain,
    accepted: &AcceptedDomains,
) -> Result<Sending, SettingsError> {
    let relay_url = given(flags.relay.as_deref());
    let outbound = match (outbound_mode(flags.outbound, relay_url, accepted)?, relay_url) {
        (OutboundMode::Off, _) => Outbound::Off,
        (OutboundMode::Direct, None) => Outbound::Direct(Direct {
            dns_server: given(flags.dns_server.as_deref()).map(dns_server).transpose()?,
            allow_private_targets: flags.allow_private_targets,
            ..Direct::default()
        }),
        (OutboundMode::Direct, Some(url)) => {
            Outbound::Relay(Relay { authorities: flags.relay_ca.clone(), ..relay(url)? })
        }
    };
    if let Some(path) = &flags.relay_ca {
        // Read later, and only if mail goes through a relay. A wrong path must not be found out then.
        std::fs::File::open(path).map_err(|error| {
            let problem = format!("cannot read {}: {error}", path.display());
            SettingsError::new("--relay-ca", problem, "Set it to a PEM file with the authorities, or leave it out")
        })?;
    }
    let hello = given(flags.smtp_hello.as_deref()).map(|name| domain("--smtp-hello", name)).transpose()?;
    let dkim = dkim(flags.dkim_key.as_deref(), given(flags.dkim_selector.as_deref()))?;
    Ok(Sending { outbound, hello: hello.unwrap_or_else(|| mail_domain.clone()), dkim })
}

/// A server that accepts every domain has no other domain to send to.
fn outbound_mode(
    mode: Option<OutboundMode>,
    relay: Option<&str>,
    accepted: &AcceptedDomains,
) -> Result<OutboundMode, SettingsError> {
    match (mode, relay) {
        (Some(OutboundMode::Direct), _) | (None, Some(_)) if accepted.are_all() => Err(SettingsError::new(
            "--accept-domains",
            "every domain is accepted, so no mail can be sent to other domains",
            "Leave out --relay and --outbound, or list the accepted domains",
        )),
        (None, _) if accepted.are_all() => Ok(OutboundMode::Off),
        (mode, _) => Ok(mode.unwrap_or(OutboundMode::Direct)),
    }
}

/// The error does not contain the URL, because the URL may contain a password.
fn relay(url: &str) -> Result<Relay, SettingsError> {
    url.parse().map_err(|_| {
        SettingsError::new(
            "--relay",
            "this is not the URL of a relay",
            "Write it like smtp://USER:PASSWORD@HOST:587 or smtps://HOST, with special characters as %XX",
        )
    })
}

fn dns_server(text: &str) -> Result<SocketAddr, SettingsError> {
    let without_port = text.parse().map(|address: IpAddr| SocketAddr::new(address, DNS_PORT));
    let server = without_port.or_else(|_| text.parse()).ok().filter(|server: &SocketAddr| server.port() != 0);
    server.ok_or_else(|| {
        let problem = format!("{} is not the address of a server", text.escape_debug());
        SettingsError::new("--dns-server", problem, "Write it like 192.0.2.53, [2001:db8::53]:53 or 127.0.0.1:5353")
    })
}

fn dkim(key: Option<&Path>, selector: Option<&str>) -> Result<Option<Dkim>, SettingsError> {
    match (key, selector) {
        (None, None) => Ok(None),
        (Some(key), Some(selector)) => {
            Ok(Some(Dkim { key: key.to_owned(), selector: domain("--dkim-selector", selector)? }))
        }
        (Some(_), None) => Err(SettingsError::new("--dkim-key", "it requires --dkim-selector", "Set both or neither")),
        (None, Some(_)) => Err(SettingsError::new("--dkim-selector", "it requires --dkim-key", "Set both or neither")),
    }
}

/// What two limits require of each other.
fn limits(limits: &Limits) -> Result<Limits, SettingsError> {
    if limits.message_memory < limits.message_size {
        return Err(SettingsError::new(
            "--max-message-memory",
            "it is smaller than --max-message-size",
            "Set it to at least --max-message-size",
        ));
    }
    Ok(limits.clone())
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::time::Duration;

    use clap::builder::Resettable;
    use clap::{CommandFactory, FromArgMatches, Parser};

    use super::*;

    /// A program with only these flags.
    #[derive(Parser)]
    struct Serve {
        #[command(flatten)]
        flags: ServeFlags,
    }

    fn resolve_line(line: &str) -> Result<Settings, String> {
        // The variables may be set for another server.
        let command = Serve::command().mut_args(|argument| argument.env(Resettable::Reset));
        let matches = command.try_get_matches_from(format!("serve {line}").split_whitespace());
        let matches = matches.map_err(|error| error.to_string())?;
        resolve(&Serve::from_arg_matches(&matches).unwrap().flags).map_err(|error| error.to_string())
    }

    #[test]
    fn without_a_flag_everything_has_its_default() {
        let settings = resolve_line("").unwrap();
        assert_eq!(settings.listeners.http_listen.to_string(), "127.0.0.1:8025");
        assert_eq!(settings.listeners.smtp_listen.to_string(), "127.0.0.1:1025");
        assert_eq!(settings.mail_domain.as_str(), "restante.example.com");
        assert_eq!(settings.data_dir, PathBuf::from("./restante-data"));
        assert_eq!(settings.database, DatabaseUrl::Sqlite(PathBuf::from("./restante-data/restante.db")));
        assert_eq!((settings.base_url, settings.api_key, settings.tls), (None, None, None));
        assert_eq!(settings.limits.inbox_lifetime, Duration::from_secs(3600));
        assert_eq!(settings.limits, Limits::default());
    }

    #[test]
    fn flags_are_taken_over() {
        let settings = resolve_line(
            "--mail-domain Bücher.example --base-url https://mail.example/inboxes/ --data-dir /srv/restante \
             --tls-cert c.pem --tls-key k.pem --inbox-lifetime 90s --max-message-size 1MiB --idle-timeout 1m",
        )
        .unwrap();
        assert_eq!(settings.mail_domain.as_str(), "xn--bcher-kva.example");
        assert_eq!(settings.base_url.as_deref(), Some("https://mail.example/inboxes"));
        assert_eq!(settings.database, DatabaseUrl::Sqlite(PathBuf::from("/srv/restante/restante.db")));
        assert_eq!(settings.tls, Some(TlsFiles { certificate: "c.pem".into(), key: "k.pem".into() }));
        assert_eq!(settings.limits.inbox_lifetime, Duration::from_secs(90));
        assert_eq!(settings.limits.message_size, 1024 * 1024);
        assert_eq!(settings.limits.idle_timeout, Duration::from_secs(60));
    }

    #[test]
    fn mail_is_sent_directly_unless_there_is_a_relay_or_sending_is_off() {
        let outbound = |line: &str| resolve_line(line).unwrap().sending.outbound;
        assert_eq!(outbound(""), Outbound::Direct(Direct::default()));
        let Outbound::Direct(direct) = outbound("--dns-server 192.0.2.53 --allow-private-targets") else { panic!() };
        assert_eq!(direct.dns_server, Some("192.0.2.53:53".parse().unwrap()));
        assert!(direct.allow_private_targets);
        let file = tempfile::NamedTempFile::new().unwrap();
        let line = format!("--relay smtp://mail.example --relay-ca {}", file.path().display());
        let Outbound::Relay(relay) = outbound(&line) else { panic!() };
        assert_eq!((relay.port, relay.authorities.as_deref()), (587, Some(file.path())));
        assert_eq!(outbound("--relay smtp://mail.example --outbound off"), Outbound::Off);
    }

    #[test]
    fn a_server_that_accepts_every_domain_sends_nothing() {
        let outbound = |line: &str| resolve_line(line).map(|settings| settings.sending.outbound);
        assert_eq!(outbound("--accept-domains *"), Ok(Outbound::Off));
        assert_eq!(outbound("--accept-domains a.test,* --outbound off --relay smtp://mail.example"), Ok(Outbound::Off));
        assert_eq!(outbound("--accept-domains * --relay="), Ok(Outbound::Off));
        assert_eq!(outbound("--accept-domains example.com,*.shop.test"), Ok(Outbound::Direct(Direct::default())));
        assert_eq!(outbound("--accept-domains= --outbound direct"), Ok(Outbound::Direct(Direct::default())));
        for line in ["--accept-domains * --outbound direct", "--accept-domains * --relay smtp://mail.example"] {
            let problem = outbound(line).unwrap_err();
            assert!(problem.starts_with("--accept-domains: every domain is accepted"), "{problem}");
        }
    }

    #[test]
    fn accepted_domains_are_a_list() {
        let accepted = |line: &str| resolve_line(line).unwrap().accepted.to_string();
        assert_eq!(accepted(""), "");
        assert_eq!(accepted("--accept-domains Example.com,*.shop.test"), "example.com, *.shop.test");
        let problem = resolve_line("--accept-domains user@example.com").unwrap_err();
        assert!(problem.contains("--accept-domains") && problem.contains("*.shop.test"), "{problem}");
    }

    #[test]
    fn the_worker_introduces_itself_by_the_mail_domain() {
        assert_eq!(resolve_line("--mail-domain a.example").unwrap().sending.hello.as_str(), "a.example");
        assert_eq!(resolve_line("--smtp-hello mx.a.example").unwrap().sending.hello.as_str(), "mx.a.example");
    }

    #[test]
    fn trusted_proxies_are_networks_or_addresses() {
        let settings = resolve_line("--trusted-proxy 10.0.0.0/8,192.0.2.7 --trusted-proxy 2001:db8::/32").unwrap();
        let networks: Vec<_> = settings.trusted_proxies.iter().map(ToString::to_string).collect();
        assert_eq!(networks, ["10.0.0.0/8", "192.0.2.7/32", "2001:db8::/32"]);
        assert!(resolve_line("--trusted-proxy=").unwrap().trusted_proxies.is_empty());
    }

    #[test]
    fn an_empty_value_is_an_absent_one() {
        let settings = resolve_line("--base-url= --api-key= --database=").unwrap();
        assert_eq!((settings.base_url, settings.api_key, settings.admin_token), (None, None, None));
        assert_eq!(settings.database, DatabaseUrl::Sqlite(PathBuf::from("./restante-data/restante.db")));
    }

    #[test]
    fn an_error_names_its_flag() {
        for (line, flag) in [
            ("--mail-domain user@restante.example.com", "--mail-domain"),
            ("--mail-domain a..b", "--mail-domain"),
            ("--base-url restante.example.com", "--base-url"),
            ("--base-url ftp://restante.example.com", "--base-url"),
            ("--base-url http://restante.example.com/?a=b", "--base-url"),
            ("--base-url http://user:password@restante.example.com", "--base-url"),
            ("--trusted-proxy 10.0.0.0/33", "--trusted-proxy"),
            ("--trusted-proxy proxy.example", "--trusted-proxy"),
            ("--database mysql://localhost/restante", "--database"),
            ("--api-key secret", "--api-key"),
            ("--admin-token=", "--admin-token"),
            ("--admin-token 0123456789012345678", "--admin-token"),
            ("--tls-cert c.pem", "--tls-cert"),
            ("--tls-key k.pem", "--tls-key"),
            ("--inbox-lifetime 0s", "--inbox-lifetime"),
            ("--max-recipients 0", "--max-recipients"),
            ("--waits-per-key 0", "--waits-per-key"),
            ("--sends-per-key 129", "--sends-per-key"),
            ("--max-command-line 511", "--max-command-line"),
            ("--max-data-line 999", "--max-data-line"),
            ("--max-message-memory 1MiB", "--max-message-memory"),
            ("--message-timeout 0s", "--message-timeout"),
            ("--relay mail.example", "--relay"),
            ("--relay smtp://user:%zz@mail.example", "--relay"),
            ("--relay smtp://mail.example --relay-ca missing.pem", "--relay-ca"),
            ("--relay-ca missing.pem", "--relay-ca"),
            ("--dns-server dns.example", "--dns-server"),
            ("--dns-server 127.0.0.1:0", "--dns-server"),
            ("--smtp-hello a..b", "--smtp-hello"),
            ("--dkim-key k.pem", "--dkim-key"),
            ("--dkim-selector s", "--dkim-selector"),
        ] {
            let error = resolve_line(line).unwrap_err();
            let named = error.starts_with(&format!("{flag}:")) || error.contains(&format!("for '{flag} "));
            assert!(named, "{line}: {error}");
        }
    }

    #[test]
    fn a_refused_secret_is_not_repeated() {
        for line in ["--api-key rst_live_tooshort", "--admin-token tooshort", "--relay smtp://user:tooshort@"] {
            let error = resolve_line(line).unwrap_err();
            assert!(!error.contains("tooshort"), "{error}");
        }
    }
}
