//! `?dns=true` of the checks: SPF, DKIM and DMARC, with the examples of the standards and a real
//! DNS server.

use std::sync::Arc;

use restante::config::Sending;
use restante::model::{EmailAddress, OutgoingStatus, Reception, Via};
use restante::service::Incoming;
use serde_json::{Value, json};

use crate::bed::{Bed, Net, sending};
use crate::dns::Dns;
use crate::sink::Sink;
use testkit::MAIL_DOMAIN;

const RFC_6376: &str = include_str!("../dkim/rfc6376.eml");
const RFC_8463: &str = include_str!("../dkim/rfc8463.eml");
/// The keys of RFC 6376, appendix C, and RFC 8463, appendix A.2.
const KEYS: &str = "brisbane._domainkey.example.com. TXT \"v=DKIM1; p=MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDwIRP/UC3S\
    BsEmGqZ9ZJW3/DkMoGeLnQg1fWn7/zYtIxN2SnFCjxOCKG9v3b4jYfcTNh5ijSsq631uBItLa7od+v/RtdC2UzJ1lWT947qR+Rcac2gbto/NMqJ\
    0fzfVjH4OuKhitdY9tf6mcwGjaNBcWToIMmPSPDdQPNUYckcQ2QIDAQAB\"\n\
    brisbane._domainkey.football.example.com. TXT \"v=DKIM1; k=ed25519; \
    p=11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\"\n\
    test._domainkey.football.example.com. TXT \"v=DKIM1; k=rsa; p=MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDkHlOQoBTzWR\
    iGs5V6NpP3idY6Wk08a5qhdR6wy5bdOKb2jLQiY/J16JYi0Qvx/byYzCNb3W91y3FutACDfzwQ/BC/e/8uBsCR+yz1Lxj+PL6lHvqMKrM3rG4hs\
    tT5QjvHO9PzoxZyVYLzBfO2EeC3Ip3G+2kryOTIKT+l/K4w3QIDAQAB\"\n";
/// The zones of RFC 7208, appendix A.
const HOSTS: &str = "example.com. MX 10 mail-a.example.com.\nexample.com. MX 20 mail-b.example.com.\n\
    example.com. A 192.0.2.10\nexample.com. A 192.0.2.11\namy.example.com. A 192.0.2.65\n\
    bob.example.com. A 192.0.2.66\nmail-a.example.com. A 192.0.2.129\nmail-b.example.com. A 192.0.2.130\n\
    example.org. MX 10 mail-c.example.org.\nmail-c.example.org. A 192.0.2.140\n\
    10.2.0.192.in-addr.arpa. PTR example.com.\n65.2.0.192.in-addr.arpa. PTR amy.example.com.\n\
    140.2.0.192.in-addr.arpa. PTR mail-c.example.org.\n4.0.0.10.in-addr.arpa. PTR bob.example.com.\n\
    mary.mobile-users._spf.example.com. A 127.0.0.2\n\
    15.15.168.192.joel.remote-users._spf.example.com. A 127.0.0.2\n";
const MAIL: &str = "From: Ada <ada@example.com>\r\nSubject: Hello\r\n\r\nHello\r\n";

/// A service that asks a DNS server with these records.
async fn with_dns(zone: &str) -> (Bed, Dns) {
    let dns = Dns::start(zone).await;
    (
        Bed::with(Sending {
            dns_server: Some(dns.address),
            ..sending()
        })
        .await,
        dns,
    )
}

/// The results of a message that this client sends from this address.
async fn checked(bed: &Bed, client: &str, sender: &str, raw: &str) -> Value {
    let reception = Reception {
        client: client.parse().unwrap(),
        helo: Some(Arc::from("mail.example.com")),
        tls: None,
        authenticated: false,
        via: Via::Smtp,
    };
    let incoming = Incoming {
        reverse_path: sender.to_owned(),
        recipients: vec![EmailAddress::parse(&bed.sender_address()).unwrap()],
        project: None,
        trace: String::new(),
        reception: Some(reception),
        raw: raw.as_bytes().to_vec(),
    };
    let id = bed.api.service.deliver(incoming).await.unwrap().remove(0);
    let answer = bed
        .api
        .get(&format!("/v1/messages/{id}/checks?dns=true"))
        .await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()["authentication"].clone()
}

#[tokio::test]
async fn the_signatures_of_the_standards_are_valid_until_something_changes() {
    let (bed, _dns) = with_dns(KEYS).await;
    let results = async |raw: &str| {
        let found = checked(&bed, "192.0.2.1", "joe@football.example.com", raw).await;
        let checks = found["dkim"].as_array().unwrap().clone();
        checks
            .iter()
            .map(|check| check["result"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(results(RFC_6376).await, ["pass"]);
    assert_eq!(results(RFC_8463).await, ["pass", "pass"]);
    assert_eq!(
        results(&RFC_6376.replace("hungry", "angry")).await,
        ["fail"]
    );
    assert_eq!(
        results(&RFC_6376.replace("dinner", "supper")).await,
        ["fail"]
    );
    assert_eq!(
        results(&RFC_8463.replace("dinner", "supper")).await,
        ["fail", "fail"]
    );
    // White space counts only in the form `simple`.
    assert_eq!(
        results(&RFC_6376.replace("lost the", "lost  the")).await,
        ["fail"]
    );
    assert_eq!(
        results(&RFC_8463.replace("lost the", "lost  the")).await,
        ["pass", "pass"]
    );
    assert_eq!(
        results(&RFC_6376.replace("s=brisbane", "s=sydney")).await,
        ["permerror"]
    );
    assert_eq!(
        results(&RFC_6376.replace("rsa-sha256", "rsa-sha1")).await,
        ["permerror"]
    );
    assert_eq!(
        results(&RFC_6376.replace("d=example.com", "d=broken.example")).await,
        ["temperror"]
    );
    assert_eq!(results(MAIL).await, [""; 0]);
}

#[tokio::test]
async fn a_malformed_signature_is_a_result_beside_the_valid_ones() {
    let (bed, _dns) = with_dns(KEYS).await;
    for (correct, wrong, detail) in [
        ("v=1", "v=7", "Unsupported version in DKIM Signature."),
        (
            "a=ed25519-sha256",
            "a=rot13",
            "Unsupported algorithm in DKIM Signature.",
        ),
        (
            "c=relaxed/relaxed",
            "c=fancy",
            "Unsupported canonicalization method in DKIM Signature.",
        ),
        (
            "bh=2jUSOH9NhtVGCQWNr9BrIAPreKQjO6Sn7XIkfJVOzv8=",
            "bh=",
            "The signature has no bh.",
        ),
        (
            "bh=2jUSO",
            "bh=*",
            "A hash in the signature (`b` or `bh`) is not base64.",
        ),
    ] {
        assert!(RFC_8463.contains(correct), "{correct}");
        let found = checked(
            &bed,
            "192.0.2.1",
            "joe@football.example.com",
            &RFC_8463.replacen(correct, wrong, 1),
        )
        .await;
        let malformed = json!({"result": "permerror", "domain": "football.example.com", "selector": "brisbane",
            "detail": detail});
        assert_eq!(found["dkim"][0], malformed, "{wrong}");
        assert_eq!(
            (
                &found["dkim"][1]["result"],
                found["dkim"].as_array().unwrap().len()
            ),
            (&json!("pass"), 2)
        );
    }
    let nameless = format!("DKIM-Signature: v=1; a=rsa-sha256\r\n{MAIL}");
    let found = checked(&bed, "192.0.2.1", "joe@football.example.com", &nameless).await;
    let malformed = json!({"result": "permerror", "domain": null, "selector": null,
        "detail": "The signature has no d, s, h, bh, b."});
    assert_eq!(found["dkim"], json!([malformed]));
}

#[tokio::test]
async fn a_signature_is_valid_as_long_as_it_was_when_the_message_arrived() {
    let (bed, _dns) = with_dns(KEYS).await;
    // The signature also covers its own field, so the time cannot be added to it.
    let expired = RFC_8463.replace("t=1528637909;", "t=1528637909; x=1528638000;");
    let found = checked(&bed, "192.0.2.1", "joe@football.example.com", &expired).await;
    assert_eq!(
        (&found["dkim"][0]["result"], &found["dkim"][0]["detail"]),
        (&json!("fail"), &json!("Signature expired."))
    );
    let later = RFC_8463.replace("t=1528637909;", "t=1528637909; x=4102444800;");
    let found = checked(&bed, "192.0.2.1", "joe@football.example.com", &later).await;
    assert_ne!(found["dkim"][0]["detail"], "Signature expired.");
}

#[tokio::test]
async fn spf_gives_the_results_of_the_standard_s_examples() {
    for (record, results) in [
        (
            "+all",
            &[("192.0.2.10", "pass"), ("2001:db8::1", "pass")][..],
        ),
        (
            "a -all",
            &[
                ("192.0.2.10", "pass"),
                ("192.0.2.11", "pass"),
                ("192.0.2.65", "fail"),
            ],
        ),
        ("a:example.org -all", &[("192.0.2.10", "fail")]),
        (
            "mx -all",
            &[
                ("192.0.2.129", "pass"),
                ("192.0.2.130", "pass"),
                ("192.0.2.10", "fail"),
            ],
        ),
        (
            "mx:example.org -all",
            &[("192.0.2.140", "pass"), ("192.0.2.129", "fail")],
        ),
        (
            "mx mx:example.org -all",
            &[
                ("192.0.2.129", "pass"),
                ("192.0.2.140", "pass"),
                ("192.0.2.65", "fail"),
            ],
        ),
        (
            "mx/30 mx:example.org/30 -all",
            &[
                ("192.0.2.131", "pass"),
                ("192.0.2.143", "pass"),
                ("192.0.2.132", "fail"),
            ],
        ),
        (
            "ptr -all",
            &[
                ("192.0.2.65", "pass"),
                ("192.0.2.140", "fail"),
                ("10.0.0.4", "fail"),
            ],
        ),
        (
            "ip4:192.0.2.128/28 -all",
            &[("192.0.2.65", "fail"), ("192.0.2.129", "pass")],
        ),
        ("include:example.org ~all", &[("192.0.2.10", "permerror")]),
        (
            "redirect=nowhere.example.org",
            &[("192.0.2.10", "permerror")],
        ),
        ("?all", &[("192.0.2.10", "neutral")]),
        ("a:broken.example -all", &[("192.0.2.10", "temperror")]),
        ("a:%{ -all", &[("192.0.2.10", "permerror")]),
        // More than ten mechanisms that query the DNS.
        (
            "a:a.b a:b.b a:c.b a:d.b a:e.b a:f.b a:g.b a:h.b a:i.b a:j.b a:k.b -all",
            &[("192.0.2.10", "permerror")],
        ),
    ] {
        let (bed, _dns) = with_dns(&format!("{HOSTS}example.com. TXT \"v=spf1 {record}\"\n")).await;
        for (client, result) in results {
            let found = checked(&bed, client, "ada@example.com", MAIL).await;
            assert_eq!(
                found["spf"]["result"], *result,
                "{record} {client}: {found}"
            );
        }
    }
}

#[tokio::test]
async fn spf_macros_are_expanded() {
    let record = "v=spf1 exists:%{l1r+}.mobile-users._spf.%{d} exists:%{ir}.%{l1r+-}.remote-users._spf.%{d} -all";
    let (bed, _dns) = with_dns(&format!("{HOSTS}example.com. TXT \"{record}\"\n")).await;
    for (client, sender, result) in [
        ("192.0.2.1", "mary@example.com", "pass"),
        ("192.0.2.1", "mary+news@example.com", "pass"),
        ("192.168.15.15", "joel-1@example.com", "pass"),
        ("192.168.15.16", "joel@example.com", "fail"),
    ] {
        let found = checked(&bed, client, sender, MAIL).await;
        assert_eq!(found["spf"]["result"], result, "{client} {sender}: {found}");
    }
}

#[tokio::test]
async fn spf_says_which_record_decided() {
    let zone = "example.com. TXT \"v=spf1 ip4:192.0.2.1 -all\"\ntwo.example. TXT \"v=spf1 +all\"\n\
        two.example. TXT \"v=spf1 -all\"\nother.example. TXT \"a=b\"\nmail.example.com. TXT \"v=spf1 +all\"\n";
    let (bed, _dns) = with_dns(zone).await;
    for (sender, spf) in [
        (
            "ada@example.com",
            json!({"result": "fail", "domain": "example.com", "client": "192.0.2.2",
            "detail": "192.0.2.2 must not send for example.com (`v=spf1 ip4:192.0.2.1 -all`)."}),
        ),
        (
            "ada@two.example",
            json!({"result": "permerror", "domain": "two.example", "client": "192.0.2.2",
            "detail": "two.example has 2 SPF records."}),
        ),
        (
            "ada@other.example",
            json!({"result": "none", "domain": "other.example", "client": "192.0.2.2",
            "detail": "other.example has no SPF record."}),
        ),
        (
            "ada@broken.example",
            json!({"result": "temperror", "domain": "broken.example", "client": "192.0.2.2",
            "detail": "The DNS did not answer."}),
        ),
        // Without a sender, the name in EHLO counts.
        (
            "",
            json!({"result": "pass", "domain": "mail.example.com", "client": "192.0.2.2",
            "detail": "192.0.2.2 may send for mail.example.com (`v=spf1 +all`)."}),
        ),
    ] {
        assert_eq!(
            checked(&bed, "192.0.2.2", sender, MAIL).await["spf"],
            spf,
            "{sender}"
        );
    }
    // A message that was not sent over SMTP has no client.
    let id = bed.api.deliver_raw(&bed.inbox, MAIL).await;
    let found = bed
        .api
        .get(&format!("/v1/messages/{id}/checks?dns=true"))
        .await
        .json();
    let spf = json!({"result": "none", "domain": null, "client": null,
        "detail": "The message did not arrive over SMTP."});
    assert_eq!(found["authentication"]["spf"], spf);
}

/// RFC 7489, appendix B.1: which domains are aligned.
#[tokio::test]
async fn dmarc_needs_a_pass_of_the_domain_in_from() {
    for (policy, sender, result) in [
        ("", "sender@example.com", "pass"),
        ("", "sender@child.example.com", "pass"),
        (" aspf=s;", "sender@child.example.com", "fail"),
        ("", "sender@sample.net", "fail"),
    ] {
        let spf = "TXT \"v=spf1 ip4:192.0.2.1 -all\"";
        let zone = format!(
            "example.com. {spf}\nchild.example.com. {spf}\nsample.net. {spf}\n\
            _dmarc.example.com. TXT \"v=DMARC1; p=reject;{policy} rua=mailto:reports@example.com\"\n"
        );
        let (bed, _dns) = with_dns(&zone).await;
        let dmarc = &checked(&bed, "192.0.2.1", sender, MAIL).await["dmarc"];
        assert_eq!(dmarc["result"], result, "{policy} {sender}: {dmarc}");
        let passes = result == "pass";
        assert_eq!(
            (&dmarc["policy"], &dmarc["spf_aligned"]),
            (&json!("reject"), &json!(passes)),
            "{dmarc}"
        );
        assert_eq!(
            (&dmarc["domain"], &dmarc["dkim_aligned"]),
            (&json!("example.com"), &json!(false)),
            "{dmarc}"
        );
    }
    for (zone, result, policy, detail) in [
        (
            "",
            "none",
            Value::Null,
            "football.example.com has no DMARC record.",
        ),
        (
            "_dmarc.example.com. TXT \"v=DMARC1; p=none; sp=quarantine\"\n",
            "pass",
            json!("quarantine"),
            "A DKIM signature passes for football.example.com.",
        ),
        (
            "_dmarc.football.example.com. TXT \"v=DMARC1; p=reject; adkim=s\"\n",
            "fail",
            json!("reject"),
            "Neither SPF nor a DKIM signature passes for football.example.com.",
        ),
    ] {
        // The signature is of example.com, the author of a domain below it.
        let (bed, _dns) = with_dns(&format!("{KEYS}{zone}")).await;
        let dmarc = &checked(&bed, "192.0.2.1", "joe@elsewhere.example", RFC_6376).await["dmarc"];
        let found = (&dmarc["result"], &dmarc["policy"], &dmarc["detail"]);
        assert_eq!(found, (&json!(result), &policy, &json!(detail)), "{zone}");
    }
}

#[tokio::test]
async fn too_many_signatures_and_a_large_header_are_not_verified() {
    let (bed, _dns) = with_dns(KEYS).await;
    let (signature, rest) = RFC_8463.split_at(RFC_8463[1..].find("DKIM-Signature").unwrap() + 1);
    let many = format!("{}{rest}", signature.repeat(30));
    let found = checked(&bed, "192.0.2.1", "joe@football.example.com", &many).await;
    assert_eq!(found["dkim"].as_array().unwrap().len(), 10);
    let naming = |count: usize| {
        RFC_8463.replacen("h=from", &format!("h={}from", "x-none:".repeat(count)), 2)
    };
    assert_ne!(naming(1), RFC_8463);
    // These names change nothing, but they are signed too.
    let results = async |raw: &str| {
        checked(&bed, "192.0.2.1", "joe@football.example.com", raw).await["dkim"].clone()
    };
    let found = results(&naming(150)).await;
    assert_eq!(
        (&found[0]["result"], &found[1]["result"]),
        (&json!("fail"), &json!("fail")),
        "{found}"
    );
    let found = results(&naming(2_000)).await;
    assert_eq!(found.as_array().unwrap().len(), 2);
    for (check, selector) in found.as_array().unwrap().iter().zip(["brisbane", "test"]) {
        let names = check["detail"]
            .as_str()
            .unwrap()
            .starts_with("The signature names 20");
        assert!(
            names && check["result"] == "permerror" && check["selector"] == selector,
            "{check}"
        );
    }
    let large = format!("X-Filler: {}\r\n{RFC_8463}", "filler ".repeat(10_000));
    let found = checked(&bed, "192.0.2.1", "joe@football.example.com", &large).await;
    assert_eq!(
        (&found["dkim"], &found["dmarc"]["result"]),
        (&json!([]), &json!("permerror"))
    );
}

#[tokio::test]
async fn a_forwarded_message_keeps_its_valid_signature() {
    let net = Net::new();
    let key = "ed25519._domainkey.restante.test. TXT \"v=DKIM1; k=ed25519; p=k80nJOFFSRttayU1r/rGZQ5Ys806XqfJyuZL4ikz7PA=\"";
    let bed = Bed::direct(&net, &format!("{key}\nshop MX 10 mx\nmx A {}", net.ip(2))).await;
    let sink = Sink::start(net.at(2), &[]).await;
    let id = bed
        .api
        .deliver_raw(&bed.inbox, include_str!("../dkim/ed25519.eml"))
        .await;
    let path = format!("/v1/messages/{id}/forward");
    let accepted = bed
        .api
        .call("POST", &path, json!({"to": "ada@shop.example"}).to_string())
        .await;
    assert_eq!(accepted.status, 202, "{accepted:?}");
    let outgoing = restante::model::OutgoingId::parse(&accepted.text("id")).unwrap();
    assert_eq!(bed.settled(outgoing).await.status, OutgoingStatus::Sent);
    let received = sink.messages().remove(0).replace('\n', "\r\n");
    assert!(
        received.contains("Resent-To: ada@shop.example"),
        "{received}"
    );
    let found = checked(
        &bed,
        "192.0.2.1",
        &format!("bounces@{MAIL_DOMAIN}"),
        &received,
    )
    .await;
    assert_eq!(
        found["dkim"][0]["detail"], "The signature is valid.",
        "{found} {received}"
    );
    let changed = received.replacen("Subject: ", "Subject: Re: ", 1);
    let found = checked(
        &bed,
        "192.0.2.1",
        &format!("bounces@{MAIL_DOMAIN}"),
        &changed,
    )
    .await;
    assert_eq!(found["dkim"][0]["result"], "fail");
}
