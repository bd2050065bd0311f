//! The router on a socket: HTTP/1.1 by hyper, with a cap on connections and a stop that lets running requests finish.
//!
//! A client that hangs up ends its request at once: hyper sees the end of the stream while the handler runs, and drops
//! the handler with everything that the request held.

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

/// How long the answers to waits that were ended may take to be written.
const LAST_ANSWERS: Duration = Duration::from_secs(2);
/// The pause after a failed accept, which is most often a lack of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The client's address; in the extensions of every request.
#[derive(Clone, Copy, Debug)]
pub struct Peer(pub IpAddr);

/// Serves `router` on at most `most` connections at once until `stop`: then no connection is accepted any more, idle
/// ones are closed, and running requests have `grace` to finish. Waits that are still open are then answered with 503,
/// and what is left after that is broken off.
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
    if timeout(grace, finish(&mut connections)).await.is_err() {
        service.end_waits();
        if timeout(LAST_ANSWERS, finish(&mut connections)).await.is_err() {
            tracing::warn!(connections = connections.len(), "requests were broken off at the end of the grace");
        }
    }
}

/// Accepts connections until `stop`; the listener is closed on return.
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
        // Answers are short and written at once; holding them back for more would only delay them.
        let _ = stream.set_nodelay(true);
        let (router, stop) = (router.clone(), stop.clone());
        connections.spawn(async move {
            connection::serve(stream, peer, router, stop).await;
            drop(place);
        });
    }
}

/// The next connection. Past the cap nothing is accepted, so that further clients wait in the system's queue.
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

/// Waits for the last connection.
async fn finish(connections: &mut JoinSet<()>) {
    while connections.join_next().await.is_some() {}
}
