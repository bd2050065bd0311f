//! The SMTP client: encryption, extensions, timeouts, and invalid replies.

use std::time::Duration;

use restante::model::{Outgoing, OutgoingStatus};

use crate::bed::{Bed, Net};
use crate::scripted::{Answer, Script, Scripted, self_signed};

const MINUTE: Duration = Duration::from_secs(60);
const EHLO_STARTTLS: Answer = Answer::Say("250-mx.example\r\n250 STARTTLS\r\n");

/// One scripted server for `shop.example`.
async fn shop(script: Script) -> (Bed, Scripted) {
    let net = Net::new();
    let server = Scripted::start(net.at(1), script).await;
    let bed = Bed::direct(
        &net,
        &format!("shop MX 10 mx.shop\nmx.shop A {}", net.ip(1)),
    )
    .await;
    (bed, server)
}

async fn attempt(bed: &Bed) -> Outgoing {
    bed.attempted(bed.send("a@shop.example", "Welcome").await, 1)
        .await
}

#[tokio::test]
async fn encryption_is_used_if_offered_with_any_certificate() {
    let (tls, _) = self_signed("elsewhere.example");
    let script = Script {
        tls: Some(tls),
        ..Script::default()
    };
    let (bed, server) = shop(script.with("EHLO", EHLO_STARTTLS)).await;
    assert_eq!(attempt(&bed).await.status, OutgoingStatus::Sent);
    let verbs: Vec<String> = server
        .commands()
        .iter()
        .map(|line| line.split(' ').next().unwrap().to_owned())
        .take(6)
        .collect();
    assert_eq!(verbs, ["EHLO", "STARTTLS", "EHLO", "MAIL", "RCPT", "DATA"]);
}

#[tokio::test]
async fn a_server_that_cannot_do_what_it_offers_gets_the_message_in_the_clear() {
    // The server closes the connection in place of a handshake, or says that it is not ready.
    let not_ready = Answer::Say("454 4.7.0 not now\r\n");
    let (bed, server) = shop(
        Script::default()
            .with("EHLO", EHLO_STARTTLS)
            .with("STARTTLS", not_ready),
    )
    .await;
    assert_eq!(attempt(&bed).await.status, OutgoingStatus::Sent);
    assert_eq!((server.connections(), server.messages().len()), (1, 1));

    let no_handshake = Answer::Say("220 go\r\nthis is no TLS at all\r\n");
    let (bed, server) = shop(
        Script::default()
            .with("EHLO", EHLO_STARTTLS)
            .with("STARTTLS", no_handshake),
    )
    .await;
    let item = attempt(&bed).await;
    assert_eq!(
        item.status,
        OutgoingStatus::Queued,
        "text after the answer is an attack, not a missing feature"
    );
    assert!(
        item.last_reply.contains("plain text after"),
        "{}",
        item.last_reply
    );
    assert!(server.messages().is_empty());
}

#[tokio::test]
async fn a_failed_handshake_is_followed_by_a_connection_in_the_clear() {
    let net = Net::new();
    // Without a certificate the server ends the handshake with an error.
    let server = Scripted::start(net.at(1), Script::default().with("EHLO", EHLO_STARTTLS)).await;
    let bed = Bed::direct(&net, &format!("shop A {}", net.ip(1))).await;
    assert_eq!(attempt(&bed).await.status, OutgoingStatus::Sent);
    assert_eq!((server.connections(), server.messages().len()), (2, 1));
}

#[tokio::test]
async fn nine_minutes_after_the_dot_are_not_too_late() {
    let (bed, server) =
        shop(Script::default().with(".", Answer::SayLate("250 2.0.0 taken\r\n"))).await;
    let id = bed.send("a@shop.example", "Welcome").await;
    server.hung(1).await;
    bed.api.clock.advance(9 * MINUTE);
    server.release(1);
    let item = bed.settled(id).await;
    assert_eq!((item.status, item.attempts), (OutgoingStatus::Sent, 1));
    assert_eq!(item.last_reply, "250 2.0.0 taken");
    assert_eq!(
        server.connections(),
        1,
        "nobody took the item while its lease was out of date"
    );
}

#[tokio::test]
async fn ten_minutes_after_the_dot_are_too_late_and_the_copy_has_the_same_message_id() {
    let (bed, server) =
        shop(Script::default().with(".", Answer::SayLate("250 2.0.0 taken\r\n"))).await;
    let id = bed.send("a@shop.example", "Welcome").await;
    server.hung(1).await;
    bed.api.clock.advance(10 * MINUTE);
    let item = bed.attempted(id, 1).await;
    assert_eq!(item.status, OutgoingStatus::Queued);
    assert!(
        item.last_reply.ends_with("the server took too long"),
        "{}",
        item.last_reply
    );
    server.release(2);
    bed.pass_until_due(&item);
    assert_eq!(bed.settled(id).await.status, OutgoingStatus::Sent);
    let [first, second] = server.messages().try_into().unwrap();
    assert_eq!(first, second, "the copies are alike to the byte");
}

#[tokio::test]
async fn every_response_has_a_time_limit() {
    for (verb, minutes) in [("", 5), ("EHLO", 5), ("MAIL", 5), ("RCPT", 5), ("DATA", 2)] {
        let (bed, server) =
            shop(Script::default().with(verb, Answer::SayLate("250 late\r\n"))).await;
        let id = bed.send("a@shop.example", "Welcome").await;
        server.hung(1).await;
        bed.api.clock.advance(minutes * MINUTE);
        let item = bed.attempted(id, 1).await;
        assert_eq!(item.status, OutgoingStatus::Queued, "{verb}");
        assert!(
            item.last_reply.ends_with("the server took too long"),
            "{verb}: {}",
            item.last_reply
        );
    }
}

#[tokio::test]
async fn invalid_replies_end_the_attempt() {
    let endless: &'static str =
        Box::leak(format!("220 {}\r\n", "x".repeat(5_000)).into_boxed_str());
    let flood: &'static str = Box::leak("250-more\r\n".repeat(200).into_boxed_str());
    for (verb, answer) in [
        ("", "HTTP/1.1 400 Bad Request\r\n\r\n"),
        ("", endless),
        ("EHLO", flood),
        ("MAIL", "250-a\r\n251 b\r\n"),
        ("RCPT", "\r\n"),
        ("DATA", "999 what\r\n"),
    ] {
        let (bed, server) = shop(Script::default().with(verb, Answer::Say(answer))).await;
        let item = attempt(&bed).await;
        assert_eq!(item.status, OutgoingStatus::Queued, "{verb}");
        assert!(
            item.last_reply.ends_with("not an SMTP reply"),
            "{verb}: {}",
            item.last_reply
        );
        assert!(server.messages().is_empty());
    }
}

#[tokio::test]
async fn a_message_that_the_server_cannot_take_fails_for_good() {
    for (ehlo, to, reason) in [
        (
            "250-mx\r\n250 SIZE 100\r\n",
            "a@shop.example",
            "larger than the server accepts",
        ),
        (
            "250 mx\r\n",
            "jörg@shop.example",
            "does not accept non-ASCII addresses",
        ),
    ] {
        let (bed, server) = shop(Script::default().with("EHLO", Answer::Say(ehlo))).await;
        let id = bed.send(to, "Welcome").await;
        let item = bed.settled(id).await;
        assert_eq!(item.status, OutgoingStatus::Failed);
        assert!(item.last_reply.contains(reason), "{}", item.last_reply);
        assert!(server.messages().is_empty());
        assert_eq!(bed.bounce().await.status, 200);
    }
}

#[tokio::test]
async fn addresses_outside_ascii_go_to_a_server_that_knows_them() {
    let ehlo = Answer::Say("250-mx\r\n250-8BITMIME\r\n250-SIZE\r\n250 SMTPUTF8\r\n");
    let (bed, server) = shop(Script::default().with("EHLO", ehlo)).await;
    let item = bed
        .settled(bed.send("jörg@shop.example", "Grüße").await)
        .await;
    assert_eq!(item.status, OutgoingStatus::Sent, "{}", item.last_reply);
    let commands = server.commands();
    assert!(commands[1].ends_with(" SMTPUTF8"), "{commands:?}");
    assert_eq!(commands[2], "RCPT TO:<jörg@shop.example>");
}

#[tokio::test]
async fn a_server_without_ehlo_receives_helo() {
    let (bed, server) = shop(Script::default().with("EHLO", Answer::Say("502 what?\r\n"))).await;
    assert_eq!(attempt(&bed).await.status, OutgoingStatus::Sent);
    assert_eq!(server.commands()[1], "HELO hello.example");
}
