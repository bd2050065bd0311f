//! The listeners, which are flags of `restante serve`: each is defined here with its flag, default and description.

use std::net::SocketAddr;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{ArgAction, Args, ValueEnum};

use super::values::boolean;

/// The addresses on which the service listens, and what it offers there.
#[derive(Args, Clone, Debug)]
pub struct Listeners {
    /// Address for HTTP; port 0 selects a free port
    #[arg(long, env = "RESTANTE_HTTP_LISTEN", value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8025")]
    pub http_listen: SocketAddr,
    /// Address for SMTP; port 0 selects a free port
    #[arg(long, env = "RESTANTE_SMTP_LISTEN", value_name = "ADDRESS:PORT", default_value = "127.0.0.1:1025")]
    pub smtp_listen: SocketAddr,
    /// Address for SMTP with implicit TLS (usually port 465) [default: off]
    #[arg(long, env = "RESTANTE_SMTPS_LISTEN", value_name = "ADDRESS:PORT")]
    pub smtps_listen: Option<SocketAddr>,
    /// Accepted SMTP credentials
    #[arg(long, env = "RESTANTE_SMTP_AUTH", value_name = "WHICH", default_value = "any")]
    pub smtp_auth: SmtpAuth,
    /// Offer AUTH without TLS to clients on other hosts, for example containers; passwords are then sent in clear text
    #[arg(long, env = "RESTANTE_SMTP_PLAINTEXT_AUTH", value_parser = boolean)]
    pub smtp_plaintext_auth: bool,
    /// Address for `/metrics` (Prometheus) and `/health`, for monitoring [default: off]
    #[arg(long, env = "RESTANTE_METRICS_LISTEN", value_name = "ADDRESS:PORT")]
    pub metrics_listen: Option<SocketAddr>,
    /// Whether coding agents can use `/mcp`, and `restante mcp` as a client of this server: on or off
    #[arg(
        long, env = "RESTANTE_MCP", value_name = "ON/OFF", default_value = "on", action = ArgAction::Set,
        value_parser = PossibleValuesParser::new(["on", "off"]).map(|value| value == "on")
    )]
    pub mcp: bool,
    /// Whether applications can send over the APIs of mail providers, under `/send`: on or off
    #[arg(
        long, env = "RESTANTE_SEND_APIS", value_name = "ON/OFF", default_value = "on", action = ArgAction::Set,
        value_parser = PossibleValuesParser::new(["on", "off"]).map(|value| value == "on")
    )]
    pub send_apis: bool,
}

impl Default for Listeners {
    fn default() -> Self {
        super::defaults()
    }
}

/// Which credentials SMTP accepts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum SmtpAuth {
    /// credentials are accepted and ignored, except that a password that begins with `rst_live_` must be a valid key
    #[default]
    Any,
    /// credentials other than API keys are rejected; mail without a login is still accepted
    Keys,
}
