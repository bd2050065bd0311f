//! SMTP over tokio: runs one pure [`Session`](restante_smtp::Session) for each connection, and
//! answers its events with what the [`Door`](crate::service::Door) says.
//!
//! - `listener` accepts connections, plain or with implicit TLS, and `crate::admission` counts
//!   them.
//! - `connection` runs one connection; `event_handler` answers the events of its session.
//! - `trace` writes the header fields that this server adds.
//! - `arrival` tracks the time and memory of one message, and `memory` limits the memory of all
//!   messages.
//! - `refusal_log` limits the log lines about refusals.
//! - `disk` measures the free disk space, `tls` has the certificate, and `alarm` is a cheap timer.
//! - `context` has the settings and the state that all connections share.

mod alarm;
mod arrival;
mod connection;
mod context;
mod event_handler;
mod listener;
mod memory;
mod refusal_log;
mod tls;
mod trace;
mod transcript;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use self::context::Context;
use self::listener::Listener;
use self::tls::Certificate;
pub use self::tls::TlsError;
use crate::admission::Admission;
use crate::config::Settings;
use crate::service::Service;

/// Why the receiver cannot start.
#[derive(Debug, thiserror::Error)]
pub enum ReceiverError {
    /// The address is in use, or it is not an address of this machine.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address of the listener.
        address: SocketAddr,
        /// Whether this is the listener for implicit TLS.
        implicit_tls: bool,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The certificate cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The runtime is shutting down.
    #[error("interrupted while reading the certificate")]
    Interrupted,
}

/// A bound SMTP server, with one listener or two.
pub struct Receiver {
    listener: Listener,
    tls_listener: Option<Listener>,
    context: Context,
}

impl Receiver {
    /// Binds the sockets and reads the certificate. If the settings contain no certificate, the
    /// first start creates one.
    ///
    /// # Errors
    /// [`ReceiverError`] if an address or the certificate cannot be used.
    pub async fn bind(settings: &Settings, service: Service) -> Result<Self, ReceiverError> {
        let certificate = load_certificate(settings, &service).await?;
        let listener = bind(settings.listeners.smtp_listen, false)?;
        let tls_listener = settings
            .listeners
            .smtps_listen
            .map(|address| bind(address, true))
            .transpose()?;
        let context = Context::new(settings, service, certificate);
        Ok(Self {
            listener,
            tls_listener,
            context,
        })
    }

    /// The address of the listener, including the actual port if the configured port is 0.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.listener.address
    }

    /// The address of the listener for implicit TLS, if it is enabled.
    #[must_use]
    pub fn tls_addr(&self) -> Option<SocketAddr> {
        self.tls_listener.as_ref().map(|listener| listener.address)
    }

    /// Serves until `stop` is cancelled. Then it accepts no new connections, idle sessions receive
    /// 421 immediately, and the others at their next command. Messages that are being received have
    /// `grace` to finish; then their connections are closed.
    pub async fn run(self, stop: CancellationToken, grace: Duration) {
        let context = Arc::new(Context {
            stop,
            ..self.context
        });
        // Dropping this future also ends the connections.
        let _end = context.end.clone().drop_guard();
        let admission = {
            let limits = &context.limits;
            Admission::new(
                limits.smtp_connections,
                limits.smtp_connections_per_address,
                Vec::new(),
            )
        };
        let encrypted = async {
            if let Some(listener) = self.tls_listener {
                listener::accept(listener, &admission, &context).await;
            }
        };
        tokio::join!(
            listener::accept(self.listener, &admission, &context),
            encrypted
        );
        context.tasks.close();
        tokio::select! {
            () = context.tasks.wait() => {}
            () = context.service.clock().sleep(grace) => {
                tracing::warn!(connections = context.tasks.len(), "closed connections that did not finish in time");
                context.end.cancel();
                context.tasks.wait().await;
            }
        }
        context.refusal_log.end();
    }
}

fn bind(address: SocketAddr, implicit_tls: bool) -> Result<Listener, ReceiverError> {
    Listener::bind(address, implicit_tls).map_err(|source| ReceiverError::Listen {
        address,
        implicit_tls,
        source,
    })
}

async fn load_certificate(
    settings: &Settings,
    service: &Service,
) -> Result<Certificate, ReceiverError> {
    let given = settings.tls.files();
    let data_dir = settings.data.data_dir.clone();
    let names = tls::names(settings);
    let clock = service.clock().clone();
    let loaded = tokio::task::spawn_blocking(move || {
        let files = match given {
            Some(files) => files,
            None => tls::self_signed(&data_dir, &names)?,
        };
        Certificate::load(files, clock)
    });
    Ok(loaded.await.map_err(|_| ReceiverError::Interrupted)??)
}
