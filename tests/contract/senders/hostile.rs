//! Hostile requests: no text becomes a header field, and every error is one of the provider.

use serde_json::{Value, json};

use super::requests::{API, HTML, Letter, TEXT, query};
use super::{JSON_PATHS, Post, address, header, messages, only_details, with_messages_of};
use testkit::{Harness, within};

/// A text that would begin other header fields, and the body.
const EVIL: &str = "x\r\nBcc: evil@restante.example.com\r\nX-Evil: yes\r\n\r\nbody";

#[tokio::test]
async fn no_field_starts_another_header_field() {
    let api = Harness::start().await;
    // A whole message is what the application says it is.
    for one in API
        .iter()
        .filter(|one| !one.name.contains("raw") && !one.name.contains("mime"))
    {
        let inbox = api.create_inbox().await;
        let letter = Letter::to(&address(&inbox));
        let set = |change: fn(&mut Letter, &str)| {
            let mut letter = letter.clone();
            change(&mut letter, EVIL);
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
            set(|letter, evil| letter.file_name = evil.to_owned()),
            set(|letter, evil| letter.file_name = evil.replace("\r\n", "\n")),
        ];
        for (number, letter) in letters.iter().enumerate() {
            let refused = (one.request)(letter).send(&api).await;
            // In a form, a line break ends the header of the part.
            let is_of_form = one.via == "mailgun" && number >= 8;
            assert!(
                (400..500).contains(&refused.status) || is_of_form,
                "{} {number}: {refused:?}",
                one.name
            );
        }
        assert_harmless(&api, &inbox).await;
    }
}

/// No message of the inbox has a header field of the hostile text, and its recipient got none.
async fn assert_harmless(api: &Harness, inbox: &str) {
    for message in messages(api, inbox).await {
        let id = message["id"].as_str().unwrap();
        let raw = api.get(&format!("/v1/messages/{id}/raw")).await.body;
        assert!(!raw.contains("\nX-Evil") && !raw.contains("\nBcc"), "{raw}");
    }
    assert_eq!(api.get("/v1/inboxes/evil").await.status, 404);
}

/// Further bodies with fields that become header fields.
fn more_bodies(to: &str) -> [(&'static str, Value); 4] {
    let own = json!([{"Name": "X-A", "Value": "a"}]);
    let resend =
        json!({"from": "a@app.example", "to": to, "template": {"id": "id"}, "scheduled_at": "now"});
    let sendgrid = json!({
        "personalizations": [{"to": [{"email": to, "name": "n"}], "subject": "s", "headers": {"X-A": "a"},
            "custom_args": {"a": "b"}}],
        "from": {"email": "a@app.example"}, "template_id": "id",
        "reply_to_list": [{"email": "b@app.example", "name": "n"}],
    });
    let postmark = json!({"From": "a@app.example", "To": to, "TemplateAlias": "id", "Tag": "tag"});
    let ses = json!({
        "FromEmailAddress": "a@app.example", "FeedbackForwardingEmailAddress": "b@app.example",
        "DefaultEmailTags": own, "ConfigurationSetName": "set",
        "BulkEmailEntries": [
            {"Destination": {"ToAddresses": [to]}, "ReplacementHeaders": own, "ReplacementTags": own},
        ],
        "DefaultContent": {"Template": {"TemplateContent": {"Subject": "s", "Text": "t"}, "Headers": own}},
    });
    [
        ("/send/resend/emails", resend),
        ("/send/sendgrid/v3/mail/send", sendgrid),
        ("/send/postmark/email/withTemplate", postmark),
        ("/send/ses/v2/email/outbound-bulk-emails", ses),
    ]
}

#[tokio::test]
async fn no_text_and_no_name_in_json_starts_another_header_field() {
    let api = Harness::start().await;
    let inbox = api.create_inbox().await;
    let posts = API
        .iter()
        .map(|one| (one.request)(&Letter::to(&address(&inbox))));
    let bodies =
        posts.filter_map(|post| Some((post.path, serde_json::from_slice(&post.body).ok()?)));
    let more = more_bodies(&address(&inbox)).map(|(path, body)| (path.to_owned(), body));
    for (path, body) in bodies.chain(more).collect::<Vec<(String, Value)>>() {
        for body in hostile_forms(&body) {
            let answer = Post::json(&path, &body).send(&api).await;
            let is_answer =
                answer.status == 202 || serde_json::from_str::<Value>(&answer.body).is_ok();
            assert!(
                answer.status < 500 && is_answer,
                "{path} {body}: {answer:?}"
            );
        }
        assert_harmless(&api, &inbox).await;
    }
    // The name of a field that no API knows is ignored.
    assert!(!messages(&api, &inbox).await.is_empty());
}

/// A body with each of its texts and its names replaced by a hostile one, in turn. The text of a
/// message may be hostile: it is in the body.
fn hostile_forms(body: &Value) -> Vec<Value> {
    let mut forms = Vec::new();
    match body {
        Value::String(text) if [TEXT, HTML, "t"].contains(&text.as_str()) => {}
        Value::String(text) => {
            forms.extend([
                json!(EVIL),
                json!(EVIL.replace('\r', "")),
                json!(format!("{text}{EVIL}")),
            ]);
        }
        Value::Array(items) => {
            for (place, item) in items.iter().enumerate().take(3) {
                forms.extend(hostile_forms(item).into_iter().map(|form| {
                    let mut items = items.clone();
                    items[place] = form;
                    Value::Array(items)
                }));
            }
        }
        Value::Object(fields) => {
            for (name, value) in fields {
                let renamed = (format!("{name}{EVIL}"), value.clone());
                let changed = hostile_forms(value)
                    .into_iter()
                    .map(|form| (name.clone(), form));
                forms.extend(changed.chain([renamed]).map(|(new_name, form)| {
                    let mut fields = fields.clone();
                    fields.remove(name);
                    fields.insert(new_name, form);
                    Value::Object(fields)
                }));
            }
        }
        _ => {}
    }
    forms
}

#[tokio::test]
async fn no_value_and_no_name_in_a_form_starts_another_header_field() {
    let api = Harness::start().await;
    let inbox = api.create_inbox().await;
    let to = address(&inbox);
    let mailgun = [
        ("from", "a@app.example"),
        ("to", &to),
        ("cc", &to),
        ("bcc", &to),
        ("subject", "s"),
        ("template", "id"),
        ("h:Reply-To", "b@app.example"),
        ("h:X-Own", "a"),
        ("o:tag", "tag"),
        ("v:user", "1"),
    ];
    let ses = [
        ("Message.Body.Text.Data", "t"),
        ("Action", "SendEmail"),
        ("Source", "a@app.example"),
        ("ReturnPath", "b@app.example"),
        ("Destination.ToAddresses.member.1", &to),
        ("ReplyToAddresses.member.1", "b@app.example"),
        ("Message.Subject.Data", "s"),
        ("Tags.member.1.Name", "n"),
        ("Tags.member.1.Value", "v"),
        ("ConfigurationSetName", "set"),
    ];
    for (path, fields) in [
        ("/send/mailgun/v3/app.example/messages", mailgun),
        ("/send/ses/", ses),
    ] {
        for (place, (name, value)) in fields
            .iter()
            .enumerate()
            .filter(|(_, (name, _))| !name.contains("Text"))
        {
            let appended = |text: &str| format!("{text}{EVIL}");
            for (name, value) in [
                ((*name).to_owned(), appended(value)),
                (appended(name), (*value).to_owned()),
            ] {
                let mut fields = fields;
                fields[place] = (&name, &value);
                let answer = Post {
                    path: path.to_owned(),
                    ..query(&fields)
                }
                .send(&api)
                .await;
                assert!(answer.status < 500, "{path} {name} {value}: {answer:?}");
            }
        }
        assert_harmless(&api, &inbox).await;
    }
    assert!(!messages(&api, &inbox).await.is_empty());
}

#[tokio::test]
async fn blind_copies_of_a_whole_message_are_removed() {
    let api = Harness::start().await;
    for one in API.iter().filter(|one| one.name.contains("raw")) {
        let [to, bcc] = [api.create_inbox().await, api.create_inbox().await];
        let letter = Letter {
            bcc: vec![address(&bcc)],
            ..Letter::to(&address(&to))
        };
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
    let broken = Letter {
        content: "not base64 %%%".to_owned(),
        ..Letter::to(&address(&inbox))
    };
    let nested = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    for path in JSON_PATHS {
        let bodies = [
            "",
            "{",
            "null",
            "[]",
            "1",
            "\"a\"",
            "{\"a\":",
            "\u{0}",
            &nested,
            "{\"to\": \u{1}}",
            "[[[]]]",
        ];
        for body in bodies {
            let post = Post {
                path: path.to_owned(),
                content_type: String::new(),
                body: body.into(),
            };
            let refused = post.send(&api).await;
            let is_empty_batch = path.ends_with("postmark/email/batch") && body == "[]";
            assert!(
                (400..=422).contains(&refused.status) || is_empty_batch,
                "{path} {body:.20}: {refused:?}"
            );
            assert!(refused.body.len() < 2_000, "{refused:?}");
        }
    }
    for one in API.iter().filter(|one| !one.via.contains("mailgun")) {
        let refused = (one.request)(&broken).send(&api).await;
        let is_raw = one.name.contains("raw");
        assert!(
            refused.body.contains("not base64") || is_raw,
            "{}: {refused:?}",
            one.name
        );
    }
}

#[tokio::test]
async fn a_body_of_30_mib_is_too_large_and_not_kept() {
    let api = Harness::start().await;
    let inbox = api.create_inbox().await;
    for one in &API {
        let large = Letter {
            text: "a b\n".repeat(30 * 256 * 1024),
            ..Letter::to(&address(&inbox))
        };
        let refused = (one.request)(&large).send(&api).await;
        let expected = if one.via == "ses" { 400 } else { 413 };
        assert_eq!(refused.status, expected, "{}: {refused:?}", one.name);
        assert!(
            refused.body.contains("552 5.3.4"),
            "{}: {refused:?}",
            one.name
        );
        assert!(api.service.jobs().are_idle());
    }
    assert!(messages(&api, &inbox).await.is_empty());
}

/// The maximum size of the messages of a request together, if one may have 1 MiB.
const STORED: usize = 4 * 1024 * 1024;

/// Small requests whose messages have more than 4 MiB.
fn growing(to: &str) -> [Post; 2] {
    let word = "x".repeat(4 * 1024);
    let many = 1030;
    let sendgrid = json!({
        "from": {"email": "a@app.example"},
        "subject": "s",
        "content": [{"type": "text/plain", "value": "-w-\n".repeat(many)}],
        "personalizations": [{"to": [{"email": to}], "substitutions": {"-w-": word}}],
    });
    let text = "%recipient.w%\n".repeat(many);
    let variables = json!({to: {"w": word}}).to_string();
    let fields = [
        ("from", "a@app.example"),
        ("to", to),
        ("subject", "s"),
        ("text", &text),
        ("recipient-variables", &variables),
    ];
    [
        Post::json("/send/sendgrid/v3/mail/send", &sendgrid),
        Post {
            path: "/send/mailgun/v3/app.example/messages".to_owned(),
            ..query(&fields)
        },
    ]
}

#[tokio::test]
async fn a_small_request_does_not_grow_past_four_messages() {
    let api = with_messages_of(1024 * 1024).await;
    let inbox = api.create_inbox().await;
    for post in growing(&address(&inbox)) {
        let path = post.path.clone();
        assert!(post.body.len() < 64 * 1024, "{path}");
        let refused = post.send(&api).await;
        assert!(
            refused.body.contains("at most four times"),
            "{path}: {refused:?}"
        );
        assert!(api.service.jobs().are_idle());
    }
    assert!(messages(&api, &inbox).await.is_empty());
}

/// A text in many messages is stored as often.
#[tokio::test]
async fn a_request_stores_at_most_four_messages_of_the_maximum_size() {
    for (text, many, status) in [
        (800_000, 1_000, 413),
        (800_000, 5, 413),
        (800_000, 4, 202),
        (2_000, 1_000, 202),
    ] {
        let api = with_messages_of(1024 * 1024).await;
        let inbox = api.create_inbox().await;
        let one = json!({"to": [{"email": address(&inbox)}]});
        let body = json!({
            "personalizations": vec![one; many], "from": {"email": "a@app.example"}, "subject": "s",
            "content": [{"type": "text/html", "value": "a b\n".repeat(text / 4)}],
        });
        let post = Post::json("/send/sendgrid/v3/mail/send", &body);
        let answer = within(post.send(&api)).await;
        assert_eq!(answer.status, status, "{text} {many}: {answer:?}");
        let stored = messages(&api, &inbox).await.len();
        assert_eq!(stored, if status == 202 { many } else { 0 });
        assert!(stored * text <= STORED);
    }
}

/// Half a million objects, of which each would become a message.
#[tokio::test]
async fn a_list_of_nothing_ends_at_the_maximum_of_the_provider() {
    let api = Harness::start().await;
    let many = |count: usize| format!("[{}{{}}]", "{},".repeat(count - 1));
    for (path, before, after, most) in [
        ("/send/postmark/email/batch", "", "", 500),
        (
            "/send/postmark/email/batchWithTemplates",
            r#"{"Messages":"#,
            "}",
            500,
        ),
        ("/send/resend/emails/batch", "", "", 100),
        (
            "/send/sendgrid/v3/mail/send",
            r#"{"personalizations":"#,
            "}",
            1_000,
        ),
        (
            "/send/ses/v2/email/outbound-bulk-emails",
            r#"{"BulkEmailEntries":"#,
            "}",
            50,
        ),
    ] {
        let post = |count: usize| Post {
            path: path.to_owned(),
            content_type: "application/json".to_owned(),
            body: format!("{before}{}{after}", many(count)).into(),
        };
        for count in [most + 1, 99_000, 500_000] {
            let refused = within(post(count).send(&api)).await;
            let text = if count > 100_000 {
                "more than 100000 values".to_owned()
            } else {
                format!("at most {most} messages")
            };
            assert!(
                (400..=422).contains(&refused.status) && refused.body.contains(&text),
                "{path} {count}: {refused:?}"
            );
        }
    }
}

#[tokio::test]
async fn many_header_fields_are_compared_once() {
    let api = Harness::start().await;
    let inbox = api.create_inbox().await;
    let fields = |start: &str| {
        let fields = (0..40_000).map(|number| (format!("{start}{number:08}"), json!(1)));
        Value::Object(fields.collect())
    };
    let body = json!({
        "from": {"email": "a@app.example"}, "subject": "s", "content": [{"type": "text/plain", "value": "t"}],
        "headers": fields("X"),
        "personalizations": [{"to": [{"email": address(&inbox)}], "headers": fields("Y")}],
    });
    let refused = Post::json("/send/sendgrid/v3/mail/send", &body)
        .send(&api)
        .await;
    assert_eq!(refused.status, 202, "{refused:?}");
}
