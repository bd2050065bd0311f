//! STARTTLS: what is offered, what is refused, and which certificate is presented.

use std::time::Duration;

use restante::config::{Settings, TlsFiles};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_rustls::rustls::ProtocolVersion;
use tokio_rustls::rustls::version::{TLS12, TLS13};

use crate::client::MAX_WAIT;
use crate::server::Server;

#[tokio::test]
async fn tls_1_2_and_1_3_are_spoken() {
    let server = Server::start().await;
    for (version, spoken) in [
        (&TLS12, ProtocolVersion::TLSv1_2),
        (&TLS13, ProtocolVersion::TLSv1_3),
    ] {
        let mut client = server.greeted().await.start_tls(&[version]).await;
        assert_eq!(client.protocol_version(), spoken);
        assert!(
            client
                .message(&["tls@restante.example.com"], "x")
                .await
                .starts_with("250 ")
        );
        assert!(client.command("QUIT").await.starts_with("221 "));
        assert!(client.is_closed().await);
    }
    assert_eq!(server.messages("tls@restante.example.com").await.len(), 2);
    assert_eq!(server.tls_versions("tls").await, ["TLSv1.2", "TLSv1.3"]);
}

#[tokio::test]
async fn commands_in_clear_after_starttls_are_never_run() {
    let server = Server::start().await;
    for injected in ["MAIL FROM:<evil@sender.example>\r\n", "NOOP", "\r\n"] {
        let mut client = server.greeted().await;
        client.send(format!("STARTTLS\r\n{injected}")).await;
        assert!(client.reply().await.starts_with("220 "));
        assert_eq!(client.reply().await, "");
    }
}

#[tokio::test]
async fn an_invalid_handshake_closes_only_its_own_connection() {
    let server = Server::start().await;
    let mut good = server.greeted().await;
    let mut client = server.greeted().await;
    assert!(client.command("STARTTLS").await.starts_with("220 "));
    client.send("MAIL FROM:<evil@sender.example>\r\n").await;
    assert!(client.is_closed().await);
    assert_eq!(good.command("NOOP").await, "250 2.0.0 OK\r\n");
}

#[tokio::test]
async fn a_handshake_that_stalls_is_given_up() {
    let server = Server::start().await;
    let mut client = server.greeted().await;
    assert!(client.command("STARTTLS").await.starts_with("220 "));
    let mut stream = client.into_stream();
    stream.write_all(b"\x16\x03\x01").await.unwrap();
    let mut rest = Vec::new();
    let closed = server.passing(
        server.settings.limits.idle_timeout,
        stream.read_to_end(&mut rest),
    );
    // The end may be a reset.
    let _ = tokio::time::timeout(MAX_WAIT, closed)
        .await
        .expect("the connection is still open");
}

#[tokio::test]
async fn a_changed_certificate_is_presented_without_a_restart() {
    let server = Server::start().await;
    let first = server
        .greeted()
        .await
        .start_tls(&[&TLS13])
        .await
        .certificate();
    let data_dir = &server.settings.data.data_dir;
    let files = TlsFiles {
        certificate: data_dir.join("tls-cert.pem"),
        key: data_dir.join("tls-key.pem"),
    };

    std::fs::write(&files.certificate, "not a certificate").unwrap();
    server.clock.advance(Duration::from_secs(1));
    assert_eq!(
        server
            .greeted()
            .await
            .start_tls(&[&TLS13])
            .await
            .certificate(),
        first
    );

    let made = rcgen::generate_simple_self_signed(["mail.example".to_owned()]).unwrap();
    std::fs::write(&files.certificate, made.cert.pem()).unwrap();
    std::fs::write(&files.key, made.signing_key.serialize_pem()).unwrap();
    server.clock.advance(Duration::from_secs(1));
    let second = server
        .greeted()
        .await
        .start_tls(&[&TLS13])
        .await
        .certificate();
    assert_eq!(second, made.cert.der().to_vec());
}

#[tokio::test]
async fn configured_files_are_presented() {
    let directory = tempfile::tempdir().unwrap();
    let made = rcgen::generate_simple_self_signed(["mail.example".to_owned()]).unwrap();
    let files = TlsFiles {
        certificate: directory.path().join("chain.pem"),
        key: directory.path().join("key.pem"),
    };
    std::fs::write(&files.certificate, made.cert.pem()).unwrap();
    std::fs::write(&files.key, made.signing_key.serialize_pem()).unwrap();
    let given = |settings: &mut Settings| {
        settings.tls.tls_cert = Some(files.certificate);
        settings.tls.tls_key = Some(files.key);
    };
    let server = Server::with(given).await;
    assert_eq!(
        server
            .greeted()
            .await
            .start_tls(&[&TLS13])
            .await
            .certificate(),
        made.cert.der().to_vec()
    );
}

#[tokio::test]
async fn the_second_listener_begins_with_tls() {
    let server = Server::with(|settings| {
        settings.listeners.smtps_listen = Some("127.0.0.1:0".parse().unwrap());
    })
    .await;
    let mut client = server.connect_encrypted(&[&TLS13]).await;
    assert!(client.reply().await.starts_with("220 "));
    let extensions = client.command("EHLO client.example").await;
    assert!(
        extensions.contains("AUTH PLAIN LOGIN") && !extensions.contains("STARTTLS"),
        "{extensions}"
    );
    assert!(client.command("STARTTLS").await.starts_with("503 "));
    assert!(
        client
            .message(&["tls@restante.example.com"], "x")
            .await
            .starts_with("250 ")
    );
    assert!(client.command("QUIT").await.starts_with("221 "));
    assert!(client.is_closed().await);
    let trace: String = server
        .database()
        .query_row("SELECT trace FROM contents", [], |row| row.get(0))
        .unwrap();
    assert!(trace.contains(" with ESMTPS\r\n"), "{trace}");
}

#[tokio::test]
async fn both_listeners_share_the_limits_and_the_stop() {
    let server = Server::with(|settings| {
        settings.listeners.smtps_listen = Some("127.0.0.1:0".parse().unwrap());
        settings.limits.smtp_connections = 1;
    })
    .await;
    let mut client = server.connect_encrypted(&[&TLS13]).await;
    assert!(client.reply().await.starts_with("220 "));
    let mut over_the_limit = server.connect().await;
    assert!(over_the_limit.reply().await.starts_with("421 "));
    let mut encrypted = tokio::net::TcpStream::connect(server.tls_address.unwrap())
        .await
        .unwrap();
    // The end may be a reset.
    assert_eq!(
        encrypted.read(&mut [0]).await.unwrap_or(0),
        0,
        "closed without a word: it could not be read"
    );
    server.begin_stop();
    assert!(client.reply().await.starts_with("421 "));
    server.ended().await;
}

#[tokio::test]
async fn plain_text_at_the_second_listener_ends_its_own_connection_only() {
    let server = Server::with(|settings| {
        settings.listeners.smtps_listen = Some("127.0.0.1:0".parse().unwrap());
    })
    .await;
    let mut plain = tokio::net::TcpStream::connect(server.tls_address.unwrap())
        .await
        .unwrap();
    plain.write_all(b"EHLO client.example\r\n").await.unwrap();
    let mut rest = Vec::new();
    let _ = tokio::time::timeout(MAX_WAIT, plain.read_to_end(&mut rest))
        .await
        .expect("the connection is still open");
    assert!(!rest.starts_with(b"220"), "{rest:?}");
    assert!(
        server
            .connect_encrypted(&[&TLS13])
            .await
            .reply()
            .await
            .starts_with("220 ")
    );
}

#[tokio::test]
async fn starttls_ends_the_transcript_of_a_transaction() {
    let server = Server::start().await;
    let recipients = ["one@restante.example.com", "other@restante.example.com"];
    let mut client = server.greeted().await;
    assert!(client.message(&recipients, "x").await.starts_with("250"));
    assert!(
        client
            .command("MAIL FROM:<given-up@sender.example>")
            .await
            .starts_with("250")
    );
    assert!(
        client
            .command("RCPT TO:<one@restante.example.com>")
            .await
            .starts_with("250")
    );
    let mut client = client.start_tls(&[&TLS13]).await;
    assert!(
        client
            .message(&["other@restante.example.com"], "x")
            .await
            .starts_with("250")
    );
    assert!(client.command("NOOP").await.starts_with("250"));
    for (inbox, given_up, tls) in [("one", true, false), ("other", false, true)] {
        let sessions = server.smtp_sessions(inbox).await;
        let last = sessions.last().unwrap();
        assert_eq!(last.contains("given-up"), given_up, "{last}");
        assert_eq!(last.contains("TLSv1.3"), tls, "{last}");
        assert_eq!(last.contains("(message)"), !given_up, "{last}");
        let hidden = if inbox == "one" { "other@" } else { "one@" };
        assert!(!sessions.concat().contains(hidden), "{sessions:?}");
    }
}
