//! The state that the handlers share.

use axum::http::uri::Authority;
use axum::http::{HeaderMap, Uri};

use std::path::PathBuf;

use super::base_url::BaseUrl;
use super::host::{asked, for_programs};
use crate::config::{HostAndPort, Limits, MailpitApi, SmtpAuth};
use crate::service::Service;

/// The state that the handlers share.
#[derive(Clone)]
pub struct App {
    pub service: Service,
    /// The limits on bodies.
    pub limits: Limits,
    /// The URL at which clients reach the service.
    pub base_url: BaseUrl,
    /// The SMTP port, on the same host.
    pub smtp_port: u16,
    /// The SMTP server for clients, if it is not on the same host.
    pub smtp_public_address: Option<HostAndPort>,
    /// Whether STARTTLS is offered.
    pub smtp_starttls: bool,
    /// The port of SMTP with implicit TLS, if it is enabled.
    pub smtps_port: Option<u16>,
    /// Whether the certificate of SMTP is self-signed.
    pub self_signed: bool,
    /// Whether `/mcp` is served.
    pub mcp: bool,
    /// Whether the APIs for sending are served.
    pub send_apis: bool,
    /// Who can use the API of Mailpit.
    pub mailpit_api: MailpitApi,
    /// Which credentials SMTP accepts, and so do the APIs for sending.
    pub smtp_auth: SmtpAuth,
    /// The directory of the data, whose disk must have room for a message.
    pub data_dir: PathBuf,
    /// Proxies whose information about the client's address is trusted.
    pub trusted_proxies: Vec<ipnet::IpNet>,
}

impl App {
    /// The SMTP server as the client of a request with these headers reaches it: the public address
    /// if one is set, otherwise the host that the client asked, otherwise that of the base URL.
    pub(super) fn smtp(&self, headers: &HeaderMap) -> HostAndPort {
        if let Some(address) = &self.smtp_public_address {
            return address.clone();
        }
        let asked = asked(headers);
        let base: Option<Uri> = self.base_url.as_str().parse().ok();
        let host = asked
            .as_ref()
            .map(Authority::host)
            .or_else(|| base.as_ref().and_then(Uri::host));
        let host = host
            .filter(|host| !host.is_empty())
            .unwrap_or(self.service.mail_domain().as_str());
        HostAndPort {
            host: for_programs(host),
            port: self.smtp_port,
        }
    }

    /// A published document with this installation's limits.
    pub(super) fn filled_in(&self, document: &str) -> String {
        let Limits {
            waits_per_key,
            sends_per_key,
            ..
        } = &self.limits;
        let document = document.replace("{waits_per_key}", &waits_per_key.to_string());
        document.replace("{sends_per_key}", &sends_per_key.to_string())
    }
}
