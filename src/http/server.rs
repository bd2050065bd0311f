//! The router on a socket: HTTP/1.1 connections with bounded headers, and a stop that lets running requests finish.
//!
//! A client that hangs up ends its handler at once: the end of the stream is watched for while an answer is outstanding,
//! and the handler's future is dropped, with whatever the request held.

mod connection;
mod requests;
mod socket;

use std::net::IpAddr;
use std::time::Duration;

use axum::Router;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

pub(super) use requests::Parking;

use crate::service::Service;

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
                connections.spawn(connection::serve(stream, Peer(peer.ip()), router.clone(), stop.clone()));
            }
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
