//! A connection to a server: sends commands and reads replies, with a limit on time and size for
//! every step.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::ClientConfig;
use tokio_rustls::rustls::pki_types::ServerName;

use super::reply::{LINE_BYTES, MalformedReply, Reading, Reply};
use crate::clock::Clock;

/// How long connecting may take; the RFCs give no value.
const CONNECT: Duration = Duration::from_secs(30);
/// How long the server may take to read a piece of the data (RFC 5321, section 4.5.3.2.5).
const WRITE: Duration = Duration::from_secs(3 * 60);
/// How long the TLS handshake may take.
const HANDSHAKE: Duration = Duration::from_secs(60);
/// A message is sent in pieces of this many bytes.
const PIECE: usize = 64 * 1024;

/// A stream that can be read and written: TCP or TLS.
trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// Why a connection can no longer be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConnectionError {
    #[error("cannot connect: {0}")]
    Connect(#[source] io::Error),
    #[error("the connection was lost: {0}")]
    Io(#[from] io::Error),
    #[error("the server closed the connection")]
    Closed,
    #[error("the server took too long")]
    TimedOut,
    #[error(transparent)]
    Malformed(#[from] MalformedReply),
    #[error("TLS failed: {0}")]
    Handshake(#[source] io::Error),
    #[error("the server sent plain text after its reply to STARTTLS")]
    Injected,
}

pub(super) struct ClientConnection {
    stream: BufReader<Box<dyn Stream>>,
    clock: Clock,
}

impl ClientConnection {
    pub(super) async fn open(address: SocketAddr, clock: Clock) -> Result<Self, ConnectionError> {
        let dialled = within(&clock, CONNECT, async {
            let stream = TcpStream::connect(address)
                .await
                .map_err(ConnectionError::Connect)?;
            stream.set_nodelay(true).map_err(ConnectionError::Connect)?;
            Ok(stream)
        });
        let stream = dialled.await?;
        Ok(Self {
            stream: BufReader::new(Box::new(stream)),
            clock,
        })
    }

    /// Starts TLS. Text that arrived before the handshake would be read as if it were encrypted, so
    /// it is an error (RFC 3207, section 4.2).
    pub(super) async fn encrypt(
        self,
        config: Arc<ClientConfig>,
        name: ServerName<'static>,
    ) -> Result<Self, ConnectionError> {
        let Self { stream, clock } = self;
        if !stream.buffer().is_empty() {
            return Err(ConnectionError::Injected);
        }
        let connector = TlsConnector::from(config);
        let shaking = async {
            connector
                .connect(name, stream.into_inner())
                .await
                .map_err(ConnectionError::Handshake)
        };
        let stream = within(&clock, HANDSHAKE, shaking).await?;
        Ok(Self {
            stream: BufReader::new(Box::new(stream)),
            clock,
        })
    }

    /// Sends a command and reads its reply, within `limit`.
    pub(super) async fn command(
        &mut self,
        line: &str,
        limit: Duration,
    ) -> Result<Reply, ConnectionError> {
        self.write(format!("{line}\r\n").as_bytes()).await?;
        self.reply(limit).await
    }

    /// Reads a whole reply within `limit`.
    pub(super) async fn reply(&mut self, limit: Duration) -> Result<Reply, ConnectionError> {
        within(&self.clock, limit, read_reply(&mut self.stream)).await
    }

    pub(super) async fn write(&mut self, bytes: &[u8]) -> Result<(), ConnectionError> {
        for piece in bytes.chunks(PIECE) {
            within(&self.clock, WRITE, async {
                Ok(self.stream.write_all(piece).await?)
            })
            .await?;
        }
        within(&self.clock, WRITE, async { Ok(self.stream.flush().await?) }).await
    }
}

async fn read_reply(stream: &mut BufReader<Box<dyn Stream>>) -> Result<Reply, ConnectionError> {
    let mut reading = Reading::default();
    let mut line = Vec::new();
    loop {
        line.clear();
        let limit = u64::try_from(LINE_BYTES).unwrap_or(u64::MAX);
        let bytes = stream.take(limit).read_until(b'\n', &mut line).await?;
        if bytes == 0 {
            return Err(ConnectionError::Closed);
        }
        if !line.ends_with(b"\n") {
            return Err(if bytes < LINE_BYTES {
                ConnectionError::Closed
            } else {
                MalformedReply.into()
            });
        }
        if let Some(reply) = reading.take(&line)? {
            return Ok(reply);
        }
    }
}

async fn within<T>(
    clock: &Clock,
    limit: Duration,
    work: impl Future<Output = Result<T, ConnectionError>>,
) -> Result<T, ConnectionError> {
    tokio::select! {
        done = work => done,
        () = clock.sleep(limit) => Err(ConnectionError::TimedOut),
    }
}
