//! The state that the handlers share.

use axum::http::Uri;

use std::path::PathBuf;

use crate::config::{Limits, SmtpAuth};
use crate::service::Service;

/// The state that the handlers share.
#[derive(Clone)]
pub struct App {
    /// The use cases.
    pub service: Service,
    /// The limits on bodies.
    pub limits: Limits,
    /// The URL at which clients reach the service, without a slash at the end.
    pub base_url: String,
    /// The SMTP port, on the same host.
    pub smtp_port: u16,
    /// The port of SMTP with implicit TLS, if it is enabled.
    pub smtps_port: Option<u16>,
    /// Whether the certificate of SMTP is self-signed.
    pub self_signed: bool,
    /// Whether `/mcp` is served.
    pub mcp: bool,
    /// Whether the APIs for sending are served.
    pub send_apis: bool,
    /// Which credentials SMTP accepts, and so do the APIs for sending.
    pub smtp_auth: SmtpAuth,
    /// The directory of the data, whose disk must have room for a message.
    pub data_dir: PathBuf,
    /// Proxies whose information about the client's address is trusted.
    pub trusted_proxies: Vec<ipnet::IpNet>,
}

impl App {
    /// The SMTP host for clients: that of HTTP.
    pub(super) fn smtp_host(&self) -> String {
        let base: Option<Uri> = self.base_url.parse().ok();
        base.as_ref().and_then(Uri::host).unwrap_or(self.service.mail_domain().as_str()).to_owned()
    }

    /// A published document with this installation's limits.
    pub(super) fn filled_in(&self, document: &str) -> String {
        let Limits { waits_per_key, sends_per_key, .. } = &self.limits;
        let document = document.replace("{waits_per_key}", &waits_per_key.to_string());
        document.replace("{sends_per_key}", &sends_per_key.to_string())
    }

    /// The SMTP address for clients.
    pub(super) fn smtp_address(&self) -> String {
        format!("{}:{}", self.smtp_host(), self.smtp_port)
    }
}
