//! How a message arrived: its envelope and the connection.

use std::net::IpAddr;
use std::sync::Arc;

/// The connection that delivered a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reception {
    /// The client's address.
    pub client: IpAddr,
    /// The client's name in EHLO or HELO.
    pub helo: Arc<str>,
    /// The version of TLS; `None` if the connection was not encrypted.
    pub tls: Option<&'static str>,
    /// Whether the client authenticated.
    pub authenticated: bool,
}

/// The envelope of a stored message. All but the sender is missing if this service composed the message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// The sender; empty for the null reverse-path.
    pub from: String,
    /// The client's address.
    pub client: Option<String>,
    /// The client's name in EHLO or HELO.
    pub helo: Option<String>,
    /// The version of TLS.
    pub tls: Option<String>,
    /// Whether the client authenticated.
    pub authenticated: Option<bool>,
}
