//! `/v1/messages/{id}`: one message.

use serde_json::json;

use testkit::{Engine, Harness, MAIL_DOMAIN};

const MAIL: &str = concat!(
    "From: Shop <shop@example.com>\r\n",
    "To: somebody-else@example.org\r\n",
    "Subject: =?utf-8?q?Best=C3=A4tigung?=\r\n",
    "MIME-Version: 1.0\r\n",
    "Content-Type: multipart/alternative; boundary=b\r\n",
    "\r\n",
    "--b\r\n",
    "Content-Type: text/plain; charset=utf-8\r\n",
    "\r\n",
    "Your code is 048291.\r\n",
    "--b\r\n",
    "Content-Type: text/html; charset=utf-8\r\n",
    "\r\n",
    "<p><a href=\"https://shop.example/confirm?a=1&amp;b=2\">Confirm</a></p>\r\n",
    "--b--\r\n",
);

#[testkit::each_engine]
async fn a_message_has_all_its_fields(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    let id = api.deliver_raw(&inbox, MAIL).await;
    let shown = api.get(&format!("/v1/messages/{id}")).await;
    assert_eq!(shown.status, 200);
    let mut message = shown.json();
    let text = message["text"].take();
    let html = message["html"].take();
    assert_eq!(text.as_str().unwrap().trim_end(), "Your code is 048291.");
    assert!(!text.as_str().unwrap().contains('\r'));
    assert!(
        html.as_str()
            .unwrap()
            .contains("<a href=\"https://shop.example/confirm?a=1&amp;b=2\">")
    );
    let expected = json!({
        "id": id,
        "inbox_id": inbox,
        "from": "shop@example.com",
        "to": format!("{inbox}@{MAIL_DOMAIN}"),
        "subject": "Bestätigung",
        "text": null,
        "html": null,
        "links": ["https://shop.example/confirm?a=1&b=2"],
        "otp": "048291",
        "received_at": "2026-11-20T09:30:00.123Z",
    });
    assert_eq!(message, expected);
}

#[testkit::each_engine]
async fn what_a_message_does_not_have_is_empty_and_never_missing(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    let id = api.deliver_raw(&inbox, "\r\n").await;
    let message = api.get(&format!("/v1/messages/{id}")).await.json();
    for field in ["subject", "html", "otp"] {
        assert_eq!(message[field], "", "{field}");
    }
    assert_eq!(message["text"].as_str().unwrap().trim(), "");
    assert_eq!(
        message["from"], "bounces@example.com",
        "the envelope speaks where the header is silent"
    );
    assert_eq!(message["links"], json!([]));
}

#[testkit::each_engine]
async fn an_id_that_names_no_message_of_this_key_is_not_found(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox_with(&api.other_key).await;
    let theirs = api.deliver(&inbox, "Hello").await;
    let unknown = restante::model::MessageId::generate().to_string();
    for id in [theirs.as_str(), &unknown, "1", "%ff", "%00", &inbox] {
        let missing = api.get(&format!("/v1/messages/{id}")).await;
        assert_eq!(
            missing.error(),
            (404, "message not found".to_owned()),
            "{id}"
        );
    }
    let owners = api
        .call_with(&api.other_key, "GET", &format!("/v1/messages/{theirs}"), "")
        .await;
    assert_eq!(owners.text("id"), theirs);
}

/// A message with many links and every character that JSON escapes, or that has several bytes.
fn special(lines: usize) -> String {
    let control: String = (1..32)
        .filter(|byte| !b"\r\n".contains(byte))
        .map(char::from)
        .collect();
    let text = format!("é\"\\/😀\u{7f}{control}\r\n").repeat(lines);
    let html: String = (0..lines)
        .map(|line| format!("<a href=\"https://a.example/{line}?é\">\\😀</a>\r\n"))
        .collect();
    let part = |subtype: &str, body: &str| {
        format!(
            "--b\r\nContent-Type: text/{subtype}; charset=utf-8\r\nContent-Transfer-Encoding: 8bit\r\n\r\n{body}"
        )
    };
    let head = "From: a@example.com\r\nSubject: \"text\":\"\",\"html\":\"\",\"links\":[]\r\nMIME-Version: 1.0\r\n\
                Content-Type: multipart/alternative; boundary=b\r\n\r\n";
    format!(
        "{head}{}{}--b--\r\n",
        part("plain", &text),
        part("html", &html)
    )
}

#[testkit::each_engine]
async fn a_message_written_in_portions_is_the_json_of_its_type(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    let mut messages = Vec::new();
    for lines in [0, 1, 300, 2_000, 9_000] {
        let id = api.deliver_raw(&inbox, &special(lines)).await;
        let shown = api.get(&format!("/v1/messages/{id}")).await.body;
        let message: restante_api::Message = serde_json::from_str(&shown).unwrap();
        assert!(serde_json::to_string(&message).unwrap() == shown, "{lines}");
        assert_eq!(
            (message.text.lines().count(), message.links.len()),
            (lines, lines)
        );
        messages.insert(0, message);
    }
    let listed = api.get(&format!("/v1/inboxes/{inbox}/messages")).await.body;
    assert!(listed == serde_json::to_string(&restante_api::MessageList { messages }).unwrap());
}
