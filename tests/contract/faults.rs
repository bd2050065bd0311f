//! Fault injection, from the list that a test sends to the replies that a client gets.

use std::time::Duration;

use restante::model::OutgoingFilter;
use serde_json::{Value, json};

use crate::explain::explain_refused;
use crate::smtp::Smtp;
use testkit::{Answer, Engine, Harness, MAIL_DOMAIN};

const MAIL: &str = "From: app@client.example\r\nSubject: Hello\r\n\r\nHi";

/// A list with every kind of fault.
pub fn every_fault() -> String {
    let faults = json!([
        {"at": "rcpt", "do": "defer"},
        {"at": "data", "do": "defer", "times": 1000, "reply": "450 4.2.0 Later"},
        {"at": "rcpt", "do": "reject", "reply": "550 5.7.1 Never"},
        {"at": "data", "do": "reject"},
        {"at": "rcpt", "do": "disconnect"},
        {"at": "data", "do": "disconnect"},
        {"at": "data", "do": "disconnect", "store": true},
        {"at": "rcpt", "do": "reset"},
        {"at": "data", "do": "reset", "store": true},
        {"at": "rcpt", "do": "delay", "seconds": 1},
        {"at": "data", "do": "delay", "seconds": 300},
        {"at": "data", "do": "bounce"},
        {"at": "data", "do": "drop"},
        {"at": "data", "do": "duplicate"},
    ]);
    json!({"faults": faults}).to_string()
}

fn path(inbox: &str) -> String {
    format!("/v1/inboxes/{inbox}/faults")
}

async fn set(api: &Harness, inbox: &str, faults: Value) -> Answer {
    api.call("PUT", &path(inbox), json!({"faults": faults}).to_string())
        .await
}

/// An inbox with these faults, and its address.
async fn inbox_with(api: &Harness, faults: Value) -> (String, String) {
    let inbox = api.create_inbox().await;
    assert_eq!(set(api, &inbox, faults).await.status, 200);
    let address = format!("{inbox}@{MAIL_DOMAIN}");
    (inbox, address)
}

/// How often each fault was used.
async fn used(api: &Harness, inbox: &str) -> Vec<u64> {
    let faults = api.get(&path(inbox)).await.json();
    faults["faults"]
        .as_array()
        .unwrap()
        .iter()
        .map(|fault| fault["used"].as_u64().unwrap())
        .collect()
}

async fn messages(api: &Harness, inbox: &str) -> usize {
    let list = api
        .get(&format!("/v1/inboxes/{inbox}/messages"))
        .await
        .json();
    list["messages"].as_array().unwrap().len()
}

#[testkit::each_engine]
async fn a_list_is_replaced_shown_and_cleared(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    assert_eq!(api.get(&path(&inbox)).await.json(), json!({"faults": []}));

    let set_all = api.call("PUT", &path(&inbox), every_fault()).await;
    assert_eq!(
        (set_all.status, set_all.json()),
        (200, api.get(&path(&inbox)).await.json())
    );
    let asked: Value = serde_json::from_str(&every_fault()).unwrap();
    for (asked, shown) in asked["faults"]
        .as_array()
        .unwrap()
        .iter()
        .zip(set_all.json()["faults"].as_array().unwrap())
    {
        let mut expected = json!({"times": 1, "used": 0, "uses": []});
        expected
            .as_object_mut()
            .unwrap()
            .extend(asked.as_object().unwrap().clone());
        expected["left"] = expected["times"].clone();
        assert_eq!(*shown, expected);
    }

    let one = set(&api, &inbox, json!([{"at": "data", "do": "duplicate"}]))
        .await
        .json();
    assert_eq!(one["faults"].as_array().unwrap().len(), 1);
    assert_eq!(api.get(&path(&inbox)).await.json(), one);
    let cleared = api.call("DELETE", &path(&inbox), "").await;
    assert_eq!((cleared.status, cleared.body.as_str()), (204, ""));
    assert_eq!(api.call("DELETE", &path(&inbox), "").await.status, 204);
    assert_eq!(
        api.get(&format!("/api{}", path(&inbox))).await.json(),
        json!({"faults": []})
    );
    let cleared = set(&api, &inbox, json!([])).await;
    assert_eq!(
        (cleared.status, cleared.json()),
        (200, json!({"faults": []}))
    );
}

#[testkit::each_engine]
async fn what_is_not_valid_is_refused_by_name(engine: Engine) {
    let api = Harness::on(engine).await;
    let (inbox, _) = inbox_with(&api, json!([{"at": "rcpt", "do": "defer"}])).await;
    let before = api.get(&path(&inbox)).await.json();
    let bodies = [
        ("", "invalid JSON"),
        ("[]", "invalid JSON"),
        ("{}", "missing field: faults"),
        (r#"{"faults":{}}"#, "invalid field: faults"),
        (r#"{"faults":null}"#, "invalid field: faults"),
        (r#"{"faults":[1]}"#, "invalid field: faults"),
        (r#"{"faults":[],"more":1}"#, "unknown field: more"),
    ];
    for (body, error) in bodies {
        assert_eq!(
            api.call("PUT", &path(&inbox), body).await.error(),
            (400, error.to_owned()),
            "{body}"
        );
    }
    let faults = [
        (json!({"do": "defer"}), "missing field: at"),
        (json!({"at": "rcpt"}), "missing field: do"),
        (json!({"at": "mail", "do": "defer"}), "invalid field: at"),
        (json!({"at": "rcpt", "do": "explode"}), "invalid field: do"),
        (json!({"at": "rcpt", "do": "bounce"}), "invalid field: at"),
        (
            json!({"at": "rcpt", "do": "duplicate"}),
            "invalid field: at",
        ),
        (
            json!({"at": "rcpt", "do": "defer", "times": 0}),
            "invalid field: times",
        ),
        (
            json!({"at": "rcpt", "do": "defer", "times": 1001}),
            "invalid field: times",
        ),
        (
            json!({"at": "rcpt", "do": "defer", "times": "2"}),
            "invalid field: times",
        ),
        (
            json!({"at": "rcpt", "do": "defer", "times": 1.5}),
            "invalid field: times",
        ),
        (
            json!({"at": "rcpt", "do": "defer", "reply": "550 5.1.1 no"}),
            "invalid field: reply",
        ),
        (
            json!({"at": "rcpt", "do": "reject", "reply": "451 4.1.1 no"}),
            "invalid field: reply",
        ),
        (
            json!({"at": "rcpt", "do": "reject", "reply": "550 no"}),
            "invalid field: reply",
        ),
        (
            json!({"at": "rcpt", "do": "reject", "reply": "550 5.1.1 a\r\nb"}),
            "invalid field: reply",
        ),
        (
            json!({"at": "data", "do": "bounce", "reply": "550 5.1.1 no"}),
            "invalid field: reply",
        ),
        (
            json!({"at": "rcpt", "do": "delay"}),
            "missing field: seconds",
        ),
        (
            json!({"at": "rcpt", "do": "delay", "seconds": 0}),
            "invalid field: seconds",
        ),
        (
            json!({"at": "rcpt", "do": "delay", "seconds": 301}),
            "invalid field: seconds",
        ),
        (
            json!({"at": "rcpt", "do": "defer", "seconds": 1}),
            "invalid field: seconds",
        ),
        (
            json!({"at": "rcpt", "do": "disconnect", "store": true}),
            "invalid field: store",
        ),
        (
            json!({"at": "data", "do": "disconnect", "store": 1}),
            "invalid field: store",
        ),
        (
            json!({"at": "rcpt", "do": "reset", "store": true}),
            "invalid field: store",
        ),
        (json!({"at": "rcpt", "do": "drop"}), "invalid field: at"),
        (
            json!({"at": "data", "do": "defer", "store": true}),
            "invalid field: store",
        ),
        (
            json!({"at": "data", "do": "defer", "after": 1}),
            "unknown field: after",
        ),
    ];
    for (fault, error) in faults {
        assert_eq!(
            set(&api, &inbox, json!([fault])).await.error(),
            (400, error.to_owned()),
            "{fault}"
        );
    }
    let fault = json!({"at": "rcpt", "do": "defer"});
    assert_eq!(
        set(&api, &inbox, json!(vec![&fault; 21])).await.error(),
        (400, "invalid field: faults".to_owned())
    );
    assert_eq!(api.get(&path(&inbox)).await.json(), before);
    assert_eq!(set(&api, &inbox, json!(vec![&fault; 20])).await.status, 200);
}

#[testkit::each_engine]
async fn only_the_owner_is_answered(engine: Engine) {
    let api = Harness::on(engine).await;
    let (inbox, _) = inbox_with(&api, json!([{"at": "rcpt", "do": "defer"}])).await;
    for method in ["GET", "PUT", "DELETE"] {
        let foreign = api
            .call_with(&api.other_key, method, &path(&inbox), "{")
            .await;
        assert_eq!(
            foreign.error(),
            (404, "inbox not found".to_owned()),
            "{method}"
        );
        assert_eq!(
            api.call(method, &path("nobody"), "{").await.error(),
            (404, "inbox not found".to_owned())
        );
    }
    assert_eq!(used(&api, &inbox).await, [0]);
}

#[testkit::each_engine]
async fn a_deferred_client_is_accepted_the_third_time(engine: Engine) {
    let api = Harness::on(engine).await;
    let smtp = Smtp::start(&api).await;
    let faults = json!([{"at": "rcpt", "do": "defer", "times": 2}]);
    let (inbox, address) = inbox_with(&api, faults).await;
    let mut replies = Vec::new();
    for _ in 0..3 {
        replies.push(smtp.send(&address, MAIL).await);
        api.clock.advance(Duration::from_secs(60));
    }
    assert_eq!(replies[..2], ["451 4.3.0 Deferred on request\r\n"; 2]);
    assert!(replies[2].starts_with("250 2.0.0 Stored"), "{replies:?}");
    let fault = api.get(&path(&inbox)).await.json()["faults"][0].clone();
    let uses = ["2026-11-20T09:30:00.123Z", "2026-11-20T09:31:00.123Z"];
    assert_eq!(
        fault,
        json!({"at": "rcpt", "do": "defer", "times": 2, "left": 0, "used": 2, "uses": uses})
    );
    assert_eq!(messages(&api, &inbox).await, 1);
}

#[testkit::each_engine]
async fn a_fault_concerns_its_own_inbox_and_its_tags(engine: Engine) {
    let api = Harness::on(engine).await;
    let smtp = Smtp::start(&api).await;
    let faults = json!([{"at": "rcpt", "do": "reject"}, {"at": "data", "do": "reject"}]);
    let (inbox, _) = inbox_with(&api, faults).await;
    let other = api.create_inbox().await;
    assert!(
        smtp.send(&format!("{other}@{MAIL_DOMAIN}"), MAIL)
            .await
            .starts_with("250")
    );
    let mut client = smtp.client().await;
    client.say("MAIL FROM:<app@client.example>").await;
    let tagged = format!("{inbox}+tag@{MAIL_DOMAIN}");
    assert!(
        client
            .say(&format!("RCPT TO:<{tagged}>"))
            .await
            .starts_with("550 5.1.1 Rejected on request")
    );
    assert!(
        smtp.send(&tagged, MAIL)
            .await
            .starts_with("550 5.1.1 Rejected on request")
    );
    assert_eq!(used(&api, &inbox).await, [1, 1]);
    assert!(smtp.send(&tagged, MAIL).await.starts_with("250"));
}

#[testkit::each_engine]
async fn each_message_meets_the_next_fault(engine: Engine) {
    let api = Harness::on(engine).await;
    let smtp = Smtp::start(&api).await;
    let faults = json!([
        {"at": "data", "do": "duplicate"},
        {"at": "data", "do": "bounce"},
        {"at": "data", "do": "defer", "times": 2},
        {"at": "data", "do": "reject", "reply": "554 5.7.1 Spam"},
    ]);
    let (inbox, address) = inbox_with(&api, faults).await;
    let mut stored = Vec::new();
    for start in [
        "250-2.0.0 Stored",
        "250 2.0.0 OK",
        "451 4.3.0",
        "451 4.3.0",
        "554 5.7.1 Spam",
        "250 2.0.0 Stored",
    ] {
        let reply = smtp.send(&address, MAIL).await;
        assert!(reply.starts_with(start), "{reply}: not {start}");
        stored.push(messages(&api, &inbox).await);
    }
    assert_eq!(stored, [2, 2, 2, 2, 2, 3]);
    assert_eq!(used(&api, &inbox).await, [1, 1, 2, 1]);
}

#[testkit::each_engine]
async fn a_fault_that_accepts_keeps_the_copies_of_other_recipients(engine: Engine) {
    let api = Harness::on(engine).await;
    let smtp = Smtp::start(&api).await;
    let (bounced, to_bounced) =
        inbox_with(&api, json!([{"at": "data", "do": "bounce", "times": 2}])).await;
    let (twice, to_twice) = inbox_with(&api, json!([{"at": "data", "do": "duplicate"}])).await;
    let other = api.create_inbox().await;
    let to_other = format!("{other}@{MAIL_DOMAIN}");
    for (recipient, start) in [
        (&to_twice, "250-2.0.0 Stored"),
        (&to_other, "250 2.0.0 Stored"),
    ] {
        let reply = smtp
            .client()
            .await
            .send_from("app@client.example", &[&to_bounced, recipient], MAIL)
            .await;
        assert!(reply.starts_with(start), "{reply}");
    }
    assert_eq!(
        (
            messages(&api, &bounced).await,
            messages(&api, &twice).await,
            messages(&api, &other).await
        ),
        (0, 2, 1)
    );
    assert_eq!(
        (used(&api, &bounced).await, used(&api, &twice).await),
        (vec![2], vec![1])
    );
    assert_eq!(api.service.queued_outgoing().await.unwrap(), 2);
    // The others' owners do not see a bounce.
    assert_eq!(
        explain_refused(&api, &bounced, 2).await["refused"][0]["reply"],
        "accepted, and bounced on request"
    );
    let explanation = api
        .get(&format!("/v1/inboxes/{other}/explain"))
        .await
        .json();
    assert_eq!(explanation["refused"], json!([]));
}

#[testkit::each_engine]
async fn a_reply_is_one_for_all_recipients(engine: Engine) {
    let api = Harness::on(engine).await;
    let smtp = Smtp::start(&api).await;
    let (bounced, to_bounced) = inbox_with(&api, json!([{"at": "data", "do": "bounce"}])).await;
    let (deferred, to_deferred) = inbox_with(&api, json!([{"at": "data", "do": "defer"}])).await;
    let (rejected, to_rejected) = inbox_with(&api, json!([{"at": "data", "do": "reject"}])).await;
    for (recipients, start) in [
        ([&to_bounced, &to_deferred], "451 4.3.0"),
        ([&to_rejected, &to_bounced], "550 5.1.1"),
    ] {
        let recipients = recipients.map(String::as_str);
        let reply = smtp
            .client()
            .await
            .send_from("app@client.example", &recipients, MAIL)
            .await;
        assert!(reply.starts_with(start), "{reply}");
    }
    assert_eq!(
        (used(&api, &deferred).await, used(&api, &rejected).await),
        (vec![1], vec![1])
    );
    assert_eq!(
        (used(&api, &bounced).await, messages(&api, &bounced).await),
        (vec![0], 0)
    );
    assert_eq!(
        (
            messages(&api, &deferred).await,
            messages(&api, &rejected).await
        ),
        (0, 0)
    );
}

#[testkit::each_engine]
async fn every_sender_but_the_null_path_is_notified(engine: Engine) {
    let api = Harness::on(engine).await;
    let smtp = Smtp::start(&api).await;
    let (inbox, address) =
        inbox_with(&api, json!([{"at": "data", "do": "bounce", "times": 5}])).await;
    let long = format!("bounces+{}@client.example", "x".repeat(80));
    let senders = [
        "",
        "app@client.example",
        r#""a b"@client.example"#,
        "app@[127.0.0.1]",
        &long,
    ];
    for (queued, sender) in senders.into_iter().enumerate() {
        let reply = smtp
            .client()
            .await
            .send_from(sender, &[&address], MAIL)
            .await;
        assert!(reply.starts_with("250 2.0.0 OK"), "{reply}");
        assert_eq!(
            api.service.queued_outgoing().await.unwrap() as usize,
            queued,
            "{sender}"
        );
    }
    assert_eq!(used(&api, &inbox).await, [5]);
    let items = api
        .service
        .outbox()
        .list(&OutgoingFilter::default(), 10)
        .await
        .unwrap();
    let recipients: Vec<&str> = items
        .iter()
        .rev()
        .map(|item| item.recipient.as_str())
        .collect();
    assert_eq!(recipients, senders[1..]);
}

#[testkit::each_engine]
async fn the_bounces_of_an_inbox_are_limited(engine: Engine) {
    let api = Harness::on(engine).await;
    let smtp = Smtp::start(&api).await;
    let (inbox, address) = inbox_with(
        &api,
        json!([{"at": "data", "do": "bounce", "times": 1_000}]),
    )
    .await;
    let (_, other) = inbox_with(&api, json!([{"at": "data", "do": "bounce"}])).await;
    for start in std::iter::repeat_n("250 2.0.0 OK", 60).chain(["451 4.3.0"]) {
        let reply = smtp.send(&address, MAIL).await;
        assert!(reply.starts_with(start), "{reply}: not {start}");
    }
    assert_eq!(api.service.queued_outgoing().await.unwrap(), 60);
    assert_eq!(used(&api, &inbox).await, [60]);
    assert!(smtp.send(&other, MAIL).await.starts_with("250 2.0.0 OK"));
    api.clock.advance(Duration::from_secs(60));
    assert!(smtp.send(&address, MAIL).await.starts_with("250 2.0.0 OK"));
}

#[testkit::each_engine]
async fn a_fault_ends_with_its_inbox(engine: Engine) {
    let api = Harness::on(engine).await;
    let smtp = Smtp::start(&api).await;
    let (inbox, address) =
        inbox_with(&api, json!([{"at": "data", "do": "reject", "times": 9}])).await;
    assert!(smtp.send(&address, MAIL).await.starts_with("550"));
    assert_eq!(
        api.call("DELETE", &format!("/v1/inboxes/{inbox}"), "")
            .await
            .status,
        204
    );
    assert_eq!(api.get(&path(&inbox)).await.status, 404);
    // Incoming mail creates the inbox again, without the faults of the earlier inbox.
    assert!(smtp.send(&address, MAIL).await.starts_with("250"));
    assert_eq!(api.get(&path(&inbox)).await.json(), json!({"faults": []}));
    assert_eq!(
        set(&api, &inbox, json!([{"at": "data", "do": "defer"}]))
            .await
            .status,
        200
    );
    assert!(smtp.send(&address, MAIL).await.starts_with("451"));
    assert_eq!(used(&api, &inbox).await, [1]);
    api.clock.advance(Duration::from_secs(3_600));
    assert_eq!(api.get(&path(&inbox)).await.status, 404);
    assert!(smtp.send(&address, MAIL).await.starts_with("250"));
}

#[testkit::each_engine]
async fn a_full_inbox_uses_no_fault(engine: Engine) {
    let api = Harness::on(engine).await;
    let smtp = Smtp::start(&api).await;
    let (inbox, address) = inbox_with(&api, json!([{"at": "data", "do": "duplicate"}])).await;
    let fill = async |count: u32| {
        api.run_sql(&format!(
            "UPDATE inboxes SET message_count = {count} WHERE id = '{inbox}'"
        ))
        .await;
    };
    // There is room for one message, but not for two.
    for count in [1_000, 999] {
        fill(count).await;
        assert!(smtp.send(&address, MAIL).await.starts_with("452 4.2.2"));
    }
    assert_eq!(used(&api, &inbox).await, [0]);
    fill(998).await;
    assert!(smtp.send(&address, MAIL).await.contains("Stored"));
    assert_eq!(used(&api, &inbox).await, [1]);
}

#[testkit::each_engine]
async fn mail_of_the_service_meets_no_fault(engine: Engine) {
    let api = Harness::on(engine).await;
    let (inbox, address) = inbox_with(&api, json!([{"at": "data", "do": "reject"}])).await;
    let sender = api.create_inbox().await;
    let mail = json!({"to": address, "subject": "Hello"}).to_string();
    assert_eq!(
        api.call("POST", &format!("/v1/inboxes/{sender}/messages"), mail)
            .await
            .status,
        202
    );
    assert_eq!(
        (messages(&api, &inbox).await, used(&api, &inbox).await),
        (1, vec![0])
    );
}

#[testkit::each_engine]
async fn a_refused_message_is_explained(engine: Engine) {
    let api = Harness::on(engine).await;
    let smtp = Smtp::start(&api).await;
    for (fault, reply, shown) in [
        (
            json!({"at": "data", "do": "reject"}),
            "550 5.1.1",
            "550 5.1.1 Rejected on request",
        ),
        (
            json!({"at": "data", "do": "disconnect"}),
            "",
            "the connection was closed on request, without a reply",
        ),
        (
            json!({"at": "data", "do": "reset"}),
            "",
            "the connection was reset on request, without a reply",
        ),
        (
            json!({"at": "data", "do": "bounce"}),
            "250 2.0.0 OK",
            "accepted, and bounced on request",
        ),
        (
            json!({"at": "data", "do": "drop"}),
            "250 2.0.0 OK",
            "accepted, and dropped on request",
        ),
    ] {
        let (inbox, address) = inbox_with(&api, json!([fault])).await;
        let answer = smtp.send(&address, MAIL).await;
        assert!(
            answer.starts_with(reply) && answer.is_empty() == reply.is_empty(),
            "{answer}"
        );
        let explanation = explain_refused(&api, &inbox, 1).await;
        assert_eq!(explanation["refused"][0]["reply"], shown);
        assert!(
            explanation["summary"].as_str().unwrap().contains(shown),
            "{explanation}"
        );
    }
}
