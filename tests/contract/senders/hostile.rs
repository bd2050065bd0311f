//! Hostile requests: no text becomes a header field, and every error is one of the provider.

use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::sample::{Index, select};
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::requests::{API, Letter, postmark_body, ses_body};
use super::{Post, address, header, messages, only_details};
use testkit::Harness;

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

#[tokio::test]
async fn no_field_starts_another_header_field() {
    let api = Harness::start().await;
    let evil = "x\r\nBcc: evil@restante.example.com\r\nX-Evil: yes\r\n\r\nbody";
    // A whole message is what the application says it is.
    for one in API.iter().filter(|one| !one.name.contains("raw") && !one.name.contains("mime")) {
        let inbox = api.create_inbox().await;
        let letter = Letter::to(&address(&inbox));
        let set = |change: fn(&mut Letter, &str)| {
            let mut letter = letter.clone();
            change(&mut letter, evil);
            letter
        };
        let letters = [
            set(|letter, evil| letter.subject = evil.to_owned()),
            set(|letter, evil| letter.from = format!("{evil} <a@app.example>")),
            set(|letter, evil| letter.from = format!("a@app.example{evil}")),
            set(|letter, evil| letter.to.push(format!("{evil} <a@app.example>"))),
            set(|letter, evil| letter.cc.push(evil.to_owned())),
            set(|letter, evil| letter.bcc.push(evil.to_owned())),
            set(|letter, evil| letter.reply_to = format!("a@app.example{evil}")),
            set(|letter, evil| letter.header.1 = evil.to_owned()),
            set(|letter, evil| letter.header.0 = evil.to_owned()),
            set(|letter, evil| letter.header.0 = evil.replace("\r\n", "\n")),
            set(|letter, evil| letter.file_type = evil.to_owned()),
        ];
        for (number, letter) in letters.iter().enumerate() {
            let refused = (one.request)(letter).send(&api).await;
            // In a form, a line break ends the header of the part.
            let is_of_form = one.via == "mailgun" && number >= 8;
            assert!((400..500).contains(&refused.status) || is_of_form, "{} {number}: {refused:?}", one.name);
        }
        for message in messages(&api, &inbox).await {
            let id = message["id"].as_str().unwrap();
            let raw = api.get(&format!("/v1/messages/{id}/raw")).await.body;
            assert!(!raw.contains("\r\nX-Evil") && !raw.contains("\r\nBcc"), "{raw}");
        }
    }
    assert_eq!(api.get("/v1/inboxes/evil").await.status, 404);
}

#[tokio::test]
async fn blind_copies_of_a_whole_message_are_removed() {
    let api = Harness::start().await;
    for one in API.iter().filter(|one| one.name.contains("raw")) {
        let [to, bcc] = [api.create_inbox().await, api.create_inbox().await];
        let letter = Letter { bcc: vec![address(&bcc)], ..Letter::to(&address(&to)) };
        assert_eq!((one.request)(&letter).send(&api).await.status, 200);
        for inbox in [&to, &bcc] {
            let details = only_details(&api, inbox).await;
            assert!(header(&details, "Bcc").is_empty(), "{details}");
        }
    }
}

#[tokio::test]
async fn broken_bodies_are_clear_errors() {
    let api = Harness::start().await;
    let inbox = api.create_inbox().await;
    let broken = Letter { content: "not base64 %%%".to_owned(), ..Letter::to(&address(&inbox)) };
    let nested = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    for path in JSON_PATHS {
        let bodies = ["", "{", "null", "[]", "1", "\"a\"", "{\"a\":", "\u{0}", &nested, "{\"to\": \u{1}}", "[[[]]]"];
        for body in bodies {
            let post = Post { path: path.to_owned(), content_type: String::new(), body: body.into() };
            let refused = post.send(&api).await;
            let is_empty_batch = path.ends_with("postmark/email/batch") && body == "[]";
            assert!((400..=422).contains(&refused.status) || is_empty_batch, "{path} {body:.20}: {refused:?}");
            assert!(refused.body.len() < 2_000, "{refused:?}");
        }
    }
    for one in API.iter().filter(|one| !one.via.contains("mailgun")) {
        let refused = (one.request)(&broken).send(&api).await;
        let is_raw = one.name.contains("raw");
        assert!(refused.body.contains("not base64") || is_raw, "{}: {refused:?}", one.name);
    }
}

#[tokio::test]
async fn a_body_of_30_mib_is_too_large_and_not_kept() {
    let api = Harness::start().await;
    let inbox = api.create_inbox().await;
    let free = api.service.budget().free();
    for one in &API {
        let large = Letter { text: "a b\n".repeat(30 * 256 * 1024), ..Letter::to(&address(&inbox)) };
        let refused = (one.request)(&large).send(&api).await;
        let expected = if one.via == "ses" { 400 } else { 413 };
        assert_eq!(refused.status, expected, "{}: {refused:?}", one.name);
        assert!(refused.body.contains("552 5.3.4"), "{}: {refused:?}", one.name);
        assert_eq!(api.service.budget().free(), free);
    }
    assert!(messages(&api, &inbox).await.is_empty());
}

#[test]
fn random_json_gets_an_answer_of_the_provider() {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,20}".prop_map(Value::from),
        Just(json!("a@restante.example.com")),
        Just(json!("YQ==")),
    ];
    let known = [
        "from",
        "to",
        "personalizations",
        "email",
        "subject",
        "text",
        "content",
        "From",
        "To",
        "Headers",
        "Name",
        "Value",
        "TextBody",
        "Attachments",
        "Content",
        "Simple",
        "Raw",
        "Data",
        "Destination",
        "ToAddresses",
        "Template",
        "attachments",
        "headers",
        "template",
        "TemplateModel",
        "BulkEmailEntries",
        "DefaultContent",
    ];
    let name = prop_oneof![select(known.to_vec()).prop_map(str::to_owned), ".{0,8}"];
    let value = leaf.prop_recursive(5, 60, 8, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            proptest::collection::btree_map(name.clone(), inner, 0..8)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    });
    // A random value in the place of one field of a valid request.
    let case = (0..JSON_PATHS.len(), value, any::<Index>());
    let runtime = Runtime::new().unwrap();
    let api = runtime.block_on(Harness::start());
    let mut runner = TestRunner::new(Config { cases: 300, failure_persistence: None, ..Config::default() });
    let outcome = runner.run(&case, |(path, value, field)| {
        let letter = Letter::to("random@restante.example.com");
        let path = JSON_PATHS[path];
        let body = match path {
            "/send/postmark/email" | "/send/postmark/email/withTemplate" => with(postmark_body(&letter), field, value),
            "/send/ses/v2/email/outbound-emails" => with(ses_body(&letter), field, value),
            _ => value,
        };
        assert_answer(&runtime, &api, path, &body);
        Ok(())
    });
    outcome.unwrap();
}

/// The body with another value of one field.
fn with(mut body: Value, field: Index, value: Value) -> Value {
    let fields = body.as_object_mut().unwrap();
    let name = fields.keys().nth(field.index(fields.len())).unwrap().clone();
    fields.insert(name, value);
    body
}

fn assert_answer(runtime: &Runtime, api: &Harness, path: &str, body: &Value) {
    let answer = runtime.block_on(Post::json(path, body).send(api));
    assert!(answer.status < 500 && !answer.headers.contains_key("retry-after"), "{path} {body}: {answer:?}");
    assert!(answer.status < 300 || serde_json::from_str::<Value>(&answer.body).is_ok(), "{path} {body}: {answer:?}");
}
