//! A server to which mail is sent, at one of its addresses.

use std::fmt;
use std::net::SocketAddr;

/// A server and one of its addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Peer {
    /// Its name without a trailing dot, or its address if it has no name.
    pub(super) name: String,
    /// The address to connect to.
    pub(super) address: SocketAddr,
}

impl fmt::Display for Peer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ip = self.address.ip();
        let port = self.address.port();
        if self.name == ip.to_string() {
            return write!(formatter, "[{ip}]:{port}");
        }
        write!(formatter, "{} [{ip}]:{port}", self.name)
    }
}
