//! The server that receives the message, depending on the DNS records.

use restante::model::{Outgoing, OutgoingStatus};

use crate::bed::{Bed, Net};
use crate::scripted::{Script, Scripted};
use crate::sink::Sink;

async fn send_to(bed: &Bed, domain: &str) -> Outgoing {
    bed.attempted(bed.send(&format!("a@{domain}"), "Welcome").await, 1)
        .await
}

#[tokio::test]
async fn the_most_preferred_server_that_answers_gets_it() {
    let net = Net::new();
    let first = Sink::start(net.at(2), &[]).await;
    let second = Sink::start(net.at(3), &[]).await;
    let refusing = Sink::start(net.at(4), &["-f", "CONNECT"]).await;
    let zone = format!(
        "shop MX 30 c\nshop MX 20 b\nshop MX 10 a\nshop MX 15 d\na A {}\nb A {}\nc A {}\nd A {}",
        net.ip(1),
        net.ip(2),
        net.ip(3),
        net.ip(4)
    );
    let bed = Bed::direct(&net, &zone).await;
    assert_eq!(
        send_to(&bed, "shop.example").await.status,
        OutgoingStatus::Sent
    );
    assert_eq!(
        (
            first.messages().len(),
            second.messages().len(),
            refusing.messages().len()
        ),
        (1, 0, 0)
    );
}

#[tokio::test]
async fn without_an_mx_the_domain_is_the_server() {
    let net = Net::new();
    let sink = Sink::start(net.at(1), &[]).await;
    let bed = Bed::direct(&net, &format!("shop A {}\nalias CNAME shop", net.ip(1))).await;
    assert_eq!(
        send_to(&bed, "shop.example").await.status,
        OutgoingStatus::Sent
    );
    assert_eq!(
        send_to(&bed, "alias.example").await.status,
        OutgoingStatus::Sent
    );
    assert_eq!(sink.messages().len(), 2);
}

#[tokio::test]
async fn an_alias_leads_to_its_servers() {
    let net = Net::new();
    let sink = Sink::start(net.at(1), &[]).await;
    let bed = Bed::direct(
        &net,
        &format!(
            "alias CNAME shop\nshop MX 10 mx\nmx CNAME host\nhost A {}",
            net.ip(1)
        ),
    )
    .await;
    assert_eq!(
        send_to(&bed, "alias.example").await.status,
        OutgoingStatus::Sent
    );
    assert!(sink.messages()[0].contains("X-Rcpt-Args: <a@alias.example>\n"));
}

#[tokio::test]
async fn a_server_with_only_ipv6_gets_the_message() {
    let net = Net::new();
    let server = Scripted::start(
        ([0, 0, 0, 0, 0, 0, 0, 1], net.port()).into(),
        Script::default(),
    )
    .await;
    let bed = Bed::direct(&net, "shop MX 10 mx\nmx AAAA ::1").await;
    assert_eq!(
        send_to(&bed, "shop.example").await.status,
        OutgoingStatus::Sent
    );
    assert_eq!(server.messages().len(), 1);
}

#[tokio::test]
async fn a_domain_that_does_not_exist_fails_permanently() {
    let net = Net::new();
    let bed = Bed::direct(
        &net,
        "null MX 0 .\nempty TXT x\nlost MX 10 nowhere\nbare MX 10 empty",
    )
    .await;
    for (domain, reason) in [
        ("null.example", "null.example does not accept mail"),
        (
            "empty.example",
            "no mail server of empty.example has an address",
        ),
        (
            "lost.example",
            "no mail server of lost.example has an address",
        ),
        (
            "bare.example",
            "no mail server of bare.example has an address",
        ),
        ("unknown.example", "there is no domain unknown.example"),
    ] {
        let item = send_to(&bed, domain).await;
        assert_eq!(
            (item.status, item.last_reply.as_str()),
            (OutgoingStatus::Failed, reason)
        );
    }
    assert_eq!(bed.messages().await, 5, "a bounce each");
}

#[tokio::test]
async fn a_failed_dns_query_is_repeated() {
    let net = Net::new();
    let bed = Bed::direct(&net, "shop MX 10 mx.broken").await;
    for domain in [
        "broken.example",
        "mail.broken.example",
        "shop.example",
        "elsewhere.test",
    ] {
        let item = send_to(&bed, domain).await;
        assert_eq!(item.status, OutgoingStatus::Queued, "{domain}");
        assert!(
            item.last_reply.starts_with("the DNS lookup failed"),
            "{}",
            item.last_reply
        );
    }
}

#[tokio::test]
async fn one_attempt_tries_five_addresses() {
    let net = Net::new();
    let sixth = Scripted::start(net.at(6), Script::default()).await;
    let servers: String = (1..=6)
        .map(|host| format!("shop MX {host} mx{host}\nmx{host} A {}\n", net.ip(host)))
        .collect();
    let bed = Bed::direct(&net, &servers).await;
    assert_eq!(
        send_to(&bed, "shop.example").await.status,
        OutgoingStatus::Queued
    );
    assert_eq!(sixth.connections(), 0);
}
