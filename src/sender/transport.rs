//! One attempt to carry one message out of the house: sign it, find the way, try the addresses in turn.

use std::sync::Arc;

use super::client::{Client, Mail, Manners, Trouble};
use super::dkim::Signer;
use super::failure::Failure;
use super::reply::Reply;
use super::route::{ADDRESSES, Peer, Router};
use super::{SenderError, tls};
use crate::clock::Clock;
use crate::config::{Direct, Outbound, Relay, RelayHost, Sending};
use crate::model::{Domain, EmailAddress};

/// The way out, ready to be used.
pub(super) struct Transport {
    way: Way,
    signer: Option<Arc<Signer>>,
}

enum Way {
    Off,
    Direct(Box<Router>, Client),
    Relay(Relay, Client),
}

impl Transport {
    /// Reads keys, certificates and the system's resolver configuration; blocks on the disk.
    ///
    /// # Errors
    /// [`SenderError`] for the first that cannot be used.
    pub(super) fn new(settings: &Sending, mail_domain: &Domain, clock: Clock) -> Result<Self, SenderError> {
        let client = |manners| Client { hello: settings.hello.to_string(), manners, clock };
        let way = match &settings.outbound {
            Outbound::Off => Way::Off,
            Outbound::Direct(direct) => Way::direct(direct, client)?,
            Outbound::Relay(relay) => Way::relay(relay, client)?,
        };
        let signer = settings.dkim.as_ref().map(|dkim| Signer::load(dkim, mail_domain.clone())).transpose()?;
        Ok(Self { way, signer: signer.map(Arc::new) })
    }

    /// Carries a message to whoever takes mail for its recipient.
    ///
    /// # Errors
    /// [`Failure`] of the address that came furthest.
    pub(super) async fn carry(&self, mail: Mail) -> Result<Reply, Failure> {
        match &self.way {
            Way::Off => Err(Failure::permanent(7, 1, "sending to other domains is switched off on this installation")),
            Way::Direct(router, client) => {
                let recipient = EmailAddress::parse(&mail.recipient)
                    .map_err(|_| Failure::permanent(1, 3, "the recipient is no mail address"))?;
                let peers = router.peers(recipient.domain()).await?;
                try_in_turn(client, &peers, &self.sign(mail).await?).await
            }
            Way::Relay(relay, client) => {
                let peers = relay_addresses(relay).await?;
                try_in_turn(client, &peers, &self.sign(mail).await?).await
            }
        }
    }

    /// Signing takes time with the size of the message, so it has a thread of its own.
    async fn sign(&self, mail: Mail) -> Result<Mail, Failure> {
        let Some(signer) = self.signer.clone() else { return Ok(mail) };
        let signing = tokio::task::spawn_blocking(move || Mail { message: signer.sign(mail.message), ..mail });
        signing.await.map_err(|_| Failure::transient(3, 0, "signing the message failed"))
    }
}

impl Way {
    fn direct(direct: &Direct, client: impl FnOnce(Manners) -> Client) -> Result<Self, SenderError> {
        let router = Router::new(direct.clone()).map_err(|error| SenderError::Resolver(error.to_string()))?;
        Ok(Self::Direct(Box::new(router), client(Manners::Opportunistic { tls: tls::unverified()? })))
    }

    fn relay(relay: &Relay, client: impl FnOnce(Manners) -> Client) -> Result<Self, SenderError> {
        let manners = Manners::Relay {
            tls: tls::verified(relay.authorities.as_ref())?,
            implicit: relay.implicit_tls,
            credentials: relay.credentials.clone(),
        };
        Ok(Self::Relay(relay.clone(), client(manners)))
    }
}

/// A relay is the administrator's choice: the system's resolver knows it, and no address is refused.
async fn relay_addresses(relay: &Relay) -> Result<Vec<Peer>, Failure> {
    let name = relay.host.to_string();
    let unknown = |cause: String| Failure::transient(4, 3, format!("the relay {name} is not found: {cause}"));
    let addresses = match &relay.host {
        RelayHost::Address(address) => vec![(*address, relay.port).into()],
        RelayHost::Name(host) => {
            let found = tokio::net::lookup_host((host.as_str(), relay.port)).await;
            found.map_err(|error| unknown(error.to_string()))?.take(ADDRESSES).collect()
        }
    };
    Ok(addresses.into_iter().map(|address| Peer { name: name.clone(), address }).collect())
}

/// Goes on to the next address while the trouble is the server's.
async fn try_in_turn(client: &Client, peers: &[Peer], mail: &Mail) -> Result<Reply, Failure> {
    let mut last = Failure::transient(4, 4, "there is no address to try");
    for peer in peers {
        match client.deliver(peer, mail).await {
            Ok(reply) => return Ok(reply),
            Err(Trouble::Message(failure)) => return Err(failure),
            Err(Trouble::Server(failure) | Trouble::Handshake(failure)) => {
                tracing::debug!(server = %peer, trouble = failure.text, "trying the next address");
                last = failure;
            }
        }
    }
    Err(last)
}
