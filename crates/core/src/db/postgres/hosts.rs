//! Opens connections: to the first place in the URL's list that accepts writes, with a time limit
//! for each place. If a name has several addresses, each of them is a place.
//!
//! Every connection of a node uses the same list. The place that worked last is tried first; after
//! a failure, the next one is. So one connection finds out that a host is down, and the others
//! follow. They do so at once: a primary that was frozen, and does not know yet that it has been
//! replaced, must not be used beside the new one.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::join_all;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_postgres::config::Host;
use tokio_postgres::{AsyncMessage, Client, Config, SimpleQueryMessage};

use super::connect::{SOCKET_DIRECTORY, Target};
use super::failure::failed;
use crate::db::DatabaseError;
use crate::os;

/// How long one of several places may take, from the first packet to the check that it accepts
/// writes.
const PLACE_TIMEOUT: Duration = Duration::from_millis(1_500);
/// The same for the only place.
const ONLY_PLACE_TIMEOUT: Duration = Duration::from_secs(5);
/// How long it may take to find the addresses of a name.
const LOOKUP_TIMEOUT: Duration = Duration::from_millis(1_500);
const DEFAULT_PORT: u16 = 5432;

/// The settings of each connection:
/// - Keepalives: the server quickly detects that a node has died, and frees its locks.
/// - Plans: every statement reads by a key or in the order of an index. With missing or outdated
///   statistics, the planner might read and sort a whole inbox instead, so the other kinds of plans
///   are disabled. Plans then do not depend on the parameters and can be reused.
/// - `jit`: a disabled kind of plan has a high cost, which would trigger compilation. Compilation
///   takes longer than any statement.
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
    /// The hosts of the URL.
    hosts: Vec<Server>,
    /// The place that is tried first.
    next: Mutex<Option<Server>>,
    /// The place that worked last; its receivers are notified only of a move from another place.
    moves: watch::Sender<Option<Server>>,
}

/// A host of the URL, or one of its addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Server {
    host: Option<Host>,
    address: Option<IpAddr>,
    port: u16,
}

/// An open connection with the settings of a session.
pub(super) struct Connected {
    pub(super) client: Client,
    /// The task that reads from the connection; it ends when the connection ends.
    pub(super) ended: JoinHandle<()>,
    pub(super) server: Server,
    /// The schema in which its tables are.
    pub(super) schema: String,
    is_read_only: bool,
}

impl Hosts {
    pub(super) fn new(target: Target) -> Self {
        let hosts = hosts(&target.options);
        Self(Arc::new(Inner {
            target,
            hosts,
            next: Mutex::default(),
            moves: watch::Sender::default(),
        }))
    }

    /// Connects to a place that accepts writes. If none does, a read-only one is better than none:
    /// messages can still be read. `notified` is called with the payload of each notification.
    ///
    /// # Errors
    /// The error of the last place that failed.
    pub(super) async fn connect(
        &self,
        notified: impl Fn(&str) + Clone + Send + 'static,
    ) -> Result<Connected, DatabaseError> {
        let servers = self.servers().await?;
        self.connect_to_one(&servers, notified).await
    }

    /// Tries the places in this order.
    async fn connect_to_one(
        &self,
        servers: &[Server],
        notified: impl Fn(&str) + Clone + Send + 'static,
    ) -> Result<Connected, DatabaseError> {
        let given = self
            .0
            .target
            .options
            .get_connect_timeout()
            .filter(|time| !time.is_zero());
        let default = if servers.len() > 1 {
            PLACE_TIMEOUT
        } else {
            ONLY_PLACE_TIMEOUT
        };
        let time = given.copied().unwrap_or(default);
        let mut failure = DatabaseError::Silent;
        let mut read_only = None;
        let used = self.0.moves.borrow().clone();
        for (server, after) in servers.iter().zip(servers.iter().cycle().skip(1)) {
            let opened = timeout(time, self.open(server, notified.clone())).await;
            match opened.unwrap_or(Err(DatabaseError::Silent)) {
                Ok(connected) if !connected.is_read_only && self.move_to(server, used.as_ref()) => {
                    return Ok(connected);
                }
                Ok(connected) if !connected.is_read_only => {}
                Ok(connected) => read_only = Some(connected),
                Err(error) => {
                    if servers.len() > 1 {
                        tracing::warn!(host = server.name(), %error, "cannot use this host of the database");
                    }
                    failure = error;
                }
            }
            // A caller that gives up before the end of the list has moved the others on.
            let mut next = self.next();
            if next.as_ref().is_none_or(|next| next == server) {
                *next = Some(after.clone());
            }
        }
        read_only.ok_or(failure)
    }

    /// Whether a new connection to one of the places accepts writes.
    pub(super) async fn accept_writes(&self) -> bool {
        matches!(self.connect(|_| {}).await, Ok(connected) if !connected.is_read_only)
    }

    /// Ends all connections to the place that was `used`, unless it was this one. `false` if the
    /// node has moved to another place since it was used: this one may be an old primary, which was
    /// silent until now.
    fn move_to(&self, server: &Server, used: Option<&Server>) -> bool {
        let mut is_used = true;
        self.0.moves.send_if_modified(|current| {
            is_used = [used, Some(server)].contains(&current.as_ref());
            is_used
                && current
                    .replace(server.clone())
                    .is_some_and(|before| before != *server)
        });
        if is_used {
            *self.next() = Some(server.clone());
        }
        is_used
    }

    /// Receives the place of each move to another host.
    pub(super) fn moves(&self) -> watch::Receiver<Option<Server>> {
        self.0.moves.subscribe()
    }

    pub(super) fn tls(&self) -> tokio_postgres_rustls::MakeRustlsConnect {
        self.0.target.tls.clone()
    }

    /// The places, beginning with the one that is tried first. Names are looked up each time,
    /// because an administrator may give a name to another host.
    async fn servers(&self) -> Result<Vec<Server>, DatabaseError> {
        let mut servers = Vec::new();
        let mut failure = DatabaseError::Silent;
        let found = join_all(self.0.hosts.iter().map(Server::look_up)).await;
        for (host, found) in self.0.hosts.iter().zip(found) {
            match found {
                Ok(found) => servers.extend(found),
                Err(error) => {
                    tracing::warn!(host = host.name(), %error, "cannot find this host of the database");
                    failure = error;
                }
            }
        }
        if let Some(first) = servers
            .iter()
            .position(|server| Some(server) == self.next().as_ref())
        {
            servers.rotate_left(first);
        }
        if servers.is_empty() {
            Err(failure)
        } else {
            Ok(servers)
        }
    }

    fn next(&self) -> MutexGuard<'_, Option<Server>> {
        // The mutex is not poisoned: no code panics while it is locked.
        self.0.next.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn open(
        &self,
        server: &Server,
        notified: impl Fn(&str) + Send + 'static,
    ) -> Result<Connected, DatabaseError> {
        let connected = self.options(server).connect(self.tls()).await;
        let (client, mut connection) =
            connected.map_err(|error| DatabaseError::Unreachable(error.into()))?;
        let ended = tokio::spawn(async move {
            let mut messages = Box::pin(futures_util::stream::poll_fn(move |context| {
                connection.poll_message(context)
            }));
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
        Ok(Connected {
            is_read_only: row.get(1) == Some("on"),
            client,
            ended,
            server: server.clone(),
            schema,
        })
    }

    /// The options of the URL, for one place.
    fn options(&self, server: &Server) -> Config {
        let all = &self.0.target.options;
        let mut one = Config::new();
        match &server.host {
            Some(Host::Tcp(name)) => _ = one.host(name),
            #[cfg(unix)]
            Some(Host::Unix(directory)) => _ = one.host_path(directory),
            None => {}
        }
        server
            .address
            .into_iter()
            .for_each(|address| _ = one.hostaddr(address));
        one.port(server.port)
            .ssl_mode(all.get_ssl_mode())
            .ssl_negotiation(all.get_ssl_negotiation());
        one.channel_binding(all.get_channel_binding())
            .keepalives(all.get_keepalives());
        one.keepalives_idle(all.get_keepalives_idle());
        all.get_keepalives_interval()
            .into_iter()
            .for_each(|time| _ = one.keepalives_interval(time));
        all.get_keepalives_retries()
            .into_iter()
            .for_each(|count| _ = one.keepalives_retries(count));
        all.get_tcp_user_timeout()
            .into_iter()
            .for_each(|time| _ = one.tcp_user_timeout(*time));
        all.get_user()
            .into_iter()
            .for_each(|user| _ = one.user(user));
        all.get_dbname()
            .into_iter()
            .for_each(|name| _ = one.dbname(name));
        all.get_options()
            .into_iter()
            .for_each(|options| _ = one.options(options));
        all.get_application_name()
            .into_iter()
            .for_each(|name| _ = one.application_name(name));
        match all.get_password() {
            Some(password) => _ = one.password(password),
            None => self
                .password(server)
                .into_iter()
                .for_each(|password| _ = one.password(password)),
        }
        one
    }

    fn password(&self, server: &Server) -> Option<String> {
        let options = &self.0.target.options;
        let host = match (&server.host, server.address) {
            (Some(host), _) => os::database_host(host).into_owned(),
            (None, address) => address?.to_string(),
        };
        let host = if host == SOCKET_DIRECTORY {
            "localhost"
        } else {
            &host
        };
        let user = options.get_user()?;
        let server = [
            host,
            &server.port.to_string(),
            options.get_dbname().unwrap_or(user),
            user,
        ];
        self.0.target.passwords.as_ref()?.password(server)
    }
}

/// Fails if the server has become read-only since the connection was opened.
pub(super) async fn check_writable(client: &Client) -> Result<(), DatabaseError> {
    let messages = client
        .simple_query("SHOW transaction_read_only")
        .await
        .map_err(failed)?;
    let is_read_only = messages
        .iter()
        .any(|message| matches!(message, SimpleQueryMessage::Row(row) if row.get(0) == Some("on")));
    if is_read_only {
        Err(DatabaseError::ReadOnly)
    } else {
        Ok(())
    }
}

impl Server {
    /// This host with each of its addresses; only the host if it is a socket, or if the URL says
    /// its address.
    async fn look_up(&self) -> Result<Vec<Self>, DatabaseError> {
        let (Some(Host::Tcp(name)), None) = (&self.host, self.address) else {
            return Ok(vec![self.clone()]);
        };
        let found = timeout(
            LOOKUP_TIMEOUT,
            tokio::net::lookup_host((name.as_str(), self.port)),
        )
        .await;
        let found = found.map_err(|_| DatabaseError::Silent)?;
        let addresses = found.map_err(|error| DatabaseError::Unreachable(error.into()))?;
        Ok(addresses
            .map(|address| Self {
                address: Some(address.ip()),
                ..self.clone()
            })
            .collect())
    }

    fn name(&self) -> String {
        let Self {
            host,
            address,
            port,
        } = self;
        match (host, address) {
            (Some(host), Some(address)) => {
                format!("{} ({address}), port {port}", os::database_host(host))
            }
            (Some(host), None) => format!("{}:{port}", os::database_host(host)),
            (None, Some(address)) => format!("{address}:{port}"),
            (None, None) => port.to_string(),
        }
    }
}

fn hosts(options: &Config) -> Vec<Server> {
    let hosts = options.get_hosts();
    let addresses = options.get_hostaddrs();
    let ports = options.get_ports();
    let count = hosts.len().max(addresses.len());
    let server = |index: usize| Server {
        host: hosts.get(index).cloned(),
        address: addresses.get(index).copied(),
        port: ports
            .get(index)
            .or(ports.first())
            .copied()
            .unwrap_or(DEFAULT_PORT),
    };
    (0..count).map(server).collect()
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::time::Instant;

    use super::*;

    /// A name with three addresses: one accepts connections and is silent, one rejects them, one is
    /// not reached.
    #[tokio::test]
    async fn each_address_of_a_name_has_its_own_time() {
        let silent = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .await
            .unwrap();
        let port = silent.local_addr().unwrap().port();
        let url = format!("postgres://postgres@db.example:{port}/postgres?sslmode=disable");
        let hosts = Hosts::new(Target::new(&url.parse().unwrap(), |_| None).unwrap());
        let at = |last| Server {
            address: Some(Ipv4Addr::new(127, 0, 0, last).into()),
            ..hosts.0.hosts[0].clone()
        };
        let servers = [at(1), at(2), at(3)];

        let start = Instant::now();
        let connected = hosts.connect_to_one(&servers, |_| {}).await;
        assert!(
            matches!(connected.err(), Some(DatabaseError::Unreachable(_))),
            "the others were tried"
        );
        assert!(
            start.elapsed() >= PLACE_TIMEOUT && start.elapsed() < ONLY_PLACE_TIMEOUT,
            "{:?}",
            start.elapsed()
        );
    }

    #[tokio::test]
    async fn the_place_that_worked_last_is_tried_first() {
        let url = "postgres://postgres@127.0.0.1:1,127.0.0.2:2,127.0.0.3:3/postgres"
            .parse()
            .unwrap();
        let hosts = Hosts::new(Target::new(&url, |_| None).unwrap());
        let ports = async || {
            hosts
                .servers()
                .await
                .unwrap()
                .iter()
                .map(|server| server.port)
                .collect::<Vec<_>>()
        };
        assert_eq!(ports().await, [1, 2, 3]);
        let second = hosts.servers().await.unwrap()[1].clone();
        *hosts.next() = Some(second);
        assert_eq!(ports().await, [2, 3, 1]);
    }
}
