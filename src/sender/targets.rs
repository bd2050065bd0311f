//! The addresses to which mail may be sent: only public ones, unless the administrator allows
//! others.
//!
//! The sender of a message chooses the domain, and the domain's owner chooses its addresses.
//! Without this check, the worker could be made to connect to machines in its own network. The
//! checked address is the one to which the worker connects.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The IPv4 networks that are not public: the address and the length of the prefix (RFC 6890 and
/// its registry).
const REFUSED_V4: [(Ipv4Addr, u32); 16] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8), // this network, the unspecified address
    (Ipv4Addr::new(10, 0, 0, 0), 8), // private
    (Ipv4Addr::new(100, 64, 0, 0), 10), // shared by carriers (RFC 6598)
    (Ipv4Addr::new(127, 0, 0, 0), 8), // loopback
    (Ipv4Addr::new(169, 254, 0, 0), 16), // link-local, and the clouds' metadata
    (Ipv4Addr::new(172, 16, 0, 0), 12), // private
    (Ipv4Addr::new(192, 0, 0, 0), 24), // protocol assignments
    (Ipv4Addr::new(192, 0, 2, 0), 24), // documentation
    (Ipv4Addr::new(192, 88, 99, 0), 24), // 6to4 relays
    (Ipv4Addr::new(192, 168, 0, 0), 16), // private
    (Ipv4Addr::new(198, 18, 0, 0), 15), // benchmarks
    (Ipv4Addr::new(198, 51, 100, 0), 24), // documentation
    (Ipv4Addr::new(203, 0, 113, 0), 24), // documentation
    (Ipv4Addr::new(224, 0, 0, 0), 4), // multicast
    (Ipv4Addr::new(240, 0, 0, 0), 4), // reserved
    (Ipv4Addr::new(255, 255, 255, 255), 32), // broadcast
];

/// The global unicast addresses of IPv6 (RFC 4291, section 2.4). They do not contain loopback,
/// link-local, site-local, unique local and multicast addresses, nor the mapped, compatible and
/// NAT64 forms of IPv4.
const GLOBAL_UNICAST: (Ipv6Addr, u32) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

/// The networks within them that are not public, or that contain an IPv4 address.
const REFUSED_V6: [(Ipv6Addr, u32); 4] = [
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23), // protocol assignments, Teredo, ORCHID, benchmarks
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32), // documentation
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16), // 6to4
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20), // documentation
];

/// Whether this is a public unicast address that does not embed another address.
pub(super) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => !REFUSED_V4
            .iter()
            .any(|&(network, prefix)| lies_in_v4(address, network, prefix)),
        IpAddr::V6(address) => {
            lies_in_v6(address, GLOBAL_UNICAST.0, GLOBAL_UNICAST.1)
                && !REFUSED_V6
                    .iter()
                    .any(|&(network, prefix)| lies_in_v6(address, network, prefix))
                && !is_isatap(address)
        }
    }
}

fn lies_in_v4(address: Ipv4Addr, network: Ipv4Addr, prefix: u32) -> bool {
    (address.to_bits() ^ network.to_bits()).leading_zeros() >= prefix
}

fn lies_in_v6(address: Ipv6Addr, network: Ipv6Addr, prefix: u32) -> bool {
    (address.to_bits() ^ network.to_bits()).leading_zeros() >= prefix
}

/// An IPv4 address in the interface identifier, under any prefix (RFC 5214, section 6.1).
fn is_isatap(address: Ipv6Addr) -> bool {
    let [.., high, low, _, _] = address.segments();
    matches!(high, 0 | 0x0200) && low == 0x5efe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn public_addresses_may_be_dialled() {
        for address in [
            "1.1.1.1",
            "8.8.8.8",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.1",
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.1",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "2606:4700:4700::1111",
            "2a00:1450:4001:830::200e",
            "2001:200::1",
            "2003::1",
            "3ffe::1",
        ] {
            assert!(is_public(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn every_other_address_is_refused() {
        for address in include_str!("targets/refused.txt")
            .lines()
            .filter(|line| !line.starts_with('#'))
        {
            assert!(!is_public(address.parse().unwrap()), "{address}");
        }
    }
}
