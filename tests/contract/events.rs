//! `/v1/inboxes/{id}/events`: what happened to an inbox, in order.

use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use restante::model::{ProjectId, SmtpSession};
use serde_json::Value;
use uuid::Uuid;

use super::smtp::Smtp;
use testkit::{BASE_URL, Engine, Harness, MAIL_DOMAIN, within};

const SECOND: Duration = Duration::from_secs(1);
const MAIL: &str = "From: shop@app.example\r\nSubject: Welcome\r\n\r\nYour code is 482913. The secret of the body.";

fn address(inbox: &str) -> String {
    format!("{inbox}@{MAIL_DOMAIN}")
}

async fn timeline(api: &Harness, inbox: &str) -> Vec<Value> {
    let answer = api.get(&format!("/v1/inboxes/{inbox}/events")).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()["events"].as_array().unwrap().clone()
}

fn kinds(events: &[Value]) -> Vec<&str> {
    events
        .iter()
        .map(|event| event["kind"].as_str().unwrap())
        .collect()
}

/// The timeline as soon as it has an event of this kind: sessions and waits are recorded in the
/// background.
async fn until(api: &Harness, inbox: &str, kind: &str) -> Vec<Value> {
    until_any(api, inbox, |event| event["kind"] == kind).await
}

/// The timeline as soon as it has such an event.
async fn until_any(api: &Harness, inbox: &str, is_it: impl Fn(&Value) -> bool) -> Vec<Value> {
    let looking = async {
        loop {
            let events = timeline(api, inbox).await;
            if events.iter().any(&is_it) {
                return events;
            }
            tokio::task::yield_now().await;
        }
    };
    within(looking).await
}

#[testkit::each_engine]
async fn a_timeline_has_what_happened_in_order(engine: Engine) {
    let api = Harness::on(engine).await;
    let smtp = Smtp::start(&api).await;
    let inbox = api.create_inbox().await;
    api.clock.advance(SECOND);
    let failed = api.time_out(&inbox, "subject=Receipt&has=link").await;
    let failure = failed.headers["link"]
        .to_str()
        .unwrap()
        .split(['<', '>'])
        .nth(1)
        .unwrap()
        .to_owned();
    until_any(&api, &inbox, |event| event["outcome"] == "timeout").await;
    api.clock.advance(SECOND);
    let fault = r#"{"faults":[{"at":"rcpt","do":"defer"}]}"#;
    assert_eq!(
        api.call("PUT", &format!("/v1/inboxes/{inbox}/faults"), fault)
            .await
            .status,
        200
    );
    let mut client = smtp.client().await;
    assert!(
        client
            .send(&[&address(&inbox)], MAIL)
            .await
            .starts_with("451")
    );
    assert!(client.say("RSET").await.starts_with("250"));
    until(&api, &inbox, "smtp").await;
    api.clock.advance(SECOND);
    assert!(
        client
            .send(&[&address(&inbox)], MAIL)
            .await
            .starts_with("250")
    );
    assert!(client.say("QUIT").await.starts_with("221"));
    let events = until(&api, &inbox, "stored").await;
    let expected = [
        "created",
        "wait_started",
        "wait_ended",
        "fault_used",
        "refused",
        "smtp",
        "stored",
    ];
    let known: Vec<_> = kinds(&events).into_iter().take(expected.len()).collect();
    assert_eq!(known, expected);
    let started = &events[1];
    let ended = &events[2];
    assert_eq!(started["filters"]["subject"], "Receipt");
    assert_eq!(started["filters"]["has"], "link");
    assert_eq!(
        (&ended["outcome"], &ended["failure"]),
        (&"timeout".into(), &failure.as_str().into())
    );
    assert!(failure.starts_with(&format!("{BASE_URL}/failures/")));
    let stored = events
        .iter()
        .find(|event| event["kind"] == "stored")
        .unwrap();
    assert!(
        stored["text"].as_str().unwrap().contains("code 482913"),
        "{stored}"
    );
}

#[testkit::each_engine]
async fn a_session_is_shown_without_secrets_and_without_other_recipients(engine: Engine) {
    let api = Harness::on(engine).await;
    let smtp = Smtp::start(&api).await;
    let inbox = api.create_inbox().await;
    let other = api.create_inbox_with(&api.other_key).await;
    let mut client = smtp.client().await;
    let login = BASE64_STANDARD.encode("\0app\0a dummy password");
    assert!(
        client
            .say(&format!("AUTH PLAIN {login}"))
            .await
            .starts_with("235")
    );
    assert!(
        client
            .send(
                &[&address(&inbox), &address(&other)],
                "Subject: bare\n\r\n\r\n"
            )
            .await
            .starts_with("550")
    );
    let events = until(&api, &inbox, "smtp").await;
    let session = events.iter().find(|event| event["kind"] == "smtp").unwrap();
    assert_eq!(session["client"], "127.0.0.1");
    let lines: Vec<_> = session["commands"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| {
            format!(
                "{} -> {}",
                line["command"].as_str().unwrap(),
                line["reply"].as_str().unwrap()
            )
        })
        .collect();
    let said = lines.join("\n");
    for expected in [
        "AUTH -> 235",
        "MAIL FROM:<app@app.example> -> 250",
        &format!("RCPT TO:<{}> -> 250", address(&inbox)),
        "DATA -> 354",
        "(message) -> 550 5.6.11 Bare CR or LF in the message",
    ] {
        assert!(said.contains(expected), "{expected}: {said}");
    }
    let whole = session.to_string();
    for secret in [login.as_str(), "dummy password", "bare", other.as_str()] {
        assert!(!whole.contains(secret), "{secret}: {whole}");
    }
    let theirs = api
        .call_with(
            &api.other_key,
            "GET",
            &format!("/v1/inboxes/{other}/events"),
            "",
        )
        .await
        .body;
    assert!(
        theirs.contains(&other) && !theirs.contains(&inbox),
        "{theirs}"
    );
    assert_eq!(
        api.get(&format!("/v1/inboxes/{other}/events"))
            .await
            .error(),
        (404, "inbox not found".to_owned())
    );
}

#[testkit::each_engine]
async fn a_client_of_another_project_is_not_shown(engine: Engine) {
    let api = Harness::on(engine).await;
    let smtp = Smtp::start(&api).await;
    let inbox = api.create_inbox().await;
    let mut client = smtp.client_of(&api.other_key).await;
    client.send(&[&address(&inbox)], MAIL).await;
    client.say("QUIT").await;
    // A session of the own project, recorded after it.
    assert!(smtp.send(&address(&inbox), "a\nb").await.starts_with("550"));
    let events = until(&api, &inbox, "smtp").await;
    let sessions = kinds(&events)
        .into_iter()
        .filter(|kind| *kind == "smtp")
        .count();
    assert_eq!(sessions, 1, "{events:?}");
}

#[testkit::each_engine]
async fn a_timeline_continues_after_a_cursor_and_after_the_end(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    let first = api.get(&format!("/v1/inboxes/{inbox}/events")).await;
    api.clock.advance(SECOND);
    api.deliver(&inbox, "Welcome").await;
    let path = format!("/v1/inboxes/{inbox}/events?after={}", first.text("next"));
    assert_eq!(
        kinds(api.get(&path).await.json()["events"].as_array().unwrap()),
        ["stored"]
    );
    api.clock.advance(SECOND);
    assert_eq!(
        api.call("DELETE", &format!("/v1/inboxes/{inbox}"), "")
            .await
            .status,
        204
    );
    assert_eq!(kinds(&timeline(&api, &inbox).await), ["created", "deleted"]);
}

/// Of the same millisecond, too, what causes something comes before it.
#[testkit::each_engine]
async fn a_deletion_is_before_the_end_of_the_wait_that_it_ends(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    let path = format!("/v1/inboxes/{inbox}");
    let waiting = api.spawn_get(&format!("{path}/messages/wait?timeout=30000"));
    until(&api, &inbox, "wait_started").await;
    assert_eq!(api.call("DELETE", &path, "").await.status, 204);
    assert_eq!(waiting.await.unwrap().status, 404);
    let events = until(&api, &inbox, "wait_ended").await;
    let expected = ["created", "wait_started", "deleted", "wait_ended"];
    assert_eq!(kinds(&events), expected);
}

#[testkit::each_engine]
async fn a_story_has_the_timeline_until_the_wait_ended(engine: Engine) {
    let api = Harness::on(engine).await;
    let smtp = Smtp::start(&api).await;
    let inbox = api.create_inbox().await;
    assert!(smtp.send(&address(&inbox), "a\nb").await.starts_with("550"));
    until(&api, &inbox, "smtp").await;
    let failed = api.time_out(&inbox, "").await;
    let id = failed.headers["link"]
        .to_str()
        .unwrap()
        .split(['/', '>'])
        .nth(4)
        .unwrap()
        .parse()
        .unwrap();
    api.clock.advance(SECOND);
    api.deliver(&inbox, "Later").await;
    let story = api.service.story(id, None).await.unwrap().unwrap();
    let kinds: Vec<_> = story
        .timeline
        .iter()
        .map(|event| event.kind.as_str())
        .collect();
    assert!(
        kinds.contains(&"smtp") && kinds.contains(&"refused") && !kinds.contains(&"stored"),
        "{kinds:?}"
    );
}

#[testkit::each_engine]
async fn no_project_displaces_the_sessions_of_another(engine: Engine) {
    let api = Harness::on(engine).await;
    let smtp = Smtp::start(&api).await;
    let inbox = api.create_inbox().await;
    let busy = api.create_inbox_with(&api.other_key).await;
    assert!(smtp.send(&address(&inbox), "a\nb").await.starts_with("550"));
    assert!(
        kinds(&timeline(&api, &inbox).await).contains(&"smtp"),
        "there without a delay"
    );
    let other = api
        .service
        .authenticate(api.other_key.as_str())
        .await
        .unwrap()
        .unwrap()
        .project;
    let session = |named: String, project: Option<ProjectId>| SmtpSession {
        id: Uuid::now_v7(),
        named: vec![named],
        project,
        client: "127.0.0.1".to_owned(),
        tls: None,
        has_failed: false,
        started_at: api.service.clock().now(),
        ended_at: api.service.clock().now(),
        exchanges: Vec::new(),
    };
    for number in 0..12_000 {
        let known = number % 2 == 0;
        let named = if known {
            format!("i{number}")
        } else {
            busy.clone()
        };
        api.service
            .record_session(session(named, known.then_some(other)));
        // The queue is limited.
        tokio::task::yield_now().await;
    }
    assert!(kinds(&timeline(&api, &inbox).await).contains(&"smtp"));
    let theirs = api
        .call_with(
            &api.other_key,
            "GET",
            &format!("/v1/inboxes/{busy}/events"),
            "",
        )
        .await
        .json();
    let sessions = kinds(theirs["events"].as_array().unwrap())
        .into_iter()
        .filter(|kind| *kind == "smtp")
        .count();
    assert_eq!(sessions, 50);
}

#[testkit::each_engine]
async fn a_flood_of_sessions_leaves_room_for_those_of_others(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    let busy = api.create_inbox_with(&api.other_key).await;
    let other = api
        .service
        .authenticate(api.other_key.as_str())
        .await
        .unwrap()
        .unwrap()
        .project;
    let session = |named: &str, project: Option<ProjectId>, client: String| SmtpSession {
        id: Uuid::now_v7(),
        named: vec![named.to_owned()],
        project,
        client,
        tls: None,
        has_failed: true,
        started_at: api.service.clock().now(),
        ended_at: api.service.clock().now(),
        exchanges: Vec::new(),
    };
    // In one go, so that the task that empties the queue does not run in between.
    for number in 0..6_000 {
        api.service
            .record_session(session(&busy, Some(other), "127.0.0.1".to_owned()));
        let network = format!("2001:db8::{number:x}");
        api.service
            .record_session(session(&format!("i{number}"), None, network));
        api.service
            .record_session(session(&busy, None, format!("2001:db8:{number:x}::1")));
    }
    api.service
        .record_session(session(&inbox, None, "127.0.0.1".to_owned()));
    assert!(kinds(&until(&api, &inbox, "smtp").await).contains(&"smtp"));
}

#[testkit::each_engine]
async fn a_recipient_without_a_transcript_is_shown_to_nobody(engine: Engine) {
    let api = Harness::on(engine).await;
    let smtp = Smtp::start(&api).await;
    let inbox = api.create_inbox().await;
    let mut client = smtp.client().await;
    client.say("MAIL FROM:<app@app.example>").await;
    assert!(
        client
            .say(&format!("RCPT TO:<{}>", address(&inbox)))
            .await
            .starts_with("250")
    );
    assert!(client.say("RCPT TO:<no secret>").await.starts_with("5"));
    for number in 0..25 {
        assert!(
            client
                .say(&format!("RCPT TO:<secret{number}@elsewhere.example>"))
                .await
                .starts_with("550")
        );
    }
    assert!(client.say("RSET").await.starts_with("250"));
    let events = timeline(&api, &inbox).await;
    let session = events
        .iter()
        .find(|event| event["kind"] == "smtp")
        .unwrap()
        .to_string();
    assert!(
        session.contains("RSET") && session.contains(&inbox) && !session.contains("secret"),
        "{session}"
    );
}

#[testkit::each_engine]
async fn an_inbox_that_existed_was_claimed(engine: Engine) {
    let api = Harness::on(engine).await;
    let path = format!("/v1/inboxes/{}", address("signup"));
    assert_eq!(api.call("PUT", &path, "").await.status, 201);
    api.clock.advance(SECOND);
    assert_eq!(api.call("PUT", &path, "").await.status, 200);
    assert_eq!(
        kinds(&until(&api, "signup", "claimed").await),
        ["created", "claimed"]
    );
    let deadline = api.clock.instant().after(Duration::from_millis(2_999));
    let waiting = api.spawn_get("/v1/inboxes/signup/messages/wait?timeout=2999");
    assert_eq!(api.at_deadline(deadline, waiting).await.status, 408);
    let events = until(&api, "signup", "wait_started").await;
    assert_eq!(events[2]["text"], "A wait of 3 s started.");
}
