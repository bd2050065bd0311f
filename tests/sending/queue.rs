//! The queue: how many attempts run at once, what is refused before it is queued, and the effect of
//! a stop or an expiry.

use std::time::Duration;

use futures_util::future::{join_all, select_all};
use restante::model::{OutgoingFilter, OutgoingId, OutgoingStatus};
use restante::service::OutboxError;
use serde_json::json;

use crate::bed::{Bed, Net};
use crate::scripted::{Answer, Script, Scripted};
use testkit::MAIL_DOMAIN;

fn hanging() -> Script {
    Script::default().with(".", Answer::SayLate("250 2.0.0 taken\r\n"))
}

async fn queued(bed: &Bed) -> usize {
    let filter = OutgoingFilter {
        status: Some(OutgoingStatus::Queued),
        ..OutgoingFilter::default()
    };
    bed.api
        .service
        .outbox()
        .list(&filter, 1_000)
        .await
        .unwrap()
        .len()
}

#[tokio::test]
async fn a_domain_gets_five_connections_at_once_and_others_do_not_wait_for_it() {
    let net = Net::new();
    let slow = Scripted::start(net.at(1), hanging()).await;
    let quick = Scripted::start(net.at(2), Script::default()).await;
    let bed = Bed::direct(
        &net,
        &format!("slow A {}\nquick A {}", net.ip(1), net.ip(2)),
    )
    .await;
    let mut items = Vec::new();
    for number in 0..8 {
        items.push(bed.send("a@slow.example", &number.to_string()).await);
    }
    slow.hung(5).await;
    assert_eq!(
        bed.settled(bed.send("a@quick.example", "Welcome").await)
            .await
            .status,
        OutgoingStatus::Sent
    );
    assert_eq!(slow.connections(), 5);
    slow.release(3);
    slow.hung(8).await;
    assert_eq!((slow.connections(), quick.connections()), (8, 1));
    slow.release(5);
    for id in items {
        assert_eq!(bed.settled(id).await.status, OutgoingStatus::Sent);
    }
}

#[tokio::test]
async fn fifty_attempts_go_on_at_once() {
    let net = Net::new();
    let server = Scripted::start(net.at(1), hanging()).await;
    let zone: String = (0..11)
        .map(|number| format!("d{number} A {}\n", net.ip(1)))
        .collect();
    let bed = Bed::direct(&net, &zone).await;
    for number in 0..55 {
        bed.send(&format!("a@d{}.example", number % 11), "Welcome")
            .await;
    }
    server.hung(50).await;
    assert_eq!(server.connections(), 50);
    server.release(5);
    server.hung(55).await;
    assert_eq!(server.connections(), 55);
}

#[tokio::test]
async fn a_project_whose_mail_hangs_does_not_hold_up_another() {
    let net = Net::new();
    let silent = Scripted::start(
        net.at(1),
        Script::default().with("", Answer::SayLate("220 mx\r\n")),
    )
    .await;
    let quick = Scripted::start(net.at(2), Script::default()).await;
    let zone: String = (0..40)
        .map(|number| format!("d{number} A {}\n", net.ip(1)))
        .collect();
    let mut bed = Bed::direct(&net, &format!("{zone}quick A {}", net.ip(2))).await;
    for number in 0..200 {
        bed.send(&format!("a@d{}.example", number % 40), "Welcome")
            .await;
    }
    silent.hung(50).await;
    bed.use_other_project().await;
    assert_eq!(
        bed.settled(bed.send("a@quick.example", "Welcome").await)
            .await
            .status,
        OutgoingStatus::Sent
    );
    // Not even at a host where mail of the first project hangs.
    bed.send("a@d0.example", "Welcome").await;
    silent.hung(51).await;
    assert_eq!((silent.connections(), quick.connections()), (51, 1));
}

#[tokio::test]
async fn what_is_refused_is_not_queued() {
    let bed = Bed::off().await;
    let path = format!("/v1/inboxes/{}/messages", bed.inbox);
    let foreign = "a@shop.example";
    let mut bodies = vec![
        json!({}),
        json!([]),
        json!({"to": foreign}),
        json!({"subject": "s"}),
    ];
    for evil in [
        "\r",
        "\n",
        "\r\n",
        "\0",
        "a\r\nBcc: b@shop.example",
        "\u{85}x\n",
    ] {
        bodies.push(json!({"to": format!("{foreign}{evil}"), "subject": "s"}));
        bodies.push(json!({"to": format!("{evil}{foreign}"), "subject": "s"}));
        bodies.push(json!({"to": format!("a{evil}@shop.example"), "subject": "s"}));
        bodies.push(json!({"to": foreign, "subject": format!("s{evil}")}));
        bodies.push(json!({"to": foreign, "subject": format!("{evil}s")}));
        bodies.push(json!({"to": foreign, "subject": "s", "in_reply_to": evil}));
        bodies.push(json!({"to": foreign, "subject": "s", evil: "x"}));
    }
    for body in bodies {
        let refused = bed.api.call("POST", &path, body.to_string()).await;
        assert!(matches!(refused.status, 400 | 404), "{body}: {refused:?}");
    }
    let large = json!({"to": foreign, "subject": "s", "text": "x".repeat(11 * 1024 * 1024)});
    assert_eq!(
        bed.api.call("POST", &path, large.to_string()).await.status,
        413
    );
    let unknown = json!({"to": format!("nobody@{MAIL_DOMAIN}"), "subject": "s"});
    assert_eq!(
        bed.api
            .call("POST", &path, unknown.to_string())
            .await
            .status,
        404
    );
    assert!(
        bed.api
            .service
            .outbox()
            .list(&OutgoingFilter::default(), 10)
            .await
            .unwrap()
            .is_empty()
    );
}

#[tokio::test]
async fn a_key_has_eight_sends_at_once() {
    let bed = Bed::off().await;
    // While another process writes, no send is finished.
    let writing = rusqlite::Connection::open(bed.api.directory.path().join("restante.db")).unwrap();
    writing.execute_batch("BEGIN IMMEDIATE").unwrap();
    let path = format!("/v1/inboxes/{}/messages", bed.inbox);
    let body = json!({"to": "a@shop.example", "subject": "s"}).to_string();
    let send = || Box::pin(bed.api.call("POST", &path, body.clone()));
    let (refused, _, others) = select_all((0..9).map(|_| send())).await;
    assert_eq!(
        refused.error(),
        (429, "too many concurrent sends".to_owned())
    );
    drop(writing);
    assert!(
        join_all(others)
            .await
            .iter()
            .all(|accepted| accepted.status == 202)
    );
    assert_eq!(send().await.status, 202);
}

#[tokio::test]
async fn control_characters_in_a_body_stay_in_the_body() {
    let net = Net::new();
    let server = Scripted::start(net.at(1), Script::default()).await;
    let bed = Bed::direct(&net, &format!("shop A {}", net.ip(1))).await;
    let text = "a\r\n.\r\nQUIT\r\nb\n.\nc\r.\rd\0e\r\nMAIL FROM:<x@y>\r\n";
    let id = bed
        .send_body(json!({"to": "a@shop.example", "subject": "s", "text": text, "html": text}))
        .await;
    assert_eq!(bed.settled(id).await.status, OutgoingStatus::Sent);
    assert_eq!((server.connections(), server.messages().len()), (1, 1));
    let commands = server.commands();
    assert_eq!(
        commands
            .iter()
            .filter(|line| line.starts_with("MAIL"))
            .count(),
        1,
        "{commands:?}"
    );
}

#[tokio::test]
async fn without_a_way_out_a_send_fails_at_once() {
    let bed = Bed::off().await;
    let item = bed
        .settled(bed.send("a@shop.example", "Welcome").await)
        .await;
    assert_eq!(item.status, OutgoingStatus::Failed);
    assert!(
        item.last_reply.contains("switched off"),
        "{}",
        item.last_reply
    );
    assert_eq!(
        bed.bounce().await.text("subject"),
        "Undelivered Mail: Welcome"
    );
}

#[tokio::test]
async fn a_message_is_still_sent_when_its_inbox_is_gone_and_a_bounce_opens_no_inbox() {
    for (reply, status) in [
        ("250 ok\r\n", OutgoingStatus::Sent),
        ("550 no\r\n", OutgoingStatus::Failed),
    ] {
        let net = Net::new();
        let server = Scripted::start(
            net.at(1),
            Script::default().with("RCPT", Answer::SayLate(reply)),
        )
        .await;
        let bed = Bed::direct(&net, &format!("shop A {}", net.ip(1))).await;
        let id = bed.send("a@shop.example", "Welcome").await;
        server.hung(1).await;
        assert_eq!(
            bed.api
                .call("DELETE", &format!("/v1/inboxes/{}", bed.inbox), "")
                .await
                .status,
            204
        );
        server.release(1);
        assert_eq!(bed.settled(id).await.status, status);
        assert_eq!(
            bed.api
                .get(&format!("/v1/inboxes/{}", bed.inbox))
                .await
                .status,
            404
        );
    }
}

#[tokio::test]
async fn an_item_that_is_being_sent_is_left_alone() {
    let net = Net::new();
    let server = Scripted::start(net.at(1), hanging()).await;
    let bed = Bed::direct(&net, &format!("shop A {}", net.ip(1))).await;
    let outbox = bed.api.service.outbox();
    let id = bed.send("a@shop.example", "Welcome").await;
    server.hung(1).await;
    assert!(matches!(
        outbox.cancel(id).await,
        Err(OutboxError::BeingSent(_))
    ));
    assert!(matches!(
        outbox.retry(id).await,
        Err(OutboxError::BeingSent(_))
    ));
    server.release(1);
    bed.settled(id).await;
    assert!(matches!(
        outbox.retry(id).await,
        Err(OutboxError::Settled { .. })
    ));
    let unknown = OutgoingId::generate();
    assert!(matches!(
        outbox.cancel(unknown).await,
        Err(OutboxError::NotFound(_))
    ));
}

#[tokio::test]
async fn an_attempt_that_outlasts_its_lease_is_not_started_again() {
    let net = Net::new();
    let server = Scripted::start(net.at(1), hanging()).await;
    let quick = Scripted::start(net.at(2), Script::default()).await;
    let bed = Bed::direct(
        &net,
        &format!("slow A {}\nquick A {}", net.ip(1), net.ip(2)),
    )
    .await;
    let id = bed.send("a@slow.example", "Welcome").await;
    server.hung(1).await;
    for _ in 0..3 {
        bed.api.clock.advance(Duration::from_secs(120));
        assert_eq!(
            bed.settled(bed.send("a@quick.example", "Hello").await)
                .await
                .status,
            OutgoingStatus::Sent
        );
    }
    server.release(1);
    let item = bed.settled(id).await;
    assert_eq!((item.status, item.attempts), (OutgoingStatus::Sent, 1));
    assert_eq!((server.connections(), quick.connections()), (1, 3));
}

#[tokio::test]
async fn a_retry_is_immediate_and_a_cancelled_item_is_not_sent() {
    let net = Net::new();
    let bed = Bed::direct(&net, &format!("shop A {}", net.ip(1))).await;
    let outbox = bed.api.service.outbox();
    let id = bed.send("a@shop.example", "Welcome").await;
    bed.attempted(id, 1).await;
    outbox.cancel(id).await.unwrap();
    bed.api.clock.advance(Duration::from_secs(600));
    let server = Scripted::start(net.at(1), Script::default()).await;
    let other = bed.send("a@shop.example", "Another").await;
    assert_eq!(bed.settled(other).await.status, OutgoingStatus::Sent);
    assert_eq!(
        outbox.find(id).await.unwrap().status,
        OutgoingStatus::Cancelled
    );
    assert_eq!(server.connections(), 1);
    outbox.retry(id).await.unwrap();
    let item = bed.settled(id).await;
    assert_eq!((item.status, item.attempts), (OutgoingStatus::Sent, 2));
}

#[tokio::test]
async fn a_worker_that_stops_gives_back_what_it_was_sending() {
    let net = Net::new();
    let server = Scripted::start(net.at(1), hanging()).await;
    let mut bed = Bed::direct(&net, &format!("shop A {}", net.ip(1))).await;
    let id = bed.send("a@shop.example", "Welcome").await;
    server.hung(1).await;
    bed.stop().await;
    let item = bed.api.service.outbox().find(id).await.unwrap();
    assert_eq!(
        (item.status, item.attempts, item.leased_until),
        (OutgoingStatus::Queued, 1, None)
    );
    assert_eq!(queued(&bed).await, 1);
}
