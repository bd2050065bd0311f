//! Listening for connections, and telling clients apart.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use tokio::net::{TcpListener, TcpSocket};

use crate::os;

/// Maximum number of connections that wait to be accepted. A test suite opens more than the usual
/// 128 at once. The system drops those that do not fit, and the client retries a second later. The
/// system may allow fewer (`net.core.somaxconn`).
const BACKLOG: u32 = 4_096;

/// Listens on `address`; port 0 selects a free port.
///
/// # Errors
/// If the address cannot be used.
pub fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() {
        TcpSocket::new_v4()?
    } else {
        TcpSocket::new_v6()?
    };
    // Allows the address to be used while connections of an earlier process are still being closed.
    socket.set_reuseaddr(os::REUSES_ADDRESSES)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// The address by which a client is counted. An IPv6 client usually has a whole /64 and could use
/// another address for each connection, so its network is counted.
#[must_use]
pub fn client_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        address => address,
    }
}

/// The address of a listener for clients on this machine: loopback instead of an unspecified
/// address.
#[must_use]
pub fn reachable(bound: SocketAddr) -> SocketAddr {
    let ip = match bound.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, bound.port())
}

#[cfg(test)]
mod tests {
    use std::net::TcpStream;
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn hundreds_of_connections_may_wait_to_be_accepted() {
        let listener = listen("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = listener.local_addr().unwrap();
        // A connection that does not fit is not rejected; it gets no response.
        let connect = |_| TcpStream::connect_timeout(&address, Duration::from_millis(900)).unwrap();
        let waiting: Vec<TcpStream> = (0..400).map(connect).collect();
        assert_eq!(waiting.len(), 400);
    }

    #[test]
    fn an_unspecified_address_is_reached_at_the_loopback() {
        for (bound, reached) in [
            ("0.0.0.0:8025", "127.0.0.1:8025"),
            ("[::]:8025", "[::1]:8025"),
            ("192.0.2.1:80", "192.0.2.1:80"),
        ] {
            assert_eq!(reachable(bound.parse().unwrap()).to_string(), reached);
        }
    }
}
