//! Finds the mail servers of a domain and their addresses (RFC 5321, section 5.1).

use std::net::{IpAddr, SocketAddr};

use hickory_resolver::TokioResolver;
use hickory_resolver::net::{DnsError, NetError};
use hickory_resolver::proto::op::ResponseCode;
use hickory_resolver::proto::rr::rdata::MX;
use hickory_resolver::proto::rr::{Name, RData, RecordType};
use rand::seq::SliceRandom;

use super::failure::Failure;
use super::peer::Peer;
use super::targets::is_public;
use crate::config::Sending;
use crate::dns;
use crate::model::Domain;

/// Maximum number of addresses that one attempt tries.
pub(super) const ADDRESSES: usize = 5;
/// Maximum number of servers whose addresses are looked up.
const SERVERS: usize = 10;

/// Looks up servers in the DNS.
pub(super) struct Router {
    resolver: TokioResolver,
    settings: Sending,
}

/// Why a DNS query returned no record.
enum LookupError {
    /// There is no such name.
    NoSuchName,
    /// The name has no record of this type.
    NoRecord,
    /// The DNS servers did not answer.
    Failed(String),
}

impl Router {
    /// Reads the system's configuration, unless the settings contain a server.
    ///
    /// # Errors
    /// If that configuration cannot be read.
    pub(super) fn new(settings: Sending) -> Result<Self, NetError> {
        Ok(Self {
            resolver: dns::resolver(settings.dns_server, None)?,
            settings,
        })
    }

    /// The addresses to try for `domain`, the best first; at least one and at most [`ADDRESSES`].
    ///
    /// # Errors
    /// [`Failure`]: permanent if the domain accepts no mail or all its addresses are rejected; transient if the DNS
    /// does not answer.
    pub(super) async fn peers(&self, domain: &Domain) -> Result<Vec<Peer>, Failure> {
        let mut peers = Vec::new();
        let mut unanswered = None;
        let mut refused = None;
        for server in self.servers(domain).await? {
            let addresses = match self.addresses(&server).await {
                Ok(addresses) => addresses,
                Err(LookupError::Failed(cause)) => {
                    unanswered.get_or_insert(cause);
                    continue;
                }
                Err(LookupError::NoSuchName | LookupError::NoRecord) => continue,
            };
            for address in addresses {
                if !self.settings.allow_private_targets && !is_public(address) {
                    refused.get_or_insert((server.clone(), address));
                } else if peers.len() < ADDRESSES {
                    let name = server.to_ascii().trim_end_matches('.').to_owned();
                    peers.push(Peer {
                        name,
                        address: SocketAddr::new(address, self.settings.port),
                    });
                }
            }
            if peers.len() == ADDRESSES {
                break;
            }
        }
        if !peers.is_empty() {
            return Ok(peers);
        }
        Err(match (unanswered, refused) {
            (Some(cause), _) => dns_failure(&cause),
            (None, Some((server, address))) => Failure::permanent(
                7,
                1,
                format!("{server} has the address {address}, which is not public"),
            ),
            (None, None) => {
                Failure::permanent(4, 4, format!("no mail server of {domain} has an address"))
            }
        })
    }

    /// The server at an address literal (RFC 5321, section 4.1.3).
    ///
    /// # Errors
    /// [`Failure`] if the address is rejected.
    pub(super) fn at_literal(&self, address: IpAddr) -> Result<Vec<Peer>, Failure> {
        if !self.settings.allow_private_targets && !is_public(address) {
            return Err(Failure::permanent(
                7,
                1,
                format!("the address {address} is not public"),
            ));
        }
        let address = SocketAddr::new(address, self.settings.port);
        Ok(vec![Peer {
            name: address.ip().to_string(),
            address,
        }])
    }

    /// The servers in order of preference; equal ones in random order.
    async fn servers(&self, domain: &Domain) -> Result<Vec<Name>, Failure> {
        let name = Name::from_ascii(format!("{domain}."))
            .map_err(|_| Failure::permanent(1, 2, format!("{domain} is not a valid DNS name")))?;
        let mut exchangers = match self.records(name.clone(), RecordType::MX, exchanger).await {
            Ok(exchangers) => exchangers,
            // Without an MX record, the domain itself is the server.
            Err(LookupError::NoRecord) => return Ok(vec![name]),
            Err(LookupError::NoSuchName) => {
                return Err(Failure::permanent(
                    1,
                    2,
                    format!("there is no domain {domain}"),
                ));
            }
            Err(LookupError::Failed(cause)) => return Err(dns_failure(&cause)),
        };
        // The null MX (RFC 7505).
        exchangers.retain(|exchanger| !exchanger.exchange.is_root());
        if exchangers.is_empty() {
            return Err(Failure::permanent(
                1,
                10,
                format!("{domain} does not accept mail"),
            ));
        }
        exchangers.shuffle(&mut rand::rng());
        exchangers.sort_by_key(|exchanger| exchanger.preference);
        Ok(exchangers
            .into_iter()
            .take(SERVERS)
            .map(|exchanger| exchanger.exchange)
            .collect())
    }

    /// The addresses of a server, IPv6 and IPv4 alternately, so that an attempt does not fail in a
    /// network that has only one of them.
    async fn addresses(&self, server: &Name) -> Result<Vec<IpAddr>, LookupError> {
        let (v6, v4) = tokio::join!(
            self.records(server.clone(), RecordType::AAAA, |data| match data {
                RData::AAAA(address) => Some(IpAddr::V6(address.0)),
                _ => None,
            }),
            self.records(server.clone(), RecordType::A, |data| match data {
                RData::A(address) => Some(IpAddr::V4(address.0)),
                _ => None,
            }),
        );
        match (v6, v4) {
            (Ok(v6), Ok(v4)) => Ok(interleave(&v6, &v4)),
            (Ok(addresses), Err(_)) | (Err(_), Ok(addresses)) => Ok(addresses),
            (Err(LookupError::Failed(cause)), _) | (_, Err(LookupError::Failed(cause))) => {
                Err(LookupError::Failed(cause))
            }
            (Err(none), Err(_)) => Err(none),
        }
    }

    async fn records<T>(
        &self,
        name: Name,
        kind: RecordType,
        read: impl Fn(&RData) -> Option<T>,
    ) -> Result<Vec<T>, LookupError> {
        let lookup = self
            .resolver
            .lookup(name, kind)
            .await
            .map_err(|error| lookup_error(&error))?;
        // The response also contains the records of a CNAME chain.
        let found: Vec<T> = lookup
            .answers()
            .iter()
            .filter_map(|record| read(&record.data))
            .collect();
        if found.is_empty() {
            Err(LookupError::NoRecord)
        } else {
            Ok(found)
        }
    }
}

fn lookup_error(error: &NetError) -> LookupError {
    match error {
        NetError::Dns(DnsError::NoRecordsFound(none)) => match none.response_code {
            ResponseCode::NXDomain => LookupError::NoSuchName,
            ResponseCode::NoError => LookupError::NoRecord,
            code => LookupError::Failed(code.to_string()),
        },
        error => LookupError::Failed(error.to_string()),
    }
}

fn exchanger(data: &RData) -> Option<MX> {
    match data {
        RData::MX(exchanger) => Some(exchanger.clone()),
        _ => None,
    }
}

fn dns_failure(cause: &str) -> Failure {
    Failure::transient(4, 3, format!("the DNS lookup failed: {cause}"))
}

fn interleave(first: &[IpAddr], second: &[IpAddr]) -> Vec<IpAddr> {
    let longer = first.len().max(second.len());
    (0..longer)
        .flat_map(|index| [first.get(index), second.get(index)])
        .flatten()
        .copied()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_used_in_rotation() {
        let parse = |texts: &[&str]| {
            texts
                .iter()
                .map(|text| text.parse().unwrap())
                .collect::<Vec<IpAddr>>()
        };
        let both = interleave(&parse(&["::1", "::2", "::3"]), &parse(&["1.1.1.1"]));
        assert_eq!(both, parse(&["::1", "1.1.1.1", "::2", "::3"]));
    }
}
