//! The flags of `restante serve` and of the database, as parsed; `settings` validates and resolves them.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use humantime::Duration;

use crate::config::{Accepting, Limits, Listeners, boolean};

/// The location of the data. All commands on the database have these flags, so that they use the same one.
#[derive(Args, Clone, Debug)]
pub(super) struct DatabaseFlags {
    /// The directory of the database, the TLS certificate and the lock file
    #[arg(long, env = "RESTANTE_DATA_DIR", value_name = "DIR", default_value = "./restante-data", global = true)]
    pub(super) data_dir: PathBuf,
    /// The database, `sqlite:PATH` or `postgres://USER@HOST/DATABASE` [default: `restante.db` in the data directory]
    #[arg(long, env = "RESTANTE_DATABASE", value_name = "URL", hide_env_values = true, global = true)]
    pub(super) database: Option<String>,
}

/// The flags of `restante serve`.
#[derive(Args, Clone, Debug)]
pub(super) struct ServeFlags {
    #[command(flatten)]
    pub(super) listeners: Listeners,
    /// The domain of every generated address; mail for other domains is rejected unless `--accept-domains` names them
    #[arg(long, env = "RESTANTE_MAIL_DOMAIN", value_name = "DOMAIN", default_value = "restante.example.com")]
    pub(super) mail_domain: String,
    #[command(flatten)]
    pub(super) accepting: Accepting,
    /// The URL at which clients reach the service [default: `http://` and the HTTP address]
    #[arg(long, env = "RESTANTE_BASE_URL", value_name = "URL")]
    pub(super) base_url: Option<String>,
    /// A proxy, or a network of proxies, whose `X-Forwarded-For` or `Forwarded` header is trusted.
    ///
    /// The header gives the address of the client. Repeatable; commas separate the values of the variable. [default:
    /// none]
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
    /// The certificate chain for TLS, PEM [default: a self-signed certificate, generated once and kept in the data
    /// directory]
    #[arg(long, env = "RESTANTE_TLS_CERT", value_name = "FILE")]
    pub(super) tls_cert: Option<PathBuf>,
    /// The private key of the certificate, PEM; if the files change, the server reads them again without a restart
    #[arg(long, env = "RESTANTE_TLS_KEY", value_name = "FILE")]
    pub(super) tls_key: Option<PathBuf>,
    /// The format of the log on standard error; the variable `RESTANTE_LOG` filters it, for example `debug`
    #[arg(long, env = "RESTANTE_LOG_FORMAT", value_name = "FORMAT", default_value = "text")]
    pub(super) log_format: LogFormat,
    /// Print one line of JSON instead of the greeting, for a program that starts the server
    #[arg(long, env = "RESTANTE_PRINT_JSON", value_parser = boolean)]
    pub(super) print_json: bool,
    /// Stop when standard input is closed, so that the server ends with its parent process
    #[arg(long, env = "RESTANTE_EXIT_WITH_STDIN", value_parser = boolean)]
    pub(super) exit_with_stdin: bool,
    #[command(flatten)]
    pub(super) sending: SendingFlags,
    #[command(flatten)]
    pub(super) limits: Limits,
}

/// How mail is sent to other domains.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Sending to other domains")]
pub(super) struct SendingFlags {
    /// How mail is sent to other domains; `off` overrides `--relay` [default: direct, or off with `--accept-domains *`]
    #[arg(long, env = "RESTANTE_OUTBOUND", value_name = "MODE")]
    pub(super) outbound: Option<OutboundMode>,
    /// Relay (smarthost) for all mail to other domains, `smtp://USER:PASSWORD@HOST:587` or `smtps://…`
    #[arg(long, env = "RESTANTE_RELAY", value_name = "URL", hide_env_values = true)]
    pub(super) relay: Option<String>,
    /// The authorities that may sign the relay's certificate, PEM [default: the public ones]
    #[arg(long, env = "RESTANTE_RELAY_CA", value_name = "FILE")]
    pub(super) relay_ca: Option<PathBuf>,
    /// The DNS server, `ADDRESS` or `ADDRESS:PORT` [default: the system's servers]
    #[arg(long, env = "RESTANTE_DNS_SERVER", value_name = "ADDRESS")]
    pub(super) dns_server: Option<String>,
    /// Also send to servers at loopback, private and other addresses that are not public
    #[arg(long, env = "RESTANTE_ALLOW_PRIVATE_TARGETS", value_parser = boolean)]
    pub(super) allow_private_targets: bool,
    /// The server's name in EHLO [default: the mail domain]
    #[arg(long, env = "RESTANTE_SMTP_HELLO", value_name = "NAME")]
    pub(super) smtp_hello: Option<String>,
    /// The private key that signs outgoing mail (DKIM), PEM: RSA or Ed25519
    #[arg(long, env = "RESTANTE_DKIM_KEY", value_name = "FILE")]
    pub(super) dkim_key: Option<PathBuf>,
    /// The DKIM selector; the public key is published at `NAME._domainkey.MAIL-DOMAIN`
    #[arg(long, env = "RESTANTE_DKIM_SELECTOR", value_name = "NAME")]
    pub(super) dkim_selector: Option<String>,
}

/// How mail is sent to other domains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum OutboundMode {
    /// deliver to the MX hosts of the domain, or to the relay if one is set
    Direct,
    /// do not send; messages to other domains bounce immediately
    Off,
}

/// The format of a log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum LogFormat {
    /// one readable line per event
    Text,
    /// one JSON object per event
    Json,
}

/// A duration with a unit, for example `500ms`, or a whole number of seconds.
pub(super) fn seconds(text: &str) -> Result<Duration, humantime::DurationError> {
    match text.parse() {
        Ok(seconds) => Ok(std::time::Duration::from_secs(seconds).into()),
        Err(_) => text.parse(),
    }
}
