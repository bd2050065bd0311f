//! Several messages in one request, and templates.

use std::time::Duration;

use futures_util::FutureExt;
use serde_json::{Value, json};

use super::requests::{API, Form, Letter, postmark_body, query};
use super::{ANY, Post, address, header, messages, only_details, with_messages_of};
use restante::http::server::Disconnect;
use testkit::{Answer, Engine, Harness, within};

async fn two_inboxes(api: &Harness) -> [String; 2] {
    [api.create_inbox().await, api.create_inbox().await]
}

async fn text(api: &Harness, inbox: &str) -> String {
    messages(api, inbox).await[0]["text"]
        .as_str()
        .unwrap()
        .to_owned()
}

#[testkit::each_engine]
async fn resend_sends_all_of_a_batch_or_none(engine: Engine) {
    let api = Harness::on(engine).await;
    let [one, other] = two_inboxes(&api).await;
    let email = |to: &str| json!({"from": "a@app.example", "to": to, "subject": "s", "text": to});
    let batch = |second: Value| {
        Post::json(
            "/send/resend/emails/batch",
            &json!([email(&address(&one)), second]),
        )
    };
    let with_file = |file: Value| {
        let mut email = email(&address(&other));
        email["attachments"] = json!([file]);
        email
    };
    let large = json!({"filename": "a", "content": "QUJD".repeat(7 * 1024 * 1024)});
    let files = [
        json!({"content": "YQ==", "content_type": "foo"}),
        json!({"content": "YQ==", "content_id": "\n"}),
    ];
    for (status, wrong) in [
        (403, email("a@elsewhere.example")),
        (422, email("nonsense")),
        (422, json!({"to": "x"})),
        (422, json!(1)),
        (422, with_file(files[0].clone())),
        (422, with_file(files[1].clone())),
        // In base64 it is larger than any message may be.
        (413, with_file(large.clone())),
    ] {
        let refused = batch(wrong.clone()).send(&api).await;
        assert_eq!(
            refused.status,
            status,
            "{:.100}: {refused:?}",
            wrong.to_string()
        );
    }
    assert!(messages(&api, &one).await.is_empty());
    let sent = batch(email(&address(&other))).send(&api).await.json();
    let ids: Vec<_> = sent["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["id"].clone())
        .collect();
    assert_eq!(
        ids,
        [
            messages(&api, &one).await[0]["id"].clone(),
            messages(&api, &other).await[0]["id"].clone()
        ]
    );
}

#[tokio::test]
async fn a_permissive_batch_of_resend_sends_what_is_valid() {
    let api = Harness::start().await;
    let inbox = api.create_inbox().await;
    let email = |to: &str| json!({"from": "a@app.example", "to": to, "subject": "s", "text": to});
    let batch = json!([
        email("nonsense"),
        email(&address(&inbox)),
        email("a@elsewhere.example")
    ]);
    let permissive = [ANY[0], ("x-batch-validation", "permissive")];
    let sent = Post::json("/send/resend/emails/batch", &batch)
        .send_with(&api, &permissive)
        .await;
    assert_eq!(sent.status, 200, "{sent:?}");
    let sent = sent.json();
    assert_eq!(
        sent["data"],
        json!([{"id": messages(&api, &inbox).await[0]["id"]}])
    );
    let places: Vec<_> = sent["errors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|error| error["index"].clone())
        .collect();
    assert_eq!(places, [0, 2]);
    assert!(
        sent["errors"][1]["message"]
            .as_str()
            .unwrap()
            .contains("550 5.7.1")
    );
}

#[testkit::each_engine]
async fn a_request_to_resend_that_is_repeated_sends_nothing(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    let email = |subject: &str| json!({"from": "a@app.example", "to": address(&inbox), "subject": subject, "text": "x"});
    let count = async || messages(&api, &inbox).await.len();
    let send = async |path: &str, body: &Value, headers: &[(&str, &str)]| {
        Post::json(path, body).send_with(&api, headers).await
    };
    let single = |subject: &str| ("/send/resend/emails", email(subject));
    let batch = |subject: &str| ("/send/resend/emails/batch", json!([email(subject)]));
    for (number, ((path, body), (_, other))) in
        [(single("a"), single("b")), (batch("a"), batch("b"))]
            .into_iter()
            .enumerate()
    {
        let key = format!("welcome/{number}");
        let headers = [ANY[0], ("idempotency-key", key.as_str())];
        let before = count().await;
        let together = futures_util::future::join_all((0..5).map(|_| send(path, &body, &headers)));
        let together = together.await;
        let first = together.iter().find(|one| one.status == 200).unwrap();
        for one in &together {
            match one.status {
                200 => assert_eq!(one.body, first.body),
                409 => assert_eq!(one.json()["name"], "concurrent_idempotent_requests"),
                _ => panic!("{one:?}"),
            }
        }
        let repeated = send(path, &body, &headers).await;
        assert_eq!((repeated.status, &repeated.body), (200, &first.body));
        assert_eq!(count().await, before + 1);
        let refused = send(path, &other, &headers).await;
        assert_eq!(refused.status, 409, "{refused:?}");
        let expected = json!({
            "statusCode": 409,
            "name": "invalid_idempotent_request",
            "message": "Same idempotency key used with a different request payload.",
        });
        assert_eq!(refused.json(), expected);
        // Another project has keys of its own.
        let bearer = format!("Bearer {}", api.other_key.as_str());
        let theirs = [("authorization", bearer.as_str()), headers[1]];
        assert_ne!(send(path, &other, &theirs).await.status, 409);
        // So has another API, which knows none.
        let postmark = json!({"From": "a@app.example", "To": address(&inbox), "TextBody": "x"});
        let headers = [("x-postmark-server-token", "x"), headers[1]];
        assert_eq!(
            send("/send/postmark/email", &postmark, &headers)
                .await
                .status,
            200
        );
    }
    api.clock.advance(Duration::from_secs(24 * 60 * 60));
    let headers = [ANY[0], ("idempotency-key", "welcome/0")];
    let inbox = api.create_inbox().await;
    let late = json!({"from": "a@app.example", "to": address(&inbox), "subject": "c", "text": "x"});
    assert_eq!(
        send("/send/resend/emails", &late, &headers).await.status,
        200
    );
    // What was rejected can be sent again.
    let headers = [ANY[0], ("idempotency-key", "rejected")];
    for _ in 0..2 {
        let wrong = send(
            "/send/resend/emails",
            &json!({"from": "a@app.example"}),
            &headers,
        )
        .await;
        assert_eq!(wrong.status, 422, "{wrong:?}");
    }
    assert_eq!(
        send("/send/resend/emails", &late, &headers).await.status,
        200
    );
    let long = "k".repeat(257);
    let headers = [ANY[0], ("idempotency-key", long.as_str())];
    let refused = send("/send/resend/emails", &late, &headers).await;
    assert_eq!(
        (refused.status, &refused.json()["name"]),
        (400, &json!("invalid_idempotency_key"))
    );
}

/// The answer is that of the first request, which sent the message.
#[testkit::each_engine]
async fn an_answer_that_resends_client_did_not_get_is_kept(engine: Engine) {
    let api = Harness::on(engine).await;
    let headers = |key| [ANY[0], ("idempotency-key", key)];
    let post = |inbox: &str| {
        let email =
            json!({"from": "a@app.example", "to": address(inbox), "subject": "s", "text": "t"});
        Post::json("/send/resend/emails", &email)
    };
    let assert_kept = async |inbox: &str, repeated: Answer| {
        let stored = messages(&api, inbox).await;
        assert_eq!((repeated.status, stored.len()), (200, 1), "{repeated:?}");
        assert_eq!(repeated.json()["id"], stored[0]["id"]);
    };

    let inbox = api.create_inbox().await;
    let (sent, headers_of_it) = (post(&inbox), headers("leaves"));
    let mut first = Box::pin(sent.send_with(&api, &headers_of_it));
    while messages(&api, &inbox).await.is_empty() && (&mut first).now_or_never().is_none() {}
    drop(first);
    let repeating = async {
        loop {
            let repeated = sent.send_with(&api, &headers_of_it).await;
            if repeated.status != 409 {
                return repeated;
            }
        }
    };
    assert_kept(&inbox, within(repeating).await).await;

    for (store, key) in [(true, "stored"), (false, "not stored")] {
        let inbox = api.create_inbox().await;
        let faults = json!({"faults": [{"at": "data", "do": "disconnect", "store": store}]});
        let path = format!("/v1/inboxes/{inbox}/faults");
        assert_eq!(api.call("PUT", &path, faults.to_string()).await.status, 200);
        let sent = post(&inbox);
        let unanswered = sent.send_with(&api, &headers(key)).await;
        assert!(unanswered.extensions.get::<Disconnect>().is_some());
        assert_eq!(messages(&api, &inbox).await.len(), usize::from(store));
        assert_kept(&inbox, sent.send_with(&api, &headers(key)).await).await;
    }
}

#[testkit::each_engine]
async fn postmark_answers_for_each_message_of_a_batch(engine: Engine) {
    let api = Harness::on(engine).await;
    let [one, other] = two_inboxes(&api).await;
    let one_address = address(&one);
    let other_address = address(&other);
    let all = [
        &*one_address,
        "a@elsewhere.example",
        "nonsense",
        &*other_address,
    ];
    let all = all.map(|to| postmark_body(&Letter::to(to)));
    for path in ["/send/postmark/email/batch", "/email/batch"] {
        let sent = Post::json(path, &json!(all)).send(&api).await.json();
        let codes: Vec<_> = sent
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["ErrorCode"].as_i64().unwrap())
            .collect();
        assert_eq!(codes, [0, 412, 300, 0], "{sent}");
        assert_eq!(sent[3]["MessageID"], messages(&api, &other).await[0]["id"]);
    }
    assert_eq!(
        (
            messages(&api, &one).await.len(),
            messages(&api, &other).await.len()
        ),
        (2, 2)
    );
}

/// Of a batch that has one status, the messages before it stay; where each message has a result, it
/// is that of one.
#[tokio::test]
async fn a_fault_at_data_stops_a_batch_in_the_middle() {
    let api = Harness::start().await;
    let [one, other] = two_inboxes(&api).await;
    let path = format!("/v1/inboxes/{other}/faults");
    let faults = r#"{"faults":[{"at":"data","do":"defer"},{"at":"data","do":"defer"}]}"#;
    assert_eq!(api.call("PUT", &path, faults).await.status, 200);
    let to = [&one, &other, &one].map(|inbox| address(inbox));
    let emails = to
        .each_ref()
        .map(|to| json!({"from": "a@app.example", "to": to, "subject": "s", "text": "t"}));
    assert_eq!(
        Post::json("/send/resend/emails/batch", &json!(emails))
            .send(&api)
            .await
            .status,
        429
    );
    assert_eq!(
        (
            messages(&api, &one).await.len(),
            messages(&api, &other).await.len()
        ),
        (1, 0)
    );
    let bodies = to.each_ref().map(|to| postmark_body(&Letter::to(to)));
    let sent = Post::json("/send/postmark/email/batch", &json!(bodies))
        .send(&api)
        .await
        .json();
    let codes: Vec<_> = sent
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["ErrorCode"].as_i64().unwrap())
        .collect();
    assert_eq!(
        (codes, messages(&api, &one).await.len()),
        (vec![0, 429, 0], 3)
    );
}

#[tokio::test]
async fn sendgrid_sends_a_message_for_each_personalization() {
    let api = Harness::start().await;
    let [one, other] = two_inboxes(&api).await;
    let personal = |inbox: &str, name: &str| {
        json!({"to": [{"email": address(inbox)}], "subject": format!("For {name}"), "substitutions": {"-name-": name},
            "custom_args": {"user": name}, "headers": {"X-Own": name}})
    };
    let body = json!({
        "personalizations": [personal(&one, "Ada"), personal(&other, "Bob")],
        "from": {"email": "a@app.example"}, "headers": {"X-Own": "all", "X-All": "all"}, "custom_args": {"user": "all"},
        "content": [{"type": "text/plain", "value": "Hello -name-"}, {"type": "text/calendar", "value": "BEGIN"}],
    });
    let sent = Post::json("/send/sendgrid/v3/mail/send", &body)
        .send(&api)
        .await;
    assert_eq!((sent.status, sent.body.as_str()), (202, ""), "{sent:?}");
    assert_eq!(
        sent.headers["x-message-id"].to_str().unwrap(),
        messages(&api, &one).await[0]["id"].as_str().unwrap()
    );
    for (inbox, name) in [(&one, "Ada"), (&other, "Bob")] {
        let details = only_details(&api, inbox).await;
        assert_eq!(header(&details, "Subject"), [format!("For {name}")]);
        assert_eq!(
            (header(&details, "X-Own"), header(&details, "X-All")),
            (vec![name], vec!["all"])
        );
        assert_eq!(header(&details, "X-SendGrid-Arg-user"), [name]);
        assert_eq!(
            (
                details["to"].as_array().unwrap().len(),
                text(&api, inbox).await
            ),
            (1, format!("Hello {name}"))
        );
        assert_eq!(details["attachments"][0]["content_type"], "text/calendar");
    }
}

#[tokio::test]
async fn mailgun_sends_a_message_for_each_recipient_with_variables() {
    let api = Harness::start().await;
    let [one, other] = two_inboxes(&api).await;
    let mut form = Form::default();
    form.field("from", "a@app.example")
        .field("to", &format!("{}, {}", address(&one), address(&other)));
    form.field("subject", "Hi %recipient.name%")
        .field("text", "%recipient_email% %recipient.id%");
    let variables =
        json!({address(&one): {"name": "Ada", "id": 1}, address(&other): {"name": "Bob", "id": 2}});
    form.field("recipient-variables", &variables.to_string());
    let sent = form
        .post("/send/mailgun/v3/app.example/messages")
        .send(&api)
        .await
        .json();
    assert_eq!(sent["message"], "Queued. Thank you.");
    for (inbox, name, id) in [(&one, "Ada", 1), (&other, "Bob", 2)] {
        let details = only_details(&api, inbox).await;
        assert_eq!(
            details["to"],
            json!([{"name": null, "address": address(inbox)}])
        );
        assert_eq!(header(&details, "Subject"), [format!("Hi {name}")]);
        assert_eq!(text(&api, inbox).await, format!("{} {id}", address(inbox)));
    }
}

/// If each variable were looked for in each field of each message, this would take minutes.
#[tokio::test]
async fn many_variables_in_many_fields_take_no_time() {
    let api = Harness::start().await;
    let inbox = api.create_inbox().await;
    let to = address(&inbox);
    let variables: Value = (0..5_000)
        .map(|number| (format!("a{number}"), json!(number)))
        .collect();
    let variables = json!({&to: variables}).to_string();
    let to_all = vec![&*to; 320].join(",");
    let fields = [
        ("from", "a@app.example"),
        ("to", &*to_all),
        ("subject", "s"),
        ("text", "%recipient.a4999%, %recipient.b%, %recipient"),
        ("recipient-variables", &*variables),
    ];
    let fields: Vec<_> = fields
        .into_iter()
        .chain([("h:a", "")].into_iter().cycle().take(390))
        .collect();
    let post = Post {
        path: "/send/mailgun/v3/app.example/messages".to_owned(),
        ..query(&fields)
    };
    assert_eq!(within(post.send(&api)).await.status, 200);
    assert_eq!(text(&api, &inbox).await, "4999, %recipient.b%, %recipient");
}

#[tokio::test]
async fn the_longest_tag_of_sendgrid_is_replaced_and_they_are_bounded() {
    let api = Harness::start().await;
    let inbox = api.create_inbox().await;
    let post = |text: &str, tags: Value| {
        let personal =
            json!({"to": [{"email": address(&inbox)}], "subject": "s", "substitutions": tags});
        let content = json!([{"type": "text/plain", "value": text}]);
        let body = json!({"personalizations": [personal], "from": {"email": "a@app.example"}, "content": content});
        Post::json("/send/sendgrid/v3/mail/send", &body)
    };
    let tags = json!({"-a": "short", "-a-": "long -a", "": "empty", "é": 1});
    assert_eq!(post("-a--aé-b", tags).send(&api).await.status, 202);
    assert_eq!(text(&api, &inbox).await, "long -ashort1-b");
    let tags: Value = (0..1_000)
        .map(|number| (format!("-{number}xxxxxxxxxx"), json!("")))
        .collect();
    let refused = post("-", tags).send(&api).await;
    assert!(
        refused.status == 400 && refused.body.contains("10000 bytes"),
        "{refused:?}"
    );
}

#[tokio::test]
async fn metadata_keeps_any_name_and_text() {
    let api = Harness::start().await;
    let [one, other] = two_inboxes(&api).await;
    let third = api.create_inbox().await;
    let name = "Größe: eins";
    let value = "two\r\nX-Evil: lines";
    let mut form = Form::default();
    form.field("from", "a@app.example")
        .field("to", &address(&one))
        .field("text", "t")
        .field("subject", "s");
    form.field(&format!("v:{name}"), value);
    let sendgrid = json!({"personalizations": [{"to": [{"email": address(&other)}], "custom_args": {name: value}}],
        "from": {"email": "a@app.example"}, "subject": "s", "content": [{"type": "text/plain", "value": "t"}]});
    let postmark = json!({"From": "a@app.example", "To": address(&third), "Subject": "s", "TextBody": "t",
        "Metadata": {name: value}});
    for (inbox, field, post) in [
        (
            &one,
            "X-Mailgun-Variable",
            form.post("/send/mailgun/v3/app.example/messages"),
        ),
        (
            &other,
            "X-SendGrid-Arg",
            Post::json("/send/sendgrid/v3/mail/send", &sendgrid),
        ),
        (
            &third,
            "X-PM-Metadata",
            Post::json("/send/postmark/email", &postmark),
        ),
    ] {
        let sent = post.send(&api).await;
        assert!(sent.status < 300, "{field}: {sent:?}");
        let details = only_details(&api, inbox).await;
        let values = header(&details, &format!("{field}-Gr%C3%B6%C3%9Fe%3A%20eins"));
        assert_eq!(values, [r#""two\r\nX-Evil: lines""#], "{details}");
        assert!(header(&details, "X-Evil").is_empty());
    }
}

#[tokio::test]
async fn ses_has_the_variables_of_each_entry() {
    let api = Harness::start().await;
    let [one, other] = two_inboxes(&api).await;
    let entry = |inbox: &str, data: Value| {
        json!({"Destination": {"ToAddresses": [address(inbox)]}, "ReplacementEmailContent": {"ReplacementTemplate":
            {"ReplacementTemplateData": data.to_string()}}})
    };
    let template = json!({"Subject": "Hi {{name}}", "Text": "{{name}}"});
    let bulk = |entries: Value| {
        Post::json(
            "/send/ses/v2/email/outbound-bulk-emails",
            &json!({
                "FromEmailAddress": "a@app.example", "BulkEmailEntries": entries,
                "DefaultContent": {"Template": {"TemplateContent": template, "TemplateData": "{\"name\": \"you\"}"}},
            }),
        )
    };
    let entries = json!([
        entry(&one, json!({"admin": true})),
        entry(&other, json!({"name": "Bob"})),
        {"Destination": {"ToAddresses": ["a@elsewhere.example"]}},
        {"Destination": {}},
    ]);
    let sent = bulk(entries).send(&api).await.json();
    let results = sent["BulkEmailEntryResults"].as_array().unwrap();
    let statuses: Vec<_> = results
        .iter()
        .map(|one| one["Status"].as_str().unwrap())
        .collect();
    assert_eq!(
        statuses,
        [
            "SUCCESS",
            "SUCCESS",
            "MESSAGE_REJECTED",
            "INVALID_PARAMETER"
        ],
        "{sent}"
    );
    for (inbox, variables) in [
        (&one, json!({"admin": true, "name": "you"})),
        (&other, json!({"name": "Bob"})),
    ] {
        let read: Value = serde_json::from_str(&text(&api, inbox).await).unwrap();
        assert_eq!(
            read,
            json!({"template": "Hi {{name}}", "variables": variables})
        );
    }
    assert_eq!(
        results[1]["MessageId"],
        messages(&api, &other).await[0]["id"]
    );
}

#[tokio::test]
async fn the_variables_of_a_recipient_leave_a_stored_template_json() {
    let api = Harness::start().await;
    let [one, other] = two_inboxes(&api).await;
    let name = "Ada \"A\" \\ x";
    let sendgrid = json!({
        "from": {"email": "a@app.example"}, "template_id": "welcome",
        "personalizations": [{"to": [{"email": address(&one)}], "substitutions": {"-name-": name}}],
    });
    let mut form = Form::default();
    form.field("from", "a@app.example")
        .field("to", &address(&other))
        .field("template", "welcome");
    form.field(
        "t:variables",
        &json!({"-name-": "%recipient.name%"}).to_string(),
    );
    form.field(
        "recipient-variables",
        &json!({address(&other): {"name": name}}).to_string(),
    );
    let posts = [
        Post::json("/send/sendgrid/v3/mail/send", &sendgrid),
        form.post("/send/mailgun/v3/app.example/messages"),
    ];
    for (post, inbox) in posts.iter().zip([&one, &other]) {
        let sent = post.send(&api).await;
        assert!(sent.status < 300, "{sent:?}");
        let read: Value = serde_json::from_str(&text(&api, inbox).await).unwrap();
        assert_eq!(
            read,
            json!({"template": "welcome", "variables": {"-name-": name}})
        );
    }
}

#[tokio::test]
async fn a_stored_template_becomes_its_id_and_its_variables() {
    let api = Harness::start().await;
    let variables = json!({"code": "482913", "items": [1, 2]});
    let mut form = Form::default();
    form.field("from", "a@app.example")
        .field("template", "welcome")
        .field("t:variables", &variables.to_string());
    let inboxes: Vec<String> = (0..5).map(|number| format!("template{number}")).collect();
    form.field("to", &address(&inboxes[0]));
    let posts = [
        form.post("/send/mailgun/v3/app.example/messages"),
        Post::json(
            "/send/resend/emails",
            &json!({
                "from": "a@app.example", "to": address(&inboxes[1]),
                "template": {"id": "welcome", "variables": variables},
            }),
        ),
        Post::json(
            "/send/sendgrid/v3/mail/send",
            &json!({
                "from": {"email": "a@app.example"}, "template_id": "welcome",
                "personalizations": [{"to": [{"email": address(&inboxes[2])}], "dynamic_template_data": variables}],
            }),
        ),
        Post::json(
            "/send/postmark/email/withTemplate",
            &json!({
                "From": "a@app.example", "To": address(&inboxes[3]),
                "TemplateAlias": "welcome", "TemplateModel": variables,
            }),
        ),
        Post::json(
            "/send/ses/v2/email/outbound-emails",
            &json!({
                "FromEmailAddress": "a@app.example", "Destination": {"ToAddresses": [address(&inboxes[4])]},
                "Content": {"Template": {"TemplateName": "welcome", "TemplateData": variables.to_string()}},
            }),
        ),
    ];
    for (post, inbox) in posts.iter().zip(&inboxes) {
        let sent = post.send(&api).await;
        assert!(sent.status < 300, "{sent:?}");
        let read: Value = serde_json::from_str(&text(&api, inbox).await).unwrap();
        assert_eq!(read, json!({"template": "welcome", "variables": variables}));
        assert_eq!(messages(&api, inbox).await[0]["subject"], "welcome");
    }
}

#[tokio::test]
async fn version_1_of_ses_is_answered_in_xml() {
    let api = Harness::start().await;
    let [to, bcc] = two_inboxes(&api).await;
    let to_address = address(&to);
    let bcc_address = address(&bcc);
    let fields = [
        ("Action", "SendEmail"),
        ("Version", "2010-12-01"),
        ("Source", "Shop <a@app.example>"),
        ("ReturnPath", "bounces@app.example"),
        ("Destination.ToAddresses.member.1", to_address.as_str()),
        ("Destination.BccAddresses.member.1", bcc_address.as_str()),
        ("ReplyToAddresses.member.1", "help@app.example"),
        ("Message.Subject.Data", "Grüße"),
        ("Message.Body.Text.Data", "Hello"),
        ("Message.Body.Html.Data", "<p>Hello"),
        ("Tags.member.1.Name", "kind"),
        ("Tags.member.1.Value", "welcome"),
    ];
    let sent = query(&fields).send(&api).await;
    assert_eq!(
        (sent.status, sent.headers["content-type"].to_str().unwrap()),
        (200, "text/xml")
    );
    let id = messages(&api, &to).await[0]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(
        sent.body.contains(&format!(
            "<SendEmailResult><MessageId>{id}</MessageId></SendEmailResult>"
        )),
        "{sent:?}"
    );
    let details = only_details(&api, &bcc).await;
    assert_eq!(
        (
            &details["envelope"]["from"],
            header(&details, "X-SES-MESSAGE-TAGS")
        ),
        (&json!("bounces@app.example"), vec!["kind=welcome"])
    );
    for (fields, status, code) in [
        (&fields[..4], 400, "<Code>BadRequest</Code>"),
        (
            &[("Action", "GetSendQuota")][..],
            404,
            "<Code>NotFound</Code>",
        ),
        (
            &[("Action", "SendRawEmail"), ("RawMessage.Data", "%%%")],
            400,
            "<Code>BadRequest</Code>",
        ),
        (
            &[("Action", "</Message><x>&")],
            404,
            "&lt;/Message&gt;&lt;x&gt;&amp;",
        ),
    ] {
        let refused = query(fields).send(&api).await;
        assert!(
            refused.status == status && refused.body.contains(code),
            "{refused:?}"
        );
    }
}

/// Requests for a message to each of these addresses, all with this text and `value` as their
/// variable.
fn personal(to: &[String], text: &str, value: &str) -> [Post; 3] {
    let personalizations: Vec<_> = to
        .iter()
        .map(|to| json!({"to": [{"email": to}], "subject": "s", "substitutions": {"%recipient.v%": value}}))
        .collect();
    let sendgrid = json!({"personalizations": personalizations, "from": {"email": "a@app.example"},
        "content": [{"type": "text/plain", "value": text}]});
    let mut form = Form::default();
    form.field("from", "a@app.example")
        .field("to", &to.join(", "))
        .field("subject", "s")
        .field("text", text);
    let variables: Value = to
        .iter()
        .map(|to| (to.clone(), json!({"v": value})))
        .collect();
    form.field("recipient-variables", &variables.to_string());
    let entries: Vec<_> = to
        .iter()
        .map(|to| json!({"Destination": {"ToAddresses": [to]}}))
        .collect();
    let template = json!({"Subject": "s"});
    let data = json!({"v": text.replace("%recipient.v%", value)}).to_string();
    let ses = json!({"FromEmailAddress": "a@app.example", "BulkEmailEntries": entries,
        "DefaultContent": {"Template": {"TemplateContent": template, "TemplateData": data}}});
    [
        Post::json("/send/sendgrid/v3/mail/send", &sendgrid),
        form.post("/send/mailgun/v3/app.example/messages"),
        Post::json("/send/ses/v2/email/outbound-bulk-emails", &ses),
    ]
}

#[tokio::test]
async fn the_messages_of_a_request_are_bounded_together() {
    let api = with_messages_of(256 * 1024).await;
    let inbox = api.create_inbox().await;
    let same = |count| vec![address(&inbox); count];
    // 400 KB are stored.
    for post in personal(&same(10), &"a b\n".repeat(10_000), "") {
        assert!(post.send(&api).await.status < 300, "{}", post.path);
    }
    assert_eq!(messages(&api, &inbox).await.len(), 30);
    for (text, value) in [
        ("a b\n".repeat(30_000), String::new()),
        ("%recipient.v%".repeat(120), "x".repeat(1_000)),
    ] {
        for (post, status) in personal(&same(10), &text, &value)
            .iter()
            .zip([413, 413, 400])
        {
            let refused = post.send(&api).await;
            assert!(
                refused.status == status && refused.body.contains("552 5.3.4"),
                "{}: {refused:?}",
                post.path
            );
        }
    }
    for post in personal(&same(1_001), "t", "") {
        assert_eq!(post.send(&api).await.status, 400, "{}", post.path);
    }
    assert_eq!(messages(&api, &inbox).await.len(), 30);
}

#[tokio::test]
async fn every_address_of_a_message_counts() {
    let api = Harness::start().await;
    let inbox = api.create_inbox().await;
    let tags = (1..900).map(|number| address(&format!("{inbox}+{number}")));
    let many: Vec<_> = [address(&inbox)].into_iter().chain(tags).collect();
    for one in API
        .iter()
        .filter(|one| !one.name.contains("raw") && !one.name.contains("mime"))
    {
        let letter = Letter::to(&many[0]);
        let lists = [
            Letter {
                to: many.clone(),
                ..letter.clone()
            },
            Letter {
                cc: many[1..].to_vec(),
                ..letter.clone()
            },
            Letter {
                bcc: many[1..].to_vec(),
                ..letter
            },
        ];
        // Resend has a lower limit for `to`.
        let first = usize::from(one.via == "resend");
        for letter in &lists[first..] {
            let refused = (one.request)(letter).send(&api).await;
            assert!(
                refused.status == 429 && refused.body.contains("452 4.5.3"),
                "{}: {refused:?}",
                one.name
            );
        }
    }
    let body = json!({"from": "a@app.example", "to": many[0], "reply_to": many, "subject": "s", "text": "t"});
    assert_eq!(
        Post::json("/send/resend/emails", &body)
            .send(&api)
            .await
            .status,
        429
    );
    // Also in one text, of which only the beginning is read.
    let body = json!({"from": "a@app.example", "to": many[0], "cc": "a@b,".repeat(1_000_000), "subject": "s", "text": "t"});
    let refused = Post::json("/send/resend/emails", &body).send(&api).await;
    assert!(
        refused.status == 429 && refused.body.contains("452 4.5.3"),
        "{refused:?}"
    );
    let body =
        json!({"from": "a@app.example", "to": "a ".repeat(1_000_000), "subject": "s", "text": "t"});
    let refused = Post::json("/send/resend/emails", &body).send(&api).await;
    assert!(
        refused.status == 422 && refused.body.contains("invalid `to` field: it is too long"),
        "{refused:?}"
    );
    let to_many = Letter::to(&many.join(","));
    for one in API.iter().filter(|one| one.name.contains("raw")) {
        let refused = (one.request)(&to_many).send(&api).await;
        assert!(
            refused.status == 429 && refused.body.contains("452 4.5.3"),
            "{}: {refused:?}",
            one.name
        );
    }
    assert!(messages(&api, &inbox).await.is_empty());
}

#[tokio::test]
async fn the_header_of_a_whole_message_is_bounded() {
    let api = Harness::start().await;
    let to = address(&api.create_inbox().await);
    for one in API
        .iter()
        .filter(|one| one.name.contains("raw") || one.name.contains("mime"))
    {
        let field = (
            "X-A".to_owned(),
            format!("a\n{}X-B: b", "a:\n".repeat(400_000)),
        );
        let refused = (one.request)(&Letter {
            header: field,
            ..Letter::to(&to)
        })
        .send(&api)
        .await;
        let is_refused = refused.status == 400
            && refused
                .body
                .contains("the header of the message is too long");
        assert!(is_refused, "{}: {refused:?}", one.name);
    }
}
