//! The state that the handlers share.

use crate::config::Limits;
use crate::service::Service;

/// The state that the handlers share.
#[derive(Clone)]
pub struct App {
    /// The use cases.
    pub service: Service,
    /// The limits on bodies.
    pub limits: Limits,
    /// The URL at which callers reach the service, without a slash at the end.
    pub base_url: String,
    /// The SMTP port, on the same host.
    pub smtp_port: u16,
    /// Proxies that are trusted to name the client's address.
    pub trusted_proxies: Vec<ipnet::IpNet>,
}
