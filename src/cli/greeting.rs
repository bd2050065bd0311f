//! The output of `restante serve` when it is ready: addresses, key and a first request to copy, or
//! one line of JSON.

use std::fmt;
use std::path::Path;

use axum::http::HeaderMap;
use serde_json::{Value, json};

use super::serve::{Server, Site};
use crate::config::Settings;
use crate::model::{AcceptedDomains, ApiKey};
use crate::tcp::reachable;

/// What people read when a server has started.
pub(super) struct Greeting<'a> {
    pub(super) server: &'a Server,
    pub(super) settings: &'a Settings,
}

impl fmt::Display for Greeting<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { server, settings } = self;
        let base_url = server.base_url.as_str();
        let smtp = server.receiver.local_addr();
        let domain = &settings.mail_domain;
        writeln!(f, "Restante is ready.")?;
        writeln!(
            f,
            "  HTTP       {} (base URL {base_url})",
            server.http.address
        )?;
        writeln!(
            f,
            "  SMTP       {smtp} (accepts mail for any address @{domain})"
        )?;
        if !settings.accepted.is_empty() {
            let domains = domains(&settings.accepted);
            writeln!(
                f,
                "             Also accepts mail for {domains} (--accept-domains)"
            )?;
        }
        // Passwords are accepted without TLS from other hosts.
        if settings.listeners.smtp_plaintext_auth {
            writeln!(
                f,
                "             Warning: AUTH without TLS is enabled; passwords are sent in clear text"
            )?;
        }
        if let Some(smtps) = server.receiver.tls_addr() {
            writeln!(f, "  SMTPS      {smtps} (implicit TLS)")?;
        }
        if let Some(mailpit) = &server.mailpit {
            writeln!(
                f,
                "  Mailpit    {} (its API, for test helpers)",
                mailpit.url()
            )?;
        }
        if let Some(monitor) = &server.monitor {
            writeln!(f, "  Metrics    {}", monitor.address)?;
        }
        writeln!(f, "  Data       {}", settings.data.data_dir.display())?;
        writeln!(f, "  Guide      {base_url}/llm")?;
        let dashboard = server.base_url.for_pages(&HeaderMap::new());
        // A configured URL may lead to other readers.
        let is_here = dashboard != base_url;
        match server.made.link.as_deref().filter(|_| is_here) {
            Some(link) => {
                let note = "(signs in once, within 10 minutes; `restante open` makes another)";
                writeln!(f, "  Dashboard  {dashboard}{link} {note}")?;
            }
            None => writeln!(f, "  Dashboard  {dashboard}/")?,
        }
        if let Some(token) = &server.made.admin_token {
            writeln!(
                f,
                "\nThe administrator's token for the dashboard, shown only once:\n  {token}"
            )?;
        }
        let key = match &server.made.key {
            Some(key) => {
                let key = key.as_str();
                writeln!(
                    f,
                    "\nThe API key of the default project, shown only once:\n  {key}"
                )?;
                writeln!(f, "\nCreate the first inbox:")?;
                key
            }
            None => {
                writeln!(
                    f,
                    "\nSet RESTANTE_API_KEY to the key of a project (`restante project rotate-key default`"
                )?;
                writeln!(
                    f,
                    "makes a new one for the default project), then create an inbox:"
                )?;
                "$RESTANTE_API_KEY"
            }
        };
        write!(
            f,
            "  curl -X POST -H \"Authorization: Bearer {key}\" '{base_url}/v1/inboxes'"
        )
    }
}

fn domains(accepted: &AcceptedDomains) -> String {
    if accepted.are_all() {
        "every domain".to_owned()
    } else {
        accepted.to_string()
    }
}

/// The line of `--print-json`: the data that the parent process needs to use the server. A secret
/// is null if an earlier start generated it, because only its hash is stored.
pub(super) fn json(server: &Server, settings: &Settings, log: Option<&Path>) -> Value {
    let listener = |address| {
        let address = reachable(address);
        json!({"host": address.ip().to_string(), "port": address.port()})
    };
    let key = server.made.key.as_ref().or(settings.api_key.as_ref());
    let made_token = server.made.admin_token.as_ref();
    let mut line = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "pid": std::process::id(),
        "url": server.base_url.as_str(),
        "mailpit_url": server.mailpit.as_ref().map(Site::url),
        "smtp": listener(server.receiver.local_addr()),
        "smtps": server.receiver.tls_addr().map(listener),
        "mail_domain": settings.mail_domain.as_str(),
        "data_dir": settings.data.data_dir.to_string_lossy(),
        "api_key": key.map(ApiKey::as_str),
        "admin_token": made_token.or(settings.admin_token.as_ref()),
    });
    // Without a file, the log goes to standard error.
    if let Some(log) = log {
        line["log"] = json!(log.to_string_lossy());
    }
    line
}
