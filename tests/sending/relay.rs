//! Sending through a relay: its certificate is checked before it gets the password.

use std::path::PathBuf;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use restante::config::{Relay, Sending};
use restante::model::{Outgoing, OutgoingStatus};
use testkit::port::ReservedPort;

use crate::bed::{Bed, sending};
use crate::scripted::{Answer, Script, Scripted, self_signed};

const EHLO_BOTH: Answer =
    Answer::Say("250-relay.example\r\n250-STARTTLS\r\n250 AUTH PLAIN LOGIN\r\n");

async fn relay(
    script: Script,
    scheme: &str,
    user: &str,
    relay_ca: Option<PathBuf>,
) -> (Bed, Scripted) {
    let server = Scripted::start(([127, 0, 0, 1], 0).into(), script).await;
    let relay: Relay = format!("{scheme}://{user}localhost:{}", server.address.port())
        .parse()
        .unwrap();
    (
        Bed::with(Sending {
            relay: Some(relay),
            relay_ca,
            ..sending()
        })
        .await,
        server,
    )
}

async fn attempt(bed: &Bed) -> Outgoing {
    bed.attempted(bed.send("a@anywhere.example", "Welcome").await, 1)
        .await
}

/// A server with a certificate that is signed by the one in the file.
fn trusted(name: &str) -> (Script, tempfile::NamedTempFile) {
    let (tls, pem) = self_signed(name);
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(&file, pem).unwrap();
    (
        Script {
            tls: Some(tls),
            ..Script::default()
        }
        .with("AUTH", Answer::Say("235 2.7.0 welcome\r\n")),
        file,
    )
}

#[tokio::test]
async fn the_relay_gets_everything() {
    let (bed, server) = relay(Script::default(), "smtp", "", None).await;
    assert_eq!(attempt(&bed).await.status, OutgoingStatus::Sent);
    assert!(
        server
            .commands()
            .contains(&"RCPT TO:<a@anywhere.example>".to_owned())
    );
}

#[tokio::test]
async fn the_password_is_sent_only_over_tls() {
    for (scheme, implicit_tls) in [("smtp", false), ("smtps", true)] {
        let (script, file) = trusted("localhost");
        let script = Script {
            implicit_tls,
            ..script
        };
        let ehlo = if implicit_tls {
            Answer::Say("250-relay\r\n250 AUTH PLAIN\r\n")
        } else {
            EHLO_BOTH
        };
        let (bed, server) = relay(
            script.with("EHLO", ehlo),
            scheme,
            "user%40shop:pass%3Aword@",
            Some(file.path().into()),
        )
        .await;
        assert_eq!(attempt(&bed).await.status, OutgoingStatus::Sent, "{scheme}");
        let commands = server.commands();
        let auth = commands
            .iter()
            .position(|line| line.starts_with("AUTH"))
            .unwrap();
        assert_eq!(
            commands[auth],
            format!(
                "AUTH PLAIN {}",
                BASE64_STANDARD.encode("\0user@shop\0pass:word")
            )
        );
        assert_eq!(
            commands[..auth].contains(&"STARTTLS".to_owned()),
            !implicit_tls
        );
    }
}

#[tokio::test]
async fn a_certificate_that_is_not_the_relay_s_stops_it() {
    for (name, trust) in [("elsewhere.example", true), ("localhost", false)] {
        let (script, file) = trusted(name);
        let authorities = trust.then(|| file.path().into());
        let (bed, server) = relay(
            script.with("EHLO", EHLO_BOTH),
            "smtp",
            "user:password@",
            authorities,
        )
        .await;
        let item = attempt(&bed).await;
        assert_eq!(item.status, OutgoingStatus::Queued, "{name}");
        assert!(
            item.last_reply.contains("TLS failed"),
            "{}",
            item.last_reply
        );
        let commands = server.commands();
        assert!(
            !commands
                .iter()
                .any(|line| line.starts_with("AUTH") || line.starts_with("MAIL")),
            "{commands:?}"
        );
    }
}

#[tokio::test]
async fn a_server_with_only_login_gets_the_password_in_two_steps() {
    let script = Script::default()
        .with("EHLO", Answer::Say("250-relay\r\n250 AUTH LOGIN\r\n"))
        .with("AUTH", Answer::Say("334 VXNlcm5hbWU6\r\n"))
        .with("dXNlcg==", Answer::Say("334 UGFzc3dvcmQ6\r\n"))
        .with("cGFzc3dvcmQ=", Answer::Say("235 2.7.0 welcome\r\n"));
    let (bed, server) = relay(script, "smtp", "user:password@", None).await;
    assert_eq!(attempt(&bed).await.status, OutgoingStatus::Sent);
    assert_eq!(
        server.commands()[1..4],
        ["AUTH LOGIN", "dXNlcg==", "cGFzc3dvcmQ="]
    );
}

#[tokio::test]
async fn a_refused_password_is_no_message_s_fault() {
    let script = Script::default().with("AUTH", Answer::Say("535 5.7.8 no\r\n"));
    let (bed, _server) = relay(script, "smtp", "user:password@", None).await;
    let item = attempt(&bed).await;
    assert_eq!(item.status, OutgoingStatus::Queued);
    assert!(
        item.last_reply.ends_with("answered AUTH with 535 5.7.8 no"),
        "{}",
        item.last_reply
    );
}

#[tokio::test]
async fn a_relay_that_is_not_there_is_tried_again() {
    let refusing = ReservedPort::new();
    let relay: Relay = format!("smtp://127.0.0.1:{}", refusing.number())
        .parse()
        .unwrap();
    let bed = Bed::with(Sending {
        relay: Some(relay),
        ..sending()
    })
    .await;
    assert_eq!(attempt(&bed).await.status, OutgoingStatus::Queued);
}
