//! The result of an attempt, depending on the replies of the server.

use restante::model::OutgoingStatus;
use serde_json::json;

use crate::bed::{Bed, Net};
use crate::sink::Sink;

/// One server for `shop.example`.
async fn shop(options: &[&str]) -> (Bed, Sink) {
    let net = Net::new();
    let sink = Sink::start(net.at(1), options).await;
    let bed = Bed::direct(
        &net,
        &format!("shop MX 10 mx.shop\nmx.shop A {}", net.ip(1)),
    )
    .await;
    (bed, sink)
}

#[tokio::test]
async fn a_message_is_handed_over_whole() {
    let (bed, sink) = shop(&[]).await;
    let text = "Grüße\n.\n..\n. dot\n\nend\n";
    let body =
        json!({"to": "a@shop.example", "subject": "Grüße", "text": text, "html": "<p>Grüße</p>"});
    let item = bed.settled(bed.send_body(body).await).await;
    assert_eq!(
        (item.status, item.attempts, item.due_at),
        (OutgoingStatus::Sent, 1, None)
    );
    assert!(item.last_reply.starts_with("250 "), "{}", item.last_reply);
    let [message] = sink.messages().try_into().unwrap();
    let sender = bed.sender_address();
    assert!(
        message.contains("X-Helo-Args: hello.example\n"),
        "{message}"
    );
    assert!(
        message.contains(&format!("X-Mail-Args: <{sender}>")),
        "{message}"
    );
    assert!(
        message.contains("X-Rcpt-Args: <a@shop.example>\n"),
        "{message}"
    );
    assert!(
        message.contains(&format!("\nMessage-ID: {}\n", item.message_id)),
        "{message}"
    );
    let (_, raw) = message.split_once("\nFrom: ").unwrap();
    let parsed = restante_mail::parse(format!("From: {raw}").replace('\n', "\r\n").as_bytes());
    assert_eq!(
        (parsed.subject.as_str(), parsed.text.trim_end()),
        ("Grüße", text.trim_end())
    );
    assert_eq!(bed.messages().await, 0, "no bounce");
}

#[tokio::test]
async fn a_hard_refusal_is_final_and_bounces() {
    for refused in ["MAIL", "RCPT", "DATA", "."] {
        let (bed, _sink) = shop(&["-f", refused, "-B", "550 5.1.1 No such user"]).await;
        let item = bed
            .settled(bed.send("a@shop.example", "Welcome").await)
            .await;
        assert_eq!(
            (item.status, item.attempts),
            (OutgoingStatus::Failed, 1),
            "{refused}"
        );
        assert!(
            item.last_reply.ends_with("550 5.1.1 No such user"),
            "{}",
            item.last_reply
        );
        let bounce = bed.bounce().await.json();
        assert_eq!(bounce["subject"], "Undelivered Mail: Welcome");
        assert_eq!(bounce["from"], "mailer-daemon@restante.example.com");
        assert_eq!(bounce["to"], bed.sender_address());
        let text = bounce["text"].as_str().unwrap();
        assert!(
            text.contains("a@shop.example") && text.contains("550 5.1.1 No such user"),
            "{text}"
        );
    }
}

#[tokio::test]
async fn a_soft_refusal_is_tried_for_a_day_and_then_bounces() {
    let (mut bed, sink) = shop(&["-r", "RCPT", "-b", "450 4.2.0 Come back later"]).await;
    bed.use_permanent_inbox().await;
    let id = bed.send("a@shop.example", "Welcome").await;
    let mut item = bed.attempted(id, 1).await;
    let begin = item.created_at;
    while item.status == OutgoingStatus::Queued {
        assert!(
            item.last_reply.ends_with("450 4.2.0 Come back later"),
            "{}",
            item.last_reply
        );
        assert_eq!(
            bed.messages().await,
            0,
            "a bounce after {} attempts",
            item.attempts
        );
        bed.pass_until_due(&item);
        item = bed.attempted(id, item.attempts + 1).await;
    }
    assert_eq!(item.status, OutgoingStatus::Failed);
    assert!(
        (11..=12).contains(&item.attempts),
        "{} attempts",
        item.attempts
    );
    let hours = item.attempted_at.unwrap().since(begin).as_secs() / 3_600;
    assert!((19..24).contains(&hours), "given up after {hours} hours");
    assert!(sink.messages().is_empty());
    let text = bed.bounce().await.text("text");
    assert!(
        text.contains("450 4.2.0 Come back later") && text.contains("It will not be retried"),
        "{text}"
    );
}

#[tokio::test]
async fn a_temporary_rejection_is_not_a_permanent_one() {
    let net = Net::new();
    let zone = format!("shop MX 10 mx.shop\nmx.shop A {}", net.ip(1));
    let bed = Bed::direct(&net, &zone).await;
    let busy = Sink::start(net.at(1), &["-r", "."]).await;
    let id = bed.send("a@shop.example", "Welcome").await;
    let item = bed.attempted(id, 1).await;
    assert_eq!(item.status, OutgoingStatus::Queued);
    drop(busy);
    let ready = Sink::start(net.at(1), &[]).await;
    bed.pass_until_due(&item);
    let item = bed.settled(id).await;
    assert_eq!((item.status, item.attempts), (OutgoingStatus::Sent, 2));
    assert_eq!(ready.messages().len(), 1);
}

#[tokio::test]
async fn a_connection_that_breaks_is_retried() {
    for options in [
        ["-q", "."],
        ["-q", "DATA"],
        ["-q", "RCPT"],
        ["-q", "EHLO"],
        ["-q", "CONNECT"],
        ["-Q", "MAIL"],
    ] {
        let (bed, _sink) = shop(&options).await;
        let item = bed
            .attempted(bed.send("a@shop.example", "Welcome").await, 1)
            .await;
        assert_eq!(
            item.status,
            OutgoingStatus::Queued,
            "{options:?}: {}",
            item.last_reply
        );
        let pause = item.due_at.unwrap().since(item.created_at).as_secs();
        assert!(
            (60..=66).contains(&pause),
            "{options:?}: due after {pause} seconds"
        );
    }
}

#[tokio::test]
async fn a_server_without_extensions_gets_the_message_too() {
    let (bed, sink) = shop(&["-e"]).await;
    assert_eq!(
        bed.settled(bed.send("a@shop.example", "Welcome").await)
            .await
            .status,
        OutgoingStatus::Sent
    );
    assert!(sink.messages()[0].contains("X-Client-Proto: SMTP\n"));
}

#[tokio::test]
async fn a_large_message_arrives_whole() {
    let (bed, sink) = shop(&[]).await;
    let text = "0123456789 .\n".repeat(40_000);
    let id = bed
        .send_body(json!({"to": "a@shop.example", "subject": "large", "text": text}))
        .await;
    assert_eq!(bed.settled(id).await.status, OutgoingStatus::Sent);
    let message = sink.messages().pop().unwrap();
    assert!(message.len() > text.len(), "{} bytes", message.len());
}
