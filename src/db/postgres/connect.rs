//! Connects to PostgreSQL: the URL, psql's environment variables, and the settings of each connection.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio_postgres::{Client, Config};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::tls;
use crate::config::{PostgresUrl, SslMode};
use crate::db::DatabaseError;
use crate::os;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The connection counts as lost if the peer does not acknowledge data for this long.
const PEER_TIMEOUT: Duration = Duration::from_secs(15);
/// TCP keepalive probes start after this idle time, and are repeated at the interval.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(10);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);
const KEEPALIVE_RETRIES: u32 = 3;
/// Where Debian's PostgreSQL has its socket.
const SOCKET_DIRECTORY: &str = "/var/run/postgresql";

/// The settings of each connection:
/// - Keepalives: the server quickly detects that a node has died, and frees its locks.
/// - Plans: every statement reads by a key or in the order of an index. With missing or outdated statistics, the
///   planner might read and sort a whole inbox instead, so the other kinds of plans are disabled. Plans then do not
///   depend on the parameters and can be reused.
/// - `jit`: a disabled kind of plan has a high cost, which would trigger compilation. Compilation takes longer than any
///   statement.
/// - `synchronous_commit`: a commit returns only after it is on stable storage.
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
    SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'";

/// The options and the encryption of a connection.
#[derive(Clone)]
pub(super) struct Target {
    pub(super) options: Config,
    pub(super) tls: MakeRustlsConnect,
}

impl Target {
    /// Adds missing options from the environment.
    ///
    /// # Errors
    /// [`DatabaseError::Tls`], [`DatabaseError::Environment`].
    pub(super) fn new(
        url: &PostgresUrl,
        environment: impl Fn(&'static str) -> Option<String>,
    ) -> Result<Self, DatabaseError> {
        let mut options = url.options.clone();
        complete(&mut options, &environment)?;
        let mode = match (url.ssl_mode, environment("PGSSLMODE")) {
            (Some(mode), _) => mode,
            (None, Some(text)) => text.parse().map_err(|_| DatabaseError::Environment("PGSSLMODE"))?,
            (None, None) => SslMode::Prefer,
        };
        let root = url.ssl_root.clone().or_else(|| environment("PGSSLROOTCERT").map(PathBuf::from));
        options.ssl_mode(match mode {
            SslMode::Disable => tokio_postgres::config::SslMode::Disable,
            SslMode::Prefer => tokio_postgres::config::SslMode::Prefer,
            SslMode::Require | SslMode::VerifyCa | SslMode::VerifyFull => tokio_postgres::config::SslMode::Require,
        });
        Ok(Self { options, tls: tls::connector(mode, root.as_deref())? })
    }
}

/// Applies the settings to a new connection.
pub(super) async fn prepare_session(client: &Client) -> Result<(), tokio_postgres::Error> {
    client.batch_execute(SESSION).await
}

fn complete(options: &mut Config, environment: &impl Fn(&'static str) -> Option<String>) -> Result<(), DatabaseError> {
    complete_place(options, environment)?;
    if options.get_user().is_none() {
        let user = environment("PGUSER").or_else(|| environment("USER")).unwrap_or_else(|| "postgres".to_owned());
        options.user(user);
    }
    if options.get_dbname().is_none()
        && let Some(name) = environment("PGDATABASE")
    {
        options.dbname(name);
    }
    if options.get_options().is_none()
        && let Some(text) = environment("PGOPTIONS")
    {
        options.options(text);
    }
    if options.get_password().is_none()
        && let Some(password) = environment("PGPASSWORD").or_else(|| password_from_file(options, environment))
    {
        options.password(password);
    }
    if options.get_application_name().is_none() {
        options.application_name(environment("PGAPPNAME").unwrap_or_else(|| "restante".to_owned()));
    }
    complete_timeouts(options, environment)
}

fn complete_place(
    options: &mut Config,
    environment: &impl Fn(&'static str) -> Option<String>,
) -> Result<(), DatabaseError> {
    if options.get_hosts().is_empty() && options.get_hostaddrs().is_empty() {
        let has_socket = Path::new(SOCKET_DIRECTORY).exists();
        let default = if has_socket { SOCKET_DIRECTORY } else { "localhost" };
        let hosts = environment("PGHOST").unwrap_or_else(|| default.to_owned());
        for host in hosts.split(',') {
            options.host(host);
        }
    }
    // A URL without a port has port 5432 for each of its hosts.
    if options.get_ports().is_empty()
        && let Some(port) = environment("PGPORT")
    {
        options.port(port.parse().map_err(|_| DatabaseError::Environment("PGPORT"))?);
    }
    Ok(())
}

fn complete_timeouts(
    options: &mut Config,
    environment: &impl Fn(&'static str) -> Option<String>,
) -> Result<(), DatabaseError> {
    if options.get_connect_timeout().is_none() {
        let timeout = match environment("PGCONNECT_TIMEOUT") {
            Some(text) => {
                Duration::from_secs(text.parse().map_err(|_| DatabaseError::Environment("PGCONNECT_TIMEOUT"))?)
            }
            None => CONNECT_TIMEOUT,
        };
        options.connect_timeout(timeout);
    }
    if options.get_tcp_user_timeout().is_none() {
        options.tcp_user_timeout(PEER_TIMEOUT);
    }
    if options.get_keepalives_interval().is_none() {
        options.keepalives_idle(KEEPALIVE_IDLE).keepalives_interval(KEEPALIVE_INTERVAL);
    }
    if options.get_keepalives_retries().is_none() {
        options.keepalives_retries(KEEPALIVE_RETRIES);
    }
    Ok(())
}

/// The password from psql's password file. Like psql, this ignores the file if other users have access to it.
fn password_from_file(options: &Config, environment: &impl Fn(&'static str) -> Option<String>) -> Option<String> {
    let named = environment("PGPASSFILE").map(PathBuf::from);
    let path = named.or_else(|| environment("HOME").map(|home| Path::new(&home).join(".pgpass")))?;
    if os::others_may_access(&path.metadata().ok()?) {
        tracing::warn!(file = %path.display(), "ignored the password file: others may read it (chmod 600)");
        return None;
    }
    let text = std::fs::read_to_string(path).ok()?;
    let host = os::database_host(options.get_hosts().first()?);
    let host = if host == SOCKET_DIRECTORY { "localhost" } else { host.as_ref() };
    let port = options.get_ports().first().copied().unwrap_or(5432).to_string();
    let user = options.get_user()?;
    let place = [host, &port, options.get_dbname().unwrap_or(user), user];
    text.lines().find_map(|line| password_in_line(line, place))
}

/// `HOST:PORT:DATABASE:USER:PASSWORD`. A field `*` matches anything; a backslash escapes the next character.
fn password_in_line(line: &str, place: [&str; 4]) -> Option<String> {
    if line.starts_with('#') {
        return None;
    }
    let mut fields = vec![String::new()];
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match character {
            ':' if fields.len() < 5 => fields.push(String::new()),
            character => {
                let literal = if character == '\\' { characters.next()? } else { character };
                fields.last_mut()?.push(literal);
            }
        }
    }
    let password = fields.pop().filter(|_| fields.len() == 4)?;
    let matches = fields.iter().zip(place).all(|(field, wanted)| field == "*" || field == wanted);
    matches.then_some(password)
}

#[cfg(test)]
mod tests {
    use tokio_postgres::config::Host;

    use super::*;

    fn completed(url: &str, environment: &[(&str, &str)]) -> Config {
        let url: PostgresUrl = url.parse().unwrap();
        let find =
            |name: &str| environment.iter().find(|(known, _)| *known == name).map(|(_, text)| (*text).to_owned());
        Target::new(&url, find).unwrap().options
    }

    #[test]
    fn the_environment_fills_in_what_the_url_leaves_open() {
        let environment = [
            ("PGHOST", "db.example"),
            ("PGPORT", "5433"),
            ("PGUSER", "mail"),
            ("PGPASSWORD", "x"),
            ("PGDATABASE", "d"),
        ];
        let options = completed("postgres://", &environment);
        assert_eq!(options.get_hosts(), [Host::Tcp("db.example".to_owned())]);
        assert_eq!((options.get_ports(), options.get_user()), (&[5433][..], Some("mail")));
        assert_eq!((options.get_password(), options.get_dbname()), (Some(&b"x"[..]), Some("d")));
        let options = completed("postgres://own:secret@here/mine", &environment);
        assert_eq!(options.get_hosts(), [Host::Tcp("here".to_owned())]);
        assert_eq!((options.get_user(), options.get_dbname()), (Some("own"), Some("mine")));
        assert_eq!(options.get_password(), Some(&b"secret"[..]));
    }

    #[test]
    fn a_line_of_the_password_file_matches_by_field() {
        let place = ["db.example", "5432", "mail", "restante"];
        assert_eq!(password_in_line("*:*:*:restante:a:b\\\\c", place).as_deref(), Some("a:b\\c"));
        assert_eq!(password_in_line("db.example:5432:mail:restante:x", place).as_deref(), Some("x"));
        for other in ["other:*:*:*:x", "*:5433:*:*:x", "# *:*:*:*:x", "*:*:*:x", ""] {
            assert_eq!(password_in_line(other, place), None, "{other}");
        }
    }
}
