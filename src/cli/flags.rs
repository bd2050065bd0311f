//! The flags of `restante serve` and of the database, as parsed; `settings` validates and resolves them.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use humantime::Duration;

use super::byte_size::ByteSize;
use crate::config::Limits;

/// The location of the data. All commands on the database have these flags, so that they use the same one.
#[derive(Args, Clone, Debug)]
pub(super) struct DatabaseFlags {
    /// Directory for the database, the TLS certificate and the lock file
    #[arg(long, env = "RESTANTE_DATA_DIR", value_name = "DIR", default_value = "./restante-data", global = true)]
    pub(super) data_dir: PathBuf,
    /// The database, sqlite:PATH or postgres://USER@HOST/DATABASE [default: sqlite:DIR/restante.db]
    #[arg(long, env = "RESTANTE_DATABASE", value_name = "URL", hide_env_values = true, global = true)]
    pub(super) database: Option<String>,
}

/// The flags of `restante serve`.
#[derive(Args, Clone, Debug)]
pub(super) struct ServeFlags {
    /// Address for HTTP; port 0 selects a free port
    #[arg(long, env = "RESTANTE_HTTP_LISTEN", value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8025")]
    pub(super) http_listen: SocketAddr,
    /// Address for SMTP; port 0 selects a free port
    #[arg(long, env = "RESTANTE_SMTP_LISTEN", value_name = "ADDRESS:PORT", default_value = "127.0.0.1:1025")]
    pub(super) smtp_listen: SocketAddr,
    /// Address for SMTP with implicit TLS (usually port 465) [default: off]
    #[arg(long, env = "RESTANTE_SMTPS_LISTEN", value_name = "ADDRESS:PORT")]
    pub(super) smtps_listen: Option<SocketAddr>,
    /// Accepted SMTP credentials. A password that starts with rst_live_ must always be a valid API key
    #[arg(long, env = "RESTANTE_SMTP_AUTH", value_name = "WHICH", default_value = "any")]
    pub(super) smtp_auth: AuthMode,
    /// Offer AUTH without TLS to other hosts, for example containers. Passwords are then sent in clear text
    #[arg(long, env = "RESTANTE_SMTP_PLAINTEXT_AUTH", value_parser = boolean)]
    pub(super) smtp_plaintext_auth: bool,
    /// Address for /metrics (Prometheus) and /health, for monitoring [default: off]
    #[arg(long, env = "RESTANTE_METRICS_LISTEN", value_name = "ADDRESS:PORT")]
    pub(super) metrics_listen: Option<SocketAddr>,
    /// The domain of every inbox; mail for other domains is rejected
    #[arg(long, env = "RESTANTE_MAIL_DOMAIN", value_name = "DOMAIN", default_value = "restante.test")]
    pub(super) mail_domain: String,
    /// The URL at which clients reach the service [default: http:// and the HTTP address]
    #[arg(long, env = "RESTANTE_BASE_URL", value_name = "URL")]
    pub(super) base_url: Option<String>,
    /// Whether /mcp is enabled for coding agents
    #[arg(long, env = "RESTANTE_MCP", value_name = "ON|OFF", default_value = "on")]
    pub(super) mcp: Switch,
    /// A proxy, or a network of proxies, whose X-Forwarded-For or Forwarded header is trusted; repeatable
    /// [default: none]
    #[arg(long = "trusted-proxy", env = "RESTANTE_TRUSTED_PROXY", value_name = "CIDR", value_delimiter = ',')]
    pub(super) trusted_proxies: Vec<String>,
    #[command(flatten)]
    pub(super) database: DatabaseFlags,
    /// The API key of the default project [default: generated and printed at the first start]
    #[arg(long, env = "RESTANTE_API_KEY", value_name = "KEY", hide_env_values = true)]
    pub(super) api_key: Option<String>,
    /// The administrator's token, 20 characters or more [default: generated and printed at the first start]
    #[arg(long, env = "RESTANTE_ADMIN_TOKEN", value_name = "TOKEN", hide_env_values = true)]
    pub(super) admin_token: Option<String>,
    /// The certificate chain for TLS, PEM [default: a self-signed certificate in the data directory]
    #[arg(long, env = "RESTANTE_TLS_CERT", value_name = "FILE")]
    pub(super) tls_cert: Option<PathBuf>,
    /// The private key of the certificate, PEM
    #[arg(long, env = "RESTANTE_TLS_KEY", value_name = "FILE")]
    pub(super) tls_key: Option<PathBuf>,
    /// Lifetime of a temporary inbox
    #[arg(long, env = "RESTANTE_INBOX_LIFETIME", value_name = "DURATION", default_value = "1h")]
    pub(super) inbox_lifetime: Duration,
    /// The format of the log on standard error; RESTANTE_LOG sets a filter, for example RESTANTE_LOG=debug
    #[arg(long, env = "RESTANTE_LOG_FORMAT", value_name = "FORMAT", default_value = "text")]
    pub(super) log_format: LogFormat,
    /// Print the addresses, the key and the administrator's token as one line of JSON instead of text
    #[arg(long, env = "RESTANTE_PRINT_JSON", value_parser = boolean)]
    pub(super) print_json: bool,
    /// Stop when standard input is closed, so that the server ends with its parent process
    #[arg(long, env = "RESTANTE_EXIT_WITH_STDIN", value_parser = boolean)]
    pub(super) exit_with_stdin: bool,
    #[command(flatten)]
    pub(super) sending: SendingFlags,
    #[command(flatten)]
    pub(super) limits: LimitFlags,
}

/// How mail is sent to other domains.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Sending to other domains")]
pub(super) struct SendingFlags {
    /// How mail is sent to other domains; `off` overrides --relay
    #[arg(long, env = "RESTANTE_OUTBOUND", value_name = "MODE", default_value = "direct")]
    pub(super) outbound: OutboundMode,
    /// Relay (smarthost) for all mail to other domains, smtp://USER:PASSWORD@HOST:587 or smtps://…
    #[arg(long, env = "RESTANTE_RELAY", value_name = "URL", hide_env_values = true)]
    pub(super) relay: Option<String>,
    /// The certificate authorities for the relay, PEM [default: the public ones]
    #[arg(long, env = "RESTANTE_RELAY_CA", value_name = "FILE")]
    pub(super) relay_ca: Option<PathBuf>,
    /// The DNS server, ADDRESS or ADDRESS:PORT [default: the system's servers]
    #[arg(long, env = "RESTANTE_DNS_SERVER", value_name = "ADDRESS")]
    pub(super) dns_server: Option<String>,
    /// Also send to servers at private, loopback and other non-public addresses
    #[arg(long, env = "RESTANTE_ALLOW_PRIVATE_TARGETS", value_parser = boolean)]
    pub(super) allow_private_targets: bool,
    /// The server's name in EHLO [default: the mail domain]
    #[arg(long, env = "RESTANTE_SMTP_HELLO", value_name = "NAME")]
    pub(super) smtp_hello: Option<String>,
    /// The private key that signs outgoing mail (DKIM), PEM: RSA or Ed25519
    #[arg(long, env = "RESTANTE_DKIM_KEY", value_name = "FILE")]
    pub(super) dkim_key: Option<PathBuf>,
    /// The DKIM selector; the public key is published at NAME._domainkey.MAIL-DOMAIN
    #[arg(long, env = "RESTANTE_DKIM_SELECTOR", value_name = "NAME")]
    pub(super) dkim_selector: Option<String>,
}

/// Which credentials SMTP accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum AuthMode {
    /// Accept any credentials; only API keys have an effect
    Any,
    /// Accept only API keys
    Keys,
}

/// Whether a feature is enabled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Switch {
    /// Enabled
    On,
    /// Disabled
    Off,
}

/// How mail is sent to other domains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum OutboundMode {
    /// Deliver to the MX hosts of the domain, or to the relay if one is set
    Direct,
    /// Do not send; messages to other domains bounce immediately
    Off,
}

/// The format of a log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum LogFormat {
    /// One readable line per event
    Text,
    /// One JSON object per event
    Json,
}

/// The limits; the defaults are those of [`Limits`].
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Limits")]
pub(super) struct LimitFlags {
    /// The largest message
    #[arg(
        long, env = "RESTANTE_MAX_MESSAGE_SIZE", value_name = "SIZE",
        default_value_t = ByteSize(Limits::default().message_size)
    )]
    pub(super) max_message_size: ByteSize,
    /// The most recipients of one message
    #[arg(long, env = "RESTANTE_MAX_RECIPIENTS", value_name = "N", default_value_t = Limits::default().recipients)]
    pub(super) max_recipients: usize,
    /// The most messages in one inbox
    #[arg(
        long, env = "RESTANTE_MAX_INBOX_MESSAGES", value_name = "N",
        default_value_t = Limits::default().inbox_messages
    )]
    pub(super) max_inbox_messages: u64,
    /// The most concurrent SMTP connections
    #[arg(
        long, env = "RESTANTE_MAX_SMTP_CONNECTIONS", value_name = "N",
        default_value_t = Limits::default().smtp_connections
    )]
    pub(super) max_smtp_connections: usize,
    /// The most concurrent SMTP connections from one address
    #[arg(
        long, env = "RESTANTE_MAX_SMTP_CONNECTIONS_PER_ADDRESS", value_name = "N",
        default_value_t = Limits::default().smtp_connections_per_address
    )]
    pub(super) max_smtp_connections_per_address: usize,
    /// Memory for the messages of all SMTP sessions
    #[arg(
        long, env = "RESTANTE_MAX_MESSAGE_MEMORY", value_name = "SIZE",
        default_value_t = ByteSize(Limits::default().message_memory)
    )]
    pub(super) max_message_memory: ByteSize,
    /// Maximum number of HTTP connections; at the limit, the one that has been idle longest is closed
    #[arg(
        long, env = "RESTANTE_HTTP_CONNECTIONS", value_name = "N",
        default_value_t = Limits::default().http_connections
    )]
    pub(super) http_connections: usize,
    /// Maximum number of HTTP connections from one address, except trusted proxies
    #[arg(
        long, env = "RESTANTE_HTTP_CONNECTIONS_PER_ADDRESS", value_name = "N",
        default_value_t = Limits::default().http_connections_per_address
    )]
    pub(super) http_connections_per_address: usize,
    /// Memory for all HTTP requests and their responses
    #[arg(
        long, env = "RESTANTE_MAX_BODY_MEMORY", value_name = "SIZE",
        default_value_t = ByteSize(Limits::default().request_memory)
    )]
    pub(super) max_body_memory: ByteSize,
    /// Reject messages if less disk space is free
    #[arg(
        long, env = "RESTANTE_MIN_FREE_DISK", value_name = "SIZE",
        default_value_t = ByteSize(Limits::default().free_disk)
    )]
    pub(super) min_free_disk: ByteSize,
    /// The most concurrent waits of one key, up to 128
    #[arg(long, env = "RESTANTE_WAITS_PER_KEY", value_name = "N", default_value_t = Limits::default().waits_per_key)]
    pub(super) waits_per_key: u8,
    /// The most concurrent sends of one key, up to 128
    #[arg(long, env = "RESTANTE_SENDS_PER_KEY", value_name = "N", default_value_t = Limits::default().sends_per_key)]
    pub(super) sends_per_key: u8,
    /// The largest JSON body of a send request
    #[arg(
        long, env = "RESTANTE_MAX_SEND_BODY", value_name = "SIZE",
        default_value_t = bytes(Limits::default().send_body)
    )]
    pub(super) max_send_body: ByteSize,
    /// The largest JSON body of every other request
    #[arg(long, env = "RESTANTE_MAX_BODY", value_name = "SIZE", default_value_t = bytes(Limits::default().body))]
    pub(super) max_body: ByteSize,
    /// The longest SMTP command line
    #[arg(
        long, env = "RESTANTE_MAX_COMMAND_LINE", value_name = "SIZE",
        default_value_t = bytes(Limits::default().command_line)
    )]
    pub(super) max_command_line: ByteSize,
    /// The longest line of a message
    #[arg(
        long, env = "RESTANTE_MAX_DATA_LINE", value_name = "SIZE",
        default_value_t = bytes(Limits::default().data_line)
    )]
    pub(super) max_data_line: ByteSize,
    /// How long an SMTP session may be idle
    #[arg(
        long, env = "RESTANTE_IDLE_TIMEOUT", value_name = "DURATION",
        default_value_t = Limits::default().idle_timeout.into()
    )]
    pub(super) idle_timeout: Duration,
    /// How long the transfer of one message may take
    #[arg(
        long, env = "RESTANTE_MESSAGE_TIMEOUT", value_name = "DURATION",
        default_value_t = Limits::default().message_timeout.into()
    )]
    pub(super) message_timeout: Duration,
}

/// The value of a flag without argument, if its variable is set. Compose files pass an absent variable as an empty one,
/// so an empty value means off.
pub(super) fn boolean(text: &str) -> Result<bool, &'static str> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" | "1" => Ok(true),
        "false" | "no" | "off" | "0" | "" => Ok(false),
        _ => Err("write true or false"),
    }
}

/// A duration with a unit, for example `500ms`, or a whole number of seconds.
pub(super) fn seconds(text: &str) -> Result<Duration, humantime::DurationError> {
    match text.parse() {
        Ok(seconds) => Ok(std::time::Duration::from_secs(seconds).into()),
        Err(_) => text.parse(),
    }
}

fn bytes(size: usize) -> ByteSize {
    ByteSize(u64::try_from(size).unwrap_or(u64::MAX))
}
