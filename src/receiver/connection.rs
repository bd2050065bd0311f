//! Runs one SMTP connection: handles the events of its session, and enforces the time limits.

use std::future::poll_fn;
use std::io::{self, Write as _};
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Poll, ready};
use std::time::Duration;

use restante_smtp::{Event, Refusal, Reply, Session, SessionFailure, Transport};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;
use tokio_util::sync::WaitForCancellationFutureOwned;

use super::alarm::Alarm;
use super::arrival::Arrival;
use super::context::Context;
use super::event_handler::EventHandler;
use super::tls;
use crate::admission::Admitted;
use crate::clock::Instant;

/// Maximum number of bytes of one read. The buffer is on the stack, so an idle client needs no
/// memory for it.
const READ_BYTES: usize = 16 * 1024;
/// A larger reply buffer is shrunk to this size after sending.
const KEPT_REPLY_BYTES: usize = 256;
/// How long a client may take to close its side after the last reply.
const LINGER: Duration = Duration::from_secs(1);

/// Serves a client until it disconnects, its session ends, or a time limit is exceeded. With
/// `implicit_tls`, the connection starts with the TLS handshake.
pub(super) async fn serve(
    stream: TcpStream,
    peer: SocketAddr,
    implicit_tls: bool,
    admitted: Admitted,
    context: Arc<Context>,
) {
    // Replies are sent in one piece, so Nagle's algorithm would only delay them.
    let _ = stream.set_nodelay(true);
    let transport = Transport {
        encrypted: implicit_tls,
        loopback: peer.ip().to_canonical().is_loopback(),
    };
    let mut connection = Connection::new(peer, transport, admitted, context);
    let served = if implicit_tls {
        connection.run_encrypted(stream).await
    } else {
        connection.run_plain(stream).await
    };
    if let Err(error) = &served {
        tracing::debug!(%peer, %error, "connection lost");
    }
    let Connection {
        mut handler,
        session,
        unfinished_handshake,
        ..
    } = connection;
    handler.record_transcript();
    let failure = unfinished_handshake.or_else(|| Some((session.failure()?, None)));
    if let Some((failure, detail)) = failure {
        handler.failed(failure, detail);
    }
}

/// Why the loop of a connection ended.
enum End {
    /// The client may start the TLS handshake.
    StartTls,
    /// The session has ended.
    Close,
    /// The session has ended, and the client gets a reset.
    Reset,
    /// The client has disconnected.
    Gone,
}

/// Why waiting for input ended.
enum Input {
    Bytes(usize),
    TimeToLook,
    Stop,
}

struct Connection {
    context: Arc<Context>,
    session: Session,
    handler: EventHandler,
    /// The message that is being received.
    arrival: Option<Arrival>,
    /// Replies that have not been sent.
    replies: Vec<u8>,
    /// Deadline for the next complete command, or for the next bytes of a message.
    idle_until: Instant,
    alarm: Alarm,
    stopped: Pin<Box<WaitForCancellationFutureOwned>>,
    /// Why the TLS handshake was not completed, and the error.
    unfinished_handshake: Option<(SessionFailure, Option<String>)>,
}

impl Connection {
    fn new(
        peer: SocketAddr,
        transport: Transport,
        admitted: Admitted,
        context: Arc<Context>,
    ) -> Self {
        Self {
            session: Session::new(Arc::clone(&context.session), transport),
            handler: EventHandler::new(peer, admitted, Arc::clone(&context)),
            arrival: None,
            replies: Vec::new(),
            idle_until: Instant::default(),
            alarm: Alarm::new(context.clock().clone()),
            stopped: Box::pin(context.stop.clone().cancelled_owned()),
            unfinished_handshake: None,
            context,
        }
    }

    async fn run_plain(&mut self, mut stream: TcpStream) -> io::Result<()> {
        match self.run(&mut stream).await? {
            End::StartTls => self.run_encrypted(stream).await,
            End::Close => close(&mut stream).await,
            // The system sends a reset when the socket is dropped.
            End::Reset => stream.set_zero_linger(),
            End::Gone => Ok(()),
        }
    }

    async fn run_encrypted(&mut self, stream: TcpStream) -> io::Result<()> {
        let mut stream = self.encrypt(stream).await?;
        match self.run(&mut *stream).await? {
            End::Close => close(&mut *stream).await,
            End::Reset => stream.get_ref().0.set_zero_linger(),
            // An encrypted session does not offer STARTTLS.
            End::StartTls | End::Gone => Ok(()),
        }
    }

    /// Handles one event of the session after another. Replies are collected and sent together when
    /// the session needs input (RFC 2920, section 3.2).
    async fn run<S: AsyncRead + AsyncWrite + Unpin>(&mut self, stream: &mut S) -> io::Result<End> {
        self.restart_idle_time();
        loop {
            match self.session.next() {
                Event::Send(reply) => self.add_reply(&reply),
                Event::NeedInput => {
                    let answered = self.send_replies(stream).await?;
                    // Parts of a command do not restart the idle time. Otherwise a client could
                    // keep the connection open forever by sending one byte at a time.
                    if answered || self.session.progress().is_some() {
                        self.restart_idle_time();
                    }
                    if !self.read(stream).await? {
                        return Ok(End::Gone);
                    }
                }
                Event::HoldBack(delay) => {
                    self.send_replies(stream).await?;
                    if !self.hold_back(stream, delay).await? {
                        return Ok(End::Gone);
                    }
                }
                Event::StartTls => {
                    self.send_replies(stream).await?;
                    return Ok(End::StartTls);
                }
                Event::Reset => {
                    self.send_replies(stream).await?;
                    return Ok(End::Reset);
                }
                Event::Close => {
                    self.send_replies(stream).await?;
                    return Ok(End::Close);
                }
                // Boxed, so that the large future takes no memory while the client is idle.
                event => {
                    // If a client has left, no more of what it sent is stored or compared.
                    if matches!(event, Event::Deliver(..) | Event::Authenticate(_)) {
                        self.send_replies(stream).await?;
                    }
                    Box::pin(
                        self.handler
                            .handle(&mut self.session, event, self.arrival.take()),
                    )
                    .await;
                }
            }
        }
    }

    async fn encrypt(&mut self, stream: TcpStream) -> io::Result<Box<TlsStream<TcpStream>>> {
        let handshake = Box::pin(async {
            self.context
                .certificate
                .acceptor()
                .await
                .accept(stream)
                .await
        });
        let shaken = tokio::select! {
            biased;
            () = self.context.stop.cancelled() => return Err(io::ErrorKind::Interrupted.into()),
            shaken = handshake => shaken,
            () = self.context.clock().sleep(self.context.limits.idle_timeout) => Err(io::ErrorKind::TimedOut.into()),
        };
        let stream = shaken.inspect_err(|error| {
            self.unfinished_handshake = Some((tls::failure(error), Some(error.to_string())));
        })?;
        // Has no effect if the session was encrypted from the start.
        self.session.tls_started();
        self.handler.encrypted(
            stream
                .get_ref()
                .1
                .protocol_version()
                .and_then(tls::version_name),
        );
        Ok(Box::new(stream))
    }

    fn restart_idle_time(&mut self) {
        self.idle_until = self
            .context
            .clock()
            .instant()
            .after(self.context.limits.idle_timeout);
    }

    fn add_reply(&mut self, reply: &Reply) {
        self.handler.log_refusal(reply);
        self.handler.write_down(&self.session, reply);
        // Writing into memory cannot fail.
        let _ = write!(self.replies, "{reply}");
    }

    /// Sends the replies in one piece. Returns whether there were any.
    async fn send_replies<S: AsyncWrite + Unpin>(&mut self, stream: &mut S) -> io::Result<bool> {
        if self.replies.is_empty() {
            return Ok(false);
        }
        let write = async {
            stream.write_all(&self.replies).await?;
            stream.flush().await
        };
        tokio::select! {
            biased;
            written = write => written?,
            () = self.context.clock().sleep(self.context.limits.idle_timeout) => {
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
        self.replies.clear();
        self.replies.shrink_to(KEPT_REPLY_BYTES);
        Ok(true)
    }

    /// Reads once, or ends the session if a time limit is exceeded. Returns whether the client is
    /// still connected.
    async fn read<S: AsyncRead + Unpin>(&mut self, stream: &mut S) -> io::Result<bool> {
        self.follow_message();
        if !self.make_room().await {
            self.session.close(Refusal::TimedOut);
            return Ok(true);
        }
        loop {
            match self.wait(stream).await? {
                Input::Bytes(0) => return Ok(false),
                // A client that is sending gets 421 at its next command; an idle one immediately.
                Input::Bytes(_) if self.context.stop.is_cancelled() => self.session.shut_down(),
                Input::Bytes(_) => {}
                Input::Stop => self.session.close(Refusal::ShuttingDown),
                Input::TimeToLook if self.is_time_up() => self.session.close(Refusal::TimedOut),
                Input::TimeToLook => continue,
            }
            return Ok(true);
        }
    }

    /// Delays the next reply, or until the server stops. Buffers up to [`READ_BYTES`] of input in
    /// the meantime. Returns whether the client is still connected.
    async fn hold_back<S: AsyncRead + Unpin>(
        &mut self,
        stream: &mut S,
        delay: Duration,
    ) -> io::Result<bool> {
        let Self {
            context,
            session,
            alarm,
            stopped,
            ..
        } = self;
        let until = context.clock().instant().after(delay);
        let mut room = READ_BYTES;
        while !context.stop.is_cancelled() {
            tokio::select! {
                biased;
                () = &mut *stopped => break,
                () = alarm.wait_until(until) => break,
                count = read_into(stream, session, room), if room > 0 => match count? {
                    0 => return Ok(false),
                    count => room -= count,
                }
            }
        }
        self.restart_idle_time();
        Ok(true)
    }

    /// Updates `arrival` with the progress of the current message.
    fn follow_message(&mut self) {
        let Self {
            context,
            session,
            arrival,
            ..
        } = self;
        match session.progress() {
            None => *arrival = None,
            Some(progress) => arrival
                .get_or_insert_with(|| Arrival::start(context))
                .follow(progress),
        }
    }

    /// Waits for memory for the message. Returns `false` if the deadline passed.
    async fn make_room(&mut self) -> bool {
        let Self {
            context,
            session,
            arrival: Some(arrival),
            ..
        } = self
        else {
            return true;
        };
        let deadline = arrival.deadline();
        let any_size = tokio::select! {
            biased;
            any_size = arrival.make_room(context.clock()) => any_size,
            () = context.clock().sleep_until(deadline) => return false,
        };
        if any_size {
            session.reserve(usize::try_from(context.limits.message_size).unwrap_or(usize::MAX));
        }
        true
    }

    /// Waits for input, for the server to stop, or for the next check of the time limits.
    async fn wait<S: AsyncRead + Unpin>(&mut self, stream: &mut S) -> io::Result<Input> {
        let Self {
            session,
            arrival,
            idle_until,
            alarm,
            stopped,
            ..
        } = self;
        let (room, due) = match arrival {
            Some(arrival) => (
                arrival.room().min(READ_BYTES),
                arrival.due().min(*idle_until),
            ),
            None => (READ_BYTES, *idle_until),
        };
        tokio::select! {
            biased;
            count = read_into(stream, session, room) => Ok(Input::Bytes(count?)),
            // A message that is being received is completed first.
            () = stopped, if arrival.is_none() => Ok(Input::Stop),
            () = alarm.wait_until(due) => Ok(Input::TimeToLook),
        }
    }

    /// Whether the client was idle for too long, or its message takes too long.
    fn is_time_up(&mut self) -> bool {
        let now = self.context.clock().instant();
        now >= self.idle_until
            || self
                .arrival
                .as_mut()
                .is_some_and(|arrival| arrival.is_time_up(now))
    }
}

/// Reads at most `room` bytes from the socket and passes them to the session. Returns their number.
async fn read_into<S: AsyncRead + Unpin>(
    stream: &mut S,
    session: &mut Session,
    room: usize,
) -> io::Result<usize> {
    poll_fn(|task| {
        let mut bytes = [MaybeUninit::uninit(); READ_BYTES];
        let mut read = ReadBuf::uninit(&mut bytes[..room]);
        ready!(Pin::new(&mut *stream).poll_read(task, &mut read))?;
        session.receive(read.filled());
        Poll::Ready(Ok(read.filled().len()))
    })
    .await
}

/// Closes the connection in a way that the client receives the last reply: if bytes were left
/// unread, the system would send a reset.
async fn close<S: AsyncRead + AsyncWrite + Unpin>(stream: &mut S) -> io::Result<()> {
    let closed = tokio::time::timeout(LINGER, async {
        stream.shutdown().await?;
        let mut ignored = [0; 512];
        while stream.read(&mut ignored).await? > 0 {}
        Ok(())
    });
    closed.await.unwrap_or(Ok(()))
}
