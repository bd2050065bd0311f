//! What `restante serve` prints once it listens: the addresses, the key, and a first request to copy.

use std::fmt;
use std::net::SocketAddr;
use std::path::Path;

use crate::model::{ApiKey, Domain};

/// A server that has just started to listen.
pub(super) struct Greeting<'a> {
    pub(super) base_url: &'a str,
    pub(super) http: SocketAddr,
    pub(super) smtp: SocketAddr,
    pub(super) smtps: Option<SocketAddr>,
    /// Whether passwords are accepted without TLS from other hosts.
    pub(super) plaintext_auth: bool,
    pub(super) metrics: Option<SocketAddr>,
    pub(super) mail_domain: &'a Domain,
    pub(super) data_dir: &'a Path,
    /// The key of the default project, if this start made one.
    pub(super) made_key: Option<&'a ApiKey>,
    /// The administrator's token, if this start made it.
    pub(super) made_admin_token: Option<&'a str>,
}

impl fmt::Display for Greeting<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "Restante listens.")?;
        writeln!(formatter, "  HTTP   {} (base URL {})", self.http, self.base_url)?;
        writeln!(formatter, "  SMTP   {} (mail for anything@{})", self.smtp, self.mail_domain)?;
        if self.plaintext_auth {
            writeln!(formatter, "         AUTH is offered without TLS: passwords can be read on the network")?;
        }
        if let Some(smtps) = self.smtps {
            writeln!(formatter, "  SMTPS  {smtps} (TLS from the first byte)")?;
        }
        if let Some(metrics) = self.metrics {
            writeln!(formatter, "  Metrics {metrics}")?;
        }
        writeln!(formatter, "  Data   {}", self.data_dir.display())?;
        writeln!(formatter, "  Guide  {}/llm", self.base_url)?;
        writeln!(formatter, "  Dashboard  {}/", self.base_url)?;
        if let Some(token) = self.made_admin_token {
            writeln!(formatter, "\nThe administrator's token for the dashboard, shown only this once:")?;
            writeln!(formatter, "  {token}")?;
        }
        match self.made_key {
            Some(key) => {
                writeln!(formatter, "\nThe API key of the default project, shown only this once:")?;
                writeln!(formatter, "  {}", key.as_str())?;
                writeln!(formatter, "\nCreate a first inbox:")?;
                write!(formatter, "  {}", create_inbox(self.base_url, key.as_str()))
            }
            None => {
                writeln!(formatter, "\nWith the API key in the environment, create an inbox:")?;
                write!(formatter, "  {}", create_inbox(self.base_url, "$RESTANTE_API_KEY"))
            }
        }
    }
}

fn create_inbox(base_url: &str, key: &str) -> String {
    format!("curl -X POST -H \"Authorization: Bearer {key}\" '{base_url}/v1/inboxes'")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_shown_only_by_the_start_that_made_it() {
        let (key, mail_domain) = (ApiKey::generate(), Domain::parse("restante.test").unwrap());
        let greeting = |made_key| Greeting {
            metrics: None,
            base_url: "http://127.0.0.1:8025",
            http: ([127, 0, 0, 1], 8025).into(),
            smtp: ([127, 0, 0, 1], 1025).into(),
            smtps: None,
            plaintext_auth: false,
            mail_domain: &mail_domain,
            data_dir: Path::new("./restante-data"),
            made_key,
            made_admin_token: made_key.map(|_| "rst_admin_secret"),
        };
        assert_eq!(greeting(Some(&key)).to_string().matches(key.as_str()).count(), 2);
        assert_eq!(greeting(Some(&key)).to_string().matches("rst_admin_secret").count(), 1);
        assert!(greeting(None).to_string().ends_with("Bearer $RESTANTE_API_KEY\" 'http://127.0.0.1:8025/v1/inboxes'"));
    }
}
