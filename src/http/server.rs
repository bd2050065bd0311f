//! Serves the router on a socket: HTTP/1.1 by hyper, with limits on connections and a graceful
//! shutdown.
//!
//! A client that disconnects ends its request immediately: hyper detects the end of the stream
//! while the handler runs, and drops the handler with all its resources.

mod connection;
mod framing;
pub mod websocket;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use ipnet::IpNet;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::admission::{Admission, Admitted, Full};
use crate::model::Closing;
use crate::service::Service;

/// The pause after a failed accept, which is usually caused by a lack of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The client's address; an extension of every request.
#[derive(Clone, Copy, Debug)]
pub struct Peer(pub IpAddr);

/// An extension of a response that is not sent: the connection ends instead, because a fault asks
/// for it.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("closed on request, without a response")]
pub struct Disconnect(pub Closing);

/// How many connections a listener has at most.
#[derive(Clone, Debug)]
pub struct ConnectionLimits {
    pub all: usize,
    /// Of one client address.
    pub per_address: usize,
    /// Proxies, to which the limit of one address does not apply.
    pub proxies: Vec<IpNet>,
}

/// Serves `router` within `limits` until `stop` is cancelled. Then no connection is accepted, idle
/// ones are closed, open waits get 503 so that their clients can wait elsewhere, and other requests
/// have `grace` to finish before they are dropped.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    service: Service,
    limits: ConnectionLimits,
    stop: CancellationToken,
    grace: Duration,
) {
    let admission = Admission::new(limits.all, limits.per_address, limits.proxies);
    let mut connections = JoinSet::new();
    while let Some((stream, peer)) = accept(&listener, &stop, &mut connections).await {
        let Some(admitted) = admit(&admission, peer, &stop, &mut connections).await else {
            continue;
        };
        // Without this, Nagle's algorithm would delay short responses.
        let _ = stream.set_nodelay(true);
        connections.spawn(connection::serve(
            stream,
            peer,
            admitted,
            router.clone(),
            stop.clone(),
        ));
    }
    drop(listener);
    service.end_followers();
    service.end_waits();
    if timeout(grace, finish(&mut connections)).await.is_err() {
        tracing::warn!(
            connections = connections.len(),
            "requests did not finish in time and were dropped"
        );
    }
}

/// The next connection; `None` once `stop` is cancelled.
async fn accept(
    listener: &TcpListener,
    stop: &CancellationToken,
    connections: &mut JoinSet<()>,
) -> Option<(TcpStream, Peer)> {
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => return None,
            Some(_) = connections.join_next() => continue,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, peer)) => return Some((stream, Peer(peer.ip()))),
            Err(error) => {
                tracing::warn!(%error, "cannot accept an HTTP connection");
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// Counts a new connection; `None` if it has to be closed. At the limit of all connections, more
/// clients wait in the system's queue.
async fn admit(
    admission: &Arc<Admission>,
    peer: Peer,
    stop: &CancellationToken,
    connections: &mut JoinSet<()>,
) -> Option<Admitted> {
    loop {
        match admission.admit(peer.0) {
            Ok(admitted) => return Some(admitted),
            Err(Full::Client) => return None,
            Err(Full::All) => {}
        }
        tokio::select! {
            () = stop.cancelled() => return None,
            Some(_) = connections.join_next() => {}
        }
    }
}

/// Waits until all connections are closed.
async fn finish(connections: &mut JoinSet<()>) {
    while connections.join_next().await.is_some() {}
}
