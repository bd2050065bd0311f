//! The settings of `restante serve`. Each is defined once, with its flag, variable, default, check
//! and description.

mod byte_size;
mod data;
mod limits;
mod listeners;
mod process;
mod sending;
mod tls;
mod values;

use clap::builder::Resettable;
use clap::{Args, Command};
use ipnet::IpNet;

use crate::model::{AcceptedDomains, ApiKey, DEFAULT_MAIL_DOMAIN, Domain};

pub use crate::db::{DatabaseUrl, InvalidDatabaseUrl, PostgresUrl, SslMode};
pub use byte_size::byte_size;
pub use data::Data;
pub use limits::Limits;
pub use listeners::{Listeners, MailpitApi, SmtpAuth};
pub use process::{LogFormat, Process};
pub use sending::{Dkim, InvalidRelay, Outbound, Relay, RelayHost, Sending};
pub use tls::{Tls, TlsFiles};
pub use values::{HostAndPort, api_key, boolean, database_url, http_url, secret};

/// One mebibyte, in bytes.
pub const MIB: u64 = 1024 * 1024;

/// All settings of `restante serve`. [`Settings::check`] compares those that depend on each other.
#[derive(Args, Clone, Debug)]
pub struct Settings {
    /// The addresses on which the service listens, and what it offers there.
    #[command(flatten)]
    pub listeners: Listeners,
    /// The domain of generated addresses; mail for other domains is rejected unless
    /// `--accept-domains` has them
    #[arg(
        long, env = "RESTANTE_MAIL_DOMAIN", value_name = "DOMAIN", default_value = DEFAULT_MAIL_DOMAIN,
        value_parser = values::domain
    )]
    pub mail_domain: Domain,
    /// Further domains for which mail is accepted: `example.com`, `*.shop.test` (every subdomain),
    /// `*` (every domain).
    ///
    /// Commas separate them. Nothing is ever sent out to an accepted domain, so `*` turns sending
    /// to other domains off. [default: none]
    #[arg(
        long = "accept-domains",
        env = "RESTANTE_ACCEPT_DOMAINS",
        value_name = "LIST",
        default_value_t,
        hide_default_value = true
    )]
    pub accepted: AcceptedDomains,
    // Without a slash at its end.
    /// The URL at which clients reach the service [default: `http://` and the HTTP address; to a
    /// client that asked `localhost` or another IP address or port, that one]
    #[arg(long, env = "RESTANTE_BASE_URL", value_name = "URL", value_parser = http_url)]
    pub base_url: Option<String>,
    /// A proxy, or a network of proxies, whose `X-Forwarded-For` or `Forwarded` header is trusted.
    ///
    /// The header gives the address of the client. Repeatable; commas separate the values of the
    /// variable. [default: none]
    #[arg(
        long = "trusted-proxy", env = "RESTANTE_TRUSTED_PROXY", value_name = "CIDR", value_delimiter = ',',
        value_parser = values::network
    )]
    pub trusted_proxies: Vec<IpNet>,
    /// Where the data is.
    #[command(flatten)]
    pub data: Data,
    /// The API key of the default project [default: generated and printed at the first start]
    #[arg(
        long, env = "RESTANTE_API_KEY", value_name = "KEY", hide_env_values = true, value_parser = secret(api_key)
    )]
    pub api_key: Option<ApiKey>,
    /// The administrator's token, 20 characters or more [default: generated and printed at the
    /// first start]
    #[arg(
        long, env = "RESTANTE_ADMIN_TOKEN", value_name = "TOKEN", hide_env_values = true,
        value_parser = secret(values::admin_token)
    )]
    pub admin_token: Option<String>,
    /// The certificate.
    #[command(flatten)]
    pub tls: Tls,
    /// How the process behaves.
    #[command(flatten)]
    pub process: Process,
    /// How mail is sent to other domains.
    #[command(flatten)]
    pub sending: Sending,
    /// The limits on inboxes, messages, clients and sessions.
    #[command(flatten)]
    pub limits: Limits,
}

impl Settings {
    /// Checks what settings require of each other.
    ///
    /// # Errors
    /// [`SettingsError`] for the first that does not fit the others.
    pub fn check(&self) -> Result<(), SettingsError> {
        self.listeners.check()?;
        self.tls.check()?;
        self.sending.check(&self.accepted)?;
        self.limits.check()
    }
}

impl Default for Settings {
    fn default() -> Self {
        defaults()
    }
}

/// A setting cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{setting}: {problem}. {remedy}.")]
pub struct SettingsError {
    /// The flag or the variable.
    pub setting: &'static str,
    /// What is wrong with its value.
    pub problem: String,
    /// What to do.
    pub remedy: &'static str,
}

impl SettingsError {
    pub(crate) fn new(
        setting: &'static str,
        problem: impl Into<String>,
        remedy: &'static str,
    ) -> Self {
        Self {
            setting,
            problem: problem.into(),
            remedy,
        }
    }
}

/// Checks that two settings are given together.
fn both_or_neither<A, B>(
    (one, one_value): (&'static str, Option<A>),
    (other, other_value): (&'static str, Option<B>),
) -> Result<(), SettingsError> {
    let (given, missing) = match (one_value, other_value) {
        (Some(_), None) => (one, other),
        (None, Some(_)) => (other, one),
        _ => return Ok(()),
    };
    Err(SettingsError::new(
        given,
        format!("it requires {missing}"),
        "Set both or neither",
    ))
}

/// The defaults of these flags; the environment has no influence.
fn defaults<T: Args>() -> T {
    let command =
        T::augment_args(Command::new("defaults")).mut_args(|flag| flag.env(Resettable::Reset));
    T::from_arg_matches(&command.get_matches_from(["defaults"]))
        .unwrap_or_else(|error| error.exit())
}

#[cfg(test)]
mod tests;
