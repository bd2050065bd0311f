//! The filters for the content of messages, which a list, a wait and an explanation share.

use serde_json::json;

use testkit::{Engine, Harness, within};

const WELCOME: &str = "From: shop@app.example\r\nTo: =?utf-8?q?Zo=C3=AB?= <zoe@app.example>,\r\n ada@app.example\r\n\
    Cc: Team <team@app.example>\r\nSubject: Welcome\r\nX-Campaign: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\r\n spring\r\n\
    Content-Type: multipart/alternative; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain; charset=utf-8\r\n\
    Content-Transfer-Encoding: quoted-printable\r\n\r\nHello Stra=C3=9Fe 482913\r\n--b\r\n\
    Content-Type: text/html\r\n\r\n<p>Only here\r\n--b--\r\n";
const RECEIPT: &str = "From: bank@app.example\r\nTo: ada@app.example\r\nX-Campaign:\r\nX-Other: to: zoe\r\n\
    Subject: Receipt\r\n\r\nX-Campaign: spring\r\nPaid.\r\n";

async fn subjects(api: &Harness, inbox: &str, query: &str) -> Vec<String> {
    let list = api
        .get(&format!("/v1/inboxes/{inbox}/messages?{query}"))
        .await;
    assert_eq!(list.status, 200, "{query}: {list:?}");
    let messages = list.json()["messages"].as_array().unwrap().clone();
    messages
        .iter()
        .map(|message| message["subject"].as_str().unwrap().to_owned())
        .collect()
}

#[testkit::each_engine]
async fn the_text_the_recipients_and_a_header_are_compared_without_case(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    for mail in [WELCOME, RECEIPT] {
        api.deliver_raw(&inbox, mail).await;
    }
    for (query, expected) in [
        ("text=STRASSE", vec!["Welcome"]),
        ("text=stra%C3%9Fe+48", vec!["Welcome"]),
        ("text=Only+here", vec![]),
        ("text=paid", vec!["Receipt"]),
        ("to=zo%C3%8B", vec!["Welcome"]),
        ("to=TEAM", vec!["Welcome"]),
        ("to=ada@", vec!["Receipt", "Welcome"]),
        ("to=shop", vec![]),
        ("header=x-campaign:GR%C3%9CSSE+SPRING", vec!["Welcome"]),
        ("header=X-Campaign:+spring", vec!["Welcome"]),
        ("header=X-Campaign:", vec!["Receipt", "Welcome"]),
        ("header=X-Missing:", vec![]),
        ("header=Campaign:spring", vec![]),
        (
            "text=hello&to=ada&header=subject:welcome&from=shop&subject=wel&has=otp",
            vec!["Welcome"],
        ),
        ("text=hello&to=ada&header=subject:receipt", vec![]),
        ("text=&to=&header=", vec!["Receipt", "Welcome"]),
    ] {
        assert_eq!(subjects(&api, &inbox, query).await, expected, "{query}");
        let waited = api
            .get(&format!(
                "/v1/inboxes/{inbox}/messages/wait?timeout=0&{query}"
            ))
            .await;
        match expected.last() {
            Some(subject) => assert_eq!(waited.text("subject"), *subject, "{query}"),
            None => assert_eq!(waited.status, 404, "{query}"),
        }
    }
    let long = "x".repeat(999);
    for (name, value) in [
        ("text", long.as_str()),
        ("to", &long),
        ("header", "X-Campaign"),
        ("header", ":x"),
    ] {
        let refused = api
            .get(&format!("/v1/inboxes/{inbox}/messages?{name}={value}"))
            .await;
        assert_eq!(refused.error(), (400, format!("invalid {name}")), "{value}");
    }
}

#[testkit::each_engine]
async fn a_wait_for_a_text_ignores_other_messages(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    let waiting = api.spawn_get(&format!(
        "/v1/inboxes/{inbox}/messages/wait?text=paid&header=from:bank"
    ));
    api.deliver_raw(&inbox, WELCOME).await;
    let id = api.deliver_raw(&inbox, RECEIPT).await;
    assert_eq!(within(waiting).await.unwrap().text("id"), id);
}

#[testkit::each_engine]
async fn the_start_of_a_large_message_is_compared(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    let line = "0123456789abcde\r\n";
    let header = "X-Filler: 0123456789abcdef0123456789abcdef\r\n".repeat(2_000);
    let text = format!(
        "start {}middle\r\n{}end\r\n",
        line.repeat(10_000),
        line.repeat(20_000)
    );
    api.deliver_raw(
        &inbox,
        &format!("{header}To: late@app.example\r\nSubject: Large\r\n\r\n{text}"),
    )
    .await;
    for (query, count) in [
        ("text=START+0", 1),
        ("text=middle", 1),
        ("text=end", 0),
        ("to=late@", 1),
        ("header=Subject:large", 1),
    ] {
        assert_eq!(subjects(&api, &inbox, query).await.len(), count, "{query}");
    }
}

#[testkit::each_engine]
async fn a_list_is_filled_up_to_its_limit(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    for number in 0..150 {
        let text = if number % 3 == 0 { "wanted" } else { "other" };
        api.deliver_raw(&inbox, &format!("Subject: {number}\r\n\r\n{text}"))
            .await;
    }
    let every: Vec<String> = (0..150)
        .rev()
        .filter(|number| number % 3 == 0)
        .map(|number| number.to_string())
        .collect();
    assert_eq!(subjects(&api, &inbox, "text=wanted").await, every);
    assert_eq!(
        subjects(&api, &inbox, "text=wanted&limit=4").await,
        every[..4]
    );
}

#[testkit::each_engine]
async fn an_explanation_names_the_filters_for_the_content(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    api.deliver_raw(&inbox, RECEIPT).await;
    let query = "text=hello&to=zoe&header=X-Campaign:spring&from=bank";
    let explained = api
        .get(&format!("/v1/inboxes/{inbox}/explain?{query}"))
        .await
        .json();
    assert_eq!(
        explained["messages"]["latest"][0]["missed_by"],
        json!(["text", "to", "header"])
    );
    assert_eq!(
        explained["summary"],
        "Expected to \"zoe\" and text \"hello\" and header \"X-Campaign:spring\"; arrived: \"Receipt\" from \
         bank@app.example with text \"X-Campaign: spring\" with to \"ada@app.example\". Change the filter, or what the \
         application sends."
    );
}

#[testkit::each_engine]
async fn every_message_is_compared_also_if_subjects_are_long(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    let long = "words".repeat(15_000);
    api.deliver(&inbox, "First").await;
    for _ in 0..20 {
        api.deliver(&inbox, &long).await;
    }
    api.deliver(&inbox, "Last").await;
    for (query, expected) in [
        ("subject=first", &["First"][..]),
        ("subject=last", &["Last"]),
        ("subject=none", &[]),
    ] {
        assert_eq!(subjects(&api, &inbox, query).await, expected);
        let waited = api
            .get(&format!(
                "/v1/inboxes/{inbox}/messages/wait?timeout=0&{query}"
            ))
            .await;
        assert_eq!(
            waited.status,
            if expected.is_empty() { 404 } else { 200 },
            "{query}"
        );
    }
    assert_eq!(subjects(&api, &inbox, "").await.len(), 22);
}
