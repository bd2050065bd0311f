//! A port that is reserved until a program that cannot choose one itself listens there.

use std::net::Ipv6Addr;

use tokio::net::TcpSocket;

/// A port of every local address, kept as long as this value.
///
/// It is bound without listening: a connection to it is refused, no other socket gets it by chance, and who names it
/// and reuses addresses (`SO_REUSEADDR`, as servers do) may listen there.
pub struct ReservedPort(TcpSocket);

impl ReservedPort {
    pub fn new() -> Self {
        let socket = TcpSocket::new_v6().unwrap();
        socket.set_reuseaddr(true).unwrap();
        // Unless it is IPv6 only, a socket on the unspecified IPv6 address also takes the IPv4 port.
        socket.bind((Ipv6Addr::UNSPECIFIED, 0).into()).unwrap();
        Self(socket)
    }

    pub fn number(&self) -> u16 {
        self.0.local_addr().unwrap().port()
    }
}
