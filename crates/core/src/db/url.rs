//! The URL of the database: `sqlite:PATH`, or `postgres://…` as in psql.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use crate::os;

/// The URL of a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DatabaseUrl {
    /// `sqlite:PATH`: one file, with its write-ahead log next to it.
    Sqlite(PathBuf),
    /// `postgres://…` or `postgresql://…`: a server that several nodes may share.
    Postgres(Box<PostgresUrl>),
}

/// How to connect to a PostgreSQL server. Options that are not given are read from the environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostgresUrl {
    /// All options except those for encryption.
    pub options: tokio_postgres::Config,
    /// `sslmode`, if given.
    pub ssl_mode: Option<SslMode>,
    /// `sslrootcert`, if given: a PEM file of authorities, or `system`.
    pub ssl_root: Option<PathBuf>,
}

/// Whether the connection is encrypted, and what the server's certificate must prove.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SslMode {
    /// Never encrypted.
    Disable,
    /// Encrypted if the server offers it.
    Prefer,
    /// Encrypted; any certificate is accepted.
    Require,
    /// Encrypted; the certificate must be signed by a trusted authority.
    VerifyCa,
    /// Like `VerifyCa`, and the certificate must be for this host.
    VerifyFull,
}

/// The text is not the URL of a supported database.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected sqlite:PATH or postgres://USER@HOST/DATABASE")]
pub struct InvalidDatabaseUrl;

impl FromStr for DatabaseUrl {
    type Err = InvalidDatabaseUrl;

    fn from_str(text: &str) -> Result<Self, InvalidDatabaseUrl> {
        if let Some(path) = text.strip_prefix("sqlite:") {
            return if path.is_empty() {
                Err(InvalidDatabaseUrl)
            } else {
                Ok(Self::Sqlite(PathBuf::from(path)))
            };
        }
        text.parse().map(|url| Self::Postgres(Box::new(url)))
    }
}

impl FromStr for PostgresUrl {
    type Err = InvalidDatabaseUrl;

    fn from_str(text: &str) -> Result<Self, InvalidDatabaseUrl> {
        if !text.starts_with("postgres://") && !text.starts_with("postgresql://") {
            return Err(InvalidDatabaseUrl);
        }
        let (place, query) = text.split_once('?').unwrap_or((text, ""));
        let mut ssl_mode = None;
        let mut ssl_root = None;
        let mut others = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = form_urlencoded::parse(pair.as_bytes())
                .next()
                .ok_or(InvalidDatabaseUrl)?;
            match name.as_ref() {
                "sslmode" => ssl_mode = Some(value.parse()?),
                "sslrootcert" => ssl_root = Some(PathBuf::from(value.as_ref())),
                // The driver reads a list of hosts only before the path.
                "host" => others.extend(
                    value
                        .split(',')
                        .map(|host| format!("host={}", encode(host))),
                ),
                _ => others.push(pair.to_owned()),
            }
        }
        let options = format!("{place}?{}", others.join("&"))
            .parse()
            .map_err(|_| InvalidDatabaseUrl)?;
        Ok(Self {
            options,
            ssl_mode,
            ssl_root,
        })
    }
}

/// Percent-encodes every byte: `form_urlencoded` would write a space as a plus sign, which the
/// driver keeps.
fn encode(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

impl FromStr for SslMode {
    type Err = InvalidDatabaseUrl;

    fn from_str(text: &str) -> Result<Self, InvalidDatabaseUrl> {
        match text {
            "disable" => Ok(Self::Disable),
            // `allow` and `prefer` differ only in what is tried first; the guarantees are the same.
            "allow" | "prefer" => Ok(Self::Prefer),
            "require" => Ok(Self::Require),
            "verify-ca" => Ok(Self::VerifyCa),
            "verify-full" => Ok(Self::VerifyFull),
            _ => Err(InvalidDatabaseUrl),
        }
    }
}

impl fmt::Display for DatabaseUrl {
    /// Omits the password, because the URL is written to messages and logs.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => write!(formatter, "sqlite:{}", path.display()),
            Self::Postgres(url) => url.fmt(formatter),
        }
    }
}

impl fmt::Display for PostgresUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("postgres://")?;
        if let Some(user) = self.options.get_user() {
            write!(formatter, "{user}@")?;
        }
        let ports = self.options.get_ports();
        for (index, host) in self.options.get_hosts().iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(formatter, "{comma}{}", os::database_host(host))?;
            if let Some(port) = ports.get(index) {
                write!(formatter, ":{port}")?;
            }
        }
        write!(
            formatter,
            "/{}",
            self.options.get_dbname().unwrap_or_default()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn postgres(text: &str) -> PostgresUrl {
        text.parse().unwrap()
    }

    #[test]
    fn a_url_of_postgres_is_read_as_psql_reads_it() {
        let url = postgres(
            "postgresql://user:p%40ss@db.example:5433/mail?sslmode=verify-full&connect_timeout=3",
        );
        assert_eq!(url.options.get_user(), Some("user"));
        assert_eq!(url.options.get_password(), Some(&b"p@ss"[..]));
        assert_eq!(url.options.get_ports(), [5433]);
        assert_eq!(url.options.get_dbname(), Some("mail"));
        assert_eq!(
            (url.ssl_mode, url.ssl_root),
            (Some(SslMode::VerifyFull), None)
        );
        let url = postgres("postgres:///?host=/run/postgresql&sslrootcert=/etc/ca%20s.pem");
        assert_eq!(
            (url.ssl_mode, url.ssl_root),
            (None, Some(PathBuf::from("/etc/ca s.pem")))
        );
        let url = postgres("postgres:///mail?host=/run/one%20%2b,two.example&port=5433,5434");
        assert_eq!(
            url.to_string(),
            "postgres:///run/one +:5433,two.example:5434/mail"
        );
    }

    #[test]
    fn the_displayed_url_has_no_password() {
        for (text, shown) in [
            (
                "postgres://user:secret@db.example:5433/mail?sslmode=require",
                "postgres://user@db.example:5433/mail",
            ),
            (
                "postgres://user@a,b/mail?password=secret",
                "postgres://user@a:5432,b:5432/mail",
            ),
            ("sqlite:/srv/restante.db", "sqlite:/srv/restante.db"),
        ] {
            let url: DatabaseUrl = text.parse().unwrap();
            assert_eq!(url.to_string(), shown);
            assert!(!format!("{url:?}").contains("secret"));
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "",
            "sqlite:",
            "mysql://host/db",
            "postgres",
            "host=db.example",
            "postgres://host/db?sslmode=perhaps",
            "postgres://host/db?unknown=1",
            "postgres://host:port/db",
        ] {
            assert_eq!(
                text.parse::<DatabaseUrl>(),
                Err(InvalidDatabaseUrl),
                "{text}"
            );
        }
    }
}
