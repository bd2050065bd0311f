//! The settings of a running service, validated and resolved.

mod accepted;
mod byte_size;
mod database_url;
mod limits;
mod listeners;
mod sending;
mod values;

use std::path::PathBuf;

use clap::builder::Resettable;
use clap::{Args, Command};
use ipnet::IpNet;

use crate::model::{AcceptedDomains, ApiKey, Domain};

pub use accepted::Accepting;
pub use byte_size::byte_size;
pub use database_url::{DatabaseUrl, InvalidDatabaseUrl, PostgresUrl, SslMode};
pub use limits::Limits;
pub use listeners::{Listeners, SmtpAuth};
pub use sending::{Direct, Dkim, InvalidRelay, Outbound, Relay, RelayHost, Sending};
pub use values::boolean;

/// One mebibyte, in bytes.
pub const MIB: u64 = 1024 * 1024;

/// All settings of `restante serve`.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The addresses on which the service listens, and what it offers there.
    pub listeners: Listeners,
    /// The domain of every inbox.
    pub mail_domain: Domain,
    /// Further domains for which mail is accepted.
    pub accepted: AcceptedDomains,
    /// The URL at which clients reach the service, without a slash at the end; by default the HTTP address.
    pub base_url: Option<String>,
    /// Proxies whose information about the client's address is trusted.
    pub trusted_proxies: Vec<IpNet>,
    /// The directory for the database, the certificate and the lock file.
    pub data_dir: PathBuf,
    /// The database.
    pub database: DatabaseUrl,
    /// The key of the default project; by default the first start generates one.
    pub api_key: Option<ApiKey>,
    /// The administrator's token.
    pub admin_token: Option<String>,
    /// A certificate chain and its key in PEM; by default a self-signed certificate is created and kept.
    pub tls: Option<TlsFiles>,
    /// How mail is sent to other domains.
    pub sending: Sending,
    /// The limits on inboxes, messages, clients and sessions.
    pub limits: Limits,
}

/// A certificate chain and its private key, both PEM files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The chain, the server's own certificate first.
    pub certificate: PathBuf,
    /// The private key.
    pub key: PathBuf,
}

/// The defaults of these flags; the environment has no influence.
fn defaults<T: Args>() -> T {
    let command = T::augment_args(Command::new("defaults")).mut_args(|flag| flag.env(Resettable::Reset));
    T::from_arg_matches(&command.get_matches_from(["defaults"])).unwrap_or_else(|error| error.exit())
}
