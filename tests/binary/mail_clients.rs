//! Real mail clients send, in plain text and over STARTTLS.

use std::path::Path;
use std::process::Command;

use testkit::server::{Server, command, first_start, printed};

/// Runs a mail client, which must succeed.
fn run(program: &str, arguments: &[&str]) {
    let output = Command::new(program)
        .args(arguments)
        .output()
        .unwrap_or_else(|error| panic!("{program}: {error}"));
    assert!(output.status.success(), "{program}: {output:?}");
}

fn swaks(server: &Server, to: &str, arguments: &[&str]) {
    let message = [
        "--server",
        &server.smtp,
        "--from",
        "app@example.com",
        "--to",
        to,
        "--body",
        "Your code is 482913.",
    ];
    run("swaks", &[&message, arguments].concat());
}

#[test]
fn swaks_sends_plain_and_over_starttls() {
    let (_data_dir, server, key) = first_start();
    for (to, arguments) in [
        ("plain@restante.example.com", &[][..]),
        ("tls@restante.example.com", &["--tls"]),
    ] {
        swaks(&server, to, arguments);
        assert_eq!(server.run_cli(&key, ["wait", to, "--otp"]), "482913");
    }
}

#[test]
fn swaks_authenticates_for_a_project() {
    let (data_dir, server, _key) = first_start();
    let mut create = command(["project", "create", "shop", "--data-dir"]);
    let key = printed(create.arg(data_dir.path()));
    let to = "mine@restante.example.com";
    swaks(
        &server,
        to,
        &[
            "--tls",
            "--auth",
            "PLAIN",
            "--auth-user",
            "any",
            "--auth-password",
            &key,
        ],
    );
    assert_eq!(server.run_cli(&key, ["wait", to, "--otp"]), "482913");
}

/// Sends with Python's smtplib. With a certificate, it uses STARTTLS and verifies the certificate
/// for `host`.
fn smtplib(server: &Server, host: &str, to: &str, certificate: Option<&Path>) {
    const SCRIPT: &str = r#"
import smtplib, ssl, sys
from email.message import EmailMessage
host, port, to, certificate = sys.argv[1:]
message = EmailMessage()
message["From"], message["To"], message["Subject"] = "app@example.com", to, "Grüße"
message.set_content("Ihr Code lautet 482913.")
with smtplib.SMTP(host, int(port)) as client:
    if certificate:
        client.starttls(context=ssl.create_default_context(cafile=certificate))
    client.send_message(message)
"#;
    let port = server.smtp.rsplit(':').next().unwrap();
    run(
        "python3",
        &[
            "-c",
            SCRIPT,
            host,
            port,
            to,
            certificate.map_or("", |path| path.to_str().unwrap()),
        ],
    );
}

#[test]
fn smtplib_sends_plain_and_verifies_the_certificate_of_the_first_start() {
    let (data_dir, server, key) = first_start();
    let certificate = data_dir.path().join("tls-cert.pem");
    for (to, host, certificate) in [
        ("plain@restante.example.com", "localhost", None),
        (
            "name@restante.example.com",
            "localhost",
            Some(certificate.as_path()),
        ),
        (
            "address@restante.example.com",
            "127.0.0.1",
            Some(certificate.as_path()),
        ),
    ] {
        smtplib(&server, host, to, certificate);
        assert_eq!(
            server.run_cli(&key, ["wait", to, "--otp", "--subject", "grüße"]),
            "482913"
        );
    }
}

#[test]
fn curl_sends_a_file() {
    let (_data_dir, server, key) = first_start();
    let mail = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(
        mail.path(),
        "Subject: Hello\r\n\r\nhttps://shop.example/confirm\r\n",
    )
    .unwrap();
    let url = format!("smtp://{}", server.smtp);
    let to = "curl@restante.example.com";
    let file = mail.path().to_str().unwrap();
    run(
        "curl",
        &[
            "-sS",
            &url,
            "--mail-from",
            "app@example.com",
            "--mail-rcpt",
            to,
            "--upload-file",
            file,
        ],
    );
    assert_eq!(
        server.run_cli(&key, ["wait", to, "--link", "confirm"]),
        "https://shop.example/confirm"
    );
}

#[test]
fn lettre_sends_several_on_one_connection() {
    use lettre::{Message, SmtpTransport, Transport};

    let (_data_dir, server, key) = first_start();
    let (host, port) = server.smtp.split_once(':').unwrap();
    let transport = SmtpTransport::builder_dangerous(host)
        .port(port.parse().unwrap())
        .build();
    for number in 0..3 {
        let message = Message::builder()
            .from("app@example.com".parse().unwrap())
            .to("l@restante.example.com".parse().unwrap());
        let message = message
            .subject(format!("Grüße {number}"))
            .body(format!("Your code is 48291{number}."))
            .unwrap();
        transport.send(&message).unwrap();
    }
    let listed = server.run_cli(&key, ["messages", "l@restante.example.com"]);
    let subjects: Vec<_> = listed
        .lines()
        .filter_map(|line| line.rsplit('\t').next())
        .collect();
    assert_eq!(subjects, ["Grüße 2", "Grüße 1", "Grüße 0"]);
    assert_eq!(
        server.run_cli(&key, ["wait", "l@restante.example.com", "--otp"]),
        "482910"
    );
}
