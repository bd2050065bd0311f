//! The settings of a running service, checked and resolved.

mod database_url;
mod sending;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;

use crate::model::{ApiKey, Domain};

pub use database_url::{DatabaseUrl, InvalidDatabaseUrl, PostgresUrl, SslMode};
pub use sending::{Direct, Dkim, InvalidRelay, Outbound, Relay, RelayHost, Sending};

/// One mebibyte, in bytes.
pub const MIB: u64 = 1024 * 1024;

/// All settings of `restante serve`.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where HTTP listens; port 0 takes a free one.
    pub http_listen: SocketAddr,
    /// Where SMTP listens; port 0 takes a free one.
    pub smtp_listen: SocketAddr,
    /// Where SMTP with TLS from the first byte listens; off by default.
    pub smtps_listen: Option<SocketAddr>,
    /// Which credentials SMTP accepts.
    pub smtp_auth: SmtpAuth,
    /// Whether AUTH is offered to other hosts without TLS.
    pub smtp_plaintext_auth: bool,
    /// Where `/metrics` and `/health` are served for monitors; off by default.
    pub metrics_listen: Option<SocketAddr>,
    /// The domain of every inbox.
    pub mail_domain: Domain,
    /// The URL at which clients reach the service, without a slash at the end; by default the address HTTP listens on.
    pub base_url: Option<String>,
    /// Whether `/mcp` is served.
    pub mcp: bool,
    /// Proxies that are trusted to name the client's address.
    pub trusted_proxies: Vec<IpNet>,
    /// The directory of the database, the certificate and the lock.
    pub data_dir: PathBuf,
    /// The database.
    pub database: DatabaseUrl,
    /// The key of the default project; by default the first start makes one.
    pub api_key: Option<ApiKey>,
    /// The administrator's token.
    pub admin_token: Option<String>,
    /// A certificate chain and its key in PEM; by default a self-signed one is made and kept.
    pub tls: Option<TlsFiles>,
    /// How long a temporary inbox lives.
    pub inbox_lifetime: Duration,
    /// How mail is sent to other domains.
    pub sending: Sending,
    /// The limits on clients, messages and sessions.
    pub limits: Limits,
}

/// Which credentials SMTP accepts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SmtpAuth {
    /// A password that looks like an API key must be a valid one. Any other password is accepted and has no effect.
    #[default]
    Any,
    /// Only API keys.
    Keys,
}

/// A certificate chain and its private key, both PEM files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The chain, the server's own certificate first.
    pub certificate: PathBuf,
    /// The private key.
    pub key: PathBuf,
}

/// The limits; each has a flag of the same name. Sizes are in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// One message as it is transferred.
    pub message_size: u64,
    /// Recipients of one message.
    pub recipients: usize,
    /// Messages in one inbox.
    pub inbox_messages: u64,
    /// SMTP connections at once.
    pub smtp_connections: usize,
    /// SMTP connections at once from one address.
    pub smtp_connections_per_address: usize,
    /// Memory for the messages of all SMTP sessions.
    pub message_memory: u64,
    /// HTTP connections at once.
    pub http_connections: usize,
    /// Memory for all HTTP requests and their answers.
    pub request_memory: u64,
    /// Free disk space below which no message is accepted.
    pub free_disk: u64,
    /// Waits that one key may have open at once.
    pub waits_per_key: u8,
    /// Sends that one key may have running at once.
    pub sends_per_key: u8,
    /// JSON body of a send.
    pub send_body: usize,
    /// JSON body of everything else.
    pub body: usize,
    /// SMTP command line, with its CR LF.
    pub command_line: usize,
    /// SMTP data line, with its CR LF.
    pub data_line: usize,
    /// How long an SMTP client may be silent.
    pub idle_timeout: Duration,
    /// How long one message may take to arrive.
    pub message_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            message_size: 25 * MIB,
            recipients: 100,
            inbox_messages: 10_000,
            smtp_connections: 5_000,
            smtp_connections_per_address: 1_000,
            message_memory: 256 * MIB,
            http_connections: 10_000,
            request_memory: 256 * MIB,
            free_disk: 256 * MIB,
            waits_per_key: 4,
            sends_per_key: 8,
            send_body: 10 * 1024 * 1024,
            body: 64 * 1024,
            command_line: 2_048,
            data_line: 1024 * 1024,
            idle_timeout: Duration::from_secs(5 * 60),
            message_timeout: Duration::from_secs(10 * 60),
        }
    }
}
