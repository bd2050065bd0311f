//! One attempt to send one message: signs it, finds the servers, and tries their addresses one
//! after another.

use std::net::IpAddr;

use super::client::{AttemptError, SmtpClient, TlsPolicy};
use super::dkim::Signer;
use super::error::SenderError;
use super::failure::Failure;
use super::mail::{Mail, Message};
use super::peer::Peer;
use super::reply::Reply;
use super::route::{ADDRESSES, Router};
use super::tls;
use crate::config::{Outbound, Relay, RelayHost, Sending};
use crate::model::{Domain, domain_of};
use crate::service::Service;

/// Sends messages according to the settings.
pub(super) struct Transport {
    mode: Mode,
    signer: Option<Signer>,
}

enum Mode {
    Off,
    Direct(Box<Router>, SmtpClient),
    Relay(Relay, SmtpClient),
}

impl Transport {
    /// Reads keys, certificates and the system's resolver configuration; blocks on the disk.
    ///
    /// # Errors
    /// [`SenderError`] for the first of them that cannot be used.
    pub(super) fn new(settings: &Sending, service: &Service) -> Result<Self, SenderError> {
        let mail_domain = service.mail_domain();
        let clock = service.clock().clone();
        let hello = settings
            .smtp_hello
            .as_ref()
            .unwrap_or(mail_domain)
            .to_string();
        let mode = match (settings.mode(service.accepted()), &settings.relay) {
            (Outbound::Off, _) => Mode::Off,
            (Outbound::Direct, None) => {
                let router = Router::new(settings.clone())
                    .map_err(|error| SenderError::Resolver(error.to_string()))?;
                let tls = TlsPolicy::Opportunistic {
                    config: tls::unverified()?,
                };
                Mode::Direct(
                    Box::new(router),
                    SmtpClient {
                        hello,
                        tls,
                        credentials: None,
                        clock,
                    },
                )
            }
            (Outbound::Direct, Some(relay)) => {
                let config = tls::verified(settings.relay_ca.as_ref())?;
                let tls = TlsPolicy::Verified {
                    config,
                    implicit: relay.implicit_tls,
                };
                Mode::Relay(
                    relay.clone(),
                    SmtpClient {
                        hello,
                        tls,
                        credentials: relay.credentials.clone(),
                        clock,
                    },
                )
            }
        };
        let signer = settings
            .dkim()
            .map(|dkim| Signer::load(&dkim, mail_domain.clone()))
            .transpose()?;
        Ok(Self { mode, signer })
    }

    /// Sends a message to a mail server of its recipient's domain, or to the relay.
    ///
    /// # Errors
    /// [`Failure`] of the last address that was tried.
    pub(super) async fn send(
        &self,
        sender: String,
        recipient: &str,
        message: Message,
    ) -> Result<Taken, Failure> {
        let (client, peers) = match &self.mode {
            Mode::Off => {
                return Err(Failure::permanent(
                    7,
                    1,
                    "sending to other domains is switched off on this installation",
                ));
            }
            Mode::Direct(router, client) => {
                let host = domain_of(recipient);
                let peers = match (address_literal(host), Domain::parse(host)) {
                    (Some(address), _) => router.at_literal(address)?,
                    (None, Ok(domain)) => router.peers(&domain).await?,
                    (None, Err(_)) => {
                        return Err(Failure::permanent(
                            1,
                            3,
                            "the recipient is not a mail address",
                        ));
                    }
                };
                (client, peers)
            }
            Mode::Relay(relay, client) => (client, relay_addresses(relay).await?),
        };
        let mail = Mail::new(
            sender,
            vec![recipient.to_owned()],
            message,
            self.signer.as_ref(),
        )
        .await;
        try_each(
            client,
            &peers,
            &mail.map_err(|error| Failure::unreadable(&error))?,
        )
        .await
    }
}

/// A server has accepted a message.
#[derive(Clone, Debug)]
pub(super) struct Taken {
    pub(super) server: String,
    pub(super) reply: Reply,
}

/// The address in `[192.0.2.1]` or `[IPv6:2001:db8::1]` (RFC 5321, section 4.1.3).
fn address_literal(host: &str) -> Option<IpAddr> {
    let text = host.strip_prefix('[')?.strip_suffix(']')?;
    match text.split_at_checked(5) {
        Some((tag, address)) if tag.eq_ignore_ascii_case("IPv6:") => {
            address.parse().ok().map(IpAddr::V6)
        }
        _ => text.parse().ok().map(IpAddr::V4),
    }
}

/// The administrator chose the relay, so the system's resolver is used and all addresses are
/// allowed.
async fn relay_addresses(relay: &Relay) -> Result<Vec<Peer>, Failure> {
    let name = relay.host.to_string();
    let unknown =
        |cause: String| Failure::transient(4, 3, format!("cannot find the relay {name}: {cause}"));
    let addresses = match &relay.host {
        RelayHost::Address(address) => vec![(*address, relay.port).into()],
        RelayHost::Name(host) => {
            let found = tokio::net::lookup_host((host.as_str(), relay.port)).await;
            found
                .map_err(|error| unknown(error.to_string()))?
                .take(ADDRESSES)
                .collect()
        }
    };
    Ok(addresses
        .into_iter()
        .map(|address| Peer {
            name: name.clone(),
            address,
        })
        .collect())
}

/// Tries the next address as long as the error is that of the server, not of the message.
pub(super) async fn try_each(
    client: &SmtpClient,
    peers: &[Peer],
    mail: &Mail,
) -> Result<Taken, Failure> {
    let mut last = Failure::transient(4, 4, "there is no address to try");
    for peer in peers {
        match client.deliver(peer, mail).await {
            Ok(reply) => {
                return Ok(Taken {
                    server: peer.name.clone(),
                    reply,
                });
            }
            Err(AttemptError::Message(failure)) => return Err(failure),
            Err(AttemptError::Server(failure) | AttemptError::Handshake(failure)) => {
                tracing::debug!(server = %peer, error = failure.text, "trying the next address");
                last = failure;
            }
        }
    }
    Err(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_literal_has_brackets() {
        for (host, address) in [
            ("[192.0.2.1]", Some("192.0.2.1")),
            ("[IPv6:2001:db8::1]", Some("2001:db8::1")),
            ("[ipv6:::1]", Some("::1")),
            ("192.0.2.1", None),
            ("[2001:db8::1]", None),
            ("[IPv6:192.0.2.1]", None),
            ("[0177.0.0.1]", None),
            ("[2130706433]", None),
            ("[]", None),
            ("[é1.2.3]", None),
        ] {
            assert_eq!(
                address_literal(host),
                address.map(|address| address.parse().unwrap()),
                "{host}"
            );
        }
    }
}
