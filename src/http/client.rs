//! The address of the client: that of the connection, or the one that a trusted proxy reports.

use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::request::Parts;
use ipnet::IpNet;

use crate::http::App;
use crate::http::server::Peer;

/// The address from which a request was sent.
pub(super) struct Client(pub(super) IpAddr);

impl FromRequestParts<Arc<App>> for Client {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Infallible> {
        Ok(Self(client(parts, &app.trusted_proxies)))
    }
}

/// The address from which a request was sent.
pub(super) fn client(parts: &Parts, trusted: &[IpNet]) -> IpAddr {
    let peer = parts
        .extensions
        .get()
        .map_or(Ipv4Addr::UNSPECIFIED.into(), |&Peer(peer)| peer);
    reported_client(peer, &parts.headers, trusted)
}

/// The rightmost address that is not a trusted proxy. Addresses to the left of it may be invented
/// by the client.
fn reported_client(peer: IpAddr, headers: &HeaderMap, trusted: &[IpNet]) -> IpAddr {
    let mut client = peer.to_canonical();
    for reported in reported(headers) {
        match reported {
            Some(address) if trusted.iter().any(|network| network.contains(&client)) => {
                client = address.to_canonical();
            }
            _ => break,
        }
    }
    client
}

/// The addresses that proxies report, the nearest first; `None` for one that cannot be parsed.
/// `X-Forwarded-For` is preferred, because most proxies set it and forward a client's own
/// `Forwarded` unchanged.
fn reported(headers: &HeaderMap) -> Vec<Option<IpAddr>> {
    let elements = |name| {
        let values = headers
            .get_all(name)
            .iter()
            .map(|value| value.to_str().unwrap_or_default());
        values
            .flat_map(|value| value.split(','))
            .collect::<Vec<_>>()
    };
    let mut found: Vec<_> = elements("x-forwarded-for")
        .into_iter()
        .map(address)
        .collect();
    if found.is_empty() {
        found = elements("forwarded")
            .into_iter()
            .map(forwarded_for)
            .collect();
    }
    found.reverse();
    found
}

/// The client of one element of `Forwarded` (RFC 7239, section 4).
fn forwarded_for(element: &str) -> Option<IpAddr> {
    let mut pairs = element
        .split(';')
        .filter_map(|pair| pair.trim().split_once('='));
    let (_, value) = pairs.find(|(name, _)| name.eq_ignore_ascii_case("for"))?;
    address(value)
}

/// An address, optionally in quotes and brackets and with a port.
fn address(text: &str) -> Option<IpAddr> {
    let text = text.trim().trim_matches('"');
    let with_port = || text.parse().ok().map(|address: SocketAddr| address.ip());
    let bare = text
        .strip_prefix('[')
        .and_then(|text| text.strip_suffix(']'))
        .unwrap_or(text);
    bare.parse().ok().or_else(with_port)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(peer: &str, headers: &[(&'static str, &'static str)]) -> String {
        let trusted = ["10.0.0.0/8", "2001:db8::/32"].map(|network| network.parse().unwrap());
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, value.parse().unwrap());
        }
        reported_client(peer.parse().unwrap(), &map, &trusted).to_string()
    }

    #[test]
    fn a_trusted_proxy_reports_its_client() {
        for header in [
            ("x-forwarded-for", "192.0.2.7"),
            ("x-forwarded-for", "198.51.100.1, 192.0.2.7"),
            ("x-forwarded-for", "198.51.100.1, 192.0.2.7:4711, 10.9.9.9"),
            ("forwarded", "for=192.0.2.7;proto=https"),
            (
                "forwarded",
                "for=198.51.100.1, proto=https;For=\"192.0.2.7:4711\", for=10.1.1.1",
            ),
        ] {
            assert_eq!(seen("10.0.0.1", &[header]), "192.0.2.7", "{header:?}");
        }
        assert_eq!(
            seen(
                "::ffff:10.0.0.1",
                &[("forwarded", "for=\"[2001:db9::1]:80\"")]
            ),
            "2001:db9::1"
        );
        assert_eq!(
            seen("2001:db8::1", &[("x-forwarded-for", "2001:db9::1")]),
            "2001:db9::1"
        );
        let lines = [
            ("x-forwarded-for", "198.51.100.1"),
            ("x-forwarded-for", "192.0.2.7"),
        ];
        assert_eq!(seen("10.0.0.1", &lines), "192.0.2.7");
    }

    #[test]
    fn nobody_else_can_choose_an_address() {
        assert_eq!(
            seen("192.0.2.1", &[("x-forwarded-for", "198.51.100.1")]),
            "192.0.2.1"
        );
        assert_eq!(
            seen("192.0.2.1", &[("forwarded", "for=198.51.100.1")]),
            "192.0.2.1"
        );
        let both = [
            ("forwarded", "for=198.51.100.1"),
            ("x-forwarded-for", "192.0.2.7"),
        ];
        assert_eq!(seen("10.0.0.1", &both), "192.0.2.7");
    }

    #[test]
    fn what_cannot_be_read_is_counted_at_the_proxy_that_reported_it() {
        for value in ["", "unknown", "_hidden", "192.0.2.7, unknown", "192.0.2"] {
            assert_eq!(
                seen("10.0.0.1", &[("x-forwarded-for", value)]),
                "10.0.0.1",
                "{value}"
            );
        }
        assert_eq!(seen("10.0.0.1", &[]), "10.0.0.1");
        assert_eq!(
            seen("10.0.0.1", &[("x-forwarded-for", "10.0.0.2, 10.0.0.3")]),
            "10.0.0.2"
        );
    }
}
