//! The SMTP client: transfers one message to one server over a new connection (RFC 5321).
//!
//! After an error before MAIL, the next server is tried. An error from MAIL on concerns the message
//! and ends the attempt. If the final dot was sent but no reply arrived, the server may have the
//! message: no other server is tried, and the next attempt sends a copy with the same Message-ID.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use tokio_rustls::rustls::ClientConfig;

use super::connection::{ClientConnection, ConnectionError};
use super::extensions::Extensions;
use super::failure::Failure;
use super::mail::Mail;
use super::peer::Peer;
use super::reply::Reply;
use super::tls;
use crate::clock::Clock;

// How long the server may take to reply (RFC 5321, section 4.5.3.2).
const GREETING: Duration = Duration::from_secs(5 * 60);
const COMMAND: Duration = Duration::from_secs(5 * 60);
const DATA: Duration = Duration::from_secs(2 * 60);
const FINAL_DOT: Duration = Duration::from_secs(10 * 60);

/// When a connection is encrypted, and what the server's certificate must prove.
pub(super) enum TlsPolicy {
    /// Encrypted if the server offers STARTTLS, with any certificate; otherwise plain text.
    Opportunistic { config: Arc<ClientConfig> },
    /// If the connection is encrypted, the certificate must be valid.
    Verified {
        config: Arc<ClientConfig>,
        /// Whether the connection uses implicit TLS instead of STARTTLS.
        implicit: bool,
    },
}

/// Transfers messages to servers.
pub(super) struct SmtpClient {
    /// The name in EHLO.
    pub(super) hello: String,
    pub(super) tls: TlsPolicy,
    /// The user name and the password, if the server requires them.
    pub(super) credentials: Option<(String, String)>,
    pub(super) clock: Clock,
}

/// Why one server did not accept a message.
#[derive(Debug)]
pub(super) enum AttemptError {
    /// The server is the problem: another one may accept the message.
    Server(Failure),
    /// The TLS handshake failed.
    Handshake(Failure),
    /// The message is the problem, or it is unknown whether the message was accepted: no other
    /// server is tried.
    Message(Failure),
}

impl SmtpClient {
    /// Transfers `mail` to `peer` and returns the reply that accepted it.
    pub(super) async fn deliver(&self, peer: &Peer, mail: &Mail) -> Result<Reply, AttemptError> {
        match self.transfer(peer, mail, true).await {
            // Plain text is better than no delivery. It needs a new connection.
            Err(AttemptError::Handshake(_))
                if matches!(self.tls, TlsPolicy::Opportunistic { .. }) =>
            {
                self.transfer(peer, mail, false).await
            }
            done => done,
        }
    }

    async fn transfer(
        &self,
        peer: &Peer,
        mail: &Mail,
        encrypt: bool,
    ) -> Result<Reply, AttemptError> {
        let mut session = ClientSession {
            peer: peer.clone(),
            connection: self.open(peer).await?,
        };
        session.greet().await?;
        let mut extensions = session.hello(&self.hello).await?;
        if encrypt && extensions.starttls && session.offers_tls().await? {
            session = session.encrypt(Arc::clone(self.tls_config())).await?;
            // The extensions that were offered in plain text no longer apply (RFC 3207, section
            // 4.2).
            extensions = session.hello(&self.hello).await?;
            extensions.encrypted = true;
        }
        self.authenticate(&mut session, &extensions).await?;
        let taken = session.transfer(mail, &extensions).await;
        // The result is known, so the reply to QUIT is irrelevant.
        let _ = session.connection.write(b"QUIT\r\n").await;
        taken
    }

    async fn open(&self, peer: &Peer) -> Result<ClientConnection, AttemptError> {
        let broken = |error| AttemptError::broken(peer, &error);
        let connection = ClientConnection::open(peer.address, self.clock.clone())
            .await
            .map_err(broken)?;
        if let TlsPolicy::Verified {
            config,
            implicit: true,
        } = &self.tls
        {
            let name = tls::server_name(&peer.name, peer.address.ip());
            return connection
                .encrypt(Arc::clone(config), name)
                .await
                .map_err(broken);
        }
        Ok(connection)
    }

    fn tls_config(&self) -> &Arc<ClientConfig> {
        match &self.tls {
            TlsPolicy::Opportunistic { config } | TlsPolicy::Verified { config, .. } => config,
        }
    }

    /// Sends the password only over TLS or loopback.
    async fn authenticate(
        &self,
        session: &mut ClientSession,
        extensions: &Extensions,
    ) -> Result<(), AttemptError> {
        let Some((user, password)) = &self.credentials else {
            return Ok(());
        };
        let implicit = matches!(self.tls, TlsPolicy::Verified { implicit: true, .. });
        if !(implicit || extensions.encrypted || session.peer.address.ip().is_loopback()) {
            let failure = Failure::transient(
                7,
                11,
                "the relay does not offer encryption, so the password is not sent",
            );
            return Err(AttemptError::Server(failure.at(&session.peer)));
        }
        session.authenticate(user, password, extensions).await
    }
}

/// A connection to a server, from its greeting to QUIT.
struct ClientSession {
    peer: Peer,
    connection: ClientConnection,
}

impl ClientSession {
    /// Reads the greeting. Any reply except 220 means that another server should be tried.
    async fn greet(&mut self) -> Result<(), AttemptError> {
        let greeting = self
            .connection
            .reply(GREETING)
            .await
            .map_err(|error| self.broken(&error))?;
        self.expect(greeting.is_positive(), "the connection", &greeting)
            .map_err(AttemptError::server)
    }

    /// EHLO, or HELO if the server does not support EHLO.
    async fn hello(&mut self, name: &str) -> Result<Extensions, AttemptError> {
        let reply = self.command(&format!("EHLO {name}"), COMMAND).await?;
        if reply.is_positive() {
            return Ok(Extensions::read(&reply));
        }
        let reply = self.command(&format!("HELO {name}"), COMMAND).await?;
        self.expect(reply.is_positive(), "HELO", &reply)
            .map_err(AttemptError::server)?;
        Ok(Extensions::default())
    }

    /// Whether the server accepts STARTTLS.
    async fn offers_tls(&mut self) -> Result<bool, AttemptError> {
        Ok(self.command("STARTTLS", COMMAND).await?.is_positive())
    }

    async fn encrypt(self, tls: Arc<ClientConfig>) -> Result<Self, AttemptError> {
        let Self { peer, connection } = self;
        let encrypted = connection
            .encrypt(tls, tls::server_name(&peer.name, peer.address.ip()))
            .await;
        let connection = encrypted.map_err(|error| AttemptError::broken(&peer, &error))?;
        Ok(Self { peer, connection })
    }

    /// AUTH PLAIN (RFC 4616), or LOGIN if the server supports only that.
    async fn authenticate(
        &mut self,
        user: &str,
        password: &str,
        extensions: &Extensions,
    ) -> Result<(), AttemptError> {
        let encode = |text: &str| BASE64_STANDARD.encode(text);
        let reply = if extensions.auth_plain || !extensions.auth_login {
            self.command(
                &format!("AUTH PLAIN {}", encode(&format!("\0{user}\0{password}"))),
                COMMAND,
            )
            .await?
        } else {
            let mut reply = self.command("AUTH LOGIN", COMMAND).await?;
            for answer in [user, password] {
                self.expect(reply.is_intermediate(), "AUTH", &reply)
                    .map_err(AttemptError::server)?;
                reply = self.command(&encode(answer), COMMAND).await?;
            }
            reply
        };
        self.expect(reply.is_positive(), "AUTH", &reply)
            .map_err(AttemptError::server)
    }

    /// MAIL, RCPT, DATA and the message.
    async fn transfer(
        &mut self,
        mail: &Mail,
        extensions: &Extensions,
    ) -> Result<Reply, AttemptError> {
        self.check(mail, extensions)?;
        let sender = format!(
            "MAIL FROM:<{}>{}",
            mail.sender,
            extensions.mail_parameters(mail)
        );
        let recipients = mail
            .recipients
            .iter()
            .map(|recipient| ("RCPT", format!("RCPT TO:<{recipient}>")));
        for (name, line) in std::iter::once(("MAIL", sender)).chain(recipients) {
            let reply = self.command(&line, COMMAND).await?;
            self.expect(reply.is_positive(), name, &reply)
                .map_err(AttemptError::Message)?;
        }
        let reply = self.command("DATA", DATA).await?;
        self.expect(reply.is_intermediate(), "DATA", &reply)
            .map_err(AttemptError::Message)?;
        self.send_message(mail).await?;
        let reply = self
            .connection
            .reply(FINAL_DOT)
            .await
            .map_err(|error| self.unsure(&error))?;
        self.expect(reply.is_positive(), "the message", &reply)
            .map_err(AttemptError::Message)?;
        Ok(reply)
    }

    /// Sends the message piece by piece. If it cannot be read to its end, the connection is closed
    /// without the final dot, so that the server does not accept a part of it.
    async fn send_message(&mut self, mail: &Mail) -> Result<(), AttemptError> {
        let mut text = DotStuffing::default();
        self.send_text(&text.stuffed(mail.signature.as_bytes()))
            .await?;
        let mut position = 0;
        loop {
            let piece = mail.message.piece(position).await;
            let piece =
                piece.map_err(|error| AttemptError::Message(Failure::unreadable(&error)))?;
            let Some(piece) = piece else { break };
            self.send_text(&text.stuffed(&piece)).await?;
            position += 1;
        }
        self.send_text(text.end()).await
    }

    async fn send_text(&mut self, text: &[u8]) -> Result<(), AttemptError> {
        self.connection
            .write(text)
            .await
            .map_err(|error| self.unsure(&error))
    }

    /// Checks that the server supports the extensions that the message needs.
    fn check(&self, mail: &Mail, extensions: &Extensions) -> Result<(), AttemptError> {
        let refuse = |subject, detail, text: &str| {
            Err(AttemptError::Message(
                Failure::permanent(subject, detail, text).at(&self.peer),
            ))
        };
        if mail.needs_utf8() && !extensions.smtputf8 {
            return refuse(6, 7, "the server does not accept non-ASCII addresses");
        }
        if mail.needs_eight_bits() && !extensions.eight_bit_mime {
            return refuse(6, 3, "the server does not accept 8-bit text");
        }
        if extensions
            .size
            .is_some_and(|most| most != 0 && mail.size() as u64 > most)
        {
            return refuse(3, 4, "the message is larger than the server accepts");
        }
        Ok(())
    }

    async fn command(&mut self, line: &str, limit: Duration) -> Result<Reply, AttemptError> {
        self.connection
            .command(line, limit)
            .await
            .map_err(|error| self.broken(&error))
    }

    fn expect(&self, as_expected: bool, command: &str, reply: &Reply) -> Result<(), Failure> {
        if as_expected {
            Ok(())
        } else {
            Err(Failure::refused(&self.peer, command, reply))
        }
    }

    fn broken(&self, error: &ConnectionError) -> AttemptError {
        AttemptError::broken(&self.peer, error)
    }

    /// The connection was lost after the message was sent: the server may or may not have it.
    fn unsure(&self, error: &ConnectionError) -> AttemptError {
        AttemptError::Message(connection_failure(&self.peer, error))
    }
}

impl AttemptError {
    /// A rejection before MAIL does not depend on the message, so it is always transient.
    fn server(failure: Failure) -> Self {
        Self::Server(failure.made_transient())
    }

    fn broken(peer: &Peer, error: &ConnectionError) -> Self {
        let failure = connection_failure(peer, error);
        match error {
            ConnectionError::Handshake(_) => Self::Handshake(failure),
            _ => Self::Server(failure),
        }
    }
}

fn connection_failure(peer: &Peer, error: &ConnectionError) -> Failure {
    let (subject, detail) = match error {
        ConnectionError::Connect(_) => (4, 1),
        ConnectionError::Malformed(_) => (5, 0),
        ConnectionError::Handshake(_) | ConnectionError::Injected => (7, 5),
        ConnectionError::Io(_) | ConnectionError::Closed | ConnectionError::TimedOut => (4, 2),
    };
    Failure::transient(subject, detail, error.to_string()).at(peer)
}

/// Writes a message, which arrives in pieces, as it is sent after DATA: a dot is added to lines
/// that start with one, and a line with one dot ends it (RFC 5321, section 4.5.2). Every line end
/// becomes CR LF, because some servers treat a bare CR or LF as one.
#[derive(Default)]
struct DotStuffing {
    /// Whether the last piece ended within a line.
    in_line: bool,
    /// Whether the last piece ended with CR.
    cr: bool,
}

impl DotStuffing {
    fn stuffed(&mut self, piece: &[u8]) -> Vec<u8> {
        let mut wire = Vec::with_capacity(piece.len() + piece.len() / 50 + 5);
        for &byte in piece {
            // The CR was already written as CR LF.
            if std::mem::take(&mut self.cr) && byte == b'\n' {
                continue;
            }
            if matches!(byte, b'\r' | b'\n') {
                wire.extend_from_slice(b"\r\n");
                (self.in_line, self.cr) = (false, byte == b'\r');
                continue;
            }
            if byte == b'.' && !self.in_line {
                wire.push(b'.');
            }
            wire.push(byte);
            self.in_line = true;
        }
        wire
    }

    /// What follows the last piece.
    fn end(&self) -> &'static [u8] {
        if self.in_line { b"\r\n.\r\n" } else { b".\r\n" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_line_is_a_lone_dot() {
        for (message, wire) in [
            (&b""[..], &b".\r\n"[..]),
            (b"a", b"a\r\n.\r\n"),
            (b"a\r\n", b"a\r\n.\r\n"),
            (b".\r\n", b"..\r\n.\r\n"),
            (b"a\r\n.\r\n..b\r\n", b"a\r\n..\r\n...b\r\n.\r\n"),
            (b"a\n.\nb\r.\rc", b"a\r\n..\r\nb\r\n..\r\nc\r\n.\r\n"),
            (b"a\r\n\r\nb\r\n\r\n", b"a\r\n\r\nb\r\n\r\n.\r\n"),
            (b"a\r\r\n.\n\r.", b"a\r\n\r\n..\r\n\r\n..\r\n.\r\n"),
        ] {
            for piece in 1..=message.len().max(1) {
                let mut stuffing = DotStuffing::default();
                let mut text = message
                    .chunks(piece)
                    .flat_map(|piece| stuffing.stuffed(piece))
                    .collect::<Vec<u8>>();
                text.extend_from_slice(stuffing.end());
                assert_eq!(
                    text,
                    wire,
                    "{} in pieces of {piece}",
                    message.escape_ascii()
                );
            }
        }
    }
}
