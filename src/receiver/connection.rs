//! One connection: moves bytes between its socket and its session, and watches the time.

use std::future::poll_fn;
use std::io::{self, Write as _};
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Poll, ready};
use std::time::Duration;

use futures_util::FutureExt;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

use super::Context;
use super::answers::Answers;
use super::arrival::Arrival;
use super::listener::Slot;
use crate::clock::Instant;
use crate::config::Settings;
use restante_smtp::{Event, Refusal, Reply, Session, SessionConfig, Transport};

/// Bytes read at once. They are on the stack while there is something to read, so a silent client costs none.
const READ_BYTES: usize = 16 * 1024;
/// Bytes of most replies.
const REPLY_BYTES: usize = 64;
/// How long a client may take to close its side once it has the last reply.
const LINGER: Duration = Duration::from_secs(1);

/// Serves a client until it leaves, is sent away, or the time is up.
pub(super) async fn serve(mut stream: TcpStream, peer: SocketAddr, slot: Slot, context: Arc<Context>) {
    // Replies are written whole, so waiting for more to send only costs time.
    let _ = stream.set_nodelay(true);
    let mut connection = Connection::new(peer, slot, context);
    let served = match connection.run(&mut stream).await {
        Ok(End::StartTls) => match connection.encrypt(stream).await {
            Ok(mut stream) => connection.run_to_close(&mut *stream).await,
            Err(error) => Err(error),
        },
        Ok(End::Close) => close(&mut stream).await,
        Ok(End::Gone) => Ok(()),
        Err(error) => Err(error),
    };
    if let Err(error) = served {
        tracing::debug!(%peer, %error, "connection lost");
    }
}

/// Why the loop of a connection ended.
enum End {
    /// The client waits for the handshake.
    StartTls,
    /// The session is over.
    Close,
    /// The client has left.
    Gone,
}

/// What came of waiting for the client.
enum Input {
    Bytes(usize),
    Silence,
    Stop,
}

struct Connection {
    context: Arc<Context>,
    session: Session,
    answers: Answers,
    /// The message under way.
    arrival: Option<Arrival>,
    /// Replies that have not been flushed.
    replies: Vec<u8>,
}

impl Connection {
    fn new(peer: SocketAddr, slot: Slot, context: Arc<Context>) -> Self {
        let transport = Transport { encrypted: false, loopback: peer.ip().to_canonical().is_loopback() };
        Self {
            session: Session::new(Arc::clone(&context.session), transport),
            answers: Answers::new(peer, slot, Arc::clone(&context)),
            context,
            arrival: None,
            replies: Vec::new(),
        }
    }

    /// Does what the session wants. Replies are flushed together when it wants input (RFC 2920, section 3.2).
    async fn run<S: AsyncRead + AsyncWrite + Unpin>(&mut self, stream: &mut S) -> io::Result<End> {
        loop {
            match self.session.next() {
                Event::Send(reply) => self.keep_reply(&reply),
                Event::NeedInput => {
                    // Whoever is sent nothing has nothing to answer.
                    let attention = if self.replies.is_empty() { Duration::ZERO } else { self.context.attention };
                    self.flush(stream).await?;
                    if !self.read(stream, attention).await? {
                        return Ok(End::Gone);
                    }
                }
                Event::StartTls => {
                    self.flush(stream).await?;
                    return Ok(End::StartTls);
                }
                Event::Close => {
                    self.flush(stream).await?;
                    return Ok(End::Close);
                }
                // Boxed, because their futures are large and an idle client would pay for them.
                event => Box::pin(self.answers.answer(&mut self.session, event, self.arrival.take())).await,
            }
        }
    }

    async fn run_to_close<S: AsyncRead + AsyncWrite + Unpin>(&mut self, stream: &mut S) -> io::Result<()> {
        match self.run(stream).await? {
            End::Close => close(stream).await,
            End::StartTls | End::Gone => Ok(()),
        }
    }

    async fn encrypt(&mut self, stream: TcpStream) -> io::Result<Box<TlsStream<TcpStream>>> {
        let handshake = Box::pin(async { self.context.certificate.acceptor().await.accept(stream).await });
        let stream = tokio::select! {
            biased;
            () = self.context.stop.cancelled() => return Err(io::ErrorKind::Interrupted.into()),
            stream = handshake => stream?,
            () = self.context.service.clock().sleep(self.context.limits.idle_timeout) => {
                return Err(io::ErrorKind::TimedOut.into());
            }
        };
        self.session.tls_started();
        Ok(Box::new(stream))
    }

    fn keep_reply(&mut self, reply: &Reply) {
        self.answers.log_refusal(reply);
        self.replies.reserve(REPLY_BYTES);
        // Into memory, this cannot fail.
        let _ = write!(self.replies, "{reply}");
    }

    async fn flush<S: AsyncWrite + Unpin>(&mut self, stream: &mut S) -> io::Result<()> {
        if self.replies.is_empty() {
            return Ok(());
        }
        // Taken, not cleared: the next reply may be an hour away.
        let replies = std::mem::take(&mut self.replies);
        let write = async {
            stream.write_all(&replies).await?;
            stream.flush().await
        };
        tokio::select! {
            biased;
            written = write => written,
            () = self.context.service.clock().sleep(self.context.limits.idle_timeout) => {
                Err(io::ErrorKind::TimedOut.into())
            }
        }
    }

    /// Reads once, or ends the session when it is time to; answers whether the client is still there.
    async fn read<S: AsyncRead + Unpin>(&mut self, stream: &mut S, attention: Duration) -> io::Result<bool> {
        self.follow_message();
        if !self.make_room().await {
            self.session.close(Refusal::TimedOut);
            return Ok(true);
        }
        let silent_until = self.now().after(self.context.limits.idle_timeout);
        loop {
            match self.wait(stream, attention, silent_until).await? {
                Input::Bytes(0) => return Ok(false),
                Input::Bytes(_) if self.context.stop.is_cancelled() => self.session.shut_down(),
                Input::Bytes(_) => {}
                Input::Stop => self.session.close(Refusal::ShuttingDown),
                Input::Silence if self.is_time_up(silent_until) => self.session.close(Refusal::TimedOut),
                Input::Silence => continue,
            }
            return Ok(true);
        }
    }

    /// Keeps the account of the message under way in step with the session.
    fn follow_message(&mut self) {
        let Self { context, session, arrival, .. } = self;
        match session.progress() {
            None => *arrival = None,
            Some(progress) => arrival.get_or_insert_with(|| Arrival::begin(context)).follow(progress),
        }
    }

    /// Waits until the message under way may grow; answers whether that was in time.
    async fn make_room(&mut self) -> bool {
        let Self { context, session, arrival: Some(arrival), .. } = self else { return true };
        let clock = context.service.clock();
        let deadline = arrival.deadline();
        let any_size = tokio::select! {
            biased;
            any_size = arrival.make_room(clock) => any_size,
            () = clock.sleep_until(deadline) => return false,
        };
        if any_size {
            session.reserve(usize::try_from(context.limits.message_size).unwrap_or(usize::MAX));
        }
        true
    }

    /// Waits for the client until something is due, at first with `attention`.
    async fn wait<S: AsyncRead + Unpin>(
        &mut self,
        stream: &mut S,
        attention: Duration,
        silent_until: Instant,
    ) -> io::Result<Input> {
        let Self { context, session, arrival, .. } = self;
        let due = arrival.as_ref().map_or(silent_until, |arrival| arrival.due().min(silent_until));
        let room = arrival.as_ref().map_or(READ_BYTES, |arrival| arrival.room().min(READ_BYTES));
        // A message under way is finished; whoever is between messages is told at once that the server stops.
        let may_stop = arrival.is_none();
        if let Some(count) = try_for(attention, || read_into(stream, session, room).now_or_never()).await {
            return Ok(Input::Bytes(count?));
        }
        tokio::select! {
            biased;
            () = context.stop.cancelled(), if may_stop => Ok(Input::Stop),
            count = read_into(stream, session, room) => Ok(Input::Bytes(count?)),
            () = context.service.clock().sleep_until(due) => Ok(Input::Silence),
        }
    }

    /// Whether the client has said nothing for too long, or its message takes too long.
    fn is_time_up(&mut self, silent_until: Instant) -> bool {
        let now = self.now();
        now >= silent_until || self.arrival.as_mut().is_some_and(|arrival| arrival.is_time_up(now))
    }

    fn now(&self) -> Instant {
        self.context.service.clock().instant()
    }
}

/// Makes one attempt after another for a while, in turn with the other tasks.
async fn try_for<T>(attention: Duration, mut attempt: impl FnMut() -> Option<T>) -> Option<T> {
    let begun = std::time::Instant::now();
    while begun.elapsed() < attention {
        let success = attempt();
        if success.is_some() {
            return success;
        }
        tokio::task::yield_now().await;
    }
    None
}

/// Gives the session what the socket has, at most `room` bytes; answers how many there were.
async fn read_into<S: AsyncRead + Unpin>(stream: &mut S, session: &mut Session, room: usize) -> io::Result<usize> {
    poll_fn(|task| {
        let mut bytes = [MaybeUninit::uninit(); READ_BYTES];
        let mut read = ReadBuf::uninit(&mut bytes[..room]);
        ready!(Pin::new(&mut *stream).poll_read(task, &mut read))?;
        session.receive(read.filled());
        Poll::Ready(Ok(read.filled().len()))
    })
    .await
}

/// Closes so that the last reply arrives: were the socket closed with bytes unread, the client would get a reset.
async fn close<S: AsyncRead + AsyncWrite + Unpin>(stream: &mut S) -> io::Result<()> {
    let closed = tokio::time::timeout(LINGER, async {
        stream.shutdown().await?;
        let mut ignored = [0; 512];
        while stream.read(&mut ignored).await? > 0 {}
        Ok(())
    });
    closed.await.unwrap_or(Ok(()))
}

/// What the sessions of this server have in common.
pub(super) fn session_config(settings: &Settings) -> Arc<SessionConfig> {
    let limits = &settings.limits;
    Arc::new(SessionConfig {
        mail_domain: settings.mail_domain.clone(),
        host_name: settings.mail_domain.as_str().to_owned(),
        message_size: limits.message_size,
        recipients: limits.recipients,
        command_line: limits.command_line,
        data_line: limits.data_line,
        start_tls: true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn whoever_speaks_soon_is_heard_and_others_have_their_turn() {
        let (mut server, mut client) = tokio::io::duplex(64);
        // There is one thread: this runs where the attempts give way.
        let said = tokio::spawn(async move { client.write_all(b"NOOP\r\n").await });
        let mut bytes = [0; 64];
        let read = try_for(Duration::from_secs(3_600), || server.read(&mut bytes).now_or_never()).await;
        assert_eq!(read.unwrap().unwrap(), 6);
        said.await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn whoever_is_silent_is_not_looked_at_for_ever() {
        let (mut server, _client) = tokio::io::duplex(64);
        let mut bytes = [0; 64];
        let read = try_for(Duration::from_micros(1), || server.read(&mut bytes).now_or_never()).await;
        assert!(read.is_none());
    }
}
