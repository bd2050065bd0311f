//! Sends a message to an SMTP server for a command, without the queue: the result of the attempt is
//! returned.

use tokio::net::lookup_host;

use super::client::{SmtpClient, TlsPolicy};
use super::failure::Failure;
use super::mail::{Mail, Message};
use super::peer::Peer;
use super::{tls, transport};
use crate::clock::Clock;

/// The name in EHLO, because the host of the command may have no public name.
const HELLO: &str = "localhost";
/// Recipients of one transaction: every server accepts so many (RFC 5321, section 4.5.3.1.8).
const RECIPIENTS: usize = 100;

/// Why the server did not accept the message.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
pub struct SubmitError {
    text: String,
    /// Whether another attempt would also fail.
    pub is_permanent: bool,
}

/// Sends `message` from `sender` to the SMTP server at `server` (HOST:PORT), with up to 100
/// recipients in each transaction. A transaction sends the message to all its recipients, or to
/// none if the server rejects one. The connection is encrypted if the server offers it, with any
/// certificate.
///
/// # Errors
/// [`SubmitError`] of the first transaction that fails; no more are tried.
pub async fn submit(
    server: &str,
    sender: String,
    recipients: Vec<String>,
    message: Vec<u8>,
) -> Result<(), SubmitError> {
    let transient = |text: String| SubmitError {
        text,
        is_permanent: false,
    };
    let config = tls::unverified().map_err(|error| transient(error.to_string()))?;
    let tls = TlsPolicy::Opportunistic { config };
    let client = SmtpClient {
        hello: HELLO.to_owned(),
        tls,
        credentials: None,
        clock: Clock::system(),
    };
    let name = server
        .rsplit_once(':')
        .map_or(server, |(host, _)| host)
        .trim_matches(['[', ']'])
        .to_owned();
    let found = lookup_host(server)
        .await
        .map_err(|error| transient(format!("cannot find {server}: {error}")))?;
    let peers: Vec<Peer> = found
        .map(|address| Peer {
            name: name.clone(),
            address,
        })
        .collect();
    let message = Message::in_memory(message);
    for (number, some) in recipients.chunks(RECIPIENTS).enumerate() {
        let mail = Mail::new(sender.clone(), some.to_vec(), message.clone(), None).await;
        let mail = mail.map_err(|error| transient(error.to_string()))?;
        if let Err(failure) = transport::try_each(&client, &peers, &mail).await {
            return Err(SubmitError::new(
                &failure,
                recipients.split_at(number * RECIPIENTS),
            ));
        }
    }
    Ok(())
}

impl SubmitError {
    /// `accepted` recipients get the message, and `missing` ones do not.
    fn new(failure: &Failure, (accepted, missing): (&[String], &[String])) -> Self {
        let is_permanent = failure.is_permanent();
        let text = &failure.text;
        let (taken, all) = (accepted.len(), accepted.len() + missing.len());
        let missing = missing.join(", ");
        let text = match taken {
            0 => format!("{text}. Not accepted for: {missing}"),
            taken => format!(
                "{text}. The message was accepted for {taken} of {all} recipients, but not for: {missing}"
            ),
        };
        Self { text, is_permanent }
    }
}
