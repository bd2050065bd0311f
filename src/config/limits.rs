//! The limits, which are flags of `restante serve`: each is defined here with its flag, default,
//! check and description.

use std::time::Duration;

use clap::builder::RangedU64ValueParser;
use clap::{Args, value_parser};

use super::SettingsError;
use super::values::{duration, size};

/// The limits on inboxes, messages, clients and sessions. Sizes are in bytes.
#[derive(Args, Clone, Debug, PartialEq, Eq)]
#[command(next_help_heading = "Limits")]
pub struct Limits {
    /// Lifetime of a temporary inbox
    #[arg(
        long, env = "RESTANTE_INBOX_LIFETIME", value_name = "DURATION", default_value = "1h", value_parser = duration
    )]
    pub inbox_lifetime: Duration,
    /// How long waits, rejections and the explanations of waits that timed out are kept; of the last two at most 1,000 per project
    #[arg(
        long, env = "RESTANTE_KEEP_FAILURES", value_name = "DURATION", default_value = "7d", value_parser = duration
    )]
    pub keep_failures: Duration,
    /// Maximum size of a message
    #[arg(
        long = "max-message-size", env = "RESTANTE_MAX_MESSAGE_SIZE", value_name = "SIZE", default_value = "25MiB",
        value_parser = size::<u64>(1)
    )]
    pub message_size: u64,
    /// Maximum number of recipients of one message
    #[arg(
        long = "max-recipients", env = "RESTANTE_MAX_RECIPIENTS", value_name = "N", default_value = "100",
        value_parser = RangedU64ValueParser::<usize>::new().range(1..)
    )]
    pub recipients: usize,
    /// Maximum number of messages in one inbox; a full inbox rejects mail
    #[arg(
        long = "max-inbox-messages", env = "RESTANTE_MAX_INBOX_MESSAGES", value_name = "N", default_value = "10000",
        value_parser = value_parser!(u64).range(1..)
    )]
    pub inbox_messages: u64,
    /// Maximum number of concurrent SMTP connections
    #[arg(
        long = "max-smtp-connections", env = "RESTANTE_MAX_SMTP_CONNECTIONS", value_name = "N", default_value = "5000",
        value_parser = RangedU64ValueParser::<usize>::new().range(1..)
    )]
    pub smtp_connections: usize,
    /// Maximum number of concurrent SMTP connections from one address; an IPv6 network of /64
    /// counts as one
    #[arg(
        long = "max-smtp-connections-per-address", env = "RESTANTE_MAX_SMTP_CONNECTIONS_PER_ADDRESS",
        value_name = "N", default_value = "1000", value_parser = RangedU64ValueParser::<usize>::new().range(1..)
    )]
    pub smtp_connections_per_address: usize,
    /// Memory for SMTP messages over 64 KiB, at least `--max-message-size`; each counts as one of
    /// the maximum size, and if it is used up, sessions wait
    #[arg(
        long = "max-message-memory", env = "RESTANTE_MAX_MESSAGE_MEMORY", value_name = "SIZE",
        default_value = "256MiB", value_parser = size::<u64>(1)
    )]
    pub message_memory: u64,
    /// Maximum number of HTTP connections.
    ///
    /// Near the limit, from three quarters of it on, connections that are idle for a second are
    /// closed; at the limit, more clients have to wait. The server lowers this if the open-file
    /// limit is too small for HTTP and SMTP.
    #[arg(
        long, env = "RESTANTE_HTTP_CONNECTIONS", value_name = "N", default_value = "10000",
        value_parser = RangedU64ValueParser::<usize>::new().range(1..)
    )]
    pub http_connections: usize,
    /// Maximum number of HTTP connections from one address, except trusted proxies.
    ///
    /// An IPv6 network of /64 counts as one address. Near the limit, from three quarters of it on,
    /// its connections that are idle for a second are closed; at the limit, a new one is closed.
    #[arg(
        long, env = "RESTANTE_HTTP_CONNECTIONS_PER_ADDRESS", value_name = "N", default_value = "5000",
        value_parser = RangedU64ValueParser::<usize>::new().range(1..)
    )]
    pub http_connections_per_address: usize,
    /// Free disk space below which no message is accepted
    #[arg(
        long = "min-free-disk", env = "RESTANTE_MIN_FREE_DISK", value_name = "SIZE", default_value = "256MiB",
        value_parser = size::<u64>(0)
    )]
    pub free_disk: u64,
    // The slots of a key are numbered with seven bits.
    /// Maximum number of concurrent waits of one key on all nodes, up to 128; one more gets 429
    #[arg(
        long, env = "RESTANTE_WAITS_PER_KEY", value_name = "N", default_value = "4",
        value_parser = value_parser!(u8).range(1..=128)
    )]
    pub waits_per_key: u8,
    /// Maximum number of concurrent sends of one key on all nodes, up to 128; one more gets 429
    #[arg(
        long, env = "RESTANTE_SENDS_PER_KEY", value_name = "N", default_value = "8",
        value_parser = value_parser!(u8).range(1..=128)
    )]
    pub sends_per_key: u8,
    /// Maximum size of the JSON body of a send request
    #[arg(
        long = "max-send-body", env = "RESTANTE_MAX_SEND_BODY", value_name = "SIZE", default_value = "10MiB",
        value_parser = size::<usize>(1)
    )]
    pub send_body: usize,
    /// Maximum size of the JSON body of every other request
    #[arg(
        long = "max-body", env = "RESTANTE_MAX_BODY", value_name = "SIZE", default_value = "64KiB",
        value_parser = size::<usize>(1)
    )]
    pub body: usize,
    // RFC 5321, section 4.5.3.1.4.
    /// Maximum length of an SMTP command line with its line end, at least 512
    #[arg(
        long = "max-command-line", env = "RESTANTE_MAX_COMMAND_LINE", value_name = "SIZE", default_value = "2KiB",
        value_parser = size::<usize>(512)
    )]
    pub command_line: usize,
    // RFC 5321, section 4.5.3.1.6.
    /// Maximum length of a line of a message with its line end, at least 1000
    #[arg(
        long = "max-data-line", env = "RESTANTE_MAX_DATA_LINE", value_name = "SIZE", default_value = "1MiB",
        value_parser = size::<usize>(1_000)
    )]
    pub data_line: usize,
    /// How long an SMTP client may take for a command, or be silent in a message
    #[arg(long, env = "RESTANTE_IDLE_TIMEOUT", value_name = "DURATION", default_value = "5m", value_parser = duration)]
    pub idle_timeout: Duration,
    /// How long one message may take to arrive
    #[arg(
        long, env = "RESTANTE_MESSAGE_TIMEOUT", value_name = "DURATION", default_value = "10m", value_parser = duration
    )]
    pub message_timeout: Duration,
}

impl Limits {
    pub(super) fn check(&self) -> Result<(), SettingsError> {
        if self.message_memory < self.message_size {
            return Err(SettingsError::new(
                "--max-message-memory",
                "it is smaller than --max-message-size",
                "Set it to at least --max-message-size",
            ));
        }
        Ok(())
    }
}

impl Default for Limits {
    fn default() -> Self {
        super::defaults()
    }
}
