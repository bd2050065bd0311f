//! `/mailpit`: the API of Mailpit.

use axum::body::Body;
use axum::http::Request;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use restante::config::MailpitApi;
use restante::http::{App, mailpit_at_root, router};
use restante::model::{ApiKey, EmailAddress};
use restante::service::Incoming;
use serde_json::{Value, json};

use testkit::{Answer, Engine, Harness};

const MESSAGE: &str = "From: =?utf-8?q?Zo=C3=AB?= <shop@app.example>\r\n\
    To: Ada <ada@restante.example.com>, bob@restante.example.com\r\n\
    Cc: cy@restante.example.com\r\nReply-To: help@app.example\r\nSubject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\r\n\
    Message-ID: <1@app.example>\r\nDate: Fri, 20 Nov 2026 10:30:00 +0100\r\nX-Two: 1\r\nX-Two: 2\r\n\
    List-Unsubscribe: <https://app.example/out>\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n\
    --b\r\nContent-Type: multipart/alternative; boundary=c\r\n\r\n\
    --c\r\nContent-Type: text/plain\r\n\r\nYour \"code\" is 482913.\r\n\
    --c\r\nContent-Type: text/html\r\n\r\n<p>Your code is <a href='https://app.example/in'>482913</a>.</p>\r\n--c--\r\n\
    --b\r\nContent-Type: image/png\r\nContent-ID: <logo>\r\nContent-Disposition: inline\r\n\r\nimage\r\n\
    --b\r\nContent-Type: application/pdf\r\nContent-Disposition: attachment; filename=\"invoice.pdf\"\r\n\r\n%PDF\r\n\
    --b--\r\n";

/// A client of the API with a password, or without one.
struct Mailpit<'a> {
    api: &'a Harness,
    password: Option<String>,
}

impl<'a> Mailpit<'a> {
    fn new(api: &'a Harness) -> Self {
        Self::with(api, &api.key)
    }

    fn with(api: &'a Harness, key: &ApiKey) -> Self {
        Self {
            api,
            password: Some(key.as_str().to_owned()),
        }
    }

    async fn call_from(
        &self,
        headers: &[(&str, &str)],
        method: &str,
        path: &str,
        body: impl Into<Body>,
    ) -> Answer {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("/mailpit{path}"));
        if !headers.iter().any(|(name, _)| *name == "host") {
            request = request.header("host", "127.0.0.1:8025");
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some(password) = &self.password {
            let basic = BASE64_STANDARD.encode(format!("anyone:{password}"));
            request = request.header("authorization", format!("Basic {basic}"));
        }
        self.api.send(request.body(body.into()).unwrap()).await
    }

    async fn call(&self, method: &str, path: &str, body: impl Into<Body>) -> Answer {
        self.call_from(&[], method, path, body).await
    }

    async fn get(&self, path: &str) -> Value {
        let answer = self.call("GET", path, "").await;
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        answer.json()
    }

    /// The subjects that a search finds, newest first, and the counts.
    async fn search(&self, search: &str) -> (Vec<String>, u64) {
        let query: String = form_urlencoded::byte_serialize(search.as_bytes()).collect();
        let list = self.get(&format!("/api/v1/search?query={query}")).await;
        let messages = list["messages"].as_array().unwrap();
        let subjects = messages
            .iter()
            .map(|one| one["Subject"].as_str().unwrap().to_owned())
            .collect();
        (subjects, list["messages_count"].as_u64().unwrap())
    }
}

/// Delivers a message to several recipients, as a client with this key.
async fn deliver(
    api: &Harness,
    key: Option<&ApiKey>,
    recipients: &[&str],
    raw: &str,
) -> Vec<String> {
    let caller = match key {
        Some(key) => api.service.authenticate(key.as_str()).await.unwrap(),
        None => None,
    };
    let incoming = Incoming {
        reverse_path: "bounces@app.example".to_owned(),
        recipients: recipients
            .iter()
            .map(|address| EmailAddress::parse(address).unwrap())
            .collect(),
        project: caller.map(|caller| caller.project),
        trace: "Return-Path: <bounces@app.example>\r\nMessage-ID: <added@restante.example.com>\r\n"
            .to_owned(),
        reception: None,
        raw: raw.as_bytes().to_vec(),
    };
    api.service
        .deliver(incoming)
        .await
        .unwrap()
        .iter()
        .map(ToString::to_string)
        .collect()
}

fn letter(from: &str, subject: &str, text: &str) -> String {
    format!("From: {from}\r\nSubject: {subject}\r\n\r\n{text}\r\n")
}

#[testkit::each_engine]
async fn a_message_for_several_inboxes_is_one_message(engine: Engine) {
    let api = Harness::on(engine).await;
    let mailpit = Mailpit::new(&api);
    let recipients = [
        "ada@restante.example.com",
        "bob@restante.example.com",
        "cy@restante.example.com",
        "hidden@restante.example.com",
    ];
    let ids = deliver(&api, None, &recipients, MESSAGE).await;
    let list = mailpit.get("/api/v1/messages").await;
    assert_eq!(
        (&list["total"], &list["messages_count"], &list["count"]),
        (&json!(1), &json!(1), &json!(1))
    );
    let entry = &list["messages"][0];
    assert_eq!(entry["ID"], ids[0]);
    assert_eq!(
        entry["From"],
        json!({"Name": "Zoë", "Address": "shop@app.example"})
    );
    let plain = |address: &str| json!({"Name": "", "Address": address});
    assert_eq!(
        entry["To"],
        json!([{"Name": "Ada", "Address": "ada@restante.example.com"}, plain("bob@restante.example.com")])
    );
    assert_eq!(entry["Cc"], json!([plain("cy@restante.example.com")]));
    assert_eq!(entry["Bcc"], json!([plain("hidden@restante.example.com")]));
    assert_eq!(entry["ReplyTo"], json!([plain("help@app.example")]));
    assert_eq!(
        (&entry["Subject"], &entry["MessageID"]),
        (&json!("Grüße"), &json!("1@app.example"))
    );
    assert_eq!(
        (&entry["Snippet"], &entry["Attachments"]),
        (&json!("Your \"code\" is 482913."), &json!(1))
    );
    assert_eq!(
        (&entry["Created"], &entry["Read"]),
        (&json!("2026-11-20T09:30:00.123Z"), &json!(false))
    );
    assert_eq!(
        (&entry["Size"], &entry["Tags"], &entry["Username"]),
        (&json!(MESSAGE.len()), &json!([]), &json!(""))
    );
    for recipient in recipients {
        let found = mailpit
            .get(&format!("/api/v1/search?query=to:{recipient}"))
            .await;
        assert_eq!(
            (&found["messages"][0]["ID"], &found["messages_count"]),
            (&json!(ids[0]), &json!(1)),
            "{recipient}"
        );
        assert_eq!(mailpit.search(&format!("!to:{recipient}")).await.1, 0);
    }
    assert_eq!(
        mailpit
            .search("to:ada@restante.example.com to:hidden@restante.example.com")
            .await
            .1,
        1
    );
    assert_eq!(
        mailpit
            .search("to:ada@restante.example.com to:dan@restante.example.com")
            .await
            .1,
        0
    );
    for search in ["addressed:hidden@", "cc:cy@", "reply-to:help@"] {
        assert_eq!(
            (
                mailpit.search(search).await.1,
                mailpit.search(&format!("-{search}")).await.1
            ),
            (1, 0),
            "{search}"
        );
    }
    // Another inbox has it, when the oldest has ended.
    assert_eq!(api.call("DELETE", "/v1/inboxes/ada", "").await.status, 204);
    let list = mailpit.get("/api/v1/messages").await;
    assert_eq!(
        (&list["messages"][0]["ID"], &list["total"]),
        (&json!(ids[1]), &json!(1))
    );
    let deleted = mailpit
        .call(
            "DELETE",
            "/api/v1/messages",
            json!({"IDs": [ids[2]]}).to_string(),
        )
        .await;
    assert_eq!((deleted.status, deleted.body.as_str()), (200, "ok"));
    assert_eq!(mailpit.get("/api/v1/messages").await["total"], 0);
    assert_eq!(
        api.get("/v1/inboxes/hidden/messages").await.json()["messages"],
        json!([])
    );
}

#[testkit::each_engine]
async fn a_message_has_all_that_mailpit_has(engine: Engine) {
    let api = Harness::on(engine).await;
    let mailpit = Mailpit::new(&api);
    let id = deliver(&api, None, &["ada@restante.example.com"], MESSAGE)
        .await
        .remove(0);
    let message = mailpit.get(&format!("/api/v1/message/{id}")).await;
    assert_eq!(
        (&message["ID"], &message["MessageID"]),
        (&json!(id), &json!("1@app.example"))
    );
    assert_eq!(
        (&message["ReturnPath"], &message["Subject"]),
        (&json!("bounces@app.example"), &json!("Grüße"))
    );
    assert_eq!(message["Date"], "2026-11-20T10:30:00+01:00");
    assert_eq!(message["Text"], "Your \"code\" is 482913.");
    assert_eq!(
        message["HTML"],
        "<p>Your code is <a href='https://app.example/in'>482913</a>.</p>"
    );
    assert_eq!(
        message["ListUnsubscribe"]["Links"],
        json!(["https://app.example/out"])
    );
    assert_eq!(
        (&message["Size"], &message["Bcc"]),
        (&json!(MESSAGE.len()), &json!([]))
    );
    let pdf = &message["Attachments"][0];
    assert_eq!(
        (&pdf["PartID"], &pdf["FileName"], &pdf["Size"]),
        (&json!("3"), &json!("invoice.pdf"), &json!(4))
    );
    let checksums = json!({
        "MD5": "bfa4b10a76324b166cfdad5e02a63730",
        "SHA1": "39b6d73eff36493ba0674e48255a9d81724b4521",
        "SHA256": "315d429b7714cedb6ad04ac31240145257692630457f3c88253c5beceac76027",
    });
    assert_eq!(pdf["Checksums"], checksums);
    assert_eq!(
        (
            &message["Inline"][0]["PartID"],
            &message["Inline"][0]["ContentID"]
        ),
        (&json!("2"), &json!("logo"))
    );
    let part = mailpit
        .call("GET", &format!("/api/v1/message/{id}/part/3"), "")
        .await;
    assert_eq!((part.status, part.body.as_str()), (200, "%PDF"));
    assert_eq!(part.headers["content-type"], "application/pdf");
    assert_eq!(
        mailpit
            .call("GET", &format!("/api/v1/message/{id}/part/9"), "")
            .await
            .status,
        404
    );
    let headers = mailpit.get("/api/v1/message/latest/headers").await;
    assert_eq!(
        (&headers["X-Two"], &headers["Return-Path"]),
        (&json!(["1", "2"]), &json!(["<bounces@app.example>"]))
    );
    assert_eq!(headers["Subject"], json!(["=?utf-8?q?Gr=C3=BC=C3=9Fe?="]));
    let raw = mailpit
        .call("GET", &format!("/api/v1/message/{id}/raw"), "")
        .await;
    assert_eq!(
        (raw.body.as_str(), &raw.headers["content-type"]),
        (MESSAGE, &"text/plain; charset=utf-8".parse().unwrap())
    );
    let page = mailpit.call("GET", &format!("/view/{id}.html"), "").await;
    let link = "href=\"https://app.example/in";
    assert!(page.body.contains(link), "{page:?}");
    assert!(
        page.headers["content-security-policy"]
            .to_str()
            .unwrap()
            .starts_with("sandbox allow-popups ")
    );
    assert_eq!(
        mailpit.call("GET", "/view/latest.txt", "").await.body,
        "Your \"code\" is 482913."
    );
    for unknown in [
        "/api/v1/message/x",
        "/view/x.html",
        "/view/x",
        "/api/v1/message/x/raw",
    ] {
        assert_eq!(
            mailpit.call("GET", unknown, "").await.status,
            404,
            "{unknown}"
        );
    }
}

#[testkit::each_engine]
async fn a_message_without_anything_still_has_every_field(engine: Engine) {
    let api = Harness::on(engine).await;
    let mailpit = Mailpit::new(&api);
    let large = format!(
        "Subject: large\r\n\r\n{}",
        "line \"1\"\t\u{1}\r\n".repeat(60_000)
    );
    deliver(&api, None, &["ada@restante.example.com"], "\r\n").await;
    let entry = mailpit.get("/api/v1/messages").await["messages"][0].clone();
    assert_eq!(
        (&entry["From"], &entry["To"]),
        (&json!({"Name": "", "Address": ""}), &json!([]))
    );
    assert_eq!(
        (&entry["MessageID"], &entry["Snippet"]),
        (&json!("added@restante.example.com"), &json!(""))
    );
    assert_eq!(
        entry["Bcc"],
        json!([{"Name": "", "Address": "ada@restante.example.com"}])
    );
    let message = mailpit.get("/api/v1/message/latest").await;
    assert_eq!(
        (&message["Date"], &message["Attachments"]),
        (&json!("2026-11-20T09:30:00.123Z"), &json!([]))
    );
    deliver(&api, None, &["ada@restante.example.com"], &large).await;
    let message = mailpit.get("/api/v1/message/latest").await;
    assert_eq!(message["Text"].as_str().unwrap().lines().count(), 60_000);
    assert_eq!(mailpit.search("\"line \"").await.0, ["large"]);
    assert_eq!(mailpit.search("message-id:added@").await.1, 2);
}

#[testkit::each_engine]
async fn a_search_compares_whole_addresses_and_parts_of_the_rest(engine: Engine) {
    let api = Harness::on(engine).await;
    let mailpit = Mailpit::new(&api);
    for (to, from, subject, text) in [
        (
            "ada@restante.example.com",
            "Shop <shop@app.example>",
            "Sign in",
            "Your code is 482913.",
        ),
        (
            "ada@restante.example.com",
            "Zo\u{eb} <news@app.example>",
            "News",
            "STRASSE",
        ),
        (
            "not-ada@restante.example.com",
            "shop@app.example",
            "Sign in",
            "Another.",
        ),
    ] {
        deliver(&api, None, &[to], &letter(from, subject, text)).await;
    }
    for (search, expected) in [
        ("to:ada@restante.example.com", vec!["News", "Sign in"]),
        ("TO:\"ADA@restante.example.com\"", vec!["News", "Sign in"]),
        ("to:ada", vec![]),
        ("to:unknown@restante.example.com", vec![]),
        ("!to:ada@restante.example.com", vec!["Sign in"]),
        ("-to:unknown@restante.example.com news", vec!["News"]),
        ("from:shop", vec!["Sign in", "Sign in"]),
        ("from:\"zo\u{eb}\"", vec!["News"]),
        (
            "subject:\"sign in\" to:ada@restante.example.com",
            vec!["Sign in"],
        ),
        ("!subject:sign", vec!["News"]),
        ("code", vec!["Sign in"]),
        ("stra\u{df}e", vec!["News"]),
        ("\"code is\" -482913", vec![]),
        (
            "message-id:<added@restante.example.com>",
            vec!["Sign in", "News", "Sign in"],
        ),
        ("!has:attachment shop", vec!["Sign in", "Sign in"]),
        ("has:attachment shop", vec![]),
        ("not-ada", vec!["Sign in"]),
        (
            "addressed:\"not-ada@restante.example.com\"",
            vec!["Sign in"],
        ),
        (
            "addressed:shop@ -cc:x -reply-to:x",
            vec!["Sign in", "Sign in"],
        ),
    ] {
        let found = mailpit.search(search).await;
        assert_eq!(
            (
                found.0.iter().map(String::as_str).collect::<Vec<_>>(),
                found.1
            ),
            (expected.clone(), expected.len() as u64),
            "{search}"
        );
    }
    for wrong in [
        "",
        "%20",
        "after:2026-01-01",
        "bcc:x",
        "to:",
        "code%20subject:",
    ] {
        let refused = mailpit
            .call("GET", &format!("/api/v1/search?query={wrong}"), "")
            .await;
        assert_eq!(refused.status, 400, "{wrong}: {refused:?}");
    }
    let newest = mailpit
        .get("/api/v1/message/latest?query=to:ada@restante.example.com")
        .await;
    assert_eq!(newest["Subject"], "News");
    let nothing = mailpit
        .call(
            "GET",
            "/api/v1/message/latest?query=to:x@restante.example.com",
            "",
        )
        .await;
    assert_eq!(
        (nothing.status, nothing.body.as_str()),
        (404, "message not found")
    );
    assert_eq!(
        mailpit
            .call(
                "DELETE",
                "/api/v1/search?query=to:ada@restante.example.com",
                ""
            )
            .await
            .status,
        200
    );
    assert_eq!(
        mailpit
            .call(
                "DELETE",
                "/api/v1/search?query=to:nobody@restante.example.com",
                ""
            )
            .await
            .status,
        200
    );
    for wrong in [
        "",
        "?query=tag:x",
        "?query=sign%20is:tagged",
        "?query=%22%22",
        "?query=to:",
    ] {
        let refused = mailpit
            .call("DELETE", &format!("/api/v1/search{wrong}"), "")
            .await;
        assert_eq!(refused.status, 400, "{wrong}: {refused:?}");
    }
    assert_eq!(
        mailpit.search("sign").await,
        (vec!["Sign in".to_owned()], 1)
    );
}

#[testkit::each_engine]
async fn a_list_has_pages_and_every_message_is_in_one(engine: Engine) {
    let api = Harness::on(engine).await;
    let mailpit = Mailpit::new(&api);
    for number in 0..120 {
        let to = format!("inbox{}@restante.example.com", number % 30);
        deliver(
            &api,
            None,
            &[&to],
            &letter("a@app.example", &number.to_string(), "x"),
        )
        .await;
    }
    let mut subjects = Vec::new();
    for start in (0..150).step_by(25) {
        let page = mailpit
            .get(&format!("/api/v1/messages?start={start}&limit=25"))
            .await;
        assert_eq!(
            (&page["total"], &page["start"]),
            (&json!(120), &json!(start))
        );
        let found = page["messages"].as_array().unwrap().iter();
        subjects
            .extend(found.map(|one| one["Subject"].as_str().unwrap().parse::<usize>().unwrap()));
        assert_eq!(
            mailpit
                .get(&format!(
                    "/api/v1/search?query=from:a@&start={start}&limit=25"
                ))
                .await["messages"],
            page["messages"]
        );
    }
    assert_eq!(subjects, (0..120).rev().collect::<Vec<_>>());
    let count = async |query: &str| {
        mailpit.get(query).await["messages"]
            .as_array()
            .unwrap()
            .len()
    };
    assert_eq!(count("/api/v1/messages").await, 50);
    assert_eq!(count("/api/v1/messages?limit=0").await, 120);
    assert_eq!(count("/api/v1/messages?limit=x&start=-1").await, 50);
    for wrong in ["start=100001", "before=2026-01-01"] {
        assert_eq!(
            mailpit
                .call("GET", &format!("/api/v1/messages?{wrong}"), "")
                .await
                .status,
            400,
            "{wrong}"
        );
    }
    // A body that is not understood deletes nothing.
    for unclear in [
        "{",
        "[]",
        r#""x""#,
        r#"{"id": "x"}"#,
        r#"{"id": ["x"]}"#,
        r#"{"IDs": "x"}"#,
    ] {
        assert_eq!(
            mailpit
                .call("DELETE", "/api/v1/messages", unclear)
                .await
                .status,
            400,
            "{unclear}"
        );
    }
    for unknown in [
        r#"{"IDs": ["x", ""]}"#,
        r#"{"IDS": ["x"]}"#,
        r#"{"ids": ["x"]}"#,
    ] {
        assert_eq!(
            mailpit
                .call("DELETE", "/api/v1/messages", unknown)
                .await
                .status,
            200,
            "{unknown}"
        );
    }
    assert_eq!(mailpit.get("/api/v1/info").await["Messages"], 120);
    assert_eq!(
        mailpit
            .call("PUT", "/api/v1/messages", r#"{"Read": true}"#)
            .await
            .body,
        "ok"
    );
    assert_eq!(
        mailpit.call("DELETE", "/api/v1/messages", "").await.status,
        200
    );
    assert_eq!(mailpit.get("/api/v1/messages").await["total"], 0);
}

#[testkit::each_engine]
async fn projects_do_not_see_each_other(engine: Engine) {
    let api = Harness::on(engine).await;
    let ours = Mailpit::new(&api);
    let theirs = Mailpit::with(&api, &api.other_key);
    let id = deliver(
        &api,
        Some(&api.key),
        &["ada@restante.example.com"],
        &letter("a@app.example", "ours", "x"),
    )
    .await
    .remove(0);
    deliver(
        &api,
        Some(&api.other_key),
        &["bob@restante.example.com"],
        &letter("a@app.example", "theirs", "x"),
    )
    .await;
    assert_eq!(ours.search("a@app.example").await.0, ["ours"]);
    assert_eq!(theirs.search("a@app.example").await.0, ["theirs"]);
    assert_eq!(theirs.search("to:ada@restante.example.com").await.1, 0);
    for path in ["", "/headers", "/raw", "/part/0"] {
        assert_eq!(
            theirs
                .call("GET", &format!("/api/v1/message/{id}{path}"), "")
                .await
                .status,
            404,
            "{path}"
        );
    }
    assert_eq!(
        theirs
            .call("GET", &format!("/view/{id}.html"), "")
            .await
            .status,
        404
    );
    let delete = json!({"IDs": [id]}).to_string();
    assert_eq!(
        theirs
            .call("DELETE", "/api/v1/messages", delete)
            .await
            .status,
        200
    );
    assert_eq!(
        theirs
            .call("DELETE", "/api/v1/search?query=ours", "")
            .await
            .status,
        200
    );
    assert_eq!(
        theirs.call("DELETE", "/api/v1/messages", "").await.status,
        200
    );
    assert_eq!(
        ours.search("a@app.example").await,
        (vec!["ours".to_owned()], 1)
    );
    assert_eq!(theirs.get("/api/v1/messages").await["total"], 0);
}

#[testkit::each_engine]
async fn without_a_key_only_an_open_server_answers_and_no_page(engine: Engine) {
    let mut api = Harness::on(engine).await;
    deliver(
        &api,
        None,
        &["ada@restante.example.com"],
        &letter("a@app.example", "mail", "x"),
    )
    .await;
    let list = "/api/v1/messages";
    for password in [
        None,
        Some("x"),
        Some("rst_live_0123456789abcdef0123456789abcdef"),
    ] {
        let client = Mailpit {
            api: &api,
            password: password.map(str::to_owned),
        };
        let refused = client.call("GET", list, "").await;
        assert_eq!(
            (refused.status, &refused.headers["www-authenticate"]),
            (401, &"Basic realm=\"Restante\"".parse().unwrap())
        );
        for public in ["/livez", "/readyz", "", "/"] {
            assert_eq!(client.call("GET", public, "").await.status, 200, "{public}");
        }
    }
    let app = |mailpit_api| App {
        mailpit_api,
        ..testkit::app(&api.service)
    };
    api.router = router(app(MailpitApi::Open));
    let anyone = Mailpit {
        api: &api,
        password: None,
    };
    assert_eq!(anyone.get(list).await["total"], 1);
    assert_eq!(
        Mailpit {
            api: &api,
            password: Some("x".to_owned())
        }
        .get(list)
        .await["total"],
        1
    );
    assert_eq!(
        Mailpit::with(&api, &api.other_key).get(list).await["total"],
        0
    );
    for (headers, status) in [
        (("host", "evil.example"), 421),
        (("origin", "https://evil.example"), 403),
        (("origin", "http://127.0.0.1:8025"), 200),
        (("x-forwarded-for", "192.0.2.1"), 401),
        (("via", "1.1 proxy"), 401),
        (("forwarded", "for=192.0.2.1"), 401),
        // `<object data="…">` on a page of another site.
        (("sec-fetch-site", "cross-site"), 403),
        // On one of another port.
        (("sec-fetch-site", "same-site"), 403),
        (("sec-fetch-site", "same-origin"), 200),
        (("sec-fetch-site", "none"), 200),
    ] {
        for method in ["GET", "DELETE"] {
            let path = if method == "GET" {
                list
            } else {
                "/api/v1/search?query=nothing"
            };
            assert_eq!(
                anyone.call_from(&[headers], method, path, "").await.status,
                status,
                "{headers:?}"
            );
        }
    }
    assert_eq!(anyone.call("POST", list, "").await.status, 405);
    api.router = router(app(MailpitApi::Off));
    assert_eq!(Mailpit::new(&api).call("GET", list, "").await.status, 404);
}

#[testkit::each_engine]
async fn the_text_of_a_message_with_html_only_has_its_links(engine: Engine) {
    let api = Harness::on(engine).await;
    let mailpit = Mailpit::new(&api);
    let html = "<p><a href='https://app.example/confirm?x=1'>Go</a></p>\r\n";
    let raw = format!(
        "Subject: a\r\nContent-Type: text/html\r\n\r\n{}",
        html.repeat(9_000)
    );
    deliver(&api, None, &["ada@restante.example.com"], &raw).await;
    let message = mailpit.get("/api/v1/message/latest").await;
    let expected = ["Go ( https://app.example/confirm?x=1 )"; 9_000].join("\n\n");
    assert_eq!(message["Text"], expected.as_str());
    assert_eq!(
        message["HTML"].as_str().unwrap(),
        html.repeat(9_000).replace('\r', "").trim_end()
    );
    let text = mailpit.call("GET", "/view/latest.txt", "").await;
    assert_eq!(text.body, expected);
    let path = format!("/v1/messages/{}", message["ID"].as_str().unwrap());
    let own = api.get(&path).await.json();
    assert!(!own["text"].as_str().unwrap().contains("https"), "{own}");
}

#[testkit::each_engine]
async fn mail_to_a_tag_is_found_by_the_address_it_was_sent_to(engine: Engine) {
    let api = Harness::accepting(engine, "*").await;
    let mailpit = Mailpit::new(&api);
    for domain in ["restante.example.com", "shop.example"] {
        let [plain, tag, other] = ["qa", "QA+1", "qa+2"].map(|name| format!("{name}@{domain}"));
        for (to, subject) in [
            (vec![&plain], "plain"),
            (vec![&tag], "tag"),
            (vec![&plain, &other], "both"),
        ] {
            let header = to.iter().map(|one| one.as_str()).collect::<Vec<_>>();
            let raw = format!("To: {}\r\nSubject: {subject}\r\n\r\n", header.join(", "));
            deliver(&api, None, &header, &raw).await;
        }
        for (address, subjects) in [
            (&plain, vec!["both", "plain"]),
            (&tag, vec!["tag"]),
            (&other, vec!["both"]),
        ] {
            let found = mailpit.search(&format!("to:{address}")).await;
            assert_eq!(
                found,
                (
                    subjects.iter().map(|one| (*one).to_owned()).collect(),
                    subjects.len() as u64
                )
            );
        }
        assert_eq!(
            mailpit.search(&format!("to:{plain} to:{other}")).await.0,
            ["both"]
        );
        assert_eq!(
            mailpit.search(&format!("to:{plain} -to:{other}")).await.0,
            ["plain"]
        );
        let query = tag.replace('+', "%2B");
        let newest = mailpit
            .get(&format!("/api/v1/message/latest?query=to:{query}"))
            .await;
        assert_eq!(
            (&newest["Subject"], &newest["Bcc"]),
            (&json!("tag"), &json!([]))
        );
        let page = mailpit
            .call("GET", &format!("/view/latest.html?query=to:{query}"), "")
            .await;
        assert_eq!(page.status, 200);
        let list = mailpit.get("/api/v1/messages").await;
        for message in list["messages"].as_array().unwrap() {
            assert_eq!(message["Bcc"], json!([]), "{message}");
        }
        let deleted = mailpit
            .call("DELETE", &format!("/api/v1/search?query=to:{query}"), "")
            .await;
        assert_eq!(deleted.status, 200);
        assert_eq!(
            mailpit.search(&format!("@{domain}")).await.0,
            ["both", "plain"]
        );
        mailpit.call("DELETE", "/api/v1/messages", "").await;
    }
}

#[testkit::each_engine]
async fn a_message_is_read_once_a_client_opened_it(engine: Engine) {
    let api = Harness::on(engine).await;
    let mailpit = Mailpit::new(&api);
    for subject in ["a", "b", "c"] {
        let recipients = ["ada@restante.example.com", "bob@restante.example.com"];
        deliver(
            &api,
            None,
            &recipients,
            &letter("s@app.example", subject, "x"),
        )
        .await;
    }
    let ids = mailpit.get("/api/v1/messages").await["messages"].clone();
    let id = |place: usize| ids[place]["ID"].as_str().unwrap().to_owned();
    let states = async || {
        let list = mailpit.get("/api/v1/messages").await;
        let messages = list["messages"].as_array().unwrap();
        let read: Vec<_> = messages
            .iter()
            .map(|one| one["Read"].as_bool().unwrap())
            .collect();
        let unread = read.iter().filter(|is_read| !**is_read).count() as u64;
        for count in [&list["unread"], &list["messages_unread"]] {
            assert_eq!(*count, unread, "{list}");
        }
        assert_eq!(mailpit.get("/api/v1/info").await["Unread"], unread);
        assert_eq!(mailpit.search("is:unread").await.1, unread);
        assert_eq!(mailpit.search("is:read").await.1, 3 - unread);
        read
    };
    let mark = async |body: Value| {
        let answer = mailpit.call("PUT", "/api/v1/messages", body.to_string());
        answer.await.status
    };
    assert_eq!(states().await, [false, false, false]);
    for unopened in ["headers", "raw"] {
        let path = format!("/api/v1/message/{}/{unopened}", id(0));
        assert_eq!(mailpit.call("GET", &path, "").await.status, 200);
    }
    assert_eq!(states().await, [false, false, false]);
    mailpit.get(&format!("/api/v1/message/{}", id(1))).await;
    assert_eq!(states().await, [false, true, false]);
    let path = format!("/view/{}.html", id(2));
    assert_eq!(mailpit.call("GET", &path, "").await.status, 200);
    assert_eq!(states().await, [false, true, true]);
    assert_eq!(mark(json!({"IDs": [id(1), "x"], "Read": false})).await, 200);
    assert_eq!(states().await, [false, false, true]);
    assert_eq!(
        mark(json!({"Search": "subject:c", "Read": true})).await,
        200
    );
    assert_eq!(states().await, [true, false, true]);
    let found = mailpit
        .get("/api/v1/search?query=to:ada@restante.example.com")
        .await;
    assert_eq!(
        (&found["messages_unread"], &found["unread"]),
        (&json!(1), &json!(1))
    );
    assert_eq!(mark(json!({"Read": true})).await, 200);
    assert_eq!(states().await, [true, true, true]);
    assert_eq!(mark(json!({"Read": false})).await, 200);
    assert_eq!(states().await, [false, false, false]);
    for wrong in [
        json!({"IDs": ["x"], "Search": "c", "Read": true}),
        json!({"Read": "yes"}),
        json!({"Search": "tag:x", "Read": true}),
    ] {
        assert_eq!(mark(wrong.clone()).await, 400, "{wrong}");
    }
    let search = json!({"Search": "subject:c"}).to_string();
    let refused = mailpit.call("DELETE", "/api/v1/messages", search).await;
    assert_eq!(refused.status, 400);
    assert_eq!(
        mailpit
            .call("DELETE", "/api/v1/search?query=is:read", "")
            .await
            .status,
        200
    );
    assert_eq!(states().await, [false, false, false]);
}

#[testkit::each_engine]
async fn a_listener_of_its_own_has_this_api_at_the_root_and_nothing_else(engine: Engine) {
    let mut api = Harness::on(engine).await;
    api.router = mailpit_at_root(api.router);
    let body =
        json!({"From": {"Email": "a@b.example"}, "To": [{"Email": "ada@restante.example.com"}]});
    let basic = BASE64_STANDARD.encode(format!("anyone:{}", api.key.as_str()));
    let call = async |host: &str, method: &str, path: &str, body: String| {
        let request = Request::builder().method(method).uri(path);
        let request = request
            .header("host", host)
            .header("authorization", format!("Basic {basic}"));
        api.send(request.body(Body::from(body)).unwrap()).await
    };
    let sent = call("127.0.0.1:1", "POST", "/api/v1/send", body.to_string()).await;
    assert_eq!(sent.status, 200, "{sent:?}");
    for (path, status) in [
        ("/", 200),
        ("/readyz", 200),
        ("/api/v1/messages?limit=1", 200),
        ("//api/v1/messages", 200),
        ("/view/latest.html?query=to:ada@restante.example.com", 200),
        // Only as a WebSocket.
        ("/api/events", 400),
        ("/mailpit/api/v1/messages", 404),
        ("/../v1/inboxes", 404),
        ("/v1/inboxes", 404),
        ("/api/v1/inboxes", 404),
        ("*", 404),
    ] {
        let answer = call("127.0.0.1:1", "GET", path, String::new()).await;
        assert_eq!(answer.status, status, "{path}: {answer:?}");
    }
    let foreign = call("evil.example", "GET", "/api/v1/messages", String::new()).await;
    assert_eq!(foreign.status, 421);
}

#[testkit::each_engine]
async fn a_message_is_sent_as_over_the_api_of_a_provider(engine: Engine) {
    let mut api = Harness::on(engine).await;
    let body = json!({
        "From": {"Email": "shop@app.example", "Name": "Zoë"},
        "To": [{"Email": "ada@restante.example.com", "Name": "Ada"}],
        "Cc": [{"Email": "cy@restante.example.com"}],
        "Bcc": ["hidden@restante.example.com"],
        "ReplyTo": [{"Email": "help@app.example"}],
        "Subject": "Grüße", "Text": "text", "HTML": "<p>html</p>", "Tags": ["one", "two"],
        "Headers": {"X-Order": "4711"},
        "Attachments": [
            {"Content": "data:image/png;base64,aW1hZ2U=", "Filename": "logo.png", "ContentType": "image/png",
             "ContentID": "logo"},
            {"Content": "JVBERg==", "Filename": "größe.pdf"},
        ],
    });
    let mailpit = Mailpit::new(&api);
    let sent = mailpit.call("POST", "/api/v1/send", body.to_string()).await;
    let listed = mailpit.get("/api/v1/messages").await;
    assert_eq!(sent.json()["ID"], listed["messages"][0]["ID"]);
    assert_eq!(sent.status, 200, "{sent:?}");
    let message = mailpit
        .get(&format!(
            "/api/v1/message/{}",
            sent.json()["ID"].as_str().unwrap()
        ))
        .await;
    assert_eq!(
        message["From"],
        json!({"Name": "Zoë", "Address": "shop@app.example"})
    );
    assert_eq!(
        (&message["Subject"], &message["Text"], &message["HTML"]),
        (&json!("Grüße"), &json!("text"), &json!("<p>html</p>"))
    );
    assert_eq!(
        message["Bcc"],
        json!([{"Name": "", "Address": "hidden@restante.example.com"}])
    );
    assert_eq!(
        (
            &message["Inline"][0]["Size"],
            &message["Attachments"][0]["FileName"]
        ),
        (&json!(5), &json!("größe.pdf"))
    );
    let headers = mailpit.get("/api/v1/message/latest/headers").await;
    assert_eq!(
        (&headers["X-Order"], &headers["X-Tags"]),
        (&json!(["4711"]), &json!(["one, two"]))
    );
    let id = api.get("/v1/inboxes/ada/messages").await.json()["messages"][0]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let envelope = api.get(&format!("/v1/messages/{id}/details")).await.json()["envelope"].clone();
    assert_eq!(
        (&envelope["via"], &envelope["authenticated"]),
        (&json!("mailpit"), &json!(true))
    );
    for (change, status) in [
        (json!({"To": [{"Email": "ada@elsewhere.example"}]}), 400),
        (json!({"To": [{"Name": "Ada"}]}), 400),
        (json!({"From": null}), 400),
        (json!({"Subject": "a\r\nBcc: x@restante.example.com"}), 400),
        (json!({"Headers": {"Subject": "again"}}), 400),
        (
            json!({"Attachments": [{"Content": "%", "Filename": "x"}]}),
            400,
        ),
    ] {
        let mut wrong = body.clone();
        wrong
            .as_object_mut()
            .unwrap()
            .extend(change.as_object().unwrap().clone());
        let refused = mailpit
            .call("POST", "/api/v1/send", wrong.to_string())
            .await;
        assert_eq!(refused.status, status, "{change}: {refused:?}");
        assert!(refused.json()["Error"].is_string());
    }
    let anyone = Mailpit {
        api: &api,
        password: None,
    };
    assert_eq!(
        anyone
            .call("POST", "/api/v1/send", body.to_string())
            .await
            .status,
        401
    );
    let open = App {
        mailpit_api: MailpitApi::Open,
        ..testkit::app(&api.service)
    };
    api.router = router(open);
    let anyone = Mailpit {
        api: &api,
        password: None,
    };
    assert_eq!(
        anyone
            .call("POST", "/api/v1/send", body.to_string())
            .await
            .status,
        200
    );
    assert_eq!(anyone.search("grüße").await.1, 2);
    let other_site = anyone
        .call_from(
            &[("origin", "https://evil.example")],
            "POST",
            "/api/v1/send",
            body.to_string(),
        )
        .await;
    assert_eq!(other_site.status, 403);
}
