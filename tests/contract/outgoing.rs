//! `POST /v1/inboxes/{id}/messages`: sending from an inbox.

use restante::model::MessageId;
use serde_json::json;

use testkit::{Answer, Engine, Harness, MAIL_DOMAIN};

async fn send(api: &Harness, inbox: &str, body: impl ToString) -> Answer {
    api.call(
        "POST",
        &format!("/v1/inboxes/{inbox}/messages"),
        body.to_string(),
    )
    .await
}

fn assert_accepted(accepted: &Answer) {
    assert_eq!(accepted.status, 202, "{accepted:?}");
    assert_eq!(accepted.text("status"), "queued");
    assert!(!accepted.text("id").is_empty());
    assert_eq!(accepted.json().as_object().unwrap().len(), 2);
}

#[testkit::each_engine]
async fn a_local_recipient_gets_the_message_from_the_address_of_the_inbox(engine: Engine) {
    let api = Harness::on(engine).await;
    let from = api.create_inbox().await;
    let to = api.create_inbox_with(&api.other_key).await;
    let body = json!({
        "to": format!("{}@{MAIL_DOMAIN}", to.to_uppercase()),
        "subject": "Grüße 😀",
        "text": "Your code is 482913.\nhttps://shop.example/confirm\n",
        "html": "<p>Your code is <b>482913</b></p>",
    });
    assert_accepted(&send(&api, &from, body).await);
    let path = format!("/v1/inboxes/{to}/messages/wait?timeout=0");
    let received = api.call_with(&api.other_key, "GET", &path, "").await.json();
    assert_eq!(received["from"], format!("{from}@{MAIL_DOMAIN}"));
    assert_eq!(received["to"], format!("{to}@{MAIL_DOMAIN}"));
    assert_eq!(received["subject"], "Grüße 😀");
    assert!(
        received["text"]
            .as_str()
            .unwrap()
            .contains("Your code is 482913.\n")
    );
    assert!(received["html"].as_str().unwrap().contains("<b>482913</b>"));
    assert_eq!(received["links"], json!(["https://shop.example/confirm"]));
    assert_eq!(received["otp"], "482913");
}

#[testkit::each_engine]
async fn a_message_is_forwarded_as_it_was_received(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    let other = api.create_inbox().await;
    let original = "DKIM-Signature: v=1; a=rsa-sha256;\r\n\tb=x\r\nFrom: shop@app.example\r\nSubject: Hi\r\n\r\n..Hi  \r\n\r\n";
    let id = api.deliver_raw(&inbox, original).await;
    let received = api.get(&format!("/v1/messages/{id}/raw")).await.body;
    let path = format!("/v1/messages/{id}/forward");
    let forward = async |to: &str| api.call("POST", &path, json!({"to": to}).to_string()).await;
    assert_accepted(&forward(&format!("{other}@{MAIL_DOMAIN}")).await);
    let list = api
        .get(&format!("/v1/inboxes/{other}/messages"))
        .await
        .json();
    assert_eq!(list["messages"][0]["from"], "shop@app.example");
    let raw = api
        .get(&format!(
            "/v1/messages/{}/raw",
            list["messages"][0]["id"].as_str().unwrap()
        ))
        .await
        .body;
    let front = raw.strip_suffix(&received).unwrap();
    for field in [
        format!("Resent-From: {inbox}@{MAIL_DOMAIN}\r\n"),
        format!("Resent-To: {other}@{MAIL_DOMAIN}\r\n"),
    ] {
        assert!(front.contains(&field), "{front}");
    }
    assert!(
        front.contains("Resent-Date: ") && front.contains("Resent-Message-ID: <"),
        "{front}"
    );

    let accepted = forward("me@company.example").await;
    assert_accepted(&accepted);
    let outgoing = api
        .get(&format!("/v1/outgoing/{}", accepted.text("id")))
        .await
        .json();
    assert_eq!(
        (&outgoing["to"], &outgoing["inbox_id"]),
        (&json!("me@company.example"), &json!(inbox))
    );

    assert_eq!(
        forward(&format!("nobody-here@{MAIL_DOMAIN}")).await.error(),
        (404, "recipient not found".to_owned())
    );
    assert_eq!(
        forward("no address").await.error(),
        (400, "invalid field: to".to_owned())
    );
    let unknown = api
        .call(
            "POST",
            &path,
            json!({"to": "a@b.example", "cc": "x"}).to_string(),
        )
        .await;
    assert_eq!(unknown.error(), (400, "unknown field: cc".to_owned()));
    let theirs = api
        .call_with(
            &api.other_key,
            "POST",
            &path,
            json!({"to": "a@b.example"}).to_string(),
        )
        .await;
    assert_eq!(theirs.error(), (404, "message not found".to_owned()));
}

#[testkit::each_engine]
async fn text_and_html_are_optional(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    for (fields, text, html) in [
        (json!({}), "", ""),
        (json!({"text": "hello"}), "hello", ""),
        (json!({"html": "<p>hello</p>"}), "hello", "<p>hello</p>"),
    ] {
        let mut body = json!({"to": format!("{inbox}@{MAIL_DOMAIN}"), "subject": ""});
        body.as_object_mut()
            .unwrap()
            .extend(fields.as_object().unwrap().clone());
        assert_accepted(&send(&api, &inbox, &body).await);
        let newest = api
            .get(&format!("/v1/inboxes/{inbox}/messages?limit=1"))
            .await
            .json();
        assert_eq!(
            newest["messages"][0]["text"].as_str().unwrap().trim_end(),
            text,
            "{body}"
        );
        assert_eq!(
            newest["messages"][0]["html"].as_str().unwrap().trim_end(),
            html,
            "{body}"
        );
    }
}

#[testkit::each_engine]
async fn a_foreign_recipient_is_accepted(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    for to in [
        "someone@example.com",
        "jörg@bücher.example",
        "a+b@localhost",
    ] {
        assert_accepted(&send(&api, &inbox, json!({"to": to, "subject": "s"})).await);
    }
}

#[testkit::each_engine]
async fn a_reply_names_a_message_of_the_same_project(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    let message = api.deliver(&inbox, "Question").await;
    let theirs = api.create_inbox_with(&api.other_key).await;
    let foreign = api.deliver(&theirs, "Question").await;
    let reply =
        |id: &str| json!({"to": "a@example.com", "subject": "Re: Question", "in_reply_to": id});
    assert_accepted(&send(&api, &inbox, reply(&message)).await);
    for id in [
        foreign.as_str(),
        &MessageId::generate().to_string(),
        "x",
        "",
        "a\r\nb",
    ] {
        let refused = send(&api, &inbox, reply(id)).await;
        assert_eq!(
            refused.error(),
            (404, "message not found".to_owned()),
            "{id}"
        );
    }
}

#[testkit::each_engine]
async fn a_reply_to_a_large_message_names_it(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    let other = api.create_inbox().await;
    let fields = "References: <1@a.example>\r\nMessage-ID: <2@a.example>\r\n";
    let large = api
        .deliver_raw(
            &inbox,
            &format!("{fields}\r\n{}", "0123456789abcde\r\n".repeat(100_000)),
        )
        .await;
    let reply =
        json!({"to": format!("{other}@{MAIL_DOMAIN}"), "subject": "Re: s", "in_reply_to": large});
    assert_accepted(&send(&api, &inbox, reply).await);
    let id = api
        .get(&format!("/v1/inboxes/{other}/messages/wait"))
        .await
        .text("id");
    let raw = api.get(&format!("/v1/messages/{id}/raw")).await.body;
    assert!(raw.contains("In-Reply-To: <2@a.example>\r\n"), "{raw}");
    assert!(
        raw.contains("References: <1@a.example>\r\n <2@a.example>\r\n"),
        "{raw}"
    );
}

#[testkit::each_engine]
async fn a_reply_to_a_message_without_an_id_threads(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    let other = api.create_inbox().await;
    for (number, fields) in [
        "Subject: Question\r\n",
        "Message-ID: no id\r\n",
        "Message-ID: <>\r\n",
    ]
    .iter()
    .enumerate()
    {
        let raw = format!("{fields}\r\ntext\r\n");
        let question = api.deliver_raw(&inbox, &raw).await;
        assert_eq!(
            api.get(&format!("/v1/messages/{question}/raw")).await.body,
            raw
        );
        let message_id = api
            .get(&format!("/v1/messages/{question}/details"))
            .await
            .text("message_id");
        assert!(
            message_id.starts_with('<') && message_id.ends_with(&format!("@{MAIL_DOMAIN}>")),
            "{message_id}"
        );
        let subject = format!("Re: {number}");
        let reply = json!({"to": format!("{other}@{MAIL_DOMAIN}"), "subject": subject, "in_reply_to": question});
        assert_accepted(&send(&api, &inbox, reply).await);
        let id = api
            .get(&format!(
                "/v1/inboxes/{other}/messages/wait?subject={number}"
            ))
            .await
            .text("id");
        let answer = api.get(&format!("/v1/messages/{id}/raw")).await.body;
        for name in ["In-Reply-To", "References"] {
            assert!(
                answer.contains(&format!("\r\n{name}: {message_id}\r\n")),
                "{answer}"
            );
        }
    }
}

#[testkit::each_engine]
async fn an_unknown_local_recipient_is_not_found(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    let refused = send(
        &api,
        &inbox,
        json!({"to": format!("nobody@{MAIL_DOMAIN}"), "subject": "s"}),
    )
    .await;
    assert_eq!(refused.error(), (404, "recipient not found".to_owned()));
    assert_eq!(
        api.get("/v1/inboxes/nobody").await.status,
        404,
        "a send creates no inbox"
    );
}

#[testkit::each_engine]
async fn a_wrong_body_is_refused(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    for (body, text) in [
        ("", "invalid JSON"),
        ("{", "invalid JSON"),
        ("[]", "invalid JSON"),
        ("\"to\"", "invalid JSON"),
        ("null", "invalid JSON"),
        ("to=a@example.com", "invalid JSON"),
        ("{}", "missing field: to"),
        (r#"{"subject":"s"}"#, "missing field: to"),
        (r#"{"to":"a@example.com"}"#, "missing field: subject"),
        (
            r#"{"to":"a@example.com","subject":"s","from":"b@example.com"}"#,
            "unknown field: from",
        ),
        (
            r#"{"to":"a@example.com","subject":"s","Text":"x"}"#,
            "unknown field: Text",
        ),
        (r#"{"cc":"x"}"#, "unknown field: cc"),
        (r#"{"to":1,"subject":"s"}"#, "invalid field: to"),
        (
            r#"{"to":["a@example.com"],"subject":"s"}"#,
            "invalid field: to",
        ),
        (r#"{"to":null,"subject":"s"}"#, "invalid field: to"),
        (
            r#"{"to":"a@example.com","subject":{}}"#,
            "invalid field: subject",
        ),
        (
            r#"{"to":"a@example.com","subject":"s","text":null}"#,
            "invalid field: text",
        ),
        (
            r#"{"to":"a@example.com","subject":"s","html":true}"#,
            "invalid field: html",
        ),
        (
            r#"{"to":"a@example.com","subject":"s","in_reply_to":7}"#,
            "invalid field: in_reply_to",
        ),
    ] {
        assert_eq!(
            send(&api, &inbox, body).await.error(),
            (400, text.to_owned()),
            "{body}"
        );
    }
}

#[testkit::each_engine]
async fn only_one_bare_address_is_a_recipient(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    for to in [
        "",
        "a",
        "@",
        "a@",
        "@b",
        "a@b@c",
        "a@b,c@d",
        "a@b c@d",
        "<a@b>",
        "A <a@b>",
        "a@b\r\nBcc: c@d",
        "a@b\n",
        "a\0@b",
        " a@b",
        "a@[127.0.0.1]",
        "\"a b\"@c",
        "a@-b.example",
        "😀@b.example",
    ] {
        let refused = send(&api, &inbox, json!({"to": to, "subject": "s"})).await;
        assert_eq!(
            refused.error(),
            (400, "invalid field: to".to_owned()),
            "{to:?}"
        );
    }
}

#[testkit::each_engine]
async fn a_subject_cannot_bring_a_header_of_its_own(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    for subject in [
        "a\r\nBcc: b@example.com",
        "a\nb",
        "a\rb",
        "a\0b",
        "a\n",
        "a\tb",
        "a\u{7f}",
        "\u{85}",
    ] {
        let refused = send(
            &api,
            &inbox,
            json!({"to": "a@example.com", "subject": subject}),
        )
        .await;
        assert_eq!(
            refused.error(),
            (400, "invalid field: subject".to_owned()),
            "{subject:?}"
        );
    }
}

#[testkit::each_engine]
async fn a_send_wakes_a_wait(engine: Engine) {
    let api = Harness::on(engine).await;
    let from = api.create_inbox().await;
    let to = api.create_inbox().await;
    let waiting = api.spawn_get(&format!("/v1/inboxes/{to}/messages/wait"));
    assert_accepted(
        &send(
            &api,
            &from,
            json!({"to": format!("{to}@{MAIL_DOMAIN}"), "subject": "now"}),
        )
        .await,
    );
    assert_eq!(waiting.await.unwrap().text("subject"), "now");
}
