//! What the handlers share.

use crate::config::Limits;
use crate::service::Service;

/// What the handlers share.
#[derive(Clone)]
pub struct App {
    /// The use cases.
    pub service: Service,
    /// How large a body may be.
    pub limits: Limits,
    /// How callers reach the service, without a slash at the end.
    pub base_url: String,
    /// Where callers reach SMTP, on the same host.
    pub smtp_port: u16,
    /// Proxies that may say from which address a request came.
    pub trusted_proxies: Vec<ipnet::IpNet>,
}
