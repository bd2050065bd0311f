//! How an application is configured to use this installation.

use super::output::{Framework, Listener, Setup, Smtp};
use crate::config::{HostAndPort, SmtpAuth};
use crate::model::{AcceptedDomains, Domain};

/// The addresses by which a client reaches the installation.
#[derive(Clone, Debug)]
pub struct Addresses {
    /// The service over HTTP, without a slash at the end.
    pub base_url: String,
    pub smtp: HostAndPort,
}

/// Data about the installation that callers need in addition to the service.
#[derive(Clone, Debug)]
pub struct Installation {
    /// Whether STARTTLS is offered.
    pub starttls: bool,
    /// Which credentials SMTP accepts.
    pub smtp_auth: SmtpAuth,
    /// The port of SMTP with implicit TLS, if it is enabled.
    pub smtps_port: Option<u16>,
    /// Whether the certificate is self-signed, so that clients do not trust it automatically.
    pub self_signed: bool,
}

impl Installation {
    pub(super) fn setup(
        &self,
        mail_domain: &Domain,
        accepted: &AcceptedDomains,
        addresses: &Addresses,
    ) -> Setup {
        let base_url = &addresses.base_url;
        let HostAndPort { host, port } = &addresses.smtp;
        let framework = |(name, setting): (&str, &str)| Framework {
            name: name.to_owned(),
            setting: setting
                .replace("{host}", host)
                .replace("{port}", &port.to_string()),
        };
        let tls = if !self.starttls {
            "STARTTLS is not offered: turn TLS off in the client."
        } else if self.self_signed {
            "STARTTLS is offered with a self-signed certificate: a client that uses it must not verify the certificate."
        } else {
            "STARTTLS is offered."
        };
        Setup {
            smtp: Smtp {
                host: host.clone(),
                port: *port,
                tls: tls.to_owned(),
                credentials: credentials(self.smtp_auth).to_owned(),
            },
            smtps: self.smtps_port.map(|port| Listener {
                host: host.clone(),
                port,
            }),
            mail_domain: mail_domain.to_string(),
            accepted_domains: accepted.to_string(),
            base_url: base_url.clone(),
            guide: format!("{base_url}/llm"),
            frameworks: FRAMEWORKS.map(framework).into(),
        }
    }
}

fn credentials(smtp_auth: SmtpAuth) -> &'static str {
    match smtp_auth {
        SmtpAuth::Any => "No user name and password are needed.",
        SmtpAuth::Keys => {
            "No user name and password are needed. If the client sends any, the password must be the project's API \
             key; dummy credentials are rejected."
        }
        SmtpAuth::Required => "Any user name, and the project's API key as the password.",
    }
}

/// The settings of common frameworks, with places for the host and the port.
const FRAMEWORKS: [(&str, &str); 8] = [
    (
        "Django, settings.py",
        "EMAIL_HOST = \"{host}\", EMAIL_PORT = {port}",
    ),
    (
        "Rails, config/environments/test.rb",
        "config.action_mailer.delivery_method = :smtp; config.action_mailer.smtp_settings = \
         { address: \"{host}\", port: {port}, enable_starttls_auto: false }",
    ),
    (
        "Nodemailer",
        "nodemailer.createTransport({ host: \"{host}\", port: {port}, ignoreTLS: true })",
    ),
    (
        "Spring Boot, application.properties",
        "spring.mail.host={host}, spring.mail.port={port}",
    ),
    (
        "Laravel, config/mail.php, mailers.smtp",
        "'host' => '{host}', 'port' => {port}, 'verify_peer' => false",
    ),
    (
        "Symfony, .env.test",
        "MAILER_DSN=smtp://{host}:{port}?verify_peer=0",
    ),
    (
        "PHP, php.ini",
        "sendmail_path = \"restante sendmail -t -i\" with RESTANTE_SMTP={host}:{port}",
    ),
    (
        "Many others, in the environment",
        "SMTP_HOST={host}, SMTP_PORT={port}",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_setup_says_which_credentials_are_rejected() {
        let says = |smtp_auth, words: &str| credentials(smtp_auth).contains(words);
        assert!(says(SmtpAuth::Any, "No user name") && !says(SmtpAuth::Any, "rejected"));
        assert!(says(SmtpAuth::Keys, "dummy credentials are rejected"));
        assert!(says(SmtpAuth::Required, "API key as the password"));
    }
}
