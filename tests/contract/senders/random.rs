//! Random requests: the answer to any body is one of the provider.

use std::fmt::Debug;

use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::sample::{Index, select};
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::requests::{Form, Letter, postmark_body, query, ses_body};
use super::{JSON_PATHS, Post};
use testkit::{Answer, Harness};

/// The paths that take forms.
const FORM_PATHS: [&str; 3] = [
    "/send/mailgun/v3/app.example/messages",
    "/send/mailgun/v3/app.example/messages.mime",
    "/send/ses/",
];

/// Names of fields that the parsers know.
const NAMES: [&str; 27] = [
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

/// Names of form fields that the parsers know, and beginnings of names.
const FORM_NAMES: [&str; 28] = [
    "from",
    "to",
    "cc",
    "bcc",
    "subject",
    "text",
    "html",
    "message",
    "template",
    "t:variables",
    "recipient-variables",
    "h:",
    "h:X-Own",
    "h:Reply-To",
    "v:",
    "v:user",
    "o:tag",
    "Action",
    "Source",
    "ReturnPath",
    "RawMessage.Data",
    "Destinations.member.1",
    "Destination.ToAddresses.member.2",
    "ReplyToAddresses.member.1",
    "Message.Subject.Data",
    "Message.Body.Text.Data",
    "Tags.member.1.Name",
    "ConfigurationSetName",
];

/// Values that some field can have.
const FORM_VALUES: [&str; 9] = [
    "a@restante.example.com",
    "\"A, B\" <a@restante.example.com>, b@restante.example.com",
    "{}",
    "[1]",
    "YQ==",
    "SendEmail",
    "SendRawEmail",
    "{\"random@restante.example.com\": {\"name\": [\"Ada\"]}}",
    "From: a@app.example\r\nTo: b@restante.example.com\r\n\r\ntext",
];

/// Runs a property with these cases.
fn check<S: Strategy<Value: Debug>>(cases: u32, strategy: &S, property: impl Fn(S::Value)) {
    let mut runner = TestRunner::new(Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    });
    let outcome = runner.run(strategy, |case| {
        property(case);
        Ok(())
    });
    outcome.unwrap();
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
    let name = prop_oneof![select(NAMES.to_vec()).prop_map(str::to_owned), ".{0,8}"];
    let value = leaf.prop_recursive(5, 60, 8, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            proptest::collection::btree_map(name.clone(), inner, 0..8)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    });
    // A random value in the place of one field of a valid request.
    let case = (select(JSON_PATHS.to_vec()), value, any::<Index>());
    let runtime = Runtime::new().unwrap();
    let api = runtime.block_on(Harness::start());
    check(300, &case, |(path, value, field)| {
        let letter = Letter::to("random@restante.example.com");
        let body = match path {
            "/send/postmark/email" | "/send/postmark/email/withTemplate" => {
                with(postmark_body(&letter), field, value)
            }
            "/send/ses/v2/email/outbound-emails" => with(ses_body(&letter), field, value),
            _ => value,
        };
        let answer = runtime.block_on(Post::json(path, &body).send(&api));
        assert!(is_answer(&answer, false), "{path} {body}: {answer:?}");
    });
}

/// The body with another value of one field.
fn with(mut body: Value, field: Index, value: Value) -> Value {
    let fields = body.as_object_mut().unwrap();
    let name = fields
        .keys()
        .nth(field.index(fields.len()))
        .unwrap()
        .clone();
    fields.insert(name, value);
    body
}

#[test]
fn a_random_form_gets_an_answer_of_the_provider() {
    let name = prop_oneof![3 => select(FORM_NAMES.to_vec()).prop_map(str::to_owned), 1 => "[^\"\r\n]{0,8}"];
    let value = prop_oneof![
        ".{0,40}",
        select(FORM_VALUES.to_vec()).prop_map(str::to_owned)
    ];
    let fields = proptest::collection::vec((name.clone(), value), 0..8);
    let file = (
        select(vec!["attachment", "inline", "message", "other"]),
        "[^\"\r\n]{0,12}",
        any::<Vec<u8>>(),
    );
    let files = proptest::option::of(proptest::collection::vec(file, 0..3));
    let damage = proptest::collection::vec((any::<Index>(), any::<u8>()), 0..3);
    let case = (
        select(FORM_PATHS.to_vec()),
        fields,
        files,
        damage,
        proptest::option::weighted(0.2, any::<Index>()),
    );
    let runtime = Runtime::new().unwrap();
    let api = runtime.block_on(Harness::start());
    check(500, &case, |(path, fields, files, damage, cut)| {
        // The first value of a name counts, so the random fields replace those of a valid request.
        let fields: Vec<_> = fields
            .iter()
            .map(|(name, value)| (&**name, &**value))
            .chain(valid(path).iter().copied())
            .collect();
        let mut post = match files {
            Some(files) => multipart(path, &fields, &files),
            None => Post {
                path: path.to_owned(),
                ..query(&fields)
            },
        };
        for (place, byte) in damage {
            let place = place.index(post.body.len());
            post.body[place] = byte;
        }
        post.body
            .truncate(cut.map_or(usize::MAX, |cut| cut.index(post.body.len())));
        let answer = runtime.block_on(post.send(&api));
        assert!(
            is_answer(&answer, path == "/send/ses/"),
            "{path} {fields:?}: {answer:?}"
        );
    });
}

/// The fields of a valid request.
fn valid<'a>(path: &str) -> &'a [(&'a str, &'a str)] {
    match path {
        "/send/ses/" => &[
            ("Action", "SendEmail"),
            ("Source", "a@app.example"),
            (
                "Destination.ToAddresses.member.1",
                "random@restante.example.com",
            ),
            ("Message.Subject.Data", "s"),
            ("Message.Body.Text.Data", "t"),
        ],
        _ => &[
            ("from", "a@app.example"),
            ("to", "random@restante.example.com"),
            ("subject", "s"),
            ("text", "t"),
            ("message", "From: a@app.example\r\n\r\nt"),
        ],
    }
}

fn multipart(path: &str, fields: &[(&str, &str)], files: &[(&str, String, Vec<u8>)]) -> Post {
    let mut form = Form::default();
    for (name, value) in fields {
        form.field(name, value);
    }
    for (field, name, content) in files {
        form.file(field, name, "image/png", content);
    }
    form.post(path)
}

/// Whether this is an answer as the provider writes it, and no failure of the server.
fn is_answer(answer: &Answer, is_xml: bool) -> bool {
    let is_whole = if is_xml {
        let element = if answer.status < 300 {
            "Send"
        } else {
            "ErrorResponse"
        };
        let text = answer
            .body
            .split("<Message>")
            .nth(1)
            .and_then(|rest| rest.split("</Message>").next());
        answer.body.starts_with(&format!("<{element}"))
            && answer.body.ends_with("Response>")
            && text.is_none_or(|text| {
                !text.contains(|character: char| "<>".contains(character) || character < ' ')
            })
    } else {
        // The answer of SendGrid has no body.
        answer.status == 202 || serde_json::from_str::<Value>(&answer.body).is_ok()
    };
    answer.status < 500 && !answer.headers.contains_key("retry-after") && is_whole
}
