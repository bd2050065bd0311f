//! The output of `restante serve` when it is ready: addresses, key and a first request to copy, or
//! one line of JSON.

use std::fmt;
use std::net::SocketAddr;
use std::path::Path;

use serde::Serialize;

use crate::model::{AcceptedDomains, ApiKey, Domain};

/// The data of a server that has just started.
pub(super) struct Greeting<'a> {
    pub(super) base_url: &'a str,
    /// The URL of the dashboard.
    pub(super) dashboard: &'a str,
    /// The path of a link that signs in.
    pub(super) link: Option<&'a str>,
    pub(super) http: SocketAddr,
    /// The URL that replaces Mailpit's.
    pub(super) mailpit: Option<String>,
    pub(super) smtp: SocketAddr,
    pub(super) smtps: Option<SocketAddr>,
    /// Whether passwords are accepted without TLS from other hosts.
    pub(super) plaintext_auth: bool,
    pub(super) metrics: Option<SocketAddr>,
    pub(super) mail_domain: &'a Domain,
    pub(super) accepted: &'a AcceptedDomains,
    pub(super) data_dir: &'a Path,
    /// The key of the default project, if this start generated one.
    pub(super) made_key: Option<&'a ApiKey>,
    /// The administrator's token, if this start generated one.
    pub(super) made_admin_token: Option<&'a str>,
}

impl fmt::Display for Greeting<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "Restante is ready.")?;
        writeln!(
            formatter,
            "  HTTP       {} (base URL {})",
            self.http, self.base_url
        )?;
        writeln!(
            formatter,
            "  SMTP       {} (accepts mail for any address @{})",
            self.smtp, self.mail_domain
        )?;
        if !self.accepted.is_empty() {
            writeln!(
                formatter,
                "             Also accepts mail for {} (--accept-domains)",
                domains(self.accepted)
            )?;
        }
        if self.plaintext_auth {
            writeln!(
                formatter,
                "             Warning: AUTH without TLS is enabled; passwords are sent in clear text"
            )?;
        }
        if let Some(smtps) = self.smtps {
            writeln!(formatter, "  SMTPS      {smtps} (implicit TLS)")?;
        }
        if let Some(mailpit) = &self.mailpit {
            writeln!(
                formatter,
                "  Mailpit    {mailpit} (its API, for test helpers)"
            )?;
        }
        if let Some(metrics) = self.metrics {
            writeln!(formatter, "  Metrics    {metrics}")?;
        }
        writeln!(formatter, "  Data       {}", self.data_dir.display())?;
        writeln!(formatter, "  Guide      {}/llm", self.base_url)?;
        let (path, note) = match self.link {
            Some(link) => (
                link,
                " (signs in once, within 10 minutes; `restante open` makes another)",
            ),
            None => ("/", ""),
        };
        writeln!(formatter, "  Dashboard  {}{path}{note}", self.dashboard)?;
        if let Some(token) = self.made_admin_token {
            writeln!(
                formatter,
                "\nThe administrator's token for the dashboard, shown only once:"
            )?;
            writeln!(formatter, "  {token}")?;
        }
        match self.made_key {
            Some(key) => {
                writeln!(
                    formatter,
                    "\nThe API key of the default project, shown only once:"
                )?;
                writeln!(formatter, "  {}", key.as_str())?;
                writeln!(formatter, "\nCreate the first inbox:")?;
                write!(formatter, "  {}", create_inbox(self.base_url, key.as_str()))
            }
            None => {
                writeln!(
                    formatter,
                    "\nSet RESTANTE_API_KEY to the key of a project (`restante project rotate-key default`"
                )?;
                writeln!(
                    formatter,
                    "makes a new one for the default project), then create an inbox:"
                )?;
                write!(
                    formatter,
                    "  {}",
                    create_inbox(self.base_url, "$RESTANTE_API_KEY")
                )
            }
        }
    }
}

fn domains(accepted: &AcceptedDomains) -> String {
    if accepted.are_all() {
        "every domain".to_owned()
    } else {
        accepted.to_string()
    }
}

fn create_inbox(base_url: &str, key: &str) -> String {
    format!("curl -X POST -H \"Authorization: Bearer {key}\" '{base_url}/v1/inboxes'")
}

/// The line of `--print-json`: the data that the parent process needs to use the server.
#[derive(Serialize)]
pub(super) struct JsonGreeting<'a> {
    pub(super) version: &'static str,
    pub(super) pid: u32,
    /// The base URL of HTTP.
    pub(super) url: &'a str,
    /// The URL that replaces Mailpit's; null without a listener for it.
    pub(super) mailpit_url: Option<String>,
    pub(super) smtp: JsonListener,
    pub(super) smtps: Option<JsonListener>,
    pub(super) mail_domain: &'a str,
    pub(super) data_dir: &'a Path,
    /// The file with the log; absent if that goes to standard error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) log: Option<&'a Path>,
    /// The key of the default project; null if an earlier start generated it, because only its hash
    /// is stored.
    pub(super) api_key: Option<&'a str>,
    /// The administrator's token; null in the same case.
    pub(super) admin_token: Option<&'a str>,
}

/// The address of a listener for clients on this machine.
#[derive(Serialize)]
pub(super) struct JsonListener {
    host: String,
    port: u16,
}

impl From<SocketAddr> for JsonListener {
    fn from(address: SocketAddr) -> Self {
        Self {
            host: address.ip().to_string(),
            port: address.port(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_shown_only_by_the_start_that_made_it() {
        let accepted: AcceptedDomains = "*.shop.test".parse().unwrap();
        let key = ApiKey::generate();
        let mail_domain = Domain::parse("restante.example.com").unwrap();
        let greeting = |made_key| Greeting {
            metrics: None,
            base_url: "http://127.0.0.1:8025",
            dashboard: "http://restante.localhost:8025",
            link: None,
            http: ([127, 0, 0, 1], 8025).into(),
            mailpit: None,
            smtp: ([127, 0, 0, 1], 1025).into(),
            smtps: None,
            plaintext_auth: false,
            mail_domain: &mail_domain,
            accepted: &accepted,
            data_dir: Path::new("./restante-data"),
            made_key,
            made_admin_token: made_key.map(|_| "rst_admin_secret"),
        };
        assert_eq!(
            greeting(Some(&key))
                .to_string()
                .matches(key.as_str())
                .count(),
            2
        );
        assert_eq!(
            greeting(Some(&key))
                .to_string()
                .matches("rst_admin_secret")
                .count(),
            1
        );
        assert!(
            greeting(None)
                .to_string()
                .ends_with("Bearer $RESTANTE_API_KEY\" 'http://127.0.0.1:8025/v1/inboxes'")
        );
    }
}
