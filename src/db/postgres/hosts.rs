//! Opens connections: to the first host of the URL's list that accepts writes, with a time limit for each host.
//!
//! Every connection of a node uses the same list. The host that worked last is tried first; after a failure, the next
//! one is. So one connection finds out that a host is down, and the others follow.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::StreamExt;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_postgres::config::Host;
use tokio_postgres::{AsyncMessage, Client, Config, SimpleQueryMessage};

use super::connect::{SOCKET_DIRECTORY, Target};
use super::failure::failed;
use crate::db::DatabaseError;
use crate::os;

/// How long one of several hosts may take, from the first packet to the check that it accepts writes.
const HOST_TIMEOUT: Duration = Duration::from_millis(1_500);
/// The same for the only host.
const ONLY_HOST_TIMEOUT: Duration = Duration::from_secs(5);
const DEFAULT_PORT: u16 = 5432;

/// The settings of each connection:
/// - Keepalives: the server quickly detects that a node has died, and frees its locks.
/// - Plans: every statement reads by a key or in the order of an index. With missing or outdated statistics, the
///   planner might read and sort a whole inbox instead, so the other kinds of plans are disabled. Plans then do not
///   depend on the parameters and can be reused.
/// - `jit`: a disabled kind of plan has a high cost, which would trigger compilation. Compilation takes longer than any
///   statement.
/// - `synchronous_commit`: a commit returns only after it is on stable storage.
///
/// The last statement reads what the node needs to know of the server.
const SESSION: &str = "
    SET tcp_keepalives_idle = 10;
    SET tcp_keepalives_interval = 5;
    SET tcp_keepalives_count = 3;
    SET idle_in_transaction_session_timeout = '30s';
    SET lock_timeout = '5s';
    SET plan_cache_mode = force_generic_plan;
    SET enable_seqscan = off;
    SET enable_bitmapscan = off;
    SET enable_hashjoin = off;
    SET enable_mergejoin = off;
    SET enable_sort = off;
    SET jit = off;
    SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off';
    SELECT pg_is_in_recovery()::text, current_setting('transaction_read_only'), current_schema()::text";

/// The hosts. Cheap to clone; clones share the place in the list.
#[derive(Clone)]
pub(super) struct Hosts(Arc<Inner>);

struct Inner {
    target: Target,
    places: Vec<Place>,
    /// The place that is tried first.
    next: AtomicUsize,
    /// The place to which the control connection has moved.
    moves: watch::Sender<usize>,
}

/// A host of the list.
struct Place {
    host: Option<Host>,
    address: Option<IpAddr>,
    port: u16,
}

/// An open connection with the settings of a session.
pub(super) struct Connected {
    pub(super) client: Client,
    /// The task that reads from the connection; it ends when the connection ends.
    pub(super) ended: JoinHandle<()>,
    /// The place of its host in the list.
    pub(super) place: usize,
    /// The schema in which its tables are.
    pub(super) schema: String,
    is_read_only: bool,
}

impl Hosts {
    pub(super) fn new(target: Target) -> Self {
        let places = places(&target.options);
        Self(Arc::new(Inner { target, places, next: AtomicUsize::new(0), moves: watch::Sender::new(0) }))
    }

    /// Connects to a host that accepts writes. If no host does, a read-only one is better than none: messages can
    /// still be read. `notified` is called with the payload of each notification.
    ///
    /// # Errors
    /// The error of the last host that failed.
    pub(super) async fn connect(
        &self,
        notified: impl Fn(&str) + Clone + Send + 'static,
    ) -> Result<Connected, DatabaseError> {
        let count = self.0.places.len();
        let first = self.0.next.load(Ordering::Relaxed);
        let (mut failure, mut read_only) = (DatabaseError::Silent, None);
        for place in (first..first + count).map(|turn| turn % count) {
            match self.connect_to(place, &notified).await {
                Ok(connected) if !connected.is_read_only => {
                    self.0.next.store(place, Ordering::Relaxed);
                    return Ok(connected);
                }
                Ok(connected) => read_only = Some(connected),
                Err(error) => {
                    if count > 1 {
                        tracing::warn!(host = self.name(place), %error, "cannot use this host of the database");
                    }
                    failure = error;
                }
            }
            // A caller that gives up before the end of the list has moved the others on.
            let after = (place + 1) % count;
            let _ = self.0.next.compare_exchange(place, after, Ordering::Relaxed, Ordering::Relaxed);
        }
        read_only.ok_or(failure)
    }

    /// Ends all requests of connections to other hosts that were opened before: this one is the primary now.
    pub(super) fn move_to(&self, place: usize) {
        self.0.moves.send_replace(place);
    }

    /// Receives the place of each move to another host.
    pub(super) fn moves(&self) -> watch::Receiver<usize> {
        self.0.moves.subscribe()
    }

    /// Whether there is another host to move to.
    pub(super) fn are_several(&self) -> bool {
        self.0.places.len() > 1
    }

    pub(super) fn tls(&self) -> tokio_postgres_rustls::MakeRustlsConnect {
        self.0.target.tls.clone()
    }

    fn name(&self, place: usize) -> String {
        let Place { host, address, port } = &self.0.places[place];
        match (host, address) {
            (Some(host), _) => format!("{}:{port}", os::database_host(host)),
            (None, Some(address)) => format!("{address}:{port}"),
            (None, None) => port.to_string(),
        }
    }

    /// Connects to one host. Of several addresses, each has the same time.
    async fn connect_to(
        &self,
        place: usize,
        notified: &(impl Fn(&str) + Clone + Send + 'static),
    ) -> Result<Connected, DatabaseError> {
        let given = self.0.target.options.get_connect_timeout().filter(|time| !time.is_zero());
        let default = if self.are_several() { HOST_TIMEOUT } else { ONLY_HOST_TIMEOUT };
        let time = given.copied().unwrap_or(default);
        let silent = |_| DatabaseError::Silent;
        let addresses = timeout(time, addresses(&self.0.places[place])).await.map_err(silent)??;
        let mut failure = DatabaseError::Silent;
        for address in addresses {
            let options = self.options(place, address);
            match timeout(time, self.open(place, options, notified.clone())).await.map_err(silent) {
                Ok(Ok(connected)) => return Ok(connected),
                Ok(Err(error)) | Err(error) => failure = error,
            }
        }
        Err(failure)
    }

    async fn open(
        &self,
        place: usize,
        options: Config,
        notified: impl Fn(&str) + Send + 'static,
    ) -> Result<Connected, DatabaseError> {
        let connected = options.connect(self.tls()).await;
        let (client, mut connection) = connected.map_err(|error| DatabaseError::Unreachable(error.into()))?;
        let ended = tokio::spawn(async move {
            let mut messages = Box::pin(futures_util::stream::poll_fn(move |context| connection.poll_message(context)));
            while let Some(Ok(message)) = messages.next().await {
                if let AsyncMessage::Notification(notification) = message {
                    notified(notification.payload());
                }
            }
        });
        let messages = client.simple_query(SESSION).await.map_err(failed)?;
        let last_row = messages.iter().rev().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => Some(row),
            _ => None,
        });
        let row = last_row.ok_or(DatabaseError::NoRow)?;
        if row.get(0) == Some("true") {
            return Err(DatabaseError::Standby);
        }
        let schema = row.get(2).unwrap_or_default().to_owned();
        Ok(Connected { is_read_only: row.get(1) == Some("on"), client, ended, place, schema })
    }

    /// The options of the URL, for one host.
    fn options(&self, place: usize, address: Option<IpAddr>) -> Config {
        let (all, place) = (&self.0.target.options, &self.0.places[place]);
        let mut one = Config::new();
        match &place.host {
            Some(Host::Tcp(name)) => _ = one.host(name),
            #[cfg(unix)]
            Some(Host::Unix(directory)) => _ = one.host_path(directory),
            None => {}
        }
        address.into_iter().for_each(|address| _ = one.hostaddr(address));
        one.port(place.port).ssl_mode(all.get_ssl_mode()).ssl_negotiation(all.get_ssl_negotiation());
        one.channel_binding(all.get_channel_binding()).keepalives(all.get_keepalives());
        one.keepalives_idle(all.get_keepalives_idle());
        all.get_keepalives_interval().into_iter().for_each(|time| _ = one.keepalives_interval(time));
        all.get_keepalives_retries().into_iter().for_each(|count| _ = one.keepalives_retries(count));
        all.get_tcp_user_timeout().into_iter().for_each(|time| _ = one.tcp_user_timeout(*time));
        all.get_user().into_iter().for_each(|user| _ = one.user(user));
        all.get_dbname().into_iter().for_each(|name| _ = one.dbname(name));
        all.get_options().into_iter().for_each(|options| _ = one.options(options));
        all.get_application_name().into_iter().for_each(|name| _ = one.application_name(name));
        match all.get_password() {
            Some(password) => _ = one.password(password),
            None => self.password(place).into_iter().for_each(|password| _ = one.password(password)),
        }
        one
    }

    fn password(&self, place: &Place) -> Option<String> {
        let options = &self.0.target.options;
        let host = match (&place.host, place.address) {
            (Some(host), _) => os::database_host(host).into_owned(),
            (None, address) => address?.to_string(),
        };
        let host = if host == SOCKET_DIRECTORY { "localhost" } else { &host };
        let user = options.get_user()?;
        let place = [host, &place.port.to_string(), options.get_dbname().unwrap_or(user), user];
        self.0.target.passwords.as_ref()?.password(place)
    }
}

/// Fails if the server has become read-only since the connection was opened.
pub(super) async fn check_writable(client: &Client) -> Result<(), DatabaseError> {
    let messages = client.simple_query("SHOW transaction_read_only").await.map_err(failed)?;
    let is_read_only =
        messages.iter().any(|message| matches!(message, SimpleQueryMessage::Row(row) if row.get(0) == Some("on")));
    if is_read_only { Err(DatabaseError::ReadOnly) } else { Ok(()) }
}

/// The addresses of a host; `None` for a socket, and for an address that the URL gives itself.
async fn addresses(place: &Place) -> Result<Vec<Option<IpAddr>>, DatabaseError> {
    match (&place.host, place.address) {
        (_, Some(address)) => Ok(vec![Some(address)]),
        (Some(Host::Tcp(name)), None) => {
            let found = tokio::net::lookup_host((name.as_str(), place.port)).await;
            let found = found.map_err(|error| DatabaseError::Unreachable(error.into()))?;
            Ok(found.map(|address| Some(address.ip())).collect())
        }
        _ => Ok(vec![None]),
    }
}

fn places(options: &Config) -> Vec<Place> {
    let (hosts, addresses, ports) = (options.get_hosts(), options.get_hostaddrs(), options.get_ports());
    let count = hosts.len().max(addresses.len());
    let place = |index: usize| Place {
        host: hosts.get(index).cloned(),
        address: addresses.get(index).copied(),
        port: ports.get(index).or(ports.first()).copied().unwrap_or(DEFAULT_PORT),
    };
    (0..count).map(place).collect()
}
