//! Serves the router on a socket: HTTP/1.1 by hyper, with a limit on connections and a graceful shutdown.
//!
//! A client that disconnects ends its request immediately: hyper detects the end of the stream while the handler runs,
//! and drops the handler with all its resources.

mod connection;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::service::Service;

/// The pause after a failed accept, which is usually caused by a lack of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The client's address; an extension of every request.
#[derive(Clone, Copy, Debug)]
pub struct Peer(pub IpAddr);

/// Serves `router` on at most `most` concurrent connections until `stop` is cancelled. Then no connection is accepted,
/// idle ones are closed, open waits get 503 so that their clients can wait elsewhere, and other requests have `grace`
/// to finish before they are dropped.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    service: Service,
    most: usize,
    stop: CancellationToken,
    grace: Duration,
) {
    let mut connections = JoinSet::new();
    accept(listener, router, most, &stop, &mut connections).await;
    service.end_followers();
    service.end_waits();
    if timeout(grace, finish(&mut connections)).await.is_err() {
        tracing::warn!(connections = connections.len(), "requests did not finish in time and were dropped");
    }
}

/// Accepts connections until `stop` is cancelled; the listener is closed on return.
async fn accept(
    listener: TcpListener,
    router: Router,
    most: usize,
    stop: &CancellationToken,
    connections: &mut JoinSet<()>,
) {
    let places = Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS)));
    loop {
        let (stream, peer, place) = tokio::select! {
            () = stop.cancelled() => return,
            Some(_) = connections.join_next() => continue,
            accepted = next(&listener, &places) => accepted,
        };
        // Without this, Nagle's algorithm would delay short responses.
        let _ = stream.set_nodelay(true);
        let (router, stop) = (router.clone(), stop.clone());
        connections.spawn(async move {
            connection::serve(stream, peer, router, stop).await;
            drop(place);
        });
    }
}

/// The next connection. At the limit no connection is accepted, so that more clients wait in the system's queue.
async fn next(listener: &TcpListener, places: &Arc<Semaphore>) -> (TcpStream, Peer, Option<OwnedSemaphorePermit>) {
    // The semaphore is never closed, so there is always a permit.
    let place = Arc::clone(places).acquire_owned().await.ok();
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => return (stream, Peer(peer.ip()), place),
            Err(error) => {
                tracing::warn!(%error, "cannot accept an HTTP connection");
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// Waits until all connections are closed.
async fn finish(connections: &mut JoinSet<()>) {
    while connections.join_next().await.is_some() {}
}
