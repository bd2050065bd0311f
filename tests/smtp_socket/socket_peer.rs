//! A server with a real socket, against which dialogs are played.

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use restante::model::{EmailAddress, InboxId, RefusalReason, SessionFailure};
use restante::service::EntryFilter;
use tokio::runtime::Handle;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::version::TLS13;
use tokio_rustls::rustls::{ClientConnection, StreamOwned};

use crate::client::client_config;
use crate::server::Server;
use restante_dialogs::{Delivery, Dialog, MAIL_DOMAIN, Peer, ServerEvent};

/// Longer than any step takes.
const MAX_WAIT: Duration = Duration::from_secs(60);
/// How long to wait for a timeout before the clock is advanced again: the server may not have been
/// waiting yet.
const BETWEEN_HOURS: Duration = Duration::from_millis(50);

/// Blocks, so it is used on a separate thread.
pub(crate) struct SocketPeer<'a> {
    server: &'a Server,
    runtime: Handle,
    connection: Connection,
    /// The expected deliveries. Unexpected ones change the number of messages.
    expected: &'a [Delivery],
    /// A line that was read before the dialog needed it.
    early_line: Option<String>,
    was_reset: bool,
}

enum Connection {
    Plain(BufReader<TcpStream>),
    Encrypted(Box<BufReader<StreamOwned<ClientConnection, TcpStream>>>),
    /// Between the two.
    None,
}

impl<'a> SocketPeer<'a> {
    /// Connects, and starts TLS at once if `encrypted`.
    pub(crate) fn connect(
        server: &'a Server,
        runtime: Handle,
        dialog: &'a Dialog,
        encrypted: bool,
    ) -> Self {
        let stream = TcpStream::connect(server.address).unwrap();
        stream.set_read_timeout(Some(MAX_WAIT)).unwrap();
        let connection = Connection::Plain(BufReader::new(stream));
        let expected = &dialog.deliveries;
        let mut peer = Self {
            server,
            runtime,
            connection,
            expected,
            early_line: None,
            was_reset: false,
        };
        if encrypted {
            peer.begin_tls();
        }
        peer
    }

    fn begin_tls(&mut self) {
        let greeting = self.reply_line();
        self.send(b"HELO client.example\r\nSTARTTLS\r\n");
        let replies = [self.reply_line(), self.reply_line()];
        assert!(
            matches!(&replies[1], Some(line) if line.starts_with("220 ")),
            "{replies:?}"
        );
        self.handshake();
        self.early_line = greeting;
    }

    fn read_line(&mut self) -> io::Result<Vec<u8>> {
        let mut line = Vec::new();
        match &mut self.connection {
            Connection::Plain(stream) => stream.read_until(b'\n', &mut line)?,
            Connection::Encrypted(stream) => stream.read_until(b'\n', &mut line)?,
            Connection::None => 0,
        };
        Ok(line)
    }

    /// Advances the clock until the server reports a timeout.
    fn wait_for_timeout(&mut self) -> io::Result<Vec<u8>> {
        self.server.clock.advance(Duration::from_secs(3_600));
        self.wait_for(Duration::from_secs(3_600))
    }

    /// Reads a line. While none arrives, the clock is advanced by `step`.
    fn wait_for(&mut self, step: Duration) -> io::Result<Vec<u8>> {
        self.set_read_timeout(BETWEEN_HOURS);
        let line = loop {
            match self.read_line() {
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
                    ) =>
                {
                    self.server.clock.advance(step);
                }
                line => break line,
            }
        };
        self.set_read_timeout(MAX_WAIT);
        line
    }

    fn set_read_timeout(&mut self, timeout: Duration) {
        let socket = match &self.connection {
            Connection::Plain(stream) => stream.get_ref(),
            Connection::Encrypted(stream) => &stream.get_ref().sock,
            Connection::None => return,
        };
        socket.set_read_timeout(Some(timeout)).unwrap();
    }

    /// The next unchecked message in each recipient's inbox.
    async fn next_message(
        &self,
        delivery: &Delivery,
        seen: &mut HashMap<InboxId, usize>,
    ) -> Option<Vec<u8>> {
        let mut inboxes = HashMap::new();
        for recipient in &delivery.envelope[1..] {
            let address = recipient.trim_start_matches('<').trim_end_matches('>');
            inboxes.insert(InboxId::of(&EmailAddress::parse(address).ok()?), address);
        }
        let mut next = None;
        for (inbox, address) in inboxes {
            let place = seen.entry(inbox).or_default();
            next = Some(self.server.messages(address).await.get(*place)?.clone());
            *place += 1;
        }
        next
    }
}

impl Peer for SocketPeer<'_> {
    fn send(&mut self, bytes: &[u8]) {
        // Whether the server still reads input can be seen in its replies.
        let _ = match &mut self.connection {
            Connection::Plain(stream) => stream.get_mut().write_all(bytes),
            Connection::Encrypted(stream) => stream.get_mut().write_all(bytes),
            Connection::None => Ok(()),
        };
    }

    fn reply_line(&mut self) -> Option<String> {
        if let Some(line) = self.early_line.take() {
            return Some(line);
        }
        let line = self.wait_for(Duration::from_secs(1));
        self.was_reset |=
            matches!(&line, Err(error) if error.kind() == io::ErrorKind::ConnectionReset);
        shown(line)
    }

    fn is_reset(&mut self) -> bool {
        self.was_reset
    }

    fn is_closed(&mut self) -> bool {
        match &mut self.connection {
            Connection::Plain(stream) => ended(stream),
            Connection::Encrypted(stream) => ended(stream),
            Connection::None => true,
        }
    }

    fn waits(&mut self, seconds: u16) -> Result<(), String> {
        let clock = &self.server.clock;
        let delay = Duration::from_secs(seconds.into());
        // Only the delayed reply may sleep so long. Background tasks sleep 2, 5 or 10 s, an idle
        // connection 300 s.
        assert!(![2, 5, 10, 300].contains(&seconds), "choose another delay");
        let held_back = clock.until_sleeping(clock.instant().after(delay));
        self.runtime
            .block_on(async { tokio::time::timeout(MAX_WAIT, held_back).await })
            .map_err(|_| "no delay")?;
        // Not before the time is over.
        self.set_read_timeout(Duration::from_millis(1));
        let early = self.read_line();
        if !matches!(&early, Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut))
        {
            return Err(format!("got {early:?}, expected a delay of {seconds} s"));
        }
        self.set_read_timeout(MAX_WAIT);
        self.server.clock.advance(delay);
        Ok(())
    }

    fn handshake(&mut self) {
        let Connection::Plain(stream) = std::mem::replace(&mut self.connection, Connection::None)
        else {
            return;
        };
        let config = Arc::new(client_config(&[&TLS13]));
        let session =
            ClientConnection::new(config, ServerName::try_from("localhost").unwrap()).unwrap();
        let stream = StreamOwned::new(session, stream.into_inner());
        self.connection = Connection::Encrypted(Box::new(BufReader::new(stream)));
    }

    fn server(&mut self, event: ServerEvent) {
        match event {
            ServerEvent::ShutsDown => self.server.begin_stop(),
            ServerEvent::TimesOut => self.early_line = shown(self.wait_for_timeout()),
            // The server was started without room for this connection.
            ServerEvent::RefusesConnection => {}
        }
    }

    fn leave(&mut self, expected: Option<SessionFailure>) -> Result<(), String> {
        self.connection = Connection::None;
        let Some(failure) = expected.filter(|failure| *failure != SessionFailure::Rejected) else {
            return Ok(());
        };
        let filter = EntryFilter {
            word: RefusalReason::Session(failure).label().to_owned(),
            ..EntryFilter::default()
        };
        let recorded = async {
            while self
                .server
                .service
                .refusals(&filter)
                .await
                .unwrap()
                .is_empty()
            {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let recorded = self
            .runtime
            .block_on(async { tokio::time::timeout(MAX_WAIT, recorded).await });
        recorded.map_err(|_| format!("{failure:?} was not recorded"))
    }

    fn deliveries(&self) -> Vec<Delivery> {
        let mut seen = HashMap::new();
        let mut deliveries = Vec::new();
        self.runtime.block_on(async {
            for expected in self.expected {
                let Some(message) = self.next_message(expected, &mut seen).await else {
                    break;
                };
                deliveries.push(Delivery {
                    envelope: expected.envelope.clone(),
                    message,
                });
            }
            let messages = self.server.message_count().await;
            for _ in seen.values().sum::<usize>()..messages {
                deliveries.push(Delivery {
                    envelope: vec!["unexpected".to_owned()],
                    message: Vec::new(),
                });
            }
        });
        deliveries
    }
}

/// A line as the dialogs have it: the receiver's name is the mail domain, in dialogs it is a host
/// in that domain.
fn shown(line: io::Result<Vec<u8>>) -> Option<String> {
    let line = String::from_utf8(line.ok()?).unwrap();
    let (code, text) = line.strip_suffix("\r\n")?.split_at(4);
    Some(if text.starts_with(MAIL_DOMAIN) {
        format!("{code}mx.{text}")
    } else {
        format!("{code}{text}")
    })
}

/// Whether the connection has ended; a reset is also an end.
fn ended(stream: &mut impl Read) -> bool {
    match stream.read(&mut [0]) {
        Ok(count) => count == 0,
        Err(error) => !matches!(
            error.kind(),
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
        ),
    }
}
