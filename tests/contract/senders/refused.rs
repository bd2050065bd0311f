//! What is not accepted: the provider's errors, and what users see of them.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use super::requests::{API, Letter, mailpit};
use super::{Post, address, messages, only_details};
use crate::explain::explain_refused;
use restante::config::{Limits, MailpitApi, SmtpAuth};
use restante::http::{App, router};
use testkit::{Engine, Harness};

#[testkit::each_engine]
async fn mail_to_another_domain_is_refused_and_explained_to_each_recipient(engine: Engine) {
    let api = Harness::on(engine).await;
    for one in &API {
        let inbox = api.create_inbox().await;
        let mut letter = Letter::to(&address(&inbox));
        letter.bcc.push(format!("{inbox}@elsewhere.example"));
        let refused = (one.request)(&letter).send(&api).await;
        let status = match one.via {
            "postmark" => 422,
            "ses" => 400,
            _ => 403,
        };
        let text = format!("550 5.7.1 relay not permitted: {inbox}@elsewhere.example");
        assert!(
            refused.status == status && refused.body.contains(&text),
            "{}: {refused:?}",
            one.name
        );
        assert!(messages(&api, &inbox).await.is_empty());
        // Both have its local part.
        let explained = explain_refused(&api, &inbox, 2).await;
        let replies: Vec<_> = explained["refused"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["reply"].to_string())
            .collect();
        assert!(
            replies
                .iter()
                .any(|reply| reply.contains(&format!("API {status}: {text}"))),
            "{replies:?}"
        );
        assert!(replies.iter().any(|reply| {
            reply.contains("another recipient of the message was rejected: 550 5.7.1")
        }));
    }
}

#[testkit::each_engine]
async fn the_limits_are_those_of_smtp(engine: Engine) {
    let mut api = Harness::on(engine).await;
    let limits = Limits {
        message_size: 60_000,
        recipients: 2,
        ..Limits::default()
    };
    api.router = router(App {
        limits,
        ..testkit::app(&api.service)
    });
    for one in &API {
        let inbox = api.create_inbox().await;
        let send = async |letter: Letter| (one.request)(&letter).send(&api).await;
        let letter = Letter::to(&address(&inbox));
        for size in [61_000, 200_000] {
            let refused = send(Letter {
                text: "a".repeat(size),
                ..letter.clone()
            })
            .await;
            let status = if one.via == "ses" { 400 } else { 413 };
            assert!(
                refused.status == status && refused.body.contains("552 5.3.4"),
                "{}: {refused:?}",
                one.name
            );
        }
        let cc = vec![address("a"), address("b")];
        let refused = send(Letter {
            cc,
            ..letter.clone()
        })
        .await;
        assert!(
            refused.status == 429 && refused.body.contains("452 4.5.3"),
            "{}: {refused:?}",
            one.name
        );
        api.run_sql(&format!(
            "UPDATE inboxes SET message_count = 1000 WHERE id = '{inbox}'"
        ))
        .await;
        let refused = send(letter).await;
        assert!(
            refused.status == 429 && refused.body.contains("452 4.2.2 Inbox full"),
            "{}: {refused:?}",
            one.name
        );
        let explained = api
            .get(&format!("/v1/inboxes/{inbox}/explain"))
            .await
            .text("summary");
        assert!(explained.contains("452 4.2.2"), "{explained}");
    }
    let disk = Limits {
        free_disk: u64::MAX,
        ..Limits::default()
    };
    api.router = router(App {
        limits: disk,
        ..testkit::app(&api.service)
    });
    for one in &API {
        let refused = (one.request)(&Letter::to(&address("inbox")))
            .send(&api)
            .await;
        assert!(
            refused.status == 429 && refused.body.contains("452 4.3.1"),
            "{}: {refused:?}",
            one.name
        );
    }
}

#[tokio::test]
async fn each_provider_has_its_own_shape_of_an_error() {
    let api = Harness::start().await;
    for one in &API {
        let refused = (one.request)(&Letter::to("a@elsewhere.example"))
            .send(&api)
            .await;
        let is_xml = one.name.starts_with("ses v1");
        let json: Value = if is_xml {
            Value::Null
        } else {
            serde_json::from_str(&refused.body).unwrap()
        };
        let text = json!(
            "550 5.7.1 relay not permitted: a@elsewhere.example (--accept-domains elsewhere.example)"
        );
        match one.via {
            "resend" => assert_eq!(
                json,
                json!({"statusCode": 403, "name": "validation_error", "message": text})
            ),
            "sendgrid" => assert_eq!(
                json,
                json!({"errors": [{"message": text, "field": null, "help": null}]})
            ),
            "postmark" => assert_eq!(json, json!({"ErrorCode": 412, "Message": text})),
            "mailgun" => assert_eq!(json, json!({"message": text})),
            _ if is_xml => {
                assert!(
                    refused
                        .body
                        .contains("<Type>Sender</Type><Code>MessageRejected</Code>"),
                    "{refused:?}"
                );
            }
            _ => {
                assert_eq!(json, json!({"message": text}));
                assert_eq!(refused.headers["x-amzn-errortype"], "MessageRejected");
            }
        }
    }
    for provider in ["resend", "sendgrid", "postmark", "mailgun", "ses"] {
        let unknown = api.get(&format!("/send/{provider}/nothing")).await;
        assert_eq!(unknown.status, 404, "{unknown:?}");
        assert!(
            unknown.body.contains("not found: this server only sends"),
            "{unknown:?}"
        );
    }
}

/// A green test must not hide what the provider rejects.
#[tokio::test]
async fn what_a_provider_documents_as_its_limits_is_rejected() {
    let api = Harness::start().await;
    let inbox = api.create_inbox().await;
    let to = address(&inbox);
    let many: Vec<String> = (0..51)
        .map(|number| address(&format!("{inbox}+{number}")))
        .collect();
    let sendgrid = |personalization: Value, content: Value| {
        let from = json!({"email": "me@app.example"});
        Post::json(
            "/send/sendgrid/v3/mail/send",
            &json!({"from": from, "subject": "s", "personalizations": [personalization], "content": content}),
        )
    };
    let body = |kind: &str| json!({"type": kind, "value": "x"});
    let text = json!([body("text/plain")]);
    let email = |address: &str| json!([{"email": address}]);
    let upper = to.to_uppercase();
    let mut refused = Vec::new();
    for content in [
        json!([body("text/html"), body("text/plain")]),
        json!([body("text/calendar"), body("text/html")]),
        json!([body("text/plain"), body("text/plain")]),
    ] {
        refused.push((sendgrid(json!({"to": email(&to)}), content), 400));
    }
    for personalization in [
        json!({"to": email(&to), "cc": email(&upper)}),
        json!({"to": email(&to), "bcc": email(&to)}),
        json!({"to": [{"email": to}, {"email": to}]}),
    ] {
        refused.push((sendgrid(personalization, text.clone()), 400));
    }
    let ses = json!({
        "FromEmailAddress": "a@app.example",
        "Destination": {"ToAddresses": [to], "CcAddresses": many[1..26], "BccAddresses": many[26..]},
        "Content": {"Simple": {"Subject": {"Data": "s"}, "Body": {"Text": {"Data": "t"}}}},
    });
    refused.push((Post::json("/send/ses/v2/email/outbound-emails", &ses), 400));
    let postmark =
        json!({"From": "a@app.example", "To": many.join(","), "Subject": "s", "TextBody": "t"});
    refused.push((Post::json("/send/postmark/email", &postmark), 422));
    let resend = json!({"from": "a@app.example", "to": many, "subject": "s", "text": "t"});
    refused.push((Post::json("/send/resend/emails", &resend), 422));
    let raw = BASE64_STANDARD.encode("From: a@app.example\r\nSubject: s\r\n\r\nt\r\n");
    let form = form_urlencoded::Serializer::new(String::new())
        .append_pair("Action", "SendRawEmail")
        .append_pair("Source", "a@app.example")
        .append_pair("Destinations.member.1", &format!("To: {to}"))
        .append_pair("RawMessage.Data", &raw)
        .finish();
    let form = Post {
        path: "/send/ses/".to_owned(),
        content_type: "application/x-www-form-urlencoded".to_owned(),
        body: form.into(),
    };
    refused.push((form, 400));
    for (post, status) in refused {
        let answer = post.send(&api).await;
        assert_eq!(answer.status, status, "{}: {answer:?}", post.path);
    }
    assert!(messages(&api, &inbox).await.is_empty());
    let accepted = json!([
        body("text/plain"),
        body("text/html"),
        body("text/calendar"),
        body("text/x")
    ]);
    let answer = sendgrid(json!({"to": email(&to)}), accepted)
        .send(&api)
        .await;
    assert_eq!(answer.status, 202, "{answer:?}");
}

#[tokio::test]
async fn a_file_without_a_type_has_that_of_its_name() {
    let api = Harness::start().await;
    let inbox = api.create_inbox().await;
    let file = |name: &str| json!({"filename": name, "content": "aGk="});
    let body = json!({
        "from": "a@app.example", "to": address(&inbox), "subject": "s", "text": "t",
        "attachments": [file("report.pdf"), file("a.PNG"), file("no-ending")],
    });
    let sent = Post::json("/send/resend/emails", &body).send(&api).await;
    assert_eq!(sent.status, 200, "{sent:?}");
    let details = only_details(&api, &inbox).await;
    let types = details["attachments"].as_array().unwrap().iter();
    let types: Vec<_> = types
        .map(|one| one["content_type"].as_str().unwrap())
        .collect();
    assert_eq!(
        types,
        ["application/pdf", "image/png", "application/octet-stream"]
    );
}

#[tokio::test]
async fn an_invalid_request_is_recorded_without_its_content() {
    let api = Harness::start().await;
    let inbox = api.create_inbox().await;
    let others = api.create_inbox_with(&api.other_key).await;
    let body = json!({"from": "a@app.example", "to": address(&inbox), "tags": "secret words"});
    let refused = Post::json("/send/resend/emails", &body).send(&api).await;
    assert_eq!(refused.status, 422);
    assert!(
        refused.body.contains("secret words"),
        "the sender is told: {refused:?}"
    );
    for (key, inbox) in [(&api.key, &inbox), (&api.other_key, &others)] {
        let explained = api
            .call_with(key, "GET", &format!("/v1/inboxes/{inbox}/explain"), "")
            .await;
        assert!(
            !explained.body.contains("secret") && explained.body.contains("Resend API 422"),
            "{explained:?}"
        );
    }
}

#[testkit::each_engine]
async fn a_malformed_recipient_is_shown_only_to_the_project_of_a_key(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    let others = api.create_inbox_with(&api.other_key).await;
    let body = json!({
        "personalizations": [{"to": [{"email": "secret words"}, {"email": address(&inbox)}]}], "subject": "s",
        "from": {"email": "secret@app.example"}, "content": [{"type": "text/plain", "value": "t"}],
    });
    let post = Post::json("/send/sendgrid/v3/mail/send", &body);
    let refused = post.send(&api).await;
    assert!(
        refused.status == 400 && refused.body.contains("secret words"),
        "the sender is told: {refused:?}"
    );
    let explain = async |key, inbox| {
        api.call_with(key, "GET", &format!("/v1/inboxes/{inbox}/explain"), "")
            .await
            .body
    };
    explain_refused(&api, &inbox, 2).await;
    let own = explain(&api.key, &inbox).await;
    let other = explain(&api.other_key, &others).await;
    assert!(
        !own.contains("secret words") && own.contains("another recipient"),
        "{own}"
    );
    assert!(
        !other.contains("secret") && other.contains("SendGrid API 400: 553 5.1.3"),
        "{other}"
    );
    let key = format!("Bearer {}", api.key.as_str());
    post.send_with(&api, &[("authorization", &key)]).await;
    explain_refused(&api, &inbox, 4).await;
    let own = explain(&api.key, &inbox).await;
    let other = explain(&api.other_key, &others).await;
    assert!(
        own.contains("secret words") && !other.contains("secret"),
        "{own} {other}"
    );
}

#[tokio::test]
async fn an_installation_can_do_without_them() {
    let mut api = Harness::start().await;
    api.router = router(App {
        send_apis: false,
        ..testkit::app(&api.service)
    });
    for one in &API {
        let request = (one.request)(&Letter::to(&address("inbox")));
        // The root is a page, which is only read.
        let status = if request.path == "/" { 405 } else { 404 };
        assert_eq!(request.send(&api).await.status, status, "{}", one.name);
    }
}

#[tokio::test]
async fn the_rule_for_logins_over_smtp_is_that_for_credentials() {
    let mut api = Harness::start().await;
    let key = format!("Bearer {}", api.key.as_str());
    let open = mailpit(&address("inbox"));
    for smtp_auth in [SmtpAuth::Keys, SmtpAuth::Required] {
        let mailpit_api = MailpitApi::Open;
        api.router = router(App {
            smtp_auth,
            mailpit_api,
            ..testkit::app(&api.service)
        });
        for one in &API {
            let post = (one.request)(&Letter::to(&address("inbox")));
            let refused = post.send(&api).await;
            let status = if one.via == "ses" { 403 } else { 401 };
            assert!(
                refused.status == status && refused.body.contains("535 5.7.8"),
                "{}: {refused:?}",
                one.name
            );
            assert!(
                post.send_with(&api, &[("authorization", &key)])
                    .await
                    .status
                    < 300,
                "{}",
                one.name
            );
        }
        // Only Mailpit's endpoint has requests without a credential.
        let status = if smtp_auth == SmtpAuth::Keys {
            200
        } else {
            401
        };
        assert_eq!(
            open.send_with(&api, &[]).await.status,
            status,
            "{smtp_auth:?}"
        );
        assert_eq!(
            open.send_with(&api, &[("authorization", &key)])
                .await
                .status,
            200
        );
        let refused = open
            .send_with(&api, &[("authorization", "Basic YXBwOnNlY3JldA==")])
            .await;
        assert_eq!(refused.status, 401, "{refused:?}");
    }
}
