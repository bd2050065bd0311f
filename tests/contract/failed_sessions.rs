//! `/v1/inboxes/{id}/explain` after sessions that failed before MAIL, so that no recipient is
//! known.

use std::time::Duration;

use axum::body::{Body, to_bytes};
use restante::config::HostAndPort;
use restante::http::{App, router};
use serde_json::Value;
use tower::ServiceExt as _;

use super::smtp::Smtp;
use testkit::{Engine, Harness, MAIL_DOMAIN, app, request, within};

/// The explanation, once it has a rejection.
async fn explain(api: &Harness, inbox: &str, query: &str) -> Value {
    let looking = async {
        loop {
            let explained = api
                .get(&format!("/v1/inboxes/{inbox}/explain{query}"))
                .await
                .json();
            if !explained["refused"].as_array().unwrap().is_empty() {
                return explained;
            }
            tokio::task::yield_now().await;
        }
    };
    within(looking).await
}

fn summary(explained: &Value) -> &str {
    explained["summary"].as_str().unwrap()
}

#[testkit::each_engine]
async fn a_session_without_mail_is_explained(engine: Engine) {
    for (starttls, lines, what, remedy) in [
        (
            true,
            &["AUTH CRAM-MD5", "QUIT"][..],
            "504 5.5.4",
            "AUTH PLAIN, LOGIN, XOAUTH2",
        ),
        (
            false,
            &["STARTTLS", "QUIT"],
            "502 5.5.1",
            "`EMAIL_USE_TLS = False`",
        ),
        (
            false,
            &["QUIT"],
            "did not offer STARTTLS",
            "`--smtp-starttls on`",
        ),
        (
            true,
            &["QUIT"],
            "the client greeted the server and left",
            "Connection checks",
        ),
    ] {
        let api = Harness::on(engine).await;
        let smtp =
            Smtp::start_with(&api, |settings| settings.listeners.smtp_starttls = starttls).await;
        let inbox = api.create_inbox().await;
        let mut client = smtp.client().await;
        for line in lines {
            client.say(line).await;
        }
        drop(client);
        let explained = explain(&api, &inbox, "").await;
        let said = summary(&explained);
        assert!(
            said.starts_with(&format!(
                "Nothing was sent to {inbox}@{MAIL_DOMAIN}, but 0 s ago"
            )),
            "{said}"
        );
        assert!(
            said.contains("127.0.0.1") && said.contains(what) && said.contains(remedy),
            "{lines:?}: {said}"
        );
        // It is not shown for an inbox that was created later.
        api.clock.advance(Duration::from_secs(1));
        let theirs = api.create_inbox_with(&api.other_key).await;
        let path = format!("/v1/inboxes/{theirs}/explain");
        let explained = api.call_with(&api.other_key, "GET", &path, "").await.json();
        assert_eq!(
            explained["refused"],
            Value::Array(Vec::new()),
            "{explained}"
        );
    }
}

#[testkit::each_engine]
async fn tls_without_starttls_is_explained_to_every_project(engine: Engine) {
    let api = Harness::on(engine).await;
    let smtp = Smtp::start(&api).await;
    let inbox = api.create_inbox().await;
    let theirs = api.create_inbox_with(&api.other_key).await;
    let mut client = smtp.connect().await;
    client.write(&[0x16, 0x03, 0x01, 0x00, 0xf4, 0x01]).await;
    drop(client);
    let explained = explain(&api, &inbox, "").await;
    assert!(
        summary(&explained).contains("began with TLS, on a port that begins in plain text"),
        "{explained}"
    );
    assert!(
        summary(&explained).contains("Nodemailer `secure: false`"),
        "{explained}"
    );
    let path = format!("/v1/inboxes/{theirs}/explain");
    let explained = api.call_with(&api.other_key, "GET", &path, "").await.json();
    assert!(
        summary(&explained).contains("began with TLS"),
        "{explained}"
    );
}

#[testkit::each_engine]
async fn a_client_has_one_row_for_each_kind_and_mail_hides_it(engine: Engine) {
    let api = Harness::on(engine).await;
    let smtp = Smtp::start(&api).await;
    let inbox = api.create_inbox().await;
    for _ in 0..3 {
        smtp.client().await.say("QUIT").await;
        smtp.connect().await.say("QUIT").await;
    }
    let rows = async || {
        let explained = explain(&api, &inbox, "").await;
        explained["refused"].as_array().unwrap().len()
    };
    within(async { while rows().await < 2 {} }).await;
    assert_eq!(rows().await, 2);
    assert!(
        smtp.send(&format!("{inbox}@{MAIL_DOMAIN}"), "Subject: Hi\r\n\r\n")
            .await
            .starts_with("250")
    );
    assert!(
        summary(&explain(&api, &inbox, "").await).starts_with("A matching message is in the inbox")
    );
}

#[testkit::each_engine]
async fn a_rejection_after_the_cursor_comes_before_the_messages_that_it_excludes(engine: Engine) {
    let api = Harness::on(engine).await;
    let smtp = Smtp::start(&api).await;
    let inbox = api.create_inbox().await;
    let address = format!("{inbox}@{MAIL_DOMAIN}");
    assert!(smtp.send(&address, "a\nb").await.starts_with("550 5.6.11"));
    api.clock.advance(Duration::from_secs(1));
    assert!(
        smtp.send(&address, "Subject: First\r\n\r\n")
            .await
            .starts_with("250")
    );
    let list = api
        .get(&format!("/v1/inboxes/{inbox}/messages"))
        .await
        .json();
    let cursor = format!("?after={}", list["messages"][0]["id"].as_str().unwrap());
    let explained = explain(&api, &inbox, &cursor).await;
    assert!(
        summary(&explained).contains("Expected a later message; arrived: \"First\""),
        "{explained}"
    );

    api.clock.advance(Duration::from_secs(1));
    assert!(smtp.send(&address, "a\nb").await.starts_with("550 5.6.11"));
    let explained = explain(&api, &inbox, &cursor).await;
    assert!(
        summary(&explained).contains(&format!(
            "Mail to {address} was rejected 0 s ago: 550 5.6.11"
        )),
        "{explained}"
    );
}

#[tokio::test]
async fn the_smtp_server_is_the_one_that_this_client_reaches() {
    let api = Harness::start().await;
    let inbox = api.create_inbox().await;
    let ask = async |app: App, path: &str, host: &str| {
        let mut request = request(&api.key, "GET", path, Body::empty());
        request.headers_mut().insert("host", host.parse().unwrap());
        let answer = router(app).oneshot(request).await.unwrap();
        let body = to_bytes(answer.into_body(), usize::MAX).await.unwrap();
        String::from_utf8(body.to_vec()).unwrap()
    };
    let explain = format!("/v1/inboxes/{inbox}/explain");
    for (host, expected) in [
        ("restante:8025", "restante:1025"),
        ("127.0.0.1:8025", "127.0.0.1:1025"),
        ("[::1]:8025", "[::1]:1025"),
        ("user@restante:8025", "restante.example.com:1025"),
    ] {
        for path in [explain.as_str(), "/llm"] {
            let answer = ask(app(&api.service), path, host).await;
            assert!(
                answer.contains(&format!(" {expected}"))
                    || answer.contains(&format!("`{expected}`")),
                "{answer}"
            );
        }
    }
    let public = HostAndPort {
        host: "mail.internal".to_owned(),
        port: 2525,
    };
    let app = App {
        smtp_public_address: Some(public),
        ..app(&api.service)
    };
    assert!(
        ask(app, &explain, "restante:8025")
            .await
            .contains("Is mail.internal:2525 the")
    );
}
