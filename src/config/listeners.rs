//! The listeners, which are flags of `restante serve`: each is defined here with its flag, default
//! and description.

use std::net::SocketAddr;

use clap::{ArgAction, Args, ValueEnum};

use super::SettingsError;
use super::values::{HostAndPort, boolean, host_and_port, listen_address, on_or_off};

/// The addresses on which the service listens, and what it offers there.
#[derive(Args, Clone, Debug)]
pub struct Listeners {
    /// Address for HTTP; port 0 selects a free port
    #[arg(
        long,
        env = "RESTANTE_HTTP_LISTEN",
        value_name = "ADDRESS:PORT", value_parser = listen_address,
        default_value = "127.0.0.1:8025"
    )]
    pub http_listen: SocketAddr,
    /// Address for SMTP; port 0 selects a free port
    #[arg(
        long,
        env = "RESTANTE_SMTP_LISTEN",
        value_name = "ADDRESS:PORT", value_parser = listen_address,
        default_value = "127.0.0.1:1025"
    )]
    pub smtp_listen: SocketAddr,
    /// Address for SMTP with implicit TLS (usually port 465) [default: off]
    #[arg(long, env = "RESTANTE_SMTPS_LISTEN", value_name = "ADDRESS:PORT", value_parser = listen_address)]
    pub smtps_listen: Option<SocketAddr>,
    /// The SMTP server as applications reach it, shown by `explain`, the guide and MCP [default:
    /// the host of the request, and the SMTP port]
    #[arg(long, env = "RESTANTE_SMTP_PUBLIC_ADDRESS", value_name = "HOST:PORT", value_parser = host_and_port)]
    pub smtp_public_address: Option<HostAndPort>,
    /// Whether STARTTLS is offered: on or off.
    ///
    /// Some mailers use STARTTLS whenever it is offered, and then reject the self-signed
    /// certificate; `off` is for applications under test on this machine or in a private network.
    #[arg(
        long, env = "RESTANTE_SMTP_STARTTLS", value_name = "ON/OFF", default_value = "on", action = ArgAction::Set,
        value_parser = on_or_off()
    )]
    pub smtp_starttls: bool,
    /// Accepted credentials over SMTP and over the APIs for sending
    #[arg(
        long,
        env = "RESTANTE_SMTP_AUTH",
        value_name = "WHICH",
        default_value = "any"
    )]
    pub smtp_auth: SmtpAuth,
    /// Offer AUTH without TLS to clients on other hosts, for example containers; passwords are then
    /// sent in clear text
    #[arg(long, env = "RESTANTE_SMTP_PLAINTEXT_AUTH", value_parser = boolean)]
    pub smtp_plaintext_auth: bool,
    /// Address for `/metrics` (Prometheus) and `/health`, for monitoring [default: off]
    #[arg(long, env = "RESTANTE_METRICS_LISTEN", value_name = "ADDRESS:PORT", value_parser = listen_address)]
    pub metrics_listen: Option<SocketAddr>,
    /// Whether coding agents can use `/mcp`, and `restante mcp` as a client of this server: on or
    /// off
    #[arg(
        long, env = "RESTANTE_MCP", value_name = "ON/OFF", default_value = "on", action = ArgAction::Set,
        value_parser = on_or_off()
    )]
    pub mcp: bool,
    /// Whether applications can send over the APIs of mail providers, under `/send`: on or off
    #[arg(
        long, env = "RESTANTE_SEND_APIS", value_name = "ON/OFF", default_value = "on", action = ArgAction::Set,
        value_parser = on_or_off()
    )]
    pub send_apis: bool,
    /// Who can use the API of Mailpit, under `/mailpit`
    #[arg(
        long,
        env = "RESTANTE_MAILPIT_API",
        value_name = "WHO",
        default_value = "key"
    )]
    pub mailpit_api: MailpitApi,
    /// Address for the API of Mailpit at the root, where Mailpit has it [default: off]
    #[arg(long, env = "RESTANTE_MAILPIT_LISTEN", value_name = "ADDRESS:PORT", value_parser = listen_address)]
    pub mailpit_listen: Option<SocketAddr>,
}

impl Listeners {
    /// Checks what settings require of each other.
    ///
    /// # Errors
    /// [`SettingsError`] if other hosts could read mail without a key.
    pub(super) fn check(&self) -> Result<(), SettingsError> {
        let reachable = [Some(self.http_listen), self.mailpit_listen]
            .into_iter()
            .flatten()
            .find(|address| !address.ip().is_loopback());
        if let Some(address) = reachable.filter(|_| self.mailpit_api == MailpitApi::Open) {
            let problem = format!("`open` needs no key, and other hosts can reach {address}");
            return Err(SettingsError::new(
                "--mailpit-api",
                problem,
                "Use `key`, or listen on 127.0.0.1",
            ));
        }
        Ok(())
    }
}

impl Default for Listeners {
    fn default() -> Self {
        super::defaults()
    }
}

/// Who can use the API of Mailpit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum MailpitApi {
    /// clients with an API key, as the password of HTTP Basic
    #[default]
    Key,
    /// every client on this machine, without a key: it reads the default project
    Open,
    /// nobody
    Off,
}

/// Which credentials SMTP accepts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum SmtpAuth {
    /// credentials are accepted and ignored, except that a password that begins with `rst_live_`
    /// must be a valid key
    #[default]
    Any,
    /// credentials other than API keys are rejected; mail without a login is still accepted
    Keys,
    /// as `keys`, and mail without a login is rejected, for a server that the internet can reach
    Required,
}
