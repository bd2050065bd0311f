//! SMTP over tokio: drives one pure [`Session`](restante_smtp::Session) for each connection and answers its questions
//! with the service.
//!
//! `listener` takes connections, `connection` is the loop that moves bytes and watches the time, `answers` puts the
//! session's questions to the service, `arrival` is the account of a message under way, `memory` bounds what all of
//! them hold together, `refusal_log` sums up refusals, `disk` watches the disk, `tls` holds the certificate, `trace` writes what this hop adds.

mod answers;
mod arrival;
mod connection;
mod disk;
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
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::disk::Disk;
use self::memory::MessageMemory;
use self::refusal_log::RefusalLog;
use self::tls::Certificate;
pub use self::tls::TlsError;
use crate::config::{Limits, Settings};
use crate::service::Service;
use crate::tcp;
use restante_smtp::SessionConfig;

/// How long a client's socket is looked at again and again behind a reply, before its task sleeps. A client on the same
/// machine has its next command ready sooner than a task that sleeps is woken.
const ATTENTION: Duration = Duration::from_micros(100);

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

/// What all connections share.
struct Context {
    service: Service,
    limits: Limits,
    session: Arc<SessionConfig>,
    memory: Arc<MessageMemory>,
    disk: Disk,
    certificate: Certificate,
    /// See [`ATTENTION`]. None where there is one processor, which the client needs meanwhile.
    attention: Duration,
    /// Sessions end where they can.
    stop: CancellationToken,
    /// Sessions end where they are.
    end: CancellationToken,
    tasks: TaskTracker,
    refusal_log: RefusalLog,
}

impl Receiver {
    /// Binds the socket and reads the certificate, which is made first where none was given and none was kept.
    ///
    /// # Errors
    /// [`ReceiverError`] where the address or the certificate cannot be used.
    pub async fn bind(settings: &Settings, service: Service) -> Result<Self, ReceiverError> {
        let certificate = load_certificate(settings, &service).await?;
        let address = settings.smtp_listen;
        let failed = |source| ReceiverError::Listen { address, source };
        let listener = tcp::listen(address).map_err(failed)?;
        let local_addr = listener.local_addr().map_err(failed)?;
        let limits = settings.limits.clone();
        let refusal_log = RefusalLog::new(service.clock().clone());
        let context = Context {
            memory: MessageMemory::new(&limits),
            disk: Disk::new(settings.data_dir.clone(), limits.free_disk, service.clock().clone()),
            session: connection::session_config(settings),
            certificate,
            attention: if Handle::current().metrics().num_workers() > 1 { ATTENTION } else { Duration::ZERO },
            service,
            limits,
            stop: CancellationToken::new(),
            end: CancellationToken::new(),
            tasks: TaskTracker::new(),
            refusal_log,
        };
        Ok(Self { listener, local_addr, context })
    }

    /// Where it listens: with the port that was free, if port 0 was asked for.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.local_addr
    }

    /// Serves until `stop`. Then no connection is taken any more, idle sessions are told 421 and the others at their
    /// next command; messages on their way are finished within `grace`, and what is left after it is cut off.
    pub async fn run(self, stop: CancellationToken, grace: Duration) {
        let context = Arc::new(Context { stop, ..self.context });
        // Whoever drops this future ends the connections too.
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
