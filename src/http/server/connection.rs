//! One connection. hyper reads requests and writes answers; while a request waits for a message, the connection is
//! parked: hyper is let go with its buffers, 16 KiB and more, and only the socket and the future of the answer are kept.
//!
//! When there is an answer, or the client says something, a new hyper connection reads a request of the same form, and
//! its handler goes on with that future.

use std::future::{poll_fn, ready};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use bytes::Bytes;
use hyper::server::conn::http1::{self, Builder, Parts};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

use super::Peer;
use super::requests::{Requests, UnderWay};
use super::socket::{Socket, WriteIsPending};

/// How long the headers of a request may take, and how long a connection may stay idle between requests.
const HEADER_TIMEOUT: Duration = Duration::from_secs(75);
const HEADERS: usize = 100;
/// The request line and the headers together.
const HEADER_OCTETS: usize = 32 * 1024;
/// What is read ahead of a connection.
const BUFFER_OCTETS: usize = 64 * 1024;

/// Serves a client until it leaves, or `stop` and the end of the answer under way.
pub(super) async fn serve(stream: TcpStream, peer: Peer, router: Router, stop: CancellationToken) {
    // Answers are short and written at once; holding them back for more would only delay them.
    let _ = stream.set_nodelay(true);
    let connection = Connection { requests: Requests::new(router, peer), write_is_pending: Arc::default(), stop };
    let (mut stream, mut replayed) = (stream, Bytes::new());
    // Boxed, so that a parked connection does not hold what it takes.
    while let Some(mut parked) = Box::pin(connection.converse(stream, replayed)).await {
        if !parked.wait().await {
            return;
        }
        (stream, replayed) = connection.resume(parked);
    }
}

type HttpConnection = http1::Connection<TokioIo<Socket>, Requests>;

struct Connection {
    requests: Requests,
    write_is_pending: WriteIsPending,
    stop: CancellationToken,
}

/// What is left of a connection that waits for an answer.
struct Parked {
    stream: TcpStream,
    /// What the client has sent behind the request.
    ahead: Bytes,
    under_way: UnderWay,
}

impl Connection {
    /// Reads requests and answers them until an answer is long in coming; `None` once the connection has ended.
    async fn converse(&self, stream: TcpStream, replayed: Bytes) -> Option<Parked> {
        let socket = Socket::new(stream, replayed, Arc::clone(&self.write_is_pending));
        let mut connection = Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEADER_TIMEOUT)
            .max_headers(HEADERS)
            .max_header_size(HEADER_OCTETS)
            .max_buf_size(BUFFER_OCTETS)
            .serve_connection(TokioIo::new(socket), self.requests.clone());
        let mut stopping = false;
        loop {
            tokio::select! {
                // First, so that a resumed connection has a request before it is told to take no more.
                biased;
                turn = poll_fn(|task| self.turn(&mut connection, task)) => {
                    let Some(ended) = turn else { return self.take_apart(connection.into_parts()) };
                    if let Err(error) = ended {
                        tracing::debug!(%error, "an HTTP connection ended early");
                    }
                    return None;
                }
                () = self.stop.cancelled(), if !stopping => {
                    stopping = true;
                    Pin::new(&mut connection).graceful_shutdown();
                }
            }
        }
    }

    /// Lets hyper do what there is to do: how the connection has ended, or `None` where it is to be parked.
    fn turn(&self, connection: &mut HttpConnection, task: &mut Context<'_>) -> Poll<Option<hyper::Result<()>>> {
        if let Poll::Ready(ended) = Pin::new(connection).poll(task) {
            return Poll::Ready(Some(ended));
        }
        // What hyper holds of an earlier answer would be lost.
        let may_be_parked = self.requests.is_waiting() && !self.write_is_pending.load(Ordering::Relaxed);
        if may_be_parked { Poll::Ready(None) } else { Poll::Pending }
    }

    fn take_apart(&self, parts: Parts<TokioIo<Socket>, Requests>) -> Option<Parked> {
        let Socket { stream, replayed, .. } = parts.io.into_inner();
        // Copied: it is short, and would keep the buffer that it was read into.
        let ahead = Bytes::from([&*parts.read_buf, &*replayed].concat());
        Some(Parked { stream, ahead, under_way: self.requests.take_left()? })
    }

    /// Makes ready to go on.
    fn resume(&self, parked: Parked) -> (TcpStream, Bytes) {
        let replayed = [parked.under_way.head.replay(self.stop.is_cancelled()), parked.ahead.into()].concat();
        self.requests.leave(parked.under_way);
        (parked.stream, replayed.into())
    }
}

impl Parked {
    /// Waits until there is an answer or the client says something; `false` once the client has hung up.
    async fn wait(&mut self) -> bool {
        let mut first = [0];
        let response = tokio::select! {
            biased;
            response = &mut self.under_way.answer => response,
            peeked = self.stream.peek(&mut first) => return matches!(peeked, Ok(1)),
        };
        self.under_way.answer = Box::pin(ready(response));
        true
    }
}
