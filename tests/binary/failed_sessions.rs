//! Real mailers that fail before they can name a recipient: what `explain`, the log and the metrics
//! say.

use std::fs::{self, File};
use std::net::UdpSocket;
use std::process::Command;

use testkit::eventually;
use testkit::server::{Server, command};

use super::metrics::until_shown;

/// Where `./test` has installed nodemailer and Django.
const NODE_MODULES: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/clients/typescript/node_modules"
);
const PYTHON: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/target/python/bin/python");

/// Nothing but host and port.
const NODEMAILER: &str = r#"
    const [host, port] = process.argv.slice(1);
    require("nodemailer").createTransport({ host, port: Number(port) })
      .sendMail({ from: "app@example.com", to: "a@restante.example.com", text: "Hi" }).catch(() => {});
"#;
const SMTPLIB_STARTTLS: &str = r#"
import smtplib, ssl, sys
client = smtplib.SMTP(sys.argv[1], int(sys.argv[2]))
client.starttls(context=ssl.create_default_context(cafile=sys.argv[3] if len(sys.argv) > 3 else None))
"#;
const SMTPLIB_CRAM: &str = r#"
import smtplib, sys
with smtplib.SMTP(sys.argv[1], int(sys.argv[2])) as client:
    client.ehlo()
    client.docmd("AUTH", "CRAM-MD5")
"#;
const DJANGO_TLS: &str = r#"
import sys
from django.conf import settings
from django.core.mail import send_mail
settings.configure(EMAIL_HOST=sys.argv[1], EMAIL_PORT=int(sys.argv[2]), EMAIL_USE_TLS=True, USE_TZ=True)
send_mail("Hello", "Hi", "app@example.com", ["a@restante.example.com"])
"#;
const DJANGO_LOGIN: &str = r#"
import sys
from django.conf import settings
from django.core.mail import send_mail
host, port = sys.argv[1], int(sys.argv[2])
login = {"EMAIL_HOST_USER": "app", "EMAIL_HOST_PASSWORD": "secret-word"}
settings.configure(EMAIL_HOST=host, EMAIL_PORT=port, USE_TZ=True, **login)
send_mail("Hello", "Hi", "app@example.com", ["a@restante.example.com"])
"#;

/// A server on all addresses, with a log.
struct Bed {
    server: Server,
    key: String,
    port: String,
    directory: tempfile::TempDir,
}

impl Bed {
    fn start(flags: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let log = File::create(directory.path().join("log")).unwrap();
        let mut serve = command([
            "serve",
            "--http-listen",
            "127.0.0.1:0",
            "--smtp-listen",
            "0.0.0.0:0",
            "--data-dir",
        ]);
        serve
            .arg(directory.path().join("data"))
            .args(["--metrics-listen", "127.0.0.1:0"])
            .args(flags);
        let server = Server::spawn(serve.env("RESTANTE_LOG", "info").stderr(log));
        let key = server.made_key().unwrap().to_owned();
        let port = server.smtp.rsplit(':').next().unwrap().to_owned();
        Self {
            server,
            key,
            port,
            directory,
        }
    }

    /// Runs a mailer that fails, and compares the explanation, the log and the metrics.
    fn explains(&self, mailer: &mut Command, kind: &str, parts: &[&str]) {
        let inbox = self.server.run_cli(&self.key, ["inbox", "create"]);
        mailer.output().unwrap();
        let explained = || self.server.run_cli(&self.key, ["explain", &inbox]);
        eventually(&format!("{kind}: {parts:?}"), || {
            parts.iter().all(|part| explained().contains(part))
        });
        until_shown(
            &self.server,
            &format!("restante_smtp_failed_sessions_total{{kind=\"{kind}\"}} 1"),
        );
        let log = fs::read_to_string(self.directory.path().join("log")).unwrap();
        assert!(
            log.contains(kind)
                && !log.contains("secret-word")
                && !explained().contains("secret-word"),
            "{log}"
        );
    }

    fn python(&self, script: &str, host: &str) -> Command {
        let mut python = Command::new(PYTHON);
        python.args(["-c", script, host, &self.port]);
        python
    }
}

/// An address of this machine that is not loopback. Nothing is sent to find it.
fn own_address() -> String {
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    socket
        .connect("192.0.2.1:9")
        .expect("this test needs a network interface beside loopback");
    socket.local_addr().unwrap().ip().to_string()
}

#[test]
fn mailers_that_reject_the_certificate_are_explained() {
    let bed = Bed::start(&[]);
    let mut nodemailer = Command::new("node");
    nodemailer
        .args(["-e", NODEMAILER, "127.0.0.1", &bed.port])
        .env("NODE_PATH", NODE_MODULES);
    let remedy = "`ignoreTLS: true`";
    bed.explains(
        &mut nodemailer,
        "left_in_handshake",
        &["left during the TLS handshake", remedy],
    );
    let unknown = "because it does not know who signed the certificate";
    bed.explains(
        &mut bed.python(SMTPLIB_STARTTLS, "localhost"),
        "unknown_authority",
        &[unknown, "--smtp-starttls off"],
    );
    // The certificate is trusted, but not for this address.
    let certificate = bed.directory.path().join("data/tls-cert.pem");
    let mut other_name = bed.python(SMTPLIB_STARTTLS, "127.0.0.2");
    other_name.arg(certificate);
    bed.explains(
        &mut other_name,
        "certificate_rejected",
        &["because it rejects the certificate", "--tls-names"],
    );
}

#[test]
fn mailers_that_begin_with_tls_are_explained() {
    let bed = Bed::start(&[]);
    let mut swaks = Command::new("swaks");
    swaks.args([
        "--server",
        &format!("127.0.0.1:{}", bed.port),
        "--to",
        "a@restante.example.com",
        "--tls-on-connect",
    ]);
    bed.explains(
        &mut swaks,
        "tls_without_starttls",
        &["began with TLS", "`EMAIL_USE_SSL = False`"],
    );
}

#[test]
fn mailers_that_require_what_is_not_offered_are_explained() {
    let bed = Bed::start(&["--smtp-starttls", "off"]);
    let django = &mut bed.python(DJANGO_TLS, "127.0.0.1");
    bed.explains(
        django,
        "starttls_not_offered",
        &["did not offer STARTTLS", "`EMAIL_USE_TLS = False`"],
    );
    bed.explains(
        &mut bed.python(SMTPLIB_CRAM, "127.0.0.1"),
        "rejected",
        &["504 5.5.4", "XOAUTH2"],
    );
    let neither = &mut bed.python(DJANGO_LOGIN, &own_address());
    bed.explains(
        neither,
        "neither_offered",
        &["neither AUTH nor STARTTLS", "--smtp-plaintext-auth"],
    );
}

#[test]
fn mailers_with_a_login_are_explained_where_it_is_not_offered() {
    let bed = Bed::start(&[]);
    let django = &mut bed.python(DJANGO_LOGIN, &own_address());
    bed.explains(
        django,
        "auth_not_offered",
        &["did not offer AUTH", "--smtp-plaintext-auth"],
    );
}
