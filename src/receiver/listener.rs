//! Takes connections, as many as the limits allow, until it is told to stop.

use std::collections::HashMap;
use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};

use super::Context;
use super::connection;
use crate::config::Limits;
use crate::metrics;
use restante_smtp::{Event, Refusal, Session, Transport};

/// How long to wait for file descriptors or memory to come free.
const PAUSE: Duration = Duration::from_millis(100);

/// Takes connections until the context is told to stop.
pub(super) async fn accept(listener: TcpListener, context: &Arc<Context>) {
    let connections = Connections::new(&context.limits);
    loop {
        let accepted = tokio::select! {
            biased;
            () = context.stop.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, peer)) => begin(stream, peer, &connections, context),
            Err(error) if concerns_one_connection(&error) => {}
            Err(error) => {
                tracing::error!(%error, "cannot take connections just now");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

fn begin(stream: TcpStream, peer: SocketAddr, connections: &Arc<Connections>, context: &Arc<Context>) {
    let Some(slot) = connections.admit(peer.ip()) else {
        metrics::connection_refused();
        if context.refusal_log.admits(peer.ip()) {
            tracing::info!(%peer, "refused a connection: too many");
        }
        // Nothing is lost with a client that does not get its reply.
        let _ = refuse(stream, context);
        return;
    };
    let counted = metrics::OpenConnection::begin();
    let context_of_task = Arc::clone(context);
    // Boxed, because whatever takes a future by value makes room for it more than once.
    let serving = Box::pin(async move {
        connection::serve(stream, peer, slot, context_of_task).await;
        drop(counted);
    });
    context.tasks.spawn(context.end.clone().run_until_cancelled_owned(serving));
}

/// Says why and closes. The empty send buffer of a new socket takes the reply at once, so nobody waits for the client.
fn refuse(stream: TcpStream, context: &Context) -> io::Result<()> {
    let mut stream = stream.into_std()?;
    let mut session = Session::new(Arc::clone(&context.session), Transport { encrypted: false, loopback: false });
    session.close(Refusal::TooManyConnections);
    while let Event::Send(reply) = session.next() {
        stream.write_all(reply.to_string().as_bytes())?;
    }
    Ok(())
}

/// These go with the connection they were about; all others, such as EMFILE, stay until something is closed.
fn concerns_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionReset | Interrupted)
}

/// The open connections, counted.
pub(super) struct Connections {
    most: usize,
    most_of_one_address: usize,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    all: usize,
    by_address: HashMap<IpAddr, usize>,
}

impl Connections {
    pub(super) fn new(limits: &Limits) -> Arc<Self> {
        Arc::new(Self {
            most: limits.smtp_connections,
            most_of_one_address: limits.smtp_connections_per_address,
            open: Mutex::default(),
        })
    }

    /// Counts one connection more, unless that is one too many.
    pub(super) fn admit(self: &Arc<Self>, address: IpAddr) -> Option<Slot> {
        let address = address.to_canonical();
        let mut open = self.open();
        let of_this_address = open.by_address.get(&address).copied().unwrap_or(0);
        if open.all >= self.most || of_this_address >= self.most_of_one_address {
            return None;
        }
        open.all += 1;
        open.by_address.insert(address, of_this_address + 1);
        Some(Slot { connections: Arc::clone(self), address })
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        // The counts are right at every moment, so a panic elsewhere does not spoil them.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One counted connection; dropping it, in a panic too, counts it off.
pub(super) struct Slot {
    connections: Arc<Connections>,
    address: IpAddr,
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut open = self.connections.open();
        open.all -= 1;
        match open.by_address.get_mut(&self.address) {
            Some(count) if *count > 1 => *count -= 1,
            _ => {
                open.by_address.remove(&self.address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn connections_are_limited_in_total_and_by_address() {
        let limits = Limits { smtp_connections: 3, smtp_connections_per_address: 2, ..Limits::default() };
        let connections = Connections::new(&limits);
        let first = connections.admit(address("192.0.2.1")).unwrap();
        let _second = connections.admit(address("::ffff:192.0.2.1")).unwrap();
        assert!(connections.admit(address("192.0.2.1")).is_none());
        let third = connections.admit(address("192.0.2.2")).unwrap();
        assert!(connections.admit(address("192.0.2.3")).is_none());
        drop(first);
        assert!(connections.admit(address("192.0.2.1")).is_some());
        drop(third);
        assert_eq!(connections.open().by_address.len(), 1);
    }

    #[test]
    fn a_panic_counts_its_connection_off() {
        let connections = Connections::new(&Limits { smtp_connections: 1, ..Limits::default() });
        let slot = connections.admit(address("192.0.2.1")).unwrap();
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
            let _slot = slot;
            panic!("a defect in a session");
        }));
        assert!(panicked.is_err());
        assert!(connections.admit(address("192.0.2.1")).is_some());
    }

    #[test]
    fn the_system_out_of_descriptors_calls_for_a_pause() {
        const EMFILE: i32 = 24;
        assert!(!concerns_one_connection(&io::Error::from_raw_os_error(EMFILE)));
        assert!(concerns_one_connection(&io::ErrorKind::ConnectionAborted.into()));
    }
}
