//! Which of several possible causes a story names: what names the inbox and is close to the wait
//! comes first, and what happened long before it counts for nothing.

use std::time::Duration;

use restante::evidence::{Cause, Story};
use restante::model::{RefusalReason, RefusedMail, SmtpSession, Timestamp};
use uuid::Uuid;

use super::smtp::Smtp;
use testkit::{Answer, Engine, Harness, MAIL_DOMAIN, within};

const SECOND: Duration = Duration::from_secs(1);
/// How long a wait takes that names no timeout.
const WAIT: Duration = Duration::from_secs(15);
const MAIL: &str = "From: shop@app.example\r\nSubject: Welcome\r\n\r\nHello";
const BARE: &str = "Subject: bare\n\r\n\r\n";

fn address(inbox: &str) -> String {
    format!("{inbox}@{MAIL_DOMAIN}")
}

/// The story of a wait, during which something happens.
async fn story_with(api: &Harness, inbox: &str, query: &str, happens: impl AsyncFnOnce()) -> Story {
    let project = api
        .service
        .authenticate(api.key.as_str())
        .await
        .unwrap()
        .unwrap()
        .project;
    let deadline = api.clock.instant().after(WAIT);
    let waiting = api.spawn_get(&format!("/v1/inboxes/{inbox}/messages/wait?{query}"));
    let started = async {
        while api.service.open_waits(project).await.unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
    };
    within(started).await;
    happens().await;
    let answer = api.at_deadline(deadline, waiting).await;
    story_of(api, &answer).await
}

async fn story_after(api: &Harness, inbox: &str, query: &str) -> Story {
    story_with(api, inbox, query, async || {}).await
}

async fn story_of(api: &Harness, answer: &Answer) -> Story {
    assert_eq!(answer.error(), (408, "timeout".to_owned()));
    let id = answer.headers["link"]
        .to_str()
        .unwrap()
        .split(['/', '>'])
        .nth(4)
        .unwrap()
        .parse()
        .unwrap();
    api.service.story(id, None).await.unwrap().unwrap()
}

async fn fail_to_log_in(api: &Harness, smtp: &Smtp) {
    let mut client = smtp.client().await;
    assert!(
        api.refused(client.say("AUTH PLAIN AHgAcnN0X2xpdmVfeA=="))
            .await
            .starts_with("535")
    );
    assert!(client.say("QUIT").await.starts_with("221"));
}

#[testkit::each_engine]
async fn a_client_that_leaves_in_its_message_is_the_cause(engine: Engine) {
    let api = Harness::on(engine).await;
    let smtp = Smtp::start(&api).await;
    let inbox = api.create_inbox().await;
    let leaves = async || {
        let mut client = smtp.client().await;
        let recipient = format!("RCPT TO:<{}>", address(&inbox));
        for line in ["MAIL FROM:<app@app.example>", &recipient, "DATA"] {
            client.say(line).await;
        }
        drop(client);
        let path = format!("/v1/inboxes/{inbox}/events");
        while !api.get(&path).await.body.contains("An SMTP session") {
            tokio::task::yield_now().await;
        }
    };
    let finding = story_with(&api, &inbox, "", leaves).await.failure.finding;
    let sentence = finding.sentence.to_string();
    assert_eq!(finding.cause, Cause::NoMail, "{sentence}");
    assert!(
        sentence.contains("ended before its message was complete"),
        "{sentence}"
    );
}

#[testkit::each_engine]
async fn what_happened_long_before_the_wait_is_not_the_cause(engine: Engine) {
    let api = Harness::on(engine).await;
    let smtp = Smtp::start(&api).await;
    let inbox = api.create_inbox().await;
    api.make_permanent(&inbox).await;
    assert!(smtp.send(&address(&inbox), MAIL).await.starts_with("250"));
    assert!(smtp.send(&address(&inbox), BARE).await.starts_with("550"));
    assert!(
        smtp.send(&address(&format!("{inbox}u")), MAIL)
            .await
            .starts_with("250")
    );
    fail_to_log_in(&api, &smtp).await;
    api.clock.advance(6 * 60 * SECOND);
    let Story {
        failure, evidence, ..
    } = story_after(&api, &inbox, "subject=code").await;
    assert_eq!(
        failure.finding.cause,
        Cause::NothingConnected,
        "{evidence:?}"
    );
    assert!(
        failure
            .finding
            .sentence
            .to_string()
            .contains(" since 5 min before the wait started. The newest message in it is older:")
    );
    assert_eq!(
        (
            evidence.messages,
            evidence.refused.len(),
            evidence.similar.len()
        ),
        (1, 0, 0)
    );

    // Four minutes before the wait, all of it counts.
    assert!(smtp.send(&address(&inbox), BARE).await.starts_with("550"));
    assert!(smtp.send(&address(&inbox), MAIL).await.starts_with("250"));
    api.clock.advance(4 * 60 * SECOND);
    let story = story_after(&api, &inbox, "subject=code").await;
    assert_eq!(
        (story.failure.finding.cause, story.evidence.refused.len()),
        (Cause::FilterMissed, 1)
    );
}

#[testkit::each_engine]
async fn a_flood_of_rejections_displaces_those_of_no_other_address(engine: Engine) {
    let api = Harness::on(engine).await;
    let flooded = api.create_inbox_with(&api.other_key).await;
    let quiet = api.create_inbox().await;
    let refused = |inbox: &str| RefusedMail {
        peer: "127.0.0.1:4000".to_owned(),
        sender: "<app@app.example>".to_owned(),
        recipient: format!("<{}>", address(inbox)),
        inbox: None,
        authenticated: false,
        reason: RefusalReason::from_label("inbox_full".to_owned()),
        reply: "452 4.2.2 Inbox full".to_owned(),
        refused_at: api.service.clock().now(),
    };
    for _ in 0..5_000 {
        api.service.record_refusal(refused(&flooded), None);
    }
    api.service.record_refusal(refused(&quiet), None);
    let explained = api
        .get(&format!("/v1/inboxes/{quiet}/explain"))
        .await
        .json();
    assert_eq!(
        (
            explained["cause"].as_str(),
            explained["refused"].as_array().unwrap().len()
        ),
        (Some("inbox_full"), 1)
    );
}

#[testkit::each_engine]
async fn a_flood_to_many_addresses_displaces_no_rejection_of_another_client_or_of_a_key(
    engine: Engine,
) {
    let api = Harness::on(engine).await;
    let refused = |peer: &str, recipient: String| RefusedMail {
        peer: peer.to_owned(),
        sender: "<app@app.example>".to_owned(),
        recipient: format!("<{recipient}>"),
        inbox: None,
        authenticated: false,
        reason: RefusalReason::from_label("inbox_full".to_owned()),
        reply: "452 4.2.2 Inbox full".to_owned(),
        refused_at: api.service.clock().now(),
    };
    let project = api
        .service
        .authenticate(api.other_key.as_str())
        .await
        .unwrap()
        .unwrap()
        .project;
    let of_client = api.create_inbox_with(&api.other_key).await;
    let of_key = api.create_inbox_with(&api.other_key).await;
    // One client, and then so many that they would fill the queue together.
    for number in 0..5_000 {
        api.service.record_refusal(
            refused("192.0.2.1:4000", format!("{number}@shop.example")),
            None,
        );
    }
    api.service
        .record_refusal(refused("192.0.2.2:4000", address(&of_client)), None);
    for number in 0..5_000 {
        let peer = format!("198.51.{}.{}:4000", number / 250, number % 250);
        api.service
            .record_refusal(refused(&peer, format!("{number}@other.example")), None);
    }
    api.service
        .record_refusal(refused("192.0.2.1:4000", address(&of_key)), Some(project));
    for inbox in [of_client, of_key] {
        let explained = async {
            // One request waits only a second for what is in the queue.
            let path = format!("/v1/inboxes/{inbox}/explain");
            while api.call_with(&api.other_key, "GET", &path, "").await.json()["cause"]
                != "inbox_full"
            {}
        };
        within(explained).await;
    }
}

fn session(named: &[&str], ended_at: Timestamp) -> SmtpSession {
    SmtpSession {
        id: Uuid::now_v7(),
        named: named.iter().map(|name| (*name).to_owned()).collect(),
        project: None,
        client: "127.0.0.1".to_owned(),
        tls: None,
        has_failed: false,
        started_at: ended_at,
        ended_at,
        exchanges: Vec::new(),
    }
}

#[testkit::each_engine]
async fn a_session_that_names_several_projects_counts_once_for_each(engine: Engine) {
    let api = Harness::on(engine).await;
    let put = async |key, name: &str| {
        api.call_with(key, "PUT", &format!("/v1/inboxes/{}", address(name)), "")
            .await
    };
    for (key, name) in [
        (&api.key, "alpha"),
        (&api.other_key, "beta"),
        (&api.key, "gamma"),
    ] {
        assert_eq!(put(key, name).await.status, 201);
    }
    for _ in 0..40 {
        api.service.record_session(session(
            &["alpha", "beta", "gamma"],
            api.service.clock().now(),
        ));
    }
    let events = api.get("/v1/inboxes/alpha/events").await.json();
    let sessions = events["events"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|event| event["kind"] == "smtp")
        .count();
    assert_eq!(sessions, 40);
}

#[testkit::each_engine]
async fn projects_that_reject_the_same_foreign_address_do_not_see_each_other(engine: Engine) {
    let api = Harness::on(engine).await;
    let smtp = Smtp::start(&api).await;
    let foreign = "somebody@else.example";
    for key in [&api.key, &api.other_key] {
        let mut client = smtp.client_of(key).await;
        assert!(
            client
                .send_from(
                    &format!("{}@app.example", &key.as_str()[20..24]),
                    &[foreign],
                    MAIL
                )
                .await
                .starts_with("550")
        );
        assert!(client.say("QUIT").await.starts_with("221"));
    }
    for (key, other) in [(&api.key, &api.other_key), (&api.other_key, &api.key)] {
        let project = api
            .service
            .authenticate(key.as_str())
            .await
            .unwrap()
            .unwrap()
            .project;
        let events = api.service.rejections_of(project, foreign).await.unwrap();
        let text = serde_json::to_string(&events).unwrap();
        let kinds: Vec<_> = events.iter().map(|event| event.kind.as_str()).collect();
        assert_eq!(kinds, ["refused", "smtp"], "{text}");
        assert!(
            text.contains(&key.as_str()[20..24]) && !text.contains(&other.as_str()[20..24]),
            "{text}"
        );
    }
}

#[testkit::each_engine]
async fn an_event_that_is_recorded_late_is_not_skipped(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    api.clock.advance(SECOND);
    let happened_at = api.service.clock().now();
    api.clock.advance(SECOND);
    api.deliver(&inbox, "Welcome").await;
    let events = async |after: &str| {
        let answer = api
            .get(&format!("/v1/inboxes/{inbox}/events?after={after}"))
            .await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let json = answer.json();
        let kinds = json["events"]
            .as_array()
            .unwrap()
            .iter()
            .map(|event| event["kind"].as_str().unwrap().to_owned());
        (kinds.collect::<Vec<_>>(), answer.text("next"))
    };
    let (kinds, next) = events("").await;
    assert_eq!(kinds, ["created", "stored"]);
    api.service.record_session(session(&[&inbox], happened_at));
    api.deliver(&inbox, "Welcome").await;
    let (kinds, next) = events(&next).await;
    assert_eq!(
        kinds,
        ["smtp", "stored"],
        "the second message is another event than the first"
    );
    assert_eq!(events(&next).await.0, [""; 0]);
    // After a minute, the cursor has only a time.
    api.clock.advance(90 * SECOND);
    let (kinds, next) = events(&next).await;
    assert_eq!((kinds.len(), next.ends_with('.')), (0, true), "{next}");
    api.deliver(&inbox, "Another").await;
    assert_eq!(events(&next).await.0, ["stored"]);
    for invalid in ["x", "1795167002456", "1.*", "1.AAA", ".AAAAAA"] {
        let path = format!("/v1/inboxes/{inbox}/events?after={invalid}");
        assert_eq!(
            api.get(&path).await.error(),
            (400, "invalid after".to_owned()),
            "{invalid}"
        );
    }
}
