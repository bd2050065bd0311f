//! SMTP over tokio: runs one pure [`Session`](restante_smtp::Session) for each connection and answers its events with
//! the service.
//!
//! `listener` accepts connections and `admission` counts them. `connection` is the loop of one connection,
//! `event_handler` answers the session's events, `trace` writes the header fields that this hop adds. `arrival` is the
//! account of a message that is being received, `memory` bounds what all of them hold together, `refusal_log`
//! sums up refusals, `disk` watches the free disk, `tls` holds the certificate, `alarm` is a cheap timer, `context` is
//! what the connections share.

mod admission;
mod alarm;
mod arrival;
mod connection;
mod context;
mod disk;
mod event_handler;
mod listener;
mod memory;
mod refusal_log;
mod tls;
mod trace;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use self::context::Context;
use self::tls::Certificate;
pub use self::tls::TlsError;
use crate::config::Settings;
use crate::service::Service;
use crate::tcp;

/// Why the receiver cannot start.
#[derive(Debug, thiserror::Error)]
pub enum ReceiverError {
    /// The address is taken, or not this machine's.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// Where to listen.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// There is no certificate to present.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The runtime is shutting down.
    #[error("interrupted while reading the certificate")]
    Interrupted,
}

/// A bound SMTP server.
pub struct Receiver {
    listener: TcpListener,
    local_addr: SocketAddr,
    context: Context,
}

impl Receiver {
    /// Binds the socket and reads the certificate. Where none was given, the server's own is used, which is made at the
    /// first start.
    ///
    /// # Errors
    /// [`ReceiverError`] where the address or the certificate cannot be used.
    pub async fn bind(settings: &Settings, service: Service) -> Result<Self, ReceiverError> {
        let certificate = load_certificate(settings, &service).await?;
        let address = settings.smtp_listen;
        let failed = |source| ReceiverError::Listen { address, source };
        let listener = tcp::listen(address).map_err(failed)?;
        let local_addr = listener.local_addr().map_err(failed)?;
        let context = Context::new(settings, service, certificate);
        Ok(Self { listener, local_addr, context })
    }

    /// The address it listens on, with the real port where the settings say 0.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.local_addr
    }

    /// Serves until `stop`. Then it accepts no more connections; idle sessions receive 421 at once and the others at
    /// their next command. Messages that are being received may finish within `grace`; what is left is cut off.
    pub async fn run(self, stop: CancellationToken, grace: Duration) {
        let context = Arc::new(Context { stop, ..self.context });
        // Dropping this future ends the connections too.
        let _end = context.end.clone().drop_guard();
        listener::accept(self.listener, &context).await;
        context.tasks.close();
        tokio::select! {
            () = context.tasks.wait() => {}
            () = context.service.clock().sleep(grace) => {
                tracing::warn!(connections = context.tasks.len(), "cut off what did not end within the grace");
                context.end.cancel();
                context.tasks.wait().await;
            }
        }
        context.refusal_log.end();
    }
}

async fn load_certificate(settings: &Settings, service: &Service) -> Result<Certificate, ReceiverError> {
    let (given, data_dir) = (settings.tls.clone(), settings.data_dir.clone());
    let (mail_domain, clock) = (settings.mail_domain.clone(), service.clock().clone());
    let loaded = tokio::task::spawn_blocking(move || {
        let files = match given {
            Some(files) => files,
            None => tls::self_signed(&data_dir, &mail_domain)?,
        };
        Certificate::load(files, clock)
    });
    Ok(loaded.await.map_err(|_| ReceiverError::Interrupted)??)
}
