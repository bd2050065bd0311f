//! The router on a socket: HTTP/1.1 connections with bounded headers, and a stop that lets running requests finish.
//!
//! A client that hangs up ends its handler at once: hyper watches for the end of the stream while an answer is
//! outstanding and drops the handler's future, and with it whatever the request held.

use std::net::IpAddr;
use std::pin::pin;
use std::time::Duration;

use axum::Router;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use crate::service::Service;

/// How long the headers of a request may take, and how long a connection may stay idle between requests.
const HEADER_TIMEOUT: Duration = Duration::from_secs(75);
const HEADERS: usize = 100;
/// The request line and the headers together.
const HEADER_OCTETS: usize = 32 * 1024;
/// What is read ahead of a connection.
const BUFFER_OCTETS: usize = 64 * 1024;
/// How long the answers to waits that were ended may take to be written.
const LAST_ANSWERS: Duration = Duration::from_secs(2);
/// The pause after a failed accept, which is most often a lack of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Whose connection a request came on; in its extensions.
#[derive(Clone, Copy, Debug)]
pub struct Peer(pub IpAddr);

/// Serves `router` until `stop`: then no connection is accepted any more, idle ones are closed, and running requests
/// have `grace` to finish. Waits that are still parked are then answered with 503, and whatever is left is broken off.
pub async fn serve(listener: TcpListener, router: Router, service: Service, stop: CancellationToken, grace: Duration) {
    let mut connections = JoinSet::new();
    accept(listener, router, &stop, &mut connections).await;
    service.end_followers();
    if timeout(grace, finish(&mut connections)).await.is_err() {
        service.end_waits();
        if timeout(LAST_ANSWERS, finish(&mut connections)).await.is_err() {
            tracing::warn!(connections = connections.len(), "requests were broken off at the end of the grace");
        }
    }
}

/// Accepts connections until `stop`; the listener is closed on return.
async fn accept(listener: TcpListener, router: Router, stop: &CancellationToken, connections: &mut JoinSet<()>) {
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => return,
            Some(_) = connections.join_next() => continue,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, peer)) => {
                connections.spawn(serve_connection(stream, Peer(peer.ip()), router.clone(), stop.clone()));
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept an HTTP connection");
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

async fn serve_connection(stream: TcpStream, peer: Peer, router: Router, stop: CancellationToken) {
    // Answers are short and written at once; holding them back for more would only delay them.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(peer);
        router.clone().oneshot(request)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .max_headers(HEADERS)
        .max_header_size(HEADER_OCTETS)
        .max_buf_size(BUFFER_OCTETS)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "an HTTP connection ended early");
    }
}

/// Waits for the last connection.
async fn finish(connections: &mut JoinSet<()>) {
    while connections.join_next().await.is_some() {}
}
