//! `restante serve`: starts the service, prints its addresses, and stops it gracefully.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

use super::error::CliError;
use super::for_tests::{self, ForTests};
use super::greeting::{self, Greeting};
use super::stop::{self, Ended, StopRequests};
use super::{data_dir, database, descriptors, logging, output};
use crate::clock::Clock;
use crate::config::{DatabaseUrl, MailpitApi, Settings};
use crate::disk::keep_reserve;
use crate::http::server::ConnectionLimits;
use crate::http::{self, BaseUrl};
use crate::metrics;
use crate::model::ApiKey;
use crate::os;
use crate::receiver::{Receiver, ReceiverError};
use crate::sender::{Sender, SenderError};
use crate::service::{Options, ProjectError, Service};
use crate::tcp::{self, reachable};

/// How long running requests and messages that are arriving may take after a stop signal.
const GRACE: Duration = Duration::from_secs(4);
/// The same for mail that is being sent to another server. If it is cut off, that server may have
/// accepted it, and gets it again.
const SENDING_GRACE: Duration = Duration::from_secs(10);

/// Maximum number of connections for monitoring, and for the API of Mailpit at its own listener.
const MAX_MONITOR_CONNECTIONS: usize = 64;
const MAX_MAILPIT_CONNECTIONS: usize = 256;

/// Why the service did not start, or did not shut down gracefully.
#[derive(Debug, thiserror::Error)]
pub(super) enum ServeError {
    #[error("cannot prepare the default project")]
    Prepare(#[source] ProjectError),
    #[error(
        "cannot listen on {address}: choose another address with {flag} (port 0 selects a free port)"
    )]
    Listen {
        flag: &'static str,
        address: SocketAddr,
        source: io::Error,
    },
    #[error("cannot receive mail")]
    Receive(#[source] ReceiverError),
    #[error("cannot start the metrics")]
    Metrics(#[source] metrics::InstallError),
    #[error("cannot send mail")]
    Send(#[source] SenderError),
    #[error("stopped immediately by a second signal")]
    Interrupted,
}

/// The flags of the command.
#[derive(Args, Clone, Debug)]
pub(super) struct ServeFlags {
    #[command(flatten)]
    settings: Settings,
    #[command(flatten)]
    for_tests: ForTests,
}

/// What a server depends on beyond its settings.
#[derive(Default)]
pub(super) struct Host {
    /// The file for its log [default: standard error].
    pub(super) log: Option<PathBuf>,
    /// It stops when this ends.
    pub(super) ended: Option<Ended>,
    /// Whether Ctrl-C does not stop it.
    pub(super) ignores_interrupt: bool,
}

/// Runs the service until a signal, or the end of what it depends on, stops it.
///
/// # Errors
/// [`CliError`] if it cannot start, or if a second signal stops it immediately.
pub(super) fn run(flags: &ServeFlags) -> Result<(), CliError> {
    if flags.for_tests.is_wanted() {
        return for_tests::run(&flags.settings, &flags.for_tests);
    }
    let mut host = Host::default();
    if flags.settings.process.exit_with_stdin {
        host.ended = Some(stop::end_of_stdin().map_err(CliError::Runtime)?);
    }
    self::host(&flags.settings, host)
}

/// Runs the service in this process.
///
/// # Errors
/// See [`run`].
pub(super) fn host(settings: &Settings, host: Host) -> Result<(), CliError> {
    os::return_large_blocks();
    let descriptors = descriptors::raise_limit();
    let mut settings = settings.clone();
    settings.check()?;
    let log = logging::start(settings.process.log_format, host.log.as_deref())?;
    descriptors::divide(&mut settings.limits, descriptors);
    let runtime = Runtime::new().map_err(CliError::Runtime)?;
    runtime.spawn(log.dropped_lines().report());
    let result = runtime.block_on(serve(&settings, host));
    // After a second signal, this does not wait for running tasks.
    runtime.shutdown_background();
    result
}

async fn serve(settings: &Settings, host: Host) -> Result<(), CliError> {
    let _data_dir = data_dir::lock(&settings.data.data_dir)?;
    data_dir::lock_database(&settings.data.url())?;
    let stop_requests =
        StopRequests::listen(host.ended, host.ignores_interrupt).map_err(CliError::Runtime)?;
    let server = Server::start(settings).await?;
    warn_of_strangers(settings);
    if settings.process.print_json {
        output::json(&greeting::json(&server, settings, host.log.as_deref()))
    } else {
        let server = &server;
        output::line(&Greeting { server, settings }.to_string())
    }?;
    server.run(stop_requests).await?;
    Ok(())
}

/// Other hosts can fill the disk with mail for any address.
fn warn_of_strangers(settings: &Settings) {
    let listeners = &settings.listeners;
    let mut addresses = [Some(listeners.smtp_listen), listeners.smtps_listen]
        .into_iter()
        .flatten();
    if settings.accepted.are_all() && addresses.any(|address| !address.ip().is_loopback()) {
        tracing::warn!(
            "--accept-domains * accepts mail for every domain from every host that can reach the SMTP listener: \
             listen on loopback, or list the domains"
        );
    }
}

/// The service with its listeners bound.
pub(super) struct Server {
    service: Service,
    pub(super) http: Site,
    /// The API of Mailpit at a listener of its own.
    pub(super) mailpit: Option<Site>,
    pub(super) monitor: Option<Site>,
    pub(super) receiver: Receiver,
    sender: Sender,
    pub(super) base_url: BaseUrl,
    pub(super) made: Made,
}

/// A listener for HTTP, and what it serves.
pub(super) struct Site {
    listener: TcpListener,
    pub(super) address: SocketAddr,
    router: axum::Router,
    limits: ConnectionLimits,
}

/// The secrets that this start generated, which are shown once.
pub(super) struct Made {
    pub(super) key: Option<ApiKey>,
    pub(super) admin_token: Option<String>,
    /// The path of a link that signs in.
    pub(super) link: Option<String>,
}

impl Server {
    /// Binds first: if a port is in use, the start fails before the key is created and shown.
    async fn start(settings: &Settings) -> Result<Self, CliError> {
        let service = start_service(settings).await?;
        let listeners = &settings.listeners;
        let (http, http_address) = bind("--http-listen", listeners.http_listen)?;
        let mailpit = listeners
            .mailpit_listen
            .filter(|_| listeners.mailpit_api != MailpitApi::Off)
            .map(|address| bind("--mailpit-listen", address))
            .transpose()?;
        let receiver = bind_smtp(settings, &service).await?;
        let monitor = listeners
            .metrics_listen
            .map(|address| monitor(address, settings, &service))
            .transpose()?;
        let sender = Sender::new(&settings.sending, service.clone()).map_err(ServeError::Send)?;
        let made = prepare_projects(&service, settings).await?;
        let base_url = match settings.base_url.clone() {
            Some(url) => BaseUrl::Configured(url),
            None => BaseUrl::Listener(format!("http://{}", reachable(http_address))),
        };
        let app = http::App {
            service: service.clone(),
            limits: settings.limits.clone(),
            base_url: base_url.clone(),
            smtp_port: receiver.local_addr().port(),
            smtp_public_address: listeners.smtp_public_address.clone(),
            smtp_starttls: listeners.smtp_starttls,
            smtps_port: receiver.tls_addr().map(|address| address.port()),
            self_signed: settings.tls.files().is_none(),
            mcp: listeners.mcp,
            send_apis: listeners.send_apis,
            mailpit_api: listeners.mailpit_api,
            smtp_auth: listeners.smtp_auth,
            data_dir: settings.data.data_dir.clone(),
            trusted_proxies: settings.trusted_proxies.clone(),
        };
        let router = http::router(app);
        Ok(Self {
            service,
            mailpit: mailpit.map(|bound| {
                let router = http::mailpit_at_root(router.clone());
                Site::limited(bound, router, MAX_MAILPIT_CONNECTIONS)
            }),
            http: Site {
                listener: http,
                address: http_address,
                router,
                limits: ConnectionLimits {
                    all: settings.limits.http_connections,
                    per_address: settings.limits.http_connections_per_address,
                    proxies: settings.trusted_proxies.clone(),
                },
            },
            monitor,
            receiver,
            sender,
            base_url,
            made,
        })
    }

    /// Runs until the first stop signal, then shuts down gracefully; a second signal stops
    /// immediately.
    async fn run(self, mut stop_requests: StopRequests) -> Result<(), ServeError> {
        let stop = CancellationToken::new();
        let sites = [Some(self.http), self.mailpit, self.monitor]
            .into_iter()
            .flatten()
            .map(|site| site.serve(self.service.clone(), stop.clone()));
        let http = futures_util::future::join_all(sites);
        let smtp = self.receiver.run(stop.clone(), GRACE);
        let sending = self.sender.run(stop.clone(), SENDING_GRACE);
        let stopped = async {
            tokio::join!(http, smtp, sending);
            self.service.stop().await;
            self.service.close().await;
        };
        let second_request = async {
            stop_requests.next().await;
            tracing::info!("stopping: waiting for running requests and deliveries");
            stop.cancel();
            stop_requests.next().await;
        };
        tokio::select! {
            () = stopped => {
                tracing::info!("stopped");
                Ok(())
            }
            () = second_request => Err(ServeError::Interrupted),
        }
    }
}

impl Site {
    /// One with at most this many connections, from any address.
    fn limited(
        (listener, address): (TcpListener, SocketAddr),
        router: axum::Router,
        most: usize,
    ) -> Self {
        let limits = ConnectionLimits {
            all: most,
            per_address: most,
            proxies: Vec::new(),
        };
        Self {
            listener,
            address,
            router,
            limits,
        }
    }

    /// The URL for clients on this machine.
    pub(super) fn url(&self) -> String {
        format!("http://{}", reachable(self.address))
    }

    async fn serve(self, service: Service, stop: CancellationToken) {
        http::server::serve(
            self.listener,
            self.router,
            service,
            self.limits,
            stop,
            GRACE,
        )
        .await;
    }
}

/// The listener for monitoring.
fn monitor(
    address: SocketAddr,
    settings: &Settings,
    service: &Service,
) -> Result<Site, ServeError> {
    let bound = bind("--metrics-listen", address)?;
    let disk = metrics::Disk {
        directory: settings.data.data_dir.clone(),
        reserved: settings.limits.free_disk,
        database: match settings.data.url() {
            DatabaseUrl::Sqlite(path) => Some(path),
            DatabaseUrl::Postgres(_) => None,
        },
    };
    let metrics = metrics::install(disk).map_err(ServeError::Metrics)?;
    let router = http::metrics::router(service.clone(), metrics);
    Ok(Site::limited(bound, router, MAX_MONITOR_CONNECTIONS))
}

async fn start_service(settings: &Settings) -> Result<Service, CliError> {
    let url = settings.data.url();
    let options = Options {
        mail_domain: settings.mail_domain.clone(),
        accepted: settings.accepted.clone(),
        limits: settings.limits.clone(),
        dns_server: settings.sending.dns_server,
    };
    let reserve = match &url {
        DatabaseUrl::Sqlite(path) => Some(path.with_added_extension("reserve")),
        DatabaseUrl::Postgres(_) => None,
    };
    let started = database::open(url, async |database| {
        reserve.map(|file| tokio::spawn(keep_reserve(file, Clock::system())));
        Service::start(database, Clock::system(), options).await
    });
    Ok(started.await?)
}

fn bind(flag: &'static str, address: SocketAddr) -> Result<(TcpListener, SocketAddr), ServeError> {
    let failed = |source| ServeError::Listen {
        flag,
        address,
        source,
    };
    let listener = tcp::listen(address).map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    Ok((listener, bound))
}

async fn bind_smtp(settings: &Settings, service: &Service) -> Result<Receiver, ServeError> {
    Receiver::bind(settings, service.clone())
        .await
        .map_err(|error| match error {
            ReceiverError::Listen {
                address,
                implicit_tls,
                source,
            } => {
                let flag = if implicit_tls {
                    "--smtps-listen"
                } else {
                    "--smtp-listen"
                };
                ServeError::Listen {
                    flag,
                    address,
                    source,
                }
            }
            other => ServeError::Receive(other),
        })
}

/// The key of the default project and the administrator's token, if this start generated them.
async fn prepare_projects(service: &Service, settings: &Settings) -> Result<Made, ServeError> {
    let projects = service.projects();
    let admin_token = projects
        .prepare_admin(settings.admin_token.as_deref())
        .await;
    let admin_token = admin_token.map_err(|error| ServeError::Prepare(error.into()))?;
    let key = projects
        .prepare_default(settings.api_key.as_ref())
        .await
        .map_err(ServeError::Prepare)?;
    // The output of a server that other hosts reach may have other readers.
    let is_shown =
        !settings.process.print_json && settings.listeners.http_listen.ip().is_loopback();
    let link = match is_shown {
        true => projects.sign_in_link().await,
        false => Ok(None),
    };
    Ok(Made {
        key,
        admin_token,
        link: link.map_err(|error| ServeError::Prepare(error.into()))?,
    })
}
