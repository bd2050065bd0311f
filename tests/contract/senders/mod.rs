//! `/send`: the APIs of mail providers, with the requests that their documents describe.

mod batches;
mod faults;
mod hostile;
mod random;
mod refused;
mod requests;
mod sockets;

use std::pin::pin;
use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use futures_util::FutureExt;
use http_body_util::BodyExt;
use serde_json::{Value, json};

use requests::{API, Letter};
use restante::config::Limits;
use restante::http::{App, router};
use testkit::{Answer, Engine, Harness, MAIL_DOMAIN, within};
use tower::ServiceExt;

/// A credential that is no key.
const ANY: [(&str, &str); 1] = [("authorization", "Bearer any")];

/// The paths that take JSON.
const JSON_PATHS: [&str; 8] = [
    "/send/resend/emails",
    "/send/resend/emails/batch",
    "/send/sendgrid/v3/mail/send",
    "/send/postmark/email",
    "/send/postmark/email/batch",
    "/send/postmark/email/withTemplate",
    "/send/ses/v2/email/outbound-emails",
    "/send/ses/v2/email/outbound-bulk-emails",
];

/// A request as the application under test sends it.
pub struct Post {
    path: String,
    content_type: String,
    body: Vec<u8>,
}

impl Post {
    fn json(path: &str, body: &Value) -> Self {
        Self {
            path: path.to_owned(),
            content_type: "application/json".to_owned(),
            body: body.to_string().into(),
        }
    }

    async fn send(&self, api: &Harness) -> Answer {
        self.send_with(api, &ANY).await
    }

    async fn send_with(&self, api: &Harness, headers: &[(&str, &str)]) -> Answer {
        let mut request = Request::post(&self.path).header("content-type", &self.content_type);
        if !headers.iter().any(|(name, _)| *name == "host") {
            request = request.header("host", "127.0.0.1:8025");
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        api.send(request.body(Body::from(self.body.clone())).unwrap())
            .await
    }
}

fn address(inbox: &str) -> String {
    format!("{inbox}@{MAIL_DOMAIN}")
}

async fn messages(api: &Harness, inbox: &str) -> Vec<Value> {
    let list = api
        .get(&format!("/v1/inboxes/{inbox}/messages"))
        .await
        .json();
    list["messages"].as_array().unwrap().clone()
}

async fn only_details(api: &Harness, inbox: &str) -> Value {
    let found = messages(api, inbox).await;
    assert_eq!(found.len(), 1, "{found:?}");
    api.get(&format!(
        "/v1/messages/{}/details",
        found[0]["id"].as_str().unwrap()
    ))
    .await
    .json()
}

fn header<'a>(details: &'a Value, name: &str) -> Vec<&'a str> {
    let headers = details["headers"].as_array().unwrap().iter();
    headers
        .filter(|one| one["name"] == name)
        .map(|one| one["value"].as_str().unwrap())
        .collect()
}

#[testkit::each_engine]
async fn every_recipient_gets_the_message_with_all_that_it_has(engine: Engine) {
    let api = Harness::on(engine).await;
    for one in &API {
        let [to, cc, bcc] = [
            api.create_inbox().await,
            api.create_inbox().await,
            api.create_inbox().await,
        ];
        let letter = Letter {
            cc: vec![address(&cc)],
            bcc: vec![address(&bcc)],
            ..Letter::to(&address(&to))
        };
        let answer = (one.request)(&letter).send(&api).await;
        assert!(
            (200..=202).contains(&answer.status),
            "{}: {answer:?}",
            one.name
        );
        for inbox in [&to, &cc, &bcc] {
            let details = only_details(&api, inbox).await;
            let envelope = &details["envelope"];
            assert_eq!(
                (&envelope["via"], &envelope["to"]),
                (&json!(one.via), &json!(address(inbox))),
                "{}",
                one.name
            );
            assert_eq!(
                (&envelope["client"], &envelope["helo"]),
                (&json!("0.0.0.0"), &Value::Null)
            );
            assert_eq!(
                (&envelope["from"], &envelope["authenticated"]),
                (&json!("shop@app.example"), &json!(false))
            );
            assert_eq!(
                details["from"],
                json!([{"name": "Zoë, Shop", "address": "shop@app.example"}]),
                "{}",
                one.name
            );
            assert_eq!(details["to"][0]["address"], address(&to));
            assert_eq!(details["cc"][0]["address"], address(&cc));
            assert_eq!(
                details["reply_to"][0]["address"], "help@app.example",
                "{}",
                one.name
            );
            assert_eq!(header(&details, "Subject"), ["Grüße 🐌"]);
            assert_eq!(header(&details, "X-Order"), ["4711"], "{}", one.name);
            assert!(
                header(&details, "Bcc").is_empty() && !details.to_string().contains(&bcc)
                    || *inbox == bcc
            );
        }
        let received = &messages(&api, &to).await[0];
        assert_eq!(
            (&received["subject"], &received["otp"]),
            (&json!("Grüße 🐌"), &json!("482913")),
            "{}",
            one.name
        );
        assert_eq!(
            received["links"],
            json!(["https://app.example/in"]),
            "{}",
            one.name
        );
        let id = received["id"].as_str().unwrap();
        let details = api.get(&format!("/v1/messages/{id}/details")).await.json();
        let files = details["attachments"].as_array().unwrap();
        let found: Vec<_> = files
            .iter()
            .map(|file| (&file["filename"], &file["inline"], &file["content_type"]))
            .collect();
        let expected = (
            json!("größe.bin"),
            json!(false),
            json!("application/octet-stream"),
        );
        assert!(
            found.contains(&(&expected.0, &expected.1, &expected.2)),
            "{}: {found:?}",
            one.name
        );
        assert!(
            files
                .iter()
                .any(|file| file["content_id"] == "logo.png" && file["inline"] == true),
            "{files:?}"
        );
        for file in files {
            let path = format!("/v1/messages/{id}/attachments/{}", file["index"]);
            let downloaded = api.send(testkit::request(&api.key, "GET", &path, "")).await;
            let expected = if file["inline"] == true {
                requests::IMAGE
            } else {
                requests::FILE
            };
            assert_eq!(downloaded.body.as_bytes(), expected, "{}", one.name);
        }
        let answered = format!("{}{:?}", answer.body, answer.headers);
        let named = if one.via == "mailgun" {
            details["message_id"].as_str().unwrap()
        } else {
            id
        };
        assert!(
            answered.contains(named),
            "{}: {answered} does not have {named}",
            one.name
        );
    }
}

#[testkit::each_engine]
async fn a_key_decides_the_project_and_a_wrong_one_is_refused(engine: Engine) {
    let api = Harness::on(engine).await;
    let basic = |password: &str| {
        format!(
            "Basic {}",
            BASE64_STANDARD.encode(format!("api:{password}"))
        )
    };
    let aws = |key: &str| {
        format!(
            "AWS4-HMAC-SHA256 Credential={key}/20261120/eu-west-1/ses/aws4_request, Signature=0"
        )
    };
    for (number, one) in API.iter().enumerate() {
        let inbox = format!("fresh{number}");
        let post = (one.request)(&Letter::to(&address(&inbox)));
        let credential = |key: &str| match one.via {
            "postmark" => ("x-postmark-server-token", key.to_owned()),
            "mailgun" => ("authorization", basic(key)),
            "ses" => ("authorization", aws(key)),
            _ => ("authorization", format!("Bearer {key}")),
        };
        let expected = if one.via == "ses" { 403 } else { 401 };
        for key in [
            "rst_live_unknown",
            "rst_live_0123456789abcdef0123456789abcdef",
            "",
        ] {
            let (name, value) = credential(key);
            let refused = post.send_with(&api, &[(name, value.as_str())]).await;
            assert_eq!(refused.status, expected, "{} {key}: {refused:?}", one.name);
        }
        assert_eq!(
            post.send_with(&api, &[]).await.status,
            expected,
            "{}",
            one.name
        );
        let (name, value) = credential(api.other_key.as_str());
        let accepted = post.send_with(&api, &[(name, value.as_str())]).await;
        assert!(accepted.status < 300, "{}: {accepted:?}", one.name);
        let path = format!("/v1/inboxes/{inbox}/messages");
        assert_eq!(api.get(&path).await.status, 404);
        let found = api.call_with(&api.other_key, "GET", &path, "").await.json();
        let id = found["messages"][0]["id"].as_str().unwrap();
        let details = api
            .call_with(
                &api.other_key,
                "GET",
                &format!("/v1/messages/{id}/details"),
                "",
            )
            .await
            .json();
        assert_eq!(details["envelope"]["authenticated"], true);
    }
}

/// A server that takes messages of at most this many bytes.
async fn with_messages_of(bytes: u64) -> Harness {
    let mut api = Harness::with_options(Engine::Sqlite, testkit::options(1_000)).await;
    let limits = Limits {
        message_size: bytes,
        ..Limits::default()
    };
    api.router = router(App {
        limits,
        ..testkit::app(&api.service)
    });
    api
}

#[tokio::test]
async fn other_sites_and_hosts_may_not_send() {
    let api = Harness::start().await;
    for one in &API {
        let post = (one.request)(&Letter::to(&address("inbox")));
        let any = ("authorization", "Bearer any");
        for (headers, status) in [
            ([any, ("host", "evil.example")], 421),
            ([any, ("origin", "https://evil.example")], 403),
            ([any, ("origin", "null")], 403),
            ([any, ("sec-fetch-site", "same-site")], 403),
            ([any, ("origin", "http://127.0.0.1:8025")], 200),
            ([any, ("host", "restante.example.com:8025")], 200),
        ] {
            let answer = post.send_with(&api, &headers).await;
            let is_expected = if status == 200 {
                answer.status < 300
            } else {
                answer.status == status
            };
            assert!(is_expected, "{} {headers:?}: {answer:?}", one.name);
        }
    }
}

#[testkit::each_engine]
async fn explain_knows_which_apis_are_used(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    let explain = async || {
        api.get(&format!("/v1/inboxes/{inbox}/explain"))
            .await
            .json()
    };
    let before = explain().await;
    assert!(
        before["summary"]
            .as_str()
            .unwrap()
            .starts_with("Nothing has connected over SMTP"),
        "{before}"
    );
    assert!(
        before["send_apis"]
            .as_object()
            .unwrap()
            .values()
            .all(Value::is_null)
    );
    for name in ["ses", "resend", "sendgrid", "postmark", "mailgun"] {
        let one = API.iter().find(|one| one.via == name).unwrap();
        (one.request)(&Letter::to(&address("elsewhere")))
            .send(&api)
            .await;
        assert_eq!(
            explain().await["send_apis"][name],
            "2026-11-20T09:30:00.123Z",
            "{name}"
        );
    }
    let unrelated = explain().await;
    let summary = unrelated["summary"].as_str().unwrap();
    assert!(summary.contains("elsewhere@"), "{summary}");
    assert_eq!(unrelated["smtp"]["last_message_at"], Value::Null);
}

#[testkit::each_engine]
async fn resend_shows_what_was_sent(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    let others = api.create_inbox_with(&api.other_key).await;
    let one = API.iter().find(|one| one.via == "resend").unwrap();
    let show = async |id: &str, key: &str| {
        let request = Request::get(format!("/send/resend/emails/{id}")).header("host", "127.0.0.1");
        api.send(
            request
                .header("authorization", format!("Bearer {key}"))
                .body(Body::empty())
                .unwrap(),
        )
        .await
    };
    let id = (one.request)(&Letter::to(&address(&inbox)))
        .send(&api)
        .await
        .text("id");
    for key in ["any", api.key.as_str()] {
        let shown = show(&id, key).await.json();
        assert_eq!(
            (&shown["id"], &shown["last_event"]),
            (&json!(id), &json!("delivered"))
        );
        assert_eq!(
            (&shown["to"], &shown["from"]),
            (&json!([address(&inbox)]), &json!("shop@app.example"))
        );
    }
    assert_eq!(show(&id, api.other_key.as_str()).await.status, 404);
    let with_key = [(
        "authorization",
        &*format!("Bearer {}", api.other_key.as_str()),
    )];
    let id = (one.request)(&Letter::to(&address(&others)))
        .send_with(&api, &with_key)
        .await
        .text("id");
    assert_eq!(
        (
            show(&id, "any").await.status,
            show(&id, api.other_key.as_str()).await.status
        ),
        (404, 200)
    );
    let over_smtp = api.deliver(&inbox, "Hello").await;
    for id in [
        &over_smtp,
        "nonsense",
        "00000000-0000-7000-8000-000000000000",
    ] {
        assert_eq!(show(id, "any").await.status, 404);
    }
}

#[tokio::test]
async fn what_resend_shows_is_one_of_the_large_ones_until_it_is_sent() {
    let api = Harness::start().await;
    let to = address(&api.create_inbox().await);
    let letter = Letter {
        text: "0123456789abcde\n".repeat(100_000),
        ..Letter::to(&to)
    };
    let id = (API.iter().find(|one| one.via == "resend").unwrap().request)(&letter)
        .send(&api)
        .await
        .text("id");
    let request = Request::get(format!("/send/resend/emails/{id}")).header("host", "127.0.0.1");
    let request = request
        .header("authorization", "Bearer any")
        .body(Body::empty())
        .unwrap();
    let response = api.router.clone().oneshot(request).await.unwrap();
    let jobs = api.service.jobs();
    let mut own = [jobs.job([0; 32]), jobs.job([0; 32])];
    let [first, second] = own.each_mut().map(|job| job.be_large().now_or_never());
    assert!(first.is_some() && second.is_none());
    let body = response.into_body().collect().await.unwrap().to_bytes();
    let shown: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(shown["text"], json!(letter.text.trim_end()));
    drop((body, own));
    assert!(api.service.jobs().are_idle());
}

/// As over SMTP: on PostgreSQL, a large message waits for other large ones before it is written.
#[testkit::each_engine]
async fn a_large_message_has_the_time_to_wait_for_others(engine: Engine) {
    let api = Harness::on(engine).await;
    // Nothing else sleeps until then.
    let until = api.clock.instant().after(Duration::from_secs(90));
    for (one, bytes) in API.iter().flat_map(|one| [(one, 1_000), (one, 300 * 1024)]) {
        let inbox = api.create_inbox().await;
        let letter = Letter {
            text: "words ".repeat(bytes / 6),
            ..Letter::to(&address(&inbox))
        };
        let post = (one.request)(&letter);
        let mut sending = pin!(post.send_with(&api, &ANY));
        let mut may_wait = false;
        let mut sent = None;
        while sent.is_none() {
            let step = async {
                tokio::select! {
                    // Asked first after each step of the request.
                    biased;
                    () = api.clock.until_sleeping(until), if !may_wait => may_wait = true,
                    answer = &mut sending => sent = Some(answer),
                }
            };
            within(step).await;
        }
        assert!(
            sent.is_some_and(|answer| answer.status < 300),
            "{}",
            one.name
        );
        assert_eq!(
            may_wait,
            matches!(engine, Engine::Postgres) && bytes > 256 * 1024,
            "{} {bytes}",
            one.name
        );
        assert_eq!(messages(&api, &inbox).await.len(), 1);
    }
}
