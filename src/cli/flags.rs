//! The flags of `restante serve` and of the database, unchecked; `settings` checks and resolves them.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use humantime::Duration;

use super::byte_size::ByteSize;
use crate::config::Limits;

/// Where the data is. All commands on the database share these, so that they find the same one.
#[derive(Args, Clone, Debug)]
pub(super) struct DatabaseFlags {
    /// The directory of the database, the certificate and the lock
    #[arg(long, env = "RESTANTE_DATA_DIR", value_name = "DIR", default_value = "./restante-data", global = true)]
    pub(super) data_dir: PathBuf,
    /// The database, sqlite:PATH or postgres://USER@HOST/DATABASE [default: sqlite:DIR/restante.db]
    #[arg(long, env = "RESTANTE_DATABASE", value_name = "URL", hide_env_values = true, global = true)]
    pub(super) database: Option<String>,
}

/// The flags of `restante serve`.
#[derive(Args, Clone, Debug)]
pub(super) struct ServeFlags {
    /// Where HTTP listens; port 0 takes a free one
    #[arg(long, env = "RESTANTE_HTTP_LISTEN", value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8025")]
    pub(super) http_listen: SocketAddr,
    /// Where SMTP listens; port 0 takes a free one
    #[arg(long, env = "RESTANTE_SMTP_LISTEN", value_name = "ADDRESS:PORT", default_value = "127.0.0.1:1025")]
    pub(super) smtp_listen: SocketAddr,
    /// Where SMTP with TLS from the first byte listens (port 465 elsewhere) [default: off]
    #[arg(long, env = "RESTANTE_SMTPS_LISTEN", value_name = "ADDRESS:PORT")]
    pub(super) smtps_listen: Option<SocketAddr>,
    /// Which credentials SMTP accepts; a password that begins with rst_live_ must always be a valid key
    #[arg(long, env = "RESTANTE_SMTP_AUTH", value_name = "WHICH", default_value = "any")]
    pub(super) smtp_auth: AuthMode,
    /// Offer AUTH without TLS to other hosts too, as in a container network: passwords can then be read on the network
    #[arg(long, env = "RESTANTE_SMTP_PLAINTEXT_AUTH", value_parser = boolean)]
    pub(super) smtp_plaintext_auth: bool,
    /// Where /metrics (Prometheus) and /health are served for monitors [default: off]
    #[arg(long, env = "RESTANTE_METRICS_LISTEN", value_name = "ADDRESS:PORT")]
    pub(super) metrics_listen: Option<SocketAddr>,
    /// The domain of every inbox; mail for any other is refused
    #[arg(long, env = "RESTANTE_MAIL_DOMAIN", value_name = "DOMAIN", default_value = "restante.test")]
    pub(super) mail_domain: String,
    /// The URL at which clients reach the service [default: http:// and the address HTTP listens on]
    #[arg(long, env = "RESTANTE_BASE_URL", value_name = "URL")]
    pub(super) base_url: Option<String>,
    /// Whether coding agents can use /mcp
    #[arg(long, env = "RESTANTE_MCP", value_name = "ON|OFF", default_value = "on")]
    pub(super) mcp: Switch,
    /// A proxy, or a network of proxies, whose X-Forwarded-For or Forwarded header is trusted; repeatable
    /// [default: none]
    #[arg(long = "trusted-proxy", env = "RESTANTE_TRUSTED_PROXY", value_name = "CIDR", value_delimiter = ',')]
    pub(super) trusted_proxies: Vec<String>,
    #[command(flatten)]
    pub(super) database: DatabaseFlags,
    /// The key of the default project [default: the first start makes one and prints it]
    #[arg(long, env = "RESTANTE_API_KEY", value_name = "KEY", hide_env_values = true)]
    pub(super) api_key: Option<String>,
    /// The administrator's token, 20 characters or more [default: the first start makes one and prints it]
    #[arg(long, env = "RESTANTE_ADMIN_TOKEN", value_name = "TOKEN", hide_env_values = true)]
    pub(super) admin_token: Option<String>,
    /// The certificate chain for STARTTLS, PEM [default: a self-signed one is made and kept]
    #[arg(long, env = "RESTANTE_TLS_CERT", value_name = "FILE")]
    pub(super) tls_cert: Option<PathBuf>,
    /// The private key of the certificate, PEM
    #[arg(long, env = "RESTANTE_TLS_KEY", value_name = "FILE")]
    pub(super) tls_key: Option<PathBuf>,
    /// How long a temporary inbox lives
    #[arg(long, env = "RESTANTE_INBOX_LIFETIME", value_name = "DURATION", default_value = "1h")]
    pub(super) inbox_lifetime: Duration,
    /// The format of the log on standard error; RESTANTE_LOG filters it, as in RESTANTE_LOG=debug
    #[arg(long, env = "RESTANTE_LOG_FORMAT", value_name = "FORMAT", default_value = "text")]
    pub(super) log_format: LogFormat,
    /// Print the addresses, the key and the administrator's token as one line of JSON in place of the greeting
    #[arg(long, env = "RESTANTE_PRINT_JSON", value_parser = boolean)]
    pub(super) print_json: bool,
    /// Stop when standard input ends, so that no server outlives the program that started it
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
    /// How mail is sent to other domains; `off` wins over a relay
    #[arg(long, env = "RESTANTE_OUTBOUND", value_name = "MODE", default_value = "direct")]
    pub(super) outbound: OutboundMode,
    /// A server that takes all mail for other domains, smtp://USER:PASSWORD@HOST:587 or smtps://…
    #[arg(long, env = "RESTANTE_RELAY", value_name = "URL", hide_env_values = true)]
    pub(super) relay: Option<String>,
    /// The authorities that may sign the relay's certificate, PEM [default: the public ones]
    #[arg(long, env = "RESTANTE_RELAY_CA", value_name = "FILE")]
    pub(super) relay_ca: Option<PathBuf>,
    /// The DNS server, ADDRESS or ADDRESS:PORT [default: the system's servers]
    #[arg(long, env = "RESTANTE_DNS_SERVER", value_name = "ADDRESS")]
    pub(super) dns_server: Option<String>,
    /// Also send mail to servers at loopback, private and other addresses that are not public
    #[arg(long, env = "RESTANTE_ALLOW_PRIVATE_TARGETS", value_parser = boolean)]
    pub(super) allow_private_targets: bool,
    /// The server's name in EHLO [default: the mail domain]
    #[arg(long, env = "RESTANTE_SMTP_HELLO", value_name = "NAME")]
    pub(super) smtp_hello: Option<String>,
    /// The private key that signs outgoing mail (DKIM), PEM: RSA or Ed25519
    #[arg(long, env = "RESTANTE_DKIM_KEY", value_name = "FILE")]
    pub(super) dkim_key: Option<PathBuf>,
    /// Where the DNS has the public key: NAME._domainkey.MAIL-DOMAIN
    #[arg(long, env = "RESTANTE_DKIM_SELECTOR", value_name = "NAME")]
    pub(super) dkim_selector: Option<String>,
}

/// Which credentials SMTP accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum AuthMode {
    /// Any; those that are not an API key have no effect.
    Any,
    /// Only API keys.
    Keys,
}

/// Whether something is offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Switch {
    /// It is.
    On,
    /// It is not.
    Off,
}

/// Whether mail for other domains leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum OutboundMode {
    /// To the servers that the DNS names, or to the relay if one is set.
    Direct,
    /// Not at all: a message to another domain bounces at once.
    Off,
}

/// How a log line is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum LogFormat {
    /// One readable line for each event.
    Text,
    /// One JSON object for each event.
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
    /// The most SMTP connections at once
    #[arg(
        long, env = "RESTANTE_MAX_SMTP_CONNECTIONS", value_name = "N",
        default_value_t = Limits::default().smtp_connections
    )]
    pub(super) max_smtp_connections: usize,
    /// The most SMTP connections at once from one address
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
    /// The most HTTP connections at once; further clients wait
    #[arg(
        long, env = "RESTANTE_HTTP_CONNECTIONS", value_name = "N",
        default_value_t = Limits::default().http_connections
    )]
    pub(super) http_connections: usize,
    /// Memory for all HTTP requests and their answers
    #[arg(
        long, env = "RESTANTE_MAX_BODY_MEMORY", value_name = "SIZE",
        default_value_t = ByteSize(Limits::default().request_memory)
    )]
    pub(super) max_body_memory: ByteSize,
    /// Free disk space below which no message is taken
    #[arg(
        long, env = "RESTANTE_MIN_FREE_DISK", value_name = "SIZE",
        default_value_t = ByteSize(Limits::default().free_disk)
    )]
    pub(super) min_free_disk: ByteSize,
    /// The most waits that one key may have open at once, up to 128
    #[arg(long, env = "RESTANTE_WAITS_PER_KEY", value_name = "N", default_value_t = Limits::default().waits_per_key)]
    pub(super) waits_per_key: u8,
    /// The most sends that one key may have running at once, up to 128
    #[arg(long, env = "RESTANTE_SENDS_PER_KEY", value_name = "N", default_value_t = Limits::default().sends_per_key)]
    pub(super) sends_per_key: u8,
    /// The largest JSON body of a send
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
    /// How long an SMTP client may be silent
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

/// A flag that a variable can also switch. An empty value means off, since compose files write an absent one as empty.
pub(super) fn boolean(text: &str) -> Result<bool, &'static str> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" | "1" => Ok(true),
        "false" | "no" | "off" | "0" | "" => Ok(false),
        _ => Err("write true or false"),
    }
}

/// A duration with its unit, as in `500ms`, or a whole number of seconds.
pub(super) fn seconds(text: &str) -> Result<Duration, humantime::DurationError> {
    match text.parse() {
        Ok(seconds) => Ok(std::time::Duration::from_secs(seconds).into()),
        Err(_) => text.parse(),
    }
}

fn bytes(size: usize) -> ByteSize {
    ByteSize(u64::try_from(size).unwrap_or(u64::MAX))
}
