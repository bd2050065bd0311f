//! How a message arrived: its envelope and the connection.

use std::net::IpAddr;
use std::sync::Arc;

pub use restante_api::Via;

/// The connection or the request that delivered a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reception {
    pub client: IpAddr,
    /// The client's name in EHLO or HELO; `None` over HTTP.
    pub helo: Option<Arc<str>>,
    /// The TLS version; `None` if the connection was not encrypted.
    pub tls: Option<&'static str>,
    /// Whether the client authenticated.
    pub authenticated: bool,
    /// The way by which the message arrived.
    pub via: Via,
}

/// The envelope of a stored message. If this service composed the message, only the sender is set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// The sender; empty for the null reverse-path.
    pub from: String,
    pub client: Option<String>,
    /// The client's name in EHLO or HELO.
    pub helo: Option<String>,
    pub tls: Option<String>,
    /// Whether the client authenticated.
    pub authenticated: Option<bool>,
    /// The way by which the message arrived; `None` for a report of this service.
    pub via: Option<Via>,
}
