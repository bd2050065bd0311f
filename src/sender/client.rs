//! The SMTP client: carries one message to one server over a connection of its own (RFC 5321).
//!
//! Trouble before the message is offered is the server's, and another server may do better; trouble from MAIL on is the
//! message's, and ends the attempt. Once the final dot was sent and no reply came, nobody knows whether the server has the
//! message, so no other server is tried either: at the next attempt a copy with the same Message-ID goes out.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use tokio_rustls::rustls::ClientConfig;

use super::connection::{Connection, ConnectionError};
use super::extensions::Extensions;
use super::failure::Failure;
use super::reply::Reply;
use super::route::Peer;
use super::tls;
use crate::clock::Clock;

// How long the server may take to answer (RFC 5321, section 4.5.3.2).
const GREETING: Duration = Duration::from_secs(5 * 60);
const COMMAND: Duration = Duration::from_secs(5 * 60);
const DATA: Duration = Duration::from_secs(2 * 60);
const FINAL_DOT: Duration = Duration::from_secs(10 * 60);

/// A message and its envelope.
#[derive(Clone, Debug)]
pub(super) struct Mail {
    /// The reverse-path, bare.
    pub(super) sender: String,
    /// The forward-path, bare.
    pub(super) recipient: String,
    /// The message, its lines ended by CR LF.
    pub(super) message: Vec<u8>,
}

impl Mail {
    /// Whether an address needs the extension for it (RFC 6531).
    fn needs_utf8(&self) -> bool {
        !self.sender.is_ascii() || !self.recipient.is_ascii()
    }

    fn needs_eight_bits(&self) -> bool {
        !self.message.is_ascii()
    }
}

/// How a server is spoken to.
pub(super) enum Manners {
    /// As any server on the net: encrypted if it can, in plain text otherwise.
    Opportunistic {
        /// What is demanded of a certificate.
        tls: Arc<ClientConfig>,
    },
    /// As the one relay, which proves who it is before it hears a password.
    Relay {
        /// What is demanded of its certificate.
        tls: Arc<ClientConfig>,
        /// Whether TLS begins at once.
        implicit: bool,
        /// The user name and the password.
        credentials: Option<(String, String)>,
    },
}

/// Carries messages.
pub(super) struct Client {
    pub(super) hello: String,
    pub(super) manners: Manners,
    pub(super) clock: Clock,
}

/// Why a message was not carried to a server.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The server's trouble: another one may do better.
    Server(Failure),
    /// TLS could not be agreed on.
    Handshake(Failure),
    /// The message's trouble: the attempt ends.
    Message(Failure),
}

impl Client {
    /// Carries `mail` to `peer` and returns the reply by which the server took it.
    pub(super) async fn deliver(&self, peer: &Peer, mail: &Mail) -> Result<Reply, Trouble> {
        match self.carry(peer, mail, true).await {
            // Better in plain text than not at all, on a connection of its own.
            Err(Trouble::Handshake(_)) if matches!(self.manners, Manners::Opportunistic { .. }) => {
                self.carry(peer, mail, false).await
            }
            done => done,
        }
    }

    async fn carry(&self, peer: &Peer, mail: &Mail, encrypt: bool) -> Result<Reply, Trouble> {
        let mut session = Session { peer: peer.clone(), connection: self.open(peer).await? };
        session.greet().await?;
        let mut extensions = session.hello(&self.hello).await?;
        if encrypt && extensions.starttls && session.offers_tls().await? {
            session = session.encrypt(Arc::clone(self.tls())).await?;
            // What was said in the clear counts no more (RFC 3207, section 4.2).
            extensions = session.hello(&self.hello).await?;
            extensions.encrypted = true;
        }
        self.authenticate(&mut session, &extensions).await?;
        let taken = session.transfer(mail, &extensions).await;
        // The message's fate is settled; the server need not answer.
        let _ = session.connection.write(b"QUIT\r\n").await;
        taken
    }

    async fn open(&self, peer: &Peer) -> Result<Connection, Trouble> {
        let broken = |error| Trouble::broken(peer, &error);
        let connection = Connection::open(peer.address, self.clock.clone()).await.map_err(broken)?;
        if let Manners::Relay { tls, implicit: true, .. } = &self.manners {
            let name = tls::server_name(&peer.name, peer.address.ip());
            return connection.encrypt(Arc::clone(tls), name).await.map_err(broken);
        }
        Ok(connection)
    }

    fn tls(&self) -> &Arc<ClientConfig> {
        match &self.manners {
            Manners::Opportunistic { tls } | Manners::Relay { tls, .. } => tls,
        }
    }

    /// A password goes only where nobody else can read it.
    async fn authenticate(&self, session: &mut Session, extensions: &Extensions) -> Result<(), Trouble> {
        let Manners::Relay { credentials: Some((user, password)), implicit, .. } = &self.manners else {
            return Ok(());
        };
        if !(*implicit || extensions.encrypted || session.peer.address.ip().is_loopback()) {
            let failure = Failure::transient(7, 11, "the relay offers no encryption, so it gets no password");
            return Err(Trouble::Server(failure.at(&session.peer)));
        }
        session.authenticate(user, password, extensions).await
    }
}

/// A connection on which a server is spoken to.
struct Session {
    peer: Peer,
    connection: Connection,
}

impl Session {
    /// 220 from a server that is at work; any other greeting means to try another one.
    async fn greet(&mut self) -> Result<(), Trouble> {
        let greeting = self.connection.reply(GREETING).await.map_err(|error| self.broken(&error))?;
        self.expect(greeting.is_positive(), "the connection", &greeting).map_err(Trouble::server)
    }

    /// EHLO, or HELO for a server that knows only that.
    async fn hello(&mut self, name: &str) -> Result<Extensions, Trouble> {
        let reply = self.ask(&format!("EHLO {name}"), COMMAND).await?;
        if reply.is_positive() {
            return Ok(Extensions::read(&reply));
        }
        let reply = self.ask(&format!("HELO {name}"), COMMAND).await?;
        self.expect(reply.is_positive(), "HELO", &reply).map_err(Trouble::server)?;
        Ok(Extensions::default())
    }

    /// Whether the server is ready for TLS after all.
    async fn offers_tls(&mut self) -> Result<bool, Trouble> {
        Ok(self.ask("STARTTLS", COMMAND).await?.is_positive())
    }

    async fn encrypt(self, tls: Arc<ClientConfig>) -> Result<Self, Trouble> {
        let Self { peer, connection } = self;
        let encrypted = connection.encrypt(tls, tls::server_name(&peer.name, peer.address.ip())).await;
        let connection = encrypted.map_err(|error| Trouble::broken(&peer, &error))?;
        Ok(Self { peer, connection })
    }

    /// AUTH PLAIN (RFC 4616), or LOGIN where the server has only that.
    async fn authenticate(&mut self, user: &str, password: &str, extensions: &Extensions) -> Result<(), Trouble> {
        let encode = |text: &str| BASE64_STANDARD.encode(text);
        let reply = if extensions.auth_plain || !extensions.auth_login {
            self.ask(&format!("AUTH PLAIN {}", encode(&format!("\0{user}\0{password}"))), COMMAND).await?
        } else {
            let mut reply = self.ask("AUTH LOGIN", COMMAND).await?;
            for answer in [user, password] {
                self.expect(reply.is_intermediate(), "AUTH", &reply).map_err(Trouble::server)?;
                reply = self.ask(&encode(answer), COMMAND).await?;
            }
            reply
        };
        self.expect(reply.is_positive(), "AUTH", &reply).map_err(Trouble::server)
    }

    /// The mail transaction.
    async fn transfer(&mut self, mail: &Mail, extensions: &Extensions) -> Result<Reply, Trouble> {
        self.check(mail, extensions)?;
        for (name, line) in [
            ("MAIL", format!("MAIL FROM:<{}>{}", mail.sender, extensions.mail_parameters(mail))),
            ("RCPT", format!("RCPT TO:<{}>", mail.recipient)),
        ] {
            let reply = self.ask(&line, COMMAND).await?;
            self.expect(reply.is_positive(), name, &reply).map_err(Trouble::Message)?;
        }
        let reply = self.ask("DATA", DATA).await?;
        self.expect(reply.is_intermediate(), "DATA", &reply).map_err(Trouble::Message)?;
        let sent = self.connection.write(&with_transparency(&mail.message)).await;
        sent.map_err(|error| self.unsure(&error))?;
        let reply = self.connection.reply(FINAL_DOT).await.map_err(|error| self.unsure(&error))?;
        self.expect(reply.is_positive(), "the message", &reply).map_err(Trouble::Message)?;
        Ok(reply)
    }

    /// Some messages need what not every server can do.
    fn check(&self, mail: &Mail, extensions: &Extensions) -> Result<(), Trouble> {
        let refuse = |subject, detail, text: &str| {
            Err(Trouble::Message(Failure::permanent(subject, detail, text).at(&self.peer)))
        };
        if mail.needs_utf8() && !extensions.smtputf8 {
            return refuse(6, 7, "the server takes no addresses outside ASCII");
        }
        if mail.needs_eight_bits() && !extensions.eight_bit_mime {
            return refuse(6, 3, "the server takes no message with 8-bit text");
        }
        if extensions.size.is_some_and(|most| most != 0 && mail.message.len() as u64 > most) {
            return refuse(3, 4, "the message is larger than the server takes");
        }
        Ok(())
    }

    async fn ask(&mut self, line: &str, limit: Duration) -> Result<Reply, Trouble> {
        self.connection.command(line, limit).await.map_err(|error| self.broken(&error))
    }

    fn expect(&self, as_expected: bool, command: &str, reply: &Reply) -> Result<(), Failure> {
        if as_expected { Ok(()) } else { Err(Failure::refused(&self.peer, command, reply)) }
    }

    fn broken(&self, error: &ConnectionError) -> Trouble {
        Trouble::broken(&self.peer, error)
    }

    /// The server may have the message or not.
    fn unsure(&self, error: &ConnectionError) -> Trouble {
        Trouble::Message(connection_failure(&self.peer, error))
    }
}

impl Trouble {
    /// A server that refuses before it hears of the message says nothing about the message.
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

/// The message as it goes over the wire: lines that begin with a dot get another one, and a line with one dot is the end
/// (RFC 5321, section 4.5.2). Every line end becomes CR LF, as a bare CR or LF would be another line end for some.
fn with_transparency(message: &[u8]) -> Vec<u8> {
    let mut wire = Vec::with_capacity(message.len() + message.len() / 50 + 5);
    let mut rest = message;
    while !rest.is_empty() {
        let end = rest.iter().position(|octet| matches!(octet, b'\r' | b'\n')).unwrap_or(rest.len());
        let (line, behind) = rest.split_at(end);
        if line.starts_with(b".") {
            wire.push(b'.');
        }
        wire.extend_from_slice(line);
        wire.extend_from_slice(b"\r\n");
        rest = behind.strip_prefix(b"\r\n").or(behind.get(1..)).unwrap_or_default();
    }
    wire.extend_from_slice(b".\r\n");
    wire
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
            assert_eq!(with_transparency(message), wire, "{}", message.escape_ascii());
        }
    }
}
