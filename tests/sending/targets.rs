//! Connections are made only to public addresses, independent of the DNS records of a domain.

use restante::model::{OutgoingId, OutgoingStatus};

use crate::bed::{Bed, Net};
use crate::scripted::{Script, Scripted};

/// Every way to name an internal address from the unit tests of the worker.
const REFUSED: &str = include_str!("../../src/sender/targets/refused.txt");

#[tokio::test]
async fn no_internal_address_is_dialled_however_it_is_named() {
    let net = Net::new();
    let server = Scripted::start(net.at(1), Script::default()).await;
    let loopback = net.ip(1).to_string();
    let mapped = format!("::ffff:{loopback}");
    let internal = REFUSED
        .lines()
        .filter(|line| !line.starts_with('#'))
        .chain([loopback.as_str(), mapped.as_str()]);
    let mut zone = String::new();
    let mut domains = Vec::new();
    for (number, address) in internal.enumerate() {
        let kind = if address.contains(':') { "AAAA" } else { "A" };
        // As the domain's own address, through an MX, and through an MX that is an alias.
        zone.push_str(&format!(
            "d{number} {kind} {address}\nm{number} MX 10 d{number}\n"
        ));
        zone.push_str(&format!(
            "c{number} CNAME d{number}\nn{number} MX 10 c{number}\n"
        ));
        domains.extend([
            format!("d{number}"),
            format!("m{number}"),
            format!("n{number}"),
        ]);
    }
    assert!(domains.len() > 3 * 60);
    let bed = Bed::direct_with(&net, &zone, false).await;
    let mut items: Vec<OutgoingId> = Vec::new();
    for domain in &domains {
        items.push(bed.send(&format!("a@{domain}.example"), "Welcome").await);
    }
    for (domain, id) in domains.iter().zip(items) {
        let item = bed.settled(id).await;
        assert_eq!(
            (item.status, item.attempts),
            (OutgoingStatus::Failed, 1),
            "{domain}"
        );
        assert!(
            item.last_reply.ends_with("which is not public"),
            "{domain}: {}",
            item.last_reply
        );
    }
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn an_ip_address_as_domain_does_not_bypass_the_check() {
    let net = Net::new();
    let server = Scripted::start(net.at(1), Script::default()).await;
    let bed = Bed::direct_with(&net, "", false).await;
    let loopback = net.ip(1).to_string();
    for domain in [
        loopback.as_str(),
        "localhost",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "127.1",
    ] {
        let item = bed
            .attempted(bed.send(&format!("a@{domain}"), "Welcome").await, 1)
            .await;
        assert_ne!(item.status, OutgoingStatus::Sent, "{domain}");
    }
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn a_public_server_beside_an_internal_one_is_still_no_reason_to_dial_that() {
    let net = Net::new();
    let internal = Scripted::start(net.at(1), Script::default()).await;
    // The domains below are looked up, and the server does not answer.
    let bed = Bed::direct_with(
        &net,
        &format!("shop MX 10 a\nshop MX 20 b.broken\na A {}", net.ip(1)),
        false,
    )
    .await;
    let item = bed
        .attempted(bed.send("a@shop.example", "Welcome").await, 1)
        .await;
    assert_eq!(item.status, OutgoingStatus::Queued, "{}", item.last_reply);
    assert_eq!(internal.connections(), 0);
}

#[tokio::test]
async fn a_notification_reaches_senders_that_only_smtp_knows() {
    let net = Net::new();
    let server = Scripted::start(net.at(1), Script::default()).await;
    let zone = format!("shop A {}", net.ip(1));
    for (allow_private_targets, status) in [
        (false, OutgoingStatus::Failed),
        (true, OutgoingStatus::Sent),
    ] {
        let bed = Bed::direct_with(&net, &zone, allow_private_targets).await;
        for sender in [
            format!("app@[{}]", net.ip(1)),
            "\"my app\"@shop.example".to_owned(),
        ] {
            let item = bed.settled(bed.bounce_to(&sender).await).await;
            assert_eq!(
                (item.status, item.recipient),
                (status, sender.clone()),
                "{}",
                item.last_reply
            );
            let dialled = server.commands().contains(&format!("RCPT TO:<{sender}>"));
            assert_eq!(dialled, allow_private_targets, "{sender}");
        }
    }
    assert_eq!(server.messages().len(), 2);
}
