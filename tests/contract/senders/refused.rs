//! What is not accepted: the provider's errors, and what users see of them.

use serde_json::{Value, json};

use super::requests::{API, Letter, mailpit};
use super::{Post, address, messages};
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
