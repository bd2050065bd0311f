//! Everything about a message: raw, details, attachments, page; filters by content; deletion.

use serde_json::{Value, json};

use super::smtp::Smtp;
use testkit::{Engine, Harness, MAIL_DOMAIN};

const MAIL: &str = concat!(
    "From: Shop <shop@app.example>\r\nTo: Ann <ann@app.example>\r\nSubject: Confirm\r\n",
    "Message-ID: <1@app.example>\r\nDate: Fri, 20 Nov 2026 10:30:00 +0100\r\n",
    "Content-Type: multipart/mixed; boundary=b\r\n\r\n",
    "--b\r\nContent-Type: text/html\r\n\r\n<p>Your code is 482913.</p><a href='https://app.example/'>Confirm</a>",
    "<img src='cid:logo'><script>alert(1)</script>\r\n",
    "--b\r\nContent-Type: image/png\r\nContent-ID: <logo>\r\nContent-Transfer-Encoding: base64\r\n\r\niVBORw==\r\n",
    "--b\r\nContent-Type: text/plain\r\n",
    "Content-Disposition: attachment; filename=\"../n\u{f6}te.txt\"\r\n\r\nnotes\r\n",
    "--b--\r\n",
);

/// The size of a message that is stored in pieces.
const LARGE: usize = 1_500_000;

fn large() -> String {
    let lines = (0..LARGE / 10).map(|number| format!("{number:08}\r\n"));
    format!("Subject: Large\r\n\r\n{}", lines.collect::<String>())
}

#[testkit::each_engine]
async fn the_details_show_how_a_message_arrived_and_its_contents(engine: Engine) {
    let api = Harness::on(engine).await;
    let smtp = Smtp::start(&api).await;
    let inbox = api.create_inbox().await;
    assert!(
        smtp.send(&format!("{inbox}@{MAIL_DOMAIN}"), MAIL)
            .await
            .starts_with("250")
    );
    let id = api
        .get(&format!("/v1/inboxes/{inbox}/messages/wait"))
        .await
        .text("id");
    let details = api.get(&format!("/v1/messages/{id}/details")).await.json();
    let envelope = json!({
        "from": "app@app.example", "to": format!("{inbox}@{MAIL_DOMAIN}"), "helo": "app.example",
        "client": "127.0.0.1", "tls": null, "authenticated": false, "via": "smtp",
    });
    assert_eq!(details["envelope"], envelope);
    // The client adds one more line end.
    assert_eq!(details["size"], MAIL.len() + 2);
    assert_eq!(
        details["headers"][2],
        json!({"name": "Subject", "value": "Confirm"})
    );
    assert_eq!(
        details["from"],
        json!([{"name": "Shop", "address": "shop@app.example"}])
    );
    assert_eq!(
        (&details["cc"], &details["in_reply_to"]),
        (&json!([]), &Value::Null)
    );
    assert_eq!(details["date"], "2026-11-20T10:30:00+01:00");
    let otp = json!({"code": "482913", "rule": "label_before", "line": "Your code is 482913."});
    assert_eq!(
        (&details["otp"], &details["code"], &details["codes"]),
        (&otp, &otp, &json!([otp]))
    );
    let link = json!([{"url": "https://app.example/", "text": "Confirm", "source": "html"}]);
    assert_eq!(details["links"], link);
    let image = json!({
        "index": 0, "filename": null, "content_type": "image/png", "size": 4, "content_id": "logo", "inline": true
    });
    assert_eq!(details["attachments"][0], image);
    assert_eq!(details["attachments"][1]["filename"], "../n\u{f6}te.txt");
}

#[testkit::each_engine]
async fn a_sender_that_could_have_no_inbox_is_kept_as_it_was_given(engine: Engine) {
    let api = Harness::on(engine).await;
    let smtp = Smtp::start(&api).await;
    let long = format!("bounces+{}@client.example", "x".repeat(80));
    for sender in [r#""a b"@Client.Example"#, "app@[192.0.2.1]", &long, ""] {
        let inbox = api.create_inbox().await;
        let address = format!("{inbox}@{MAIL_DOMAIN}");
        let reply = smtp
            .client()
            .await
            .send_from(sender, &[&address], "Subject: s\r\n\r\nText")
            .await;
        assert!(reply.starts_with("250"), "{reply}");
        let message = api.get(&format!("/v1/inboxes/{inbox}/messages/wait")).await;
        assert_eq!(message.text("from"), sender);
        let details = api
            .get(&format!("/v1/messages/{}/details", message.text("id")))
            .await
            .json();
        assert_eq!(details["envelope"]["from"], sender);
    }
}

#[testkit::each_engine]
async fn a_message_of_the_service_has_no_connection(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    let address = format!("{inbox}@{MAIL_DOMAIN}");
    let body = json!({"to": address, "subject": "s"}).to_string();
    let sent = api
        .call("POST", &format!("/v1/inboxes/{inbox}/messages"), body)
        .await
        .text("id");
    let id = api
        .get(&format!("/v1/inboxes/{inbox}/messages/wait"))
        .await
        .text("id");
    let envelope = api.get(&format!("/v1/messages/{id}/details")).await.json()["envelope"].clone();
    let expected = json!({
        "from": address, "to": address, "helo": null, "client": null, "tls": null, "authenticated": null, "via": "api",
    });
    assert_eq!(envelope, expected);

    let outgoing = api.get(&format!("/v1/outgoing/{sent}")).await.json();
    let expected = json!({
        "id": sent, "inbox_id": inbox, "to": address, "subject": "s", "status": "sent", "attempts": [],
        "next_attempt_at": null, "created_at": "2026-11-20T09:30:00.123Z",
    });
    assert_eq!(outgoing, expected);
    let foreign = api
        .call_with(&api.other_key, "GET", &format!("/v1/outgoing/{sent}"), "")
        .await;
    assert_eq!(
        foreign.error(),
        (404, "outgoing message not found".to_owned())
    );
}

#[testkit::each_engine]
async fn an_attachment_is_a_download_that_nothing_can_run(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    let id = api.deliver_raw(&inbox, MAIL).await;
    let notes = api.get(&format!("/v1/messages/{id}/attachments/1")).await;
    assert_eq!((notes.status, notes.body.as_str()), (200, "notes"));
    assert_eq!(notes.headers["content-type"], "text/plain");
    assert_eq!(notes.headers["x-content-type-options"], "nosniff");
    assert_eq!(
        notes.headers["content-disposition"],
        "attachment; filename=\"n_te.txt\"; filename*=UTF-8''n%C3%B6te.txt"
    );
    for index in ["2", "-1", "x", "99999999999999999999"] {
        let missing = api
            .get(&format!("/v1/messages/{id}/attachments/{index}"))
            .await;
        assert_eq!(
            missing.error(),
            (404, "attachment not found".to_owned()),
            "{index}"
        );
    }
}

#[testkit::each_engine]
async fn a_page_shows_images_and_runs_nothing(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    let id = api.deliver_raw(&inbox, MAIL).await;
    let page = api.get(&format!("/v1/messages/{id}/page")).await;
    assert_eq!(page.headers["content-type"], "text/html; charset=utf-8");
    let policy = page.headers["content-security-policy"].to_str().unwrap();
    assert!(
        policy.starts_with("sandbox; default-src 'none'"),
        "{policy}"
    );
    assert!(
        page.body.contains("data:image/png;base64,iVBORw==") && !page.body.contains("script"),
        "{}",
        page.body
    );
    let text = api.deliver_raw(&inbox, "Subject: t\r\n\r\n1 < 2 & 3").await;
    let page = api.get(&format!("/v1/messages/{text}/page")).await;
    assert!(
        page.body.ends_with("1 &lt; 2 &amp; 3</pre>"),
        "{}",
        page.body
    );
}

#[testkit::each_engine]
async fn a_large_message_is_the_same_in_pieces(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    api.deliver(&inbox, "first").await;
    let id = api.deliver_raw(&inbox, &large()).await;
    api.deliver(&inbox, "last").await;
    let raw = api.get(&format!("/v1/messages/{id}/raw")).await;
    assert_eq!(raw.headers["content-type"], "message/rfc822");
    assert_eq!(
        raw.headers["content-disposition"],
        format!("attachment; filename=\"{id}.eml\"")
    );
    assert_eq!(
        raw.headers["content-length"],
        raw.body.len().to_string().as_str()
    );
    assert!(raw.body == large());
    let text = large()
        .split_once("\r\n\r\n")
        .unwrap()
        .1
        .replace("\r\n", "\n");
    let shown = api.get(&format!("/v1/messages/{id}")).await;
    assert!(shown.json()["text"] == text.trim_end());
    assert_eq!(
        shown.headers["content-length"],
        shown.body.len().to_string().as_str()
    );
    let listed = api
        .get(&format!("/v1/inboxes/{inbox}/messages"))
        .await
        .json();
    let subjects: Vec<_> = listed["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["subject"].clone())
        .collect();
    assert_eq!(subjects, ["last", "Large", "first"]);
    assert!(listed["messages"][1] == shown.json());
    let waited = api
        .get(&format!("/v1/inboxes/{inbox}/messages/wait?subject=large"))
        .await;
    assert!(waited.json() == shown.json());
    assert!(api.service.jobs().are_idle());
}

#[testkit::each_engine]
async fn filters_by_sender_and_content_combine(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    let bodies = [
        ("a", "x"),
        ("b", "Your code is 482913."),
        ("c", "https://app.example/"),
        ("b", "Code: 1234 https://app.example/"),
    ];
    for (from, body) in bodies {
        api.deliver_raw(
            &inbox,
            &format!("From: {from}@App.example\r\nSubject: s{body}\r\n\r\n{body}"),
        )
        .await;
    }
    let senders = async |query: &str| -> Vec<String> {
        let listed = api
            .get(&format!("/v1/inboxes/{inbox}/messages?{query}"))
            .await
            .json();
        listed["messages"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["from"].as_str().unwrap()[..1].to_owned())
            .collect()
    };
    assert_eq!(senders("has=otp").await, ["b", "b"]);
    assert_eq!(senders("has=link").await, ["b", "c"]);
    assert_eq!(senders("has=link,otp").await, ["b"]);
    assert_eq!(senders("from=C@APP").await, ["c"]);
    assert_eq!(senders("from=b@&subject=your").await, ["b"]);
    let wait = async |query: &str| {
        api.get(&format!(
            "/v1/inboxes/{inbox}/messages/wait?timeout=0&{query}"
        ))
        .await
    };
    assert_eq!(wait("has=link").await.text("from"), "c@App.example");
    assert_eq!(
        wait("has=otp&from=c@").await.error(),
        (404, "no matching message".to_owned())
    );
    for path in ["messages", "messages/wait", "explain"] {
        let refused = api
            .get(&format!("/v1/inboxes/{inbox}/{path}?has=otp,pin"))
            .await;
        assert_eq!(refused.error(), (400, "invalid has".to_owned()));
    }
}

#[testkit::each_engine]
async fn a_code_is_what_is_labelled_in_any_form(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    let bodies = [
        "Order 482913 shipped.",
        "Your sign-in code: LZDG-RMHF",
        "Your code is 4821.\nYour PIN is 7710.",
    ];
    for body in bodies {
        api.deliver_raw(
            &inbox,
            &format!("From: app@app.example\r\nSubject: {body}\r\n\r\n{body}"),
        )
        .await;
    }
    let listed = async |query: &str| {
        let listed = api
            .get(&format!("/v1/inboxes/{inbox}/messages?{query}"))
            .await
            .json();
        listed["messages"].as_array().unwrap().clone()
    };
    let codes = async |message: &Value| {
        let id = message["id"].as_str().unwrap();
        let details = api.get(&format!("/v1/messages/{id}/details")).await.json();
        let texts = |codes: &Value| {
            codes
                .as_array()
                .unwrap()
                .iter()
                .map(|code| code["code"].clone())
                .collect()
        };
        let codes: Vec<Value> = texts(&details["codes"]);
        (details["code"]["code"].clone(), codes)
    };
    let [several, letters, order] = &listed("").await[..] else {
        panic!("three messages")
    };
    assert_eq!(
        codes(several).await,
        (json!("4821"), vec![json!("4821"), json!("7710")])
    );
    assert_eq!(
        codes(letters).await,
        (json!("LZDG-RMHF"), vec![json!("LZDG-RMHF")])
    );
    assert_eq!(
        (codes(order).await, &order["otp"]),
        ((Value::Null, vec![]), &json!("482913"))
    );
    assert_eq!(listed("has=code").await, [several.clone(), letters.clone()]);
    assert_eq!(listed("has=code,otp").await, std::slice::from_ref(several));
    let found = api
        .get(&format!(
            "/v1/inboxes/{inbox}/messages/wait?timeout=0&has=code"
        ))
        .await;
    assert_eq!(found.text("id"), letters["id"]);
    let explained = api
        .get(&format!("/v1/inboxes/{inbox}/explain?has=code"))
        .await
        .json();
    let missed = explained["messages"]["latest"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| &message["missed_by"]);
    assert!(missed.eq([&json!([]), &json!([]), &json!(["has"])]));
}

#[testkit::each_engine]
async fn a_deleted_message_is_gone_and_still_a_cursor(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    let other = api.create_inbox().await;
    let first = api.deliver(&inbox, "first").await;
    let second = api.deliver_raw(&inbox, &large()).await;
    let path = format!("/v1/messages/{second}");
    assert_eq!(
        api.call_with(&api.other_key, "DELETE", &path, "")
            .await
            .status,
        404
    );
    assert_eq!(api.call("DELETE", &path, "").await.status, 204);
    for rest in ["", "/raw", "/details", "/checks", "/attachments/0", "/page"] {
        assert_eq!(
            api.get(&format!("{path}{rest}")).await.error(),
            (404, "message not found".to_owned()),
            "{rest}"
        );
    }
    assert_eq!(
        api.call("DELETE", &path, "").await.error(),
        (404, "message not found".to_owned())
    );
    let listed = api
        .get(&format!("/v1/inboxes/{inbox}/messages"))
        .await
        .json();
    assert_eq!(listed["messages"].as_array().unwrap().len(), 1);

    let third = api.deliver(&inbox, "third").await;
    let after = api
        .get(&format!(
            "/v1/inboxes/{inbox}/messages/wait?timeout=0&after={second}"
        ))
        .await;
    assert_eq!(after.text("id"), third);
    let before = api
        .get(&format!("/v1/inboxes/{inbox}/messages?before={second}"))
        .await
        .json();
    assert_eq!(before["messages"][0]["id"], first);
    let elsewhere = api
        .get(&format!("/v1/inboxes/{other}/messages?after={second}"))
        .await;
    assert_eq!(elsewhere.error(), (400, "invalid after".to_owned()));
}

#[testkit::each_engine]
async fn an_inbox_that_was_full_takes_mail_once_a_message_is_deleted(engine: Engine) {
    let api = Harness::on(engine).await;
    let smtp = Smtp::start(&api).await;
    let inbox = api.create_inbox().await;
    let id = api.deliver(&inbox, "first").await;
    api.run_sql(&format!(
        "UPDATE inboxes SET message_count = 1000 WHERE id = '{inbox}'"
    ))
    .await;
    let address = format!("{inbox}@{MAIL_DOMAIN}");
    assert!(smtp.send(&address, MAIL).await.starts_with("452 4.2.2"));
    assert_eq!(
        api.call("DELETE", &format!("/v1/messages/{id}"), "")
            .await
            .status,
        204
    );
    assert!(smtp.send(&address, MAIL).await.starts_with("250"));
}

#[testkit::each_engine]
async fn of_a_shared_message_each_recipient_deletes_their_own(engine: Engine) {
    let api = Harness::on(engine).await;
    let smtp = Smtp::start(&api).await;
    let one = api.create_inbox().await;
    let other = api.create_inbox().await;
    let addresses = [
        format!("{one}@{MAIL_DOMAIN}"),
        format!("{other}@{MAIL_DOMAIN}"),
    ];
    let mut client = smtp.client().await;
    assert!(
        client
            .send(&addresses.each_ref().map(String::as_str), MAIL)
            .await
            .starts_with("250")
    );
    let id = async |inbox: &str| {
        api.get(&format!("/v1/inboxes/{inbox}/messages/wait"))
            .await
            .text("id")
    };
    let first = id(&one).await;
    let second = id(&other).await;
    assert_eq!(
        api.call("DELETE", &format!("/v1/messages/{first}"), "")
            .await
            .status,
        204
    );
    assert_eq!(
        api.get(&format!("/v1/messages/{second}/raw")).await.body,
        format!("{MAIL}\r\n")
    );
    assert_eq!(
        api.call("DELETE", &format!("/v1/messages/{second}"), "")
            .await
            .status,
        204
    );
}
