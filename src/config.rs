//! The settings of a running service, validated and resolved.

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
    /// The address for HTTP; port 0 selects a free port.
    pub http_listen: SocketAddr,
    /// The address for SMTP; port 0 selects a free port.
    pub smtp_listen: SocketAddr,
    /// The address for SMTP with implicit TLS; off by default.
    pub smtps_listen: Option<SocketAddr>,
    /// Which credentials SMTP accepts.
    pub smtp_auth: SmtpAuth,
    /// Whether AUTH is offered to other hosts without TLS.
    pub smtp_plaintext_auth: bool,
    /// The address for `/metrics` and `/health`, for monitoring; off by default.
    pub metrics_listen: Option<SocketAddr>,
    /// The domain of every inbox.
    pub mail_domain: Domain,
    /// The URL at which clients reach the service, without a slash at the end; by default the HTTP address.
    pub base_url: Option<String>,
    /// Whether `/mcp` is served.
    pub mcp: bool,
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
    /// The lifetime of a temporary inbox.
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
    /// Size of one message as transferred.
    pub message_size: u64,
    /// Recipients of one message.
    pub recipients: usize,
    /// Messages in one inbox.
    pub inbox_messages: u64,
    /// Concurrent SMTP connections.
    pub smtp_connections: usize,
    /// Concurrent SMTP connections from one address.
    pub smtp_connections_per_address: usize,
    /// Memory for the messages of all SMTP sessions.
    pub message_memory: u64,
    /// Concurrent HTTP connections.
    pub http_connections: usize,
    /// Concurrent HTTP connections from one address.
    pub http_connections_per_address: usize,
    /// Memory for all HTTP requests and their responses.
    pub request_memory: u64,
    /// If less disk space is free, messages are rejected.
    pub free_disk: u64,
    /// Concurrent waits of one key.
    pub waits_per_key: u8,
    /// Concurrent sends of one key.
    pub sends_per_key: u8,
    /// JSON body of a send request.
    pub send_body: usize,
    /// JSON body of any other request.
    pub body: usize,
    /// SMTP command line, including its CR LF.
    pub command_line: usize,
    /// SMTP data line, including its CR LF.
    pub data_line: usize,
    /// How long an SMTP session may be idle.
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
            http_connections_per_address: 5_000,
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
