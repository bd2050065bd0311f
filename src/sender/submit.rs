//! Sends a message to an SMTP server for a command, without the queue: one attempt, whose result is returned.

use tokio::net::lookup_host;

use super::client::{SmtpClient, TlsPolicy};
use super::mail::Mail;
use super::peer::Peer;
use super::{tls, transport};
use crate::clock::Clock;

/// The name in EHLO, because the host of the command may have no public name.
const HELLO: &str = "localhost";

/// Why the server did not accept the message.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
pub struct SubmitError {
    text: String,
    /// Whether another attempt would also fail.
    pub is_permanent: bool,
}

/// Sends `message` from `sender` to the SMTP server at `server` (HOST:PORT). The message is sent to all `recipients`,
/// or to none if the server rejects one. The connection is encrypted if the server offers it, with any certificate.
///
/// # Errors
/// [`SubmitError`].
pub async fn submit(
    server: &str,
    sender: String,
    recipients: Vec<String>,
    message: Vec<u8>,
) -> Result<(), SubmitError> {
    let transient = |text: String| SubmitError { text, is_permanent: false };
    let config = tls::unverified().map_err(|error| transient(error.to_string()))?;
    let tls = TlsPolicy::Opportunistic { config };
    let client = SmtpClient { hello: HELLO.to_owned(), tls, credentials: None, clock: Clock::system() };
    let name = server.rsplit_once(':').map_or(server, |(host, _)| host).trim_matches(['[', ']']).to_owned();
    let found = lookup_host(server).await.map_err(|error| transient(format!("cannot find {server}: {error}")))?;
    let peers: Vec<Peer> = found.map(|address| Peer { name: name.clone(), address }).collect();
    let sent = transport::try_each(&client, &peers, &Mail { sender, recipients, message }).await;
    sent.map(drop).map_err(|failure| SubmitError { is_permanent: failure.is_permanent(), text: failure.text })
}
