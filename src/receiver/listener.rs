//! Accepts connections, as many as the limits allow, until the receiver stops.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use restante_smtp::{Event, Refusal, Session, Transport};
use tokio::net::{TcpListener, TcpStream};

use super::connection;
use super::context::Context;
use crate::admission::Admission;
use crate::metrics;
use crate::tcp;

/// How long to wait after an error such as EMFILE, before the next attempt to accept.
const PAUSE: Duration = Duration::from_millis(100);

pub(super) struct Listener {
    pub(super) socket: TcpListener,
    pub(super) address: SocketAddr,
    /// Whether connections begin with a TLS handshake.
    pub(super) implicit_tls: bool,
}

impl Listener {
    pub(super) fn bind(address: SocketAddr, implicit_tls: bool) -> io::Result<Self> {
        let socket = tcp::listen(address)?;
        let address = socket.local_addr()?;
        Ok(Self {
            socket,
            address,
            implicit_tls,
        })
    }
}

/// Accepts connections until the context's `stop` is cancelled.
pub(super) async fn accept(listener: Listener, admission: &Arc<Admission>, context: &Arc<Context>) {
    loop {
        let accepted = tokio::select! {
            biased;
            () = context.stop.cancelled() => return,
            accepted = listener.socket.accept() => accepted,
        };
        match accepted {
            Ok((stream, peer)) => start(stream, peer, listener.implicit_tls, admission, context),
            Err(error) if concerns_one_connection(&error) => {}
            Err(error) => {
                tracing::error!(%error, "cannot accept connections for now");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

fn start(
    stream: TcpStream,
    peer: SocketAddr,
    implicit_tls: bool,
    admission: &Arc<Admission>,
    context: &Arc<Context>,
) {
    let Ok(admitted) = admission.admit(peer.ip()) else {
        metrics::connection_refused();
        if context.refusal_log.admits(peer.ip()) {
            tracing::info!(%peer, "rejected a connection: too many");
        }
        // A client that expects TLS could not read the reason.
        if !implicit_tls {
            // The client may have disconnected; that is harmless.
            let _ = refuse(stream, context);
        }
        return;
    };
    let counted = metrics::OpenConnection::begin();
    let context_of_task = Arc::clone(context);
    // Boxed, because a large future that is moved takes its memory several times.
    let serving = Box::pin(async move {
        connection::serve(stream, peer, implicit_tls, admitted, context_of_task).await;
        drop(counted);
    });
    context
        .tasks
        .spawn(context.end.clone().run_until_cancelled_owned(serving));
}

/// Sends the reason and closes. The reply fits into the empty send buffer of a new socket, so this
/// does not block.
fn refuse(stream: TcpStream, context: &Context) -> io::Result<()> {
    let mut stream = stream.into_std()?;
    let mut session = Session::new(
        Arc::clone(&context.session),
        Transport {
            encrypted: false,
            loopback: false,
        },
    );
    session.close(Refusal::TooManyConnections);
    while let Event::Send(reply) = session.next() {
        stream.write_all(reply.to_string().as_bytes())?;
    }
    Ok(())
}

/// Errors of one connection. All other errors, such as EMFILE, last until something is closed.
fn concerns_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted};
    matches!(
        error.kind(),
        ConnectionAborted | ConnectionReset | Interrupted
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_out_of_descriptors_calls_for_a_pause() {
        const EMFILE: i32 = 24;
        assert!(!concerns_one_connection(&io::Error::from_raw_os_error(
            EMFILE
        )));
        assert!(concerns_one_connection(
            &io::ErrorKind::ConnectionAborted.into()
        ));
    }
}
