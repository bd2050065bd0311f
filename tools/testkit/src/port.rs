//! Reserves a port for a program that cannot choose a free port itself.

use std::net::Ipv6Addr;

use tokio::net::TcpSocket;

/// A port that is reserved at every local address while this value exists.
///
/// The socket is bound but does not listen, so connections to it are refused. The system does not
/// assign the port to another socket. A program that uses the port and reuses addresses
/// (`SO_REUSEADDR`, as servers do) can listen on it.
pub struct ReservedPort(TcpSocket);

impl ReservedPort {
    pub fn new() -> Self {
        let socket = TcpSocket::new_v6().unwrap();
        socket.set_reuseaddr(true).unwrap();
        // Unless it is IPv6 only, a socket on the unspecified IPv6 address also takes the IPv4
        // port.
        socket.bind((Ipv6Addr::UNSPECIFIED, 0).into()).unwrap();
        Self(socket)
    }

    pub fn number(&self) -> u16 {
        self.0.local_addr().unwrap().port()
    }
}
