//! `/v1/inboxes/{id}/explain`: every cause, produced over a real SMTP connection.

use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use super::smtp::Smtp;
use testkit::{Engine, Harness, MAIL_DOMAIN};

const MAIL: &str = "From: shop@app.example\r\nSubject: Welcome\r\n\r\nHello";

/// A service with SMTP, and an inbox.
async fn start(engine: Engine) -> (Harness, Smtp, String) {
    let api = Harness::on(engine).await;
    let smtp = Smtp::start(&api).await;
    let inbox = api.create_inbox().await;
    (api, smtp, inbox)
}

async fn explain(api: &Harness, inbox: &str, query: &str) -> Value {
    let explained = api
        .get(&format!("/v1/inboxes/{inbox}/explain{query}"))
        .await;
    assert_eq!(explained.status, 200, "{explained:?}");
    explained.json()
}

/// The explanation, which must have this many rejections.
pub async fn explain_refused(api: &Harness, inbox: &str, count: usize) -> Value {
    let explained = explain(api, inbox, "").await;
    assert_eq!(
        explained["refused"].as_array().unwrap().len(),
        count,
        "{explained}"
    );
    explained
}

fn address(inbox: &str) -> String {
    format!("{inbox}@{MAIL_DOMAIN}")
}

#[track_caller]
fn assert_summary(explained: &Value, part: &str) {
    let summary = explained["summary"].as_str().unwrap();
    assert!(summary.contains(part), "{part:?} is not in {summary:?}");
}

#[testkit::each_engine]
async fn nothing_has_connected(engine: Engine) {
    let (api, _smtp, inbox) = start(engine).await;
    api.clock.advance(Duration::from_secs(32));
    let explained = explain(&api, &inbox, "").await;
    assert_eq!(
        explained["summary"],
        "Nothing has connected over SMTP since this inbox was created 32 s ago. Is restante.example.com:1025 the \
         application's SMTP server, or has the application not tried to send?"
    );
    assert_eq!(explained["inbox"]["id"], inbox);
    assert_eq!(explained["ended"], Value::Null);
    assert_eq!(explained["messages"], json!({"count": 0, "latest": []}));
    assert_eq!(
        (&explained["refused"], &explained["similar"]),
        (&json!([]), &json!([]))
    );
    let unused =
        json!({"connections_open": 0, "last_connection_at": null, "last_message_at": null});
    assert_eq!(explained["smtp"], unused);
}

#[testkit::each_engine]
async fn messages_arrived_but_the_filters_exclude_them(engine: Engine) {
    let (api, smtp, inbox) = start(engine).await;
    assert!(smtp.send(&address(&inbox), MAIL).await.starts_with("250"));
    assert!(
        smtp.send(
            &address(&inbox),
            "From: bank@app.example\r\nSubject: Code 482913\r\n\r\n"
        )
        .await
        .starts_with("250")
    );
    let explained = explain(&api, &inbox, "?subject=receipt&has=otp").await;
    // What was expected and what arrived are side by side.
    assert_eq!(
        explained["summary"],
        "Expected subject \"receipt\" and a one-time code; arrived: \"Code 482913\" from bank@app.example, \
         \"Welcome\" from shop@app.example. Change the filter, or what the application sends."
    );
    let latest = explained["messages"]["latest"].as_array().unwrap();
    let missed: Vec<_> = latest.iter().map(|message| &message["missed_by"]).collect();
    assert_eq!(missed, [&json!(["subject"]), &json!(["subject", "has"])]);
    assert_eq!(explained["messages"]["count"], 2);

    let newest = latest[0]["id"].as_str().unwrap();
    let explained = explain(&api, &inbox, &format!("?after={newest}&from=shop")).await;
    assert_summary(
        &explained,
        "Expected a later message; arrived: \"Welcome\" from shop@app.example.",
    );
    let explained = explain(&api, &inbox, "?subject=WELCOME").await;
    assert_summary(
        &explained,
        "A matching message is in the inbox: \"Welcome\" from shop@app.example",
    );
    assert_eq!(
        api.get(&format!("/v1/inboxes/{inbox}/explain?after=x"))
            .await
            .error()
            .1,
        "invalid after"
    );
}

#[testkit::each_engine]
async fn mail_was_refused(engine: Engine) {
    let large = format!(
        "Subject: large\r\n\r\n{}",
        "0123456789abcde\r\n".repeat(7_000)
    );
    let loops = format!(
        "{}Subject: loop\r\n\r\n",
        "Received: from a by b\r\n".repeat(101)
    );
    let cases = [
        (
            "Subject: bare\n\r\n\r\n",
            "550 5.6.11",
            "SMTP requires CR LF: use a mail library.",
        ),
        (
            &large,
            "552 5.3.4",
            "or raise the limit with `--max-message-size`.",
        ),
        (&loops, "554 5.4.6", "Check the forwarding rules."),
    ];
    for (message, reply, remedy) in cases {
        let (api, smtp, inbox) = start(engine).await;
        let refused = smtp.send(&address(&inbox), message).await;
        assert!(refused.starts_with(reply), "{refused}");
        let explained = explain_refused(&api, &inbox, 1).await;
        assert_summary(
            &explained,
            &format!("Mail to {} was rejected 0 s ago: {reply}", address(&inbox)),
        );
        assert_summary(&explained, remedy);
        let refused = &explained["refused"][0];
        assert_eq!(
            (&refused["client"], &refused["sender"]),
            (&json!("127.0.0.1"), &json!("app@app.example"))
        );
        assert_eq!(refused["recipient"], address(&inbox));
    }
}

#[testkit::each_engine]
async fn each_recipient_of_a_rejected_message_sees_only_its_own_rejection(engine: Engine) {
    let (api, smtp, inbox) = start(engine).await;
    let others = api.create_inbox_with(&api.other_key).await;
    let mut client = smtp.client().await;
    assert!(
        client
            .send(&[&address(&inbox), &address(&others)], "a\nb")
            .await
            .starts_with("550 5.6.11")
    );
    let refused = explain_refused(&api, &inbox, 1).await["refused"].clone();
    assert_eq!(refused[0]["recipient"], address(&inbox));
    let explained = api
        .call_with(
            &api.other_key,
            "GET",
            &format!("/v1/inboxes/{others}/explain"),
            "",
        )
        .await
        .json();
    assert_eq!(explained["refused"].as_array().unwrap().len(), 1);
    assert_eq!(explained["refused"][0]["recipient"], address(&others));
}

#[testkit::each_engine]
async fn a_recipient_was_refused(engine: Engine) {
    let (api, smtp, inbox) = start(engine).await;
    api.run_sql(&format!(
        "UPDATE inboxes SET message_count = 999 WHERE id = '{inbox}'"
    ))
    .await;
    assert!(smtp.send(&address(&inbox), MAIL).await.starts_with("250"));
    let full = smtp.send(&format!("{inbox}+tag@{MAIL_DOMAIN}"), MAIL).await;
    assert!(full.starts_with("452 4.2.2"), "{full}");
    let explained = explain_refused(&api, &inbox, 1).await;
    assert_eq!(
        explained["refused"][0]["recipient"],
        format!("{inbox}+tag@{MAIL_DOMAIN}")
    );

    // A client that pipelines also gets 554 for DATA, which explains nothing.
    let mut client = smtp.client().await;
    client.say("MAIL FROM:<app@app.example>").await;
    assert!(
        client
            .say(&format!("RCPT TO:<{}>", address(&inbox)))
            .await
            .starts_with("452 4.2.2")
    );
    assert!(client.say("DATA").await.starts_with("554 5.5.1"));
    let explained = explain_refused(&api, &inbox, 2).await;
    assert!(
        explained["refused"][0]["reply"]
            .as_str()
            .unwrap()
            .starts_with("452 4.2.2"),
        "{explained}"
    );

    let last = api.create_inbox().await;
    let mut client = smtp.client().await;
    let many = client
        .send(
            &[
                "a@restante.example.com",
                "b@restante.example.com",
                &address(&last),
            ],
            MAIL,
        )
        .await;
    assert!(many.starts_with("452 4.5.3"), "{many}");
    assert_summary(&explain_refused(&api, &last, 1).await, "452 4.5.3");

    let abroad = api.create_inbox().await;
    let relayed = smtp.send(&format!("{abroad}@else.example"), MAIL).await;
    assert!(relayed.starts_with("550 5.7.1"), "{relayed}");
    let explained = explain_refused(&api, &abroad, 1).await;
    assert_summary(
        &explained,
        &format!("Mail to {abroad}@else.example was rejected 0 s ago: 550 5.7.1"),
    );
}

#[testkit::each_engine]
async fn the_address_was_mistyped(engine: Engine) {
    let (api, smtp, inbox) = start(engine).await;
    // No generated id has a u, so it is clear where it differs.
    let typo = format!("{inbox}u");
    assert!(smtp.send(&address(&typo), MAIL).await.starts_with("250"));
    assert!(
        smtp.send("something-else@restante.example.com", MAIL)
            .await
            .starts_with("250")
    );
    let explained = explain(&api, &inbox, "").await;
    let compared = format!("Is the address mistyped? Compare {inbox} with {inbox}[u].");
    assert_summary(
        &explained,
        &format!("but one arrived for {} 0 s ago. {compared}", address(&typo)),
    );
    let similar: Vec<_> = explained["similar"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["address"].clone())
        .collect();
    assert_eq!(
        similar,
        [
            json!(address(&typo)),
            json!("something-else@restante.example.com")
        ]
    );
}

#[testkit::each_engine]
async fn an_older_inbox_with_a_similar_name_got_the_mail(engine: Engine) {
    let (api, smtp, older) = start(engine).await;
    api.clock.advance(Duration::from_secs(1));
    let inbox = format!("{older}u");
    api.deliver(&inbox, "opens it").await;
    let opened = api
        .get(&format!("/v1/inboxes/{inbox}/messages"))
        .await
        .json()["messages"][0]["id"]
        .clone();
    api.clock.advance(Duration::from_secs(1));
    assert!(smtp.send(&address(&older), MAIL).await.starts_with("250"));
    let explained = explain(
        &api,
        &inbox,
        &format!("?after={}", opened.as_str().unwrap()),
    )
    .await;
    assert_eq!(explained["similar"][0]["address"], address(&older));
}

#[testkit::each_engine]
async fn mail_went_to_another_domain(engine: Engine) {
    let (api, smtp, inbox) = start(engine).await;
    let mut client = smtp.client().await;
    assert!(
        client
            .send(&["somebody@else.example"], MAIL)
            .await
            .starts_with("550 5.7.1")
    );
    let explained = explain(&api, &inbox, "").await;
    assert_summary(
        &explained,
        &format!(
            "Clients use SMTP, but nothing arrived for {}",
            address(&inbox)
        ),
    );
    assert_summary(
        &explained,
        "Mail to somebody@else.example was rejected 0 s ago: 550 5.7.1",
    );
    assert_eq!(explained["refused"], json!([]));
    assert_eq!(explained["smtp"]["connections_open"], 1);
    assert_eq!(
        explained["smtp"]["last_connection_at"],
        "2026-11-20T09:30:00.123Z"
    );
    // Another project gets no information about the address.
    let others = api.create_inbox_with(&api.other_key).await;
    let explained = api
        .call_with(
            &api.other_key,
            "GET",
            &format!("/v1/inboxes/{others}/explain"),
            "",
        )
        .await
        .json();
    assert!(!explained.to_string().contains("somebody"), "{explained}");
}

#[testkit::each_engine]
async fn a_sender_that_was_refused_is_the_cause_if_nothing_was_sent(engine: Engine) {
    let (api, smtp, inbox) = start(engine).await;
    let mut client = smtp.client().await;
    assert!(client.say("MAIL FROM:<no address>").await.starts_with("5"));
    let explained = explain_refused(&api, &inbox, 1).await;
    assert_eq!(explained["refused"][0]["recipient"], "");
    assert_summary(
        &explained,
        "without mail: 553 5.1.7 Malformed sender address. The sender's address",
    );
}

#[testkit::each_engine]
async fn refusals_of_another_project_s_mail_are_not_shown(engine: Engine) {
    let (api, smtp, _) = start(engine).await;
    let theirs = api.create_inbox_with(&api.other_key).await;
    let explain = async || {
        let explained = api
            .call_with(
                &api.other_key,
                "GET",
                &format!("/v1/inboxes/{theirs}/explain"),
                "",
            )
            .await;
        explained.json()["refused"].as_array().unwrap().clone()
    };
    let plain = |key: &str| {
        format!(
            "AUTH PLAIN {}",
            BASE64_STANDARD.encode(format!("\0restante\0{key}"))
        )
    };
    let mut own = smtp.client().await;
    assert!(own.say(&plain(api.key.as_str())).await.starts_with("235"));
    // The same local part on another domain, with and without a key; and an address on the mail
    // domain with a key.
    let abroad = format!("{theirs}@customer.example");
    assert!(
        own.send_from("secret@app.example", &[&abroad], MAIL)
            .await
            .starts_with("550 5.7.1")
    );
    own.say("RSET").await;
    assert!(
        own.send_from("secret@app.example", &[&address(&theirs)], "a\nb")
            .await
            .starts_with("550 5.6.11")
    );
    assert!(
        smtp.client()
            .await
            .send_from("secret@app.example", &[&abroad], MAIL)
            .await
            .starts_with("550 5.7.1")
    );
    // Without a recipient: with a key, nothing is shown; without one, the refusal without its
    // sender.
    assert!(
        smtp.client()
            .await
            .say("MAIL FROM:<secret@app.example> SIZE=999999")
            .await
            .starts_with("552")
    );
    let mut own = smtp.client().await;
    assert!(own.say(&plain(api.key.as_str())).await.starts_with("235"));
    assert!(
        own.say("MAIL FROM:<secret@app.example> SIZE=999998")
            .await
            .starts_with("552")
    );
    let refused = explain().await;
    assert_eq!(refused.len(), 1, "{refused:?}");
    assert_eq!(
        (&refused[0]["sender"], &refused[0]["recipient"]),
        (&json!(""), &json!(""))
    );
    // What concerns the address is shown: mail without a key on the mail domain, and all mail of
    // the own key.
    assert!(
        smtp.send(&address(&theirs), "a\nb")
            .await
            .starts_with("550 5.6.11")
    );
    assert_eq!(explain().await.len(), 2);
    let mut client = smtp.client().await;
    assert!(
        client
            .say(&plain(api.other_key.as_str()))
            .await
            .starts_with("235")
    );
    assert!(client.send(&[&abroad], MAIL).await.starts_with("550 5.7.1"));
    let refused = explain().await;
    assert_eq!(
        (refused.len(), &refused[0]["recipient"]),
        (3, &json!(abroad)),
        "{refused:?}"
    );
}

#[testkit::each_engine]
async fn the_inbox_has_ended(engine: Engine) {
    const EARLY: &str = "Wait for the message before the test deletes its inbox.";
    const SHORT: &str = "Create an inbox for each test, or raise `--inbox-lifetime`.";
    let (api, smtp, inbox) = start(engine).await;
    assert!(smtp.send(&address(&inbox), MAIL).await.starts_with("250"));
    let deleted = api.create_inbox().await;
    assert_eq!(
        api.call("DELETE", &format!("/v1/inboxes/{deleted}"), "")
            .await
            .status,
        204
    );
    api.clock.advance(Duration::from_secs(3));
    let explained = explain(&api, &deleted, "?after=x").await;
    assert_eq!(
        explained["summary"],
        format!(
            "The inbox {} was deleted 3 s ago. {EARLY}",
            address(&deleted)
        )
    );
    assert_eq!(
        explained["ended"],
        json!({"reason": "deleted", "at": "2026-11-20T09:30:00.123Z"})
    );
    assert_eq!(explained["inbox"], Value::Null);

    api.clock.advance(Duration::from_secs(2 * 3_600));
    let explained = explain(&api, &inbox, "").await;
    assert_eq!(
        explained["summary"],
        format!("The inbox {} expired 60 min ago. {SHORT}", address(&inbox))
    );
    assert_eq!(
        explained["ended"],
        json!({"reason": "expired", "at": "2026-11-20T10:30:00.123Z"})
    );
    assert_eq!(explained["messages"], json!({"count": 0, "latest": []}));
}

/// What a stranger does later says nothing about an inbox that has ended.
#[testkit::each_engine]
async fn an_ended_inbox_has_the_rejections_of_its_own_mail_until_its_end(engine: Engine) {
    let (api, smtp, inbox) = start(engine).await;
    assert!(smtp.send(&address(&inbox), "a\nb").await.starts_with("550"));
    let fails_to_log_in = async || {
        let mut stranger = smtp.client().await;
        assert!(
            stranger
                .say("MAIL FROM:<no address>")
                .await
                .starts_with("5")
        );
    };
    fails_to_log_in().await;
    api.clock.advance(Duration::from_secs(2));
    assert_eq!(
        api.call("DELETE", &format!("/v1/inboxes/{inbox}"), "")
            .await
            .status,
        204
    );
    api.clock.advance(Duration::from_secs(3));
    fails_to_log_in().await;
    let explained = explain_refused(&api, &inbox, 1).await;
    assert_eq!(explained["refused"][0]["recipient"], address(&inbox));
    let report = explained["report"].as_str().unwrap();
    let lines: Vec<_> = report.lines().collect();
    assert_eq!(
        (lines[0], lines[1], lines.len()),
        (explained["summary"].as_str().unwrap(), "Rejected:", 3),
        "{report}"
    );
}

#[testkit::each_engine]
async fn only_the_owner_is_answered(engine: Engine) {
    let (api, _smtp, _inbox) = start(engine).await;
    let theirs = api.create_inbox_with(&api.other_key).await;
    for id in [theirs.as_str(), "nobody", "%ff"] {
        for prefix in ["/v1", "/api/v1"] {
            let refused = api.get(&format!("{prefix}/inboxes/{id}/explain")).await;
            assert_eq!(refused.error(), (404, "inbox not found".to_owned()));
        }
    }
    assert_eq!(
        api.call_with(
            &api.other_key,
            "DELETE",
            &format!("/v1/inboxes/{theirs}"),
            ""
        )
        .await
        .status,
        204
    );
    assert_eq!(
        api.get(&format!("/v1/inboxes/{theirs}/explain"))
            .await
            .status,
        404
    );
}
