//! The options of connections to PostgreSQL: the URL and psql's environment variables.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres_rustls::MakeRustlsConnect;

use super::passwords::PasswordFile;
use super::tls;
use crate::db::DatabaseError;
use crate::db::{PostgresUrl, SslMode};

/// The connection counts as lost if the peer does not acknowledge data for this long.
const PEER_TIMEOUT: Duration = Duration::from_secs(15);
/// TCP keepalive probes start after this idle time, and are repeated at the interval.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(10);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);
const KEEPALIVE_RETRIES: u32 = 3;
/// Where Debian's PostgreSQL has its socket.
pub(super) const SOCKET_DIRECTORY: &str = "/var/run/postgresql";

/// The options and the encryption of a connection.
#[derive(Clone)]
pub(super) struct Target {
    pub(super) options: Config,
    pub(super) tls: MakeRustlsConnect,
    /// Read for each new connection, because a password may be changed while a node runs.
    pub(super) passwords: Option<PasswordFile>,
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
            (None, Some(text)) => text
                .parse()
                .map_err(|_| DatabaseError::Environment("PGSSLMODE"))?,
            (None, None) => SslMode::Prefer,
        };
        let root = url
            .ssl_root
            .clone()
            .or_else(|| environment("PGSSLROOTCERT").map(PathBuf::from));
        options.ssl_mode(match mode {
            SslMode::Disable => tokio_postgres::config::SslMode::Disable,
            SslMode::Prefer => tokio_postgres::config::SslMode::Prefer,
            SslMode::Require | SslMode::VerifyCa | SslMode::VerifyFull => {
                tokio_postgres::config::SslMode::Require
            }
        });
        let passwords = if options.get_password().is_none() {
            PasswordFile::find(&environment)
        } else {
            None
        };
        Ok(Self {
            options,
            tls: tls::connector(mode, root.as_deref())?,
            passwords,
        })
    }
}

fn complete(
    options: &mut Config,
    environment: &impl Fn(&'static str) -> Option<String>,
) -> Result<(), DatabaseError> {
    complete_place(options, environment)?;
    if options.get_user().is_none() {
        let user = environment("PGUSER")
            .or_else(|| environment("USER"))
            .unwrap_or_else(|| "postgres".to_owned());
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
        && let Some(password) = environment("PGPASSWORD")
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
        let default = if has_socket {
            SOCKET_DIRECTORY
        } else {
            "localhost"
        };
        let hosts = environment("PGHOST").unwrap_or_else(|| default.to_owned());
        for host in hosts.split(',') {
            options.host(host);
        }
    }
    // A URL without a port has port 5432 for each of its hosts.
    if options.get_ports().is_empty()
        && let Some(port) = environment("PGPORT")
    {
        options.port(
            port.parse()
                .map_err(|_| DatabaseError::Environment("PGPORT"))?,
        );
    }
    Ok(())
}

fn complete_timeouts(
    options: &mut Config,
    environment: &impl Fn(&'static str) -> Option<String>,
) -> Result<(), DatabaseError> {
    if options.get_connect_timeout().is_none()
        && let Some(text) = environment("PGCONNECT_TIMEOUT")
    {
        let seconds = text
            .parse()
            .map_err(|_| DatabaseError::Environment("PGCONNECT_TIMEOUT"))?;
        options.connect_timeout(Duration::from_secs(seconds));
    }
    if options.get_tcp_user_timeout().is_none() {
        options.tcp_user_timeout(PEER_TIMEOUT);
    }
    if options.get_keepalives_interval().is_none() {
        options
            .keepalives_idle(KEEPALIVE_IDLE)
            .keepalives_interval(KEEPALIVE_INTERVAL);
    }
    if options.get_keepalives_retries().is_none() {
        options.keepalives_retries(KEEPALIVE_RETRIES);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use tokio_postgres::config::Host;

    use super::*;

    fn completed(url: &str, environment: &[(&str, &str)]) -> Config {
        let url: PostgresUrl = url.parse().unwrap();
        let find = |name: &str| {
            environment
                .iter()
                .find(|(known, _)| *known == name)
                .map(|(_, text)| (*text).to_owned())
        };
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
        assert_eq!(
            (options.get_ports(), options.get_user()),
            (&[5433][..], Some("mail"))
        );
        assert_eq!(
            (options.get_password(), options.get_dbname()),
            (Some(&b"x"[..]), Some("d"))
        );
        let options = completed("postgres://own:secret@here/mine", &environment);
        assert_eq!(options.get_hosts(), [Host::Tcp("here".to_owned())]);
        assert_eq!(
            (options.get_user(), options.get_dbname()),
            (Some("own"), Some("mine"))
        );
        assert_eq!(options.get_password(), Some(&b"secret"[..]));
    }
}
