//! The pages of a project: inboxes, messages, sending, refused mail.

use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use restante::model::{Refusal, RefusalReason, RefusedMail};

use super::visitor::{Visitor, request};
use testkit::{Answer, Harness, MAIL_DOMAIN, START, within};

#[tokio::test]
async fn every_page_carries_the_strict_policy() {
    let harness = Harness::start().await;
    let own = Visitor::of_default(&harness).await;
    let inboxes = format!("{}/inboxes", own.project_path().await);
    let foreign = Visitor {
        harness: &harness,
        cookie: String::new(),
        csrf: String::new(),
    };
    let pages = [
        (&own, inboxes.as_str(), 200),
        (&own, "/projects/none/inboxes", 404),
        (&foreign, "/sign-in?next=/x", 200),
    ];
    for (visitor, path, status) in pages {
        let answer = visitor.get(path).await;
        assert_eq!(answer.status, status, "{path}");
        let policy = answer.headers["content-security-policy"].to_str().unwrap();
        assert!(
            policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self'"),
            "{policy}"
        );
        assert!(
            !policy.contains("unsafe") && policy.contains("frame-ancestors 'none'"),
            "{policy}"
        );
        assert_eq!(answer.headers["cache-control"], "no-store");
        assert_eq!(answer.headers["x-content-type-options"], "nosniff");
        assert!(
            !answer.body.contains("<style")
                && !answer.body.contains(" style=")
                && !answer.body.contains(" onclick")
        );
    }
}

#[tokio::test]
async fn the_script_and_the_style_sheet_are_kept_for_ever_under_their_own_names() {
    let harness = Harness::start().await;
    let own = Visitor::of_default(&harness).await;
    let page = own
        .get(&format!("{}/start", own.project_path().await))
        .await
        .body;
    for (attribute, content_type) in [
        ("href", "text/css; charset=utf-8"),
        ("src", "text/javascript; charset=utf-8"),
    ] {
        let attribute = format!("{attribute}=\"");
        let urls = page
            .split(&attribute)
            .filter_map(|rest| rest.split('"').next());
        let url = urls
            .filter(|url| url.starts_with("/static/") && !url.ends_with(".svg"))
            .last()
            .unwrap();
        let asset = own.get(url).await;
        assert_eq!(
            (
                asset.status,
                asset.headers["content-type"].to_str().unwrap()
            ),
            (200, content_type)
        );
        assert_eq!(
            asset.headers["cache-control"],
            "public, max-age=31536000, immutable"
        );
    }
    for icon in ["icon.svg", "icon-new.svg"] {
        let icon = own.get(&format!("/static/{icon}")).await;
        assert_eq!(
            icon.headers["cache-control"], "public, max-age=86400",
            "its name does not change with it"
        );
    }
    assert_eq!(own.get("/static/other.css").await.status, 404);
}

#[tokio::test]
async fn a_permanent_inbox_is_made_and_deleted_here_only() {
    let harness = Harness::start().await;
    let own = Visitor::of_default(&harness).await;
    let inboxes = format!("{}/inboxes", own.project_path().await);
    let made = own
        .post(&inboxes, &[("kind", "permanent"), ("name", "QA.News")])
        .await;
    assert_eq!(
        (made.status, made.headers["location"].to_str().unwrap()),
        (303, format!("{inboxes}/qa.news").as_str())
    );
    let inbox = harness.get("/v1/inboxes/qa.news").await.json();
    assert_eq!(
        (inbox["kind"].as_str(), inbox["expires_at"].is_null()),
        (Some("permanent"), true)
    );
    let refused = harness.call("DELETE", "/v1/inboxes/qa.news", "").await;
    assert_eq!(
        refused.error(),
        (
            403,
            "permanent inboxes are managed in the dashboard".to_owned()
        )
    );

    let again = own
        .post(&inboxes, &[("kind", "permanent"), ("name", "qa.news")])
        .await;
    assert_eq!(again.status, 422);
    assert!(again.body.contains("This address is taken."));
    for name in ["", "a b", "x@y", "a/b", &"a".repeat(65), "é"] {
        assert_eq!(
            own.post(&inboxes, &[("kind", "permanent"), ("name", name)])
                .await
                .status,
            422,
            "{name}"
        );
    }
    harness
        .clock
        .advance(Duration::from_secs(40 * 24 * 60 * 60));
    assert_eq!(harness.get("/v1/inboxes/qa.news").await.status, 200);

    let own = Visitor::of_default(&harness).await;
    assert_eq!(
        own.post(&format!("{inboxes}/qa.news/delete"), &[])
            .await
            .status,
        303
    );
    assert_eq!(harness.get("/v1/inboxes/qa.news").await.status, 404);
    assert_eq!(
        own.post(&inboxes, &[("kind", "permanent"), ("name", "qa.news")])
            .await
            .status,
        303
    );
}

#[tokio::test]
async fn the_messages_of_a_permanent_inbox_go_after_the_days_that_are_set() {
    let harness = Harness::start().await;
    let own = Visitor::of_default(&harness).await;
    let inboxes = format!("{}/inboxes", own.project_path().await);
    own.post(&inboxes, &[("kind", "permanent"), ("name", "news")])
        .await;
    let page = format!("{inboxes}/news");
    let retention = format!("{inboxes}/news/retention");
    assert!(own.get(&page).await.body.contains("Retention: unlimited"));
    for days in ["0", "-1", "3651", "1.5", "week"] {
        let refused = own.post(&retention, &[("days", days)]).await;
        assert_eq!(
            (refused.status, refused.body.contains("number of days")),
            (422, true),
            "{days}"
        );
    }
    let set = own.post(&retention, &[("days", " 7 ")]).await;
    assert_eq!(
        (set.status, set.headers["location"].to_str().unwrap()),
        (303, page.as_str())
    );
    assert!(own.get(&page).await.body.contains("Retention: 7 days"));
    assert_eq!(own.post(&retention, &[("days", "")]).await.status, 303);
    assert!(own.get(&page).await.body.contains("Retention: unlimited"));

    let temporary = harness.create_inbox().await;
    assert!(
        !own.get(&format!("{inboxes}/{temporary}"))
            .await
            .body
            .contains("Retention:")
    );
    assert_eq!(
        own.post(
            &format!("{inboxes}/{temporary}/retention"),
            &[("days", "7")]
        )
        .await
        .status,
        404
    );
}

#[tokio::test]
async fn an_address_reserved_for_another_project_is_not_given_away() {
    let harness = Harness::start().await;
    let own = Visitor::of_default(&harness).await;
    let foreign = harness.create_inbox_with(&harness.other_key).await;
    harness
        .call_with(
            &harness.other_key,
            "DELETE",
            &format!("/v1/inboxes/{foreign}"),
            "",
        )
        .await;
    let inboxes = format!("{}/inboxes", own.project_path().await);
    let tagged = format!("{foreign}+news");
    for name in [&foreign, &tagged] {
        assert_eq!(
            own.post(&inboxes, &[("kind", "permanent"), ("name", name)])
                .await
                .status,
            422,
            "{name}"
        );
    }
    let other = Visitor::sign_in(&harness, harness.other_key.as_str()).await;
    let inboxes = format!("{}/inboxes", other.project_path().await);
    for name in [&foreign, &tagged] {
        assert_eq!(
            other
                .post(&inboxes, &[("kind", "permanent"), ("name", name)])
                .await
                .status,
            303,
            "{name}"
        );
    }
}

#[tokio::test]
async fn inboxes_are_found_by_address_and_kind() {
    let harness = Harness::start().await;
    let own = Visitor::of_default(&harness).await;
    let inboxes = format!("{}/inboxes", own.project_path().await);
    for name in ["alpha", "beta", "100%"] {
        harness.deliver(name, "Hello").await;
    }
    own.post(&inboxes, &[("kind", "permanent"), ("name", "gamma")])
        .await;
    let shown = async |query: &str| {
        let page = own.get(&format!("{inboxes}?{query}")).await.body;
        let all = ["alpha", "beta", "100%", "gamma"];
        all.into_iter()
            .filter(|name| page.contains(&format!(">{name}@{MAIL_DOMAIN}<")))
            .collect::<Vec<_>>()
    };
    assert_eq!(shown("").await, ["alpha", "beta", "100%", "gamma"]);
    assert_eq!(shown("q=ALPHA%40restante.example.com").await, ["alpha"]);
    assert_eq!(shown("q=%25").await, ["100%"]);
    assert_eq!(shown("kind=permanent").await, ["gamma"]);
    assert_eq!(shown("kind=temporary&q=a").await, ["alpha", "beta"]);
    // The script replaces this part while the search is typed.
    let page = own.get(&format!("{inboxes}?q=a")).await.body;
    let kinds = page
        .split("data-region=\"kinds\"")
        .nth(1)
        .unwrap()
        .split("</ul>")
        .next()
        .unwrap();
    assert!(kinds.contains("?q=a&#38;kind=permanent\""), "{kinds}");
}

#[tokio::test]
async fn a_long_list_continues_on_the_next_page() {
    let harness = Harness::start().await;
    let own = Visitor::of_default(&harness).await;
    for _ in 0..101 {
        harness.create_inbox().await;
        harness.clock.advance(Duration::from_millis(1));
    }
    let first = own
        .get(&format!("{}/inboxes", own.project_path().await))
        .await
        .body;
    assert_eq!(first.matches("data-row").count(), 100);
    let more = first
        .split("class=\"more\"><a class=\"button\" href=\"")
        .nth(1)
        .unwrap()
        .split('"')
        .next()
        .unwrap();
    let rest = own.get(&more.replace("&#38;", "&")).await.body;
    assert_eq!(rest.matches("data-row").count(), 1);
}

#[tokio::test]
async fn a_later_page_of_an_inbox_is_not_taken_for_the_first() {
    let harness = Harness::start().await;
    let own = Visitor::of_default(&harness).await;
    let inbox = harness.create_inbox().await;
    let list = format!("{}/inboxes/{inbox}", own.project_path().await);
    let page = own.get(&list).await.body;
    // No live event adds this form, so it is there before the first message.
    let empty = format!("{list}/empty");
    assert!(
        page.contains("No messages yet") && page.contains(&format!("action=\"{empty}\"")),
        "{page}"
    );
    assert_eq!(own.post(&empty, &[]).await.status, 303);

    harness.deliver(&inbox, "Number 0").await;
    let page = own.get(&list).await.body;
    assert!(
        page.contains("class=\"letter\"") && !page.contains("Newest messages"),
        "{page}"
    );
    for number in 1..51 {
        harness.deliver(&inbox, &format!("Number {number}")).await;
    }
    let page = own.get(&list).await.body;
    let older = page
        .split("href=\"")
        .find(|rest| rest.contains("?before="))
        .unwrap()
        .split('"')
        .next()
        .unwrap();
    let page = own.get(older).await.body;
    assert!(
        page.contains(">Number 0<") && !page.contains(">Number 1<"),
        "{page}"
    );
    assert!(page.contains("Newest messages</a>"), "{page}");
    own.post(&empty, &[]).await;
    let page = own.get(older).await.body;
    assert!(
        page.contains("No older messages") && page.contains("Newest messages</a>"),
        "{page}"
    );
    assert!(
        !page.contains("No messages yet") && !page.contains("Send a message to"),
        "{page}"
    );
}

#[tokio::test]
async fn messages_are_searched_by_sender_subject_and_text() {
    let harness = Harness::start().await;
    let own = Visitor::of_default(&harness).await;
    let inbox = harness.create_inbox().await;
    for (from, subject, text) in [
        ("ann@a.example", "Order", "pears"),
        ("bob@b.example", "Invoice", "Äpfel, Straße"),
    ] {
        harness
            .deliver_raw(
                &inbox,
                &format!("From: {from}\r\nSubject: {subject}\r\n\r\n{text}\r\n"),
            )
            .await;
    }
    let base = format!("{}/inboxes/{inbox}", own.project_path().await);
    for (query, orders, invoices) in [
        ("", 1, 1),
        ("ANN", 1, 0),
        ("voice", 0, 1),
        ("%C3%A4PFEL", 0, 1),
        ("STRASSE", 0, 1),
        ("pears", 1, 0),
        ("none", 0, 0),
    ] {
        let page = own.get(&format!("{base}?q={query}")).await.body;
        let page = page.split("<article").next().unwrap();
        assert_eq!(
            (
                page.matches(">Order<").count(),
                page.matches(">Invoice<").count()
            ),
            (orders, invoices),
            "{query}"
        );
    }
}

#[tokio::test]
async fn an_inbox_that_has_ended_has_only_its_timeline() {
    let harness = Harness::start().await;
    let own = Visitor::of_default(&harness).await;
    let project = own.project_path().await;
    let inbox = harness.create_inbox().await;
    let message = harness.deliver(&inbox, "Hello").await;
    let deleted = harness.create_inbox().await;
    harness
        .call("DELETE", &format!("/v1/inboxes/{deleted}"), "")
        .await;
    harness.clock.advance(Duration::from_secs(3_600 + 5 * 60));
    for (inbox, text) in [
        (&inbox, "This inbox expired 5 min ago"),
        (&deleted, "This inbox was deleted 1 h ago"),
    ] {
        let page = own.get(&format!("{project}/inboxes/{inbox}")).await;
        assert_eq!(page.status, 200, "{inbox}");
        assert!(
            page.body.contains(text) && page.body.contains("The inbox was created."),
            "{}",
            page.body
        );
        assert!(!page.body.contains("data-live") && !page.body.contains("message-row"));
    }
    for path in [
        format!("{project}/inboxes/{inbox}/messages/{message}"),
        format!("{project}/messages/{message}/html"),
        format!("{project}/messages/{message}/eml"),
    ] {
        assert_eq!(own.get(&path).await.status, 404, "{path}");
    }
}

#[tokio::test]
async fn an_error_page_keeps_the_navigation_and_says_what_happened() {
    let harness = Harness::start().await;
    let own = Visitor::of_default(&harness).await;
    let project = own.project_path().await;
    let deleted = harness.create_inbox().await;
    harness
        .call("DELETE", &format!("/v1/inboxes/{deleted}"), "")
        .await;
    harness.clock.advance(Duration::from_secs(3_600));
    for (path, text) in [
        (
            format!("{project}/inboxes/{deleted}/send"),
            "This inbox was deleted 1 h ago",
        ),
        (format!("{project}/inboxes/never-there"), "Inbox not found."),
        ("/projects".to_owned(), "Page not found."),
    ] {
        let page = own.get(&path).await;
        assert_eq!(page.status, 404, "{path}");
        assert!(page.body.contains(text), "{path}: {}", page.body);
        assert!(
            page.body.contains(&format!("href=\"{project}/inboxes\"")),
            "{path}: {}",
            page.body
        );
        assert!(
            !page.body.contains("href=\"/projects\""),
            "{path}: the installation is the administrator's"
        );
        assert_eq!(
            page.body.contains("\">What happened to it"),
            text.starts_with("This inbox")
        );
    }
}

#[tokio::test]
async fn unknown_paths_are_pages_for_browsers_and_json_for_others() {
    let harness = Harness::start().await;
    let own = Visitor::of_default(&harness).await;
    let project = own.project_path().await;
    let get = async |path: &str, accept: &str| {
        harness
            .send(
                own.request("GET", path)
                    .header("accept", accept)
                    .body(Body::empty())
                    .unwrap(),
            )
            .await
    };
    let browser = "text/html,application/xhtml+xml,*/*;q=0.8";
    let page = get("/nowhere/at/all", browser).await;
    assert_eq!(
        (page.status, page.headers["content-type"].to_str().unwrap()),
        (404, "text/html; charset=utf-8")
    );
    assert!(
        page.body.contains("Page not found.") && page.body.contains(&format!("{project}/inboxes"))
    );
    assert!(
        page.headers["content-security-policy"]
            .to_str()
            .unwrap()
            .starts_with("default-src 'none'")
    );
    for (path, accept) in [
        ("/nowhere", "*/*"),
        ("/nowhere", "application/json"),
        ("/v1/nowhere", browser),
    ] {
        assert_eq!(
            get(path, accept).await.error(),
            (404, "not found".to_owned()),
            "{path} {accept}"
        );
    }
    let foreign = Request::builder()
        .uri("/nowhere")
        .header("host", "evil.example")
        .header("accept", browser);
    let foreign = harness
        .send(
            foreign
                .header("cookie", &own.cookie)
                .body(Body::empty())
                .unwrap(),
        )
        .await;
    assert_eq!(foreign.status, 421);
    assert!(!foreign.body.contains("/projects/"), "{}", foreign.body);
}

#[tokio::test]
async fn a_message_is_sent_and_answered_from_an_inbox() {
    let harness = Harness::start().await;
    let own = Visitor::of_default(&harness).await;
    let from = harness.create_inbox().await;
    let to = harness.create_inbox().await;
    let send = format!("{}/inboxes/{from}/send", own.project_path().await);
    let address = format!("{to}@{MAIL_DOMAIN}");
    let sent = own
        .post(
            &send,
            &[("to", &address), ("subject", "Grüße"), ("text", "a\r\nb")],
        )
        .await;
    assert_eq!(sent.status, 303, "{sent:?}");
    let arrived = harness
        .get(&format!("/v1/inboxes/{to}/messages"))
        .await
        .json();
    assert_eq!(
        (
            &arrived["messages"][0]["subject"],
            &arrived["messages"][0]["text"]
        ),
        (&"Grüße".into(), &"a\nb".into())
    );

    let id = arrived["messages"][0]["id"].as_str().unwrap();
    let form = own
        .get(&format!(
            "{}/inboxes/{to}/send?reply={id}",
            own.project_path().await
        ))
        .await
        .body;
    assert!(
        form.contains("<title>Reply · Restante</title>") && form.contains("<h1>Reply</h1>"),
        "{form}"
    );
    assert!(
        form.contains("value=\"Re: Grüße\"")
            && form.contains(&format!("value=\"{from}@{MAIL_DOMAIN}\"")),
        "{form}"
    );

    let page = own
        .get(&format!("{}/outgoing", own.project_path().await))
        .await
        .body;
    assert!(page.contains("badge sent") && page.contains("Grüße"));
    for (fields, problem) in [
        ([("to", "nobody"), ("subject", "x")], "Invalid field: to."),
        (
            [("to", "none@restante.example.com"), ("subject", "x")],
            "Recipient not found.",
        ),
        (
            [("to", &address), ("subject", "x\r\nBcc: y@z.example")],
            "Invalid field: subject.",
        ),
    ] {
        let again = own.post(&send, &fields).await;
        assert!(
            again.status >= 400 && again.body.contains(problem),
            "{again:?}"
        );
    }
}

#[tokio::test]
async fn a_message_is_forwarded_and_the_address_is_remembered() {
    let harness = Harness::start().await;
    let own = Visitor::of_default(&harness).await;
    let from = harness.create_inbox().await;
    let to = harness.create_inbox().await;
    let message = harness.deliver(&from, "Confirm <b>").await;
    let url = format!(
        "{}/inboxes/{from}/messages/{message}",
        own.project_path().await
    );
    let forward = format!("{url}/forward");
    assert!(
        own.get(&url)
            .await
            .body
            .contains(&format!("href=\"{forward}\""))
    );
    let form = own.get(&forward).await.body;
    assert!(
        form.contains("Confirm &#60;b&#62;")
            && form.contains("name=\"to\" type=\"email\" value=\"\""),
        "{form}"
    );
    for (address, problem) in [
        ("nobody", "Invalid field: to."),
        ("none@restante.example.com", "Recipient not found."),
    ] {
        let again = own.post(&forward, &[("to", address)]).await;
        assert!(
            again.status >= 400 && again.body.contains(problem),
            "{again:?}"
        );
        assert!(
            again.body.contains(&format!("value=\"{address}\""))
                && again.headers.get("set-cookie").is_none()
        );
    }
    let address = format!("{to}@{MAIL_DOMAIN}");
    let sent = own.post(&forward, &[("to", &address)]).await;
    assert_eq!(
        (
            sent.status,
            sent.headers["location"]
                .to_str()
                .unwrap()
                .ends_with("/outgoing")
        ),
        (303, true),
        "{sent:?}"
    );
    let arrived = harness
        .get(&format!("/v1/inboxes/{to}/messages"))
        .await
        .json();
    assert_eq!(arrived["messages"][0]["subject"], "Confirm <b>");
    let cookie = sent.headers["set-cookie"].to_str().unwrap();
    assert!(
        cookie.contains("HttpOnly")
            && cookie.contains(&format!("Path={};", own.project_path().await)),
        "{cookie}"
    );
    for (value, shown) in [
        (cookie.split(';').next().unwrap(), address.as_str()),
        ("restante_forward=\"><b>", ""),
    ] {
        let request = request("GET", &forward).header("cookie", format!("{}; {value}", own.cookie));
        let form = harness
            .send(request.body(Body::empty()).unwrap())
            .await
            .body;
        assert!(
            form.contains(&format!("type=\"email\" value=\"{shown}\"")),
            "{form}"
        );
    }
}

#[tokio::test]
async fn a_message_is_forwarded_only_from_its_inbox() {
    let harness = Harness::start().await;
    let own = Visitor::of_default(&harness).await;
    let from = harness.create_inbox().await;
    let other = harness.create_inbox().await;
    let message = harness.deliver(&from, "Hello").await;
    let url = format!(
        "{}/inboxes/{other}/messages/{message}/forward",
        own.project_path().await
    );
    assert_eq!(own.get(&url).await.status, 404);
    assert_eq!(own.post(&url, &[("to", "a@b.example")]).await.status, 404);
}

#[tokio::test]
async fn queued_mail_is_cancelled_and_tried_again() {
    let harness = Harness::start().await;
    let own = Visitor::of_default(&harness).await;
    let inbox = harness.create_inbox().await;
    let project = own.project_path().await;
    own.post(
        &format!("{project}/inboxes/{inbox}/send"),
        &[("to", "a@b.example"), ("subject", "Out")],
    )
    .await;
    let page = own.get(&format!("{project}/outgoing")).await.body;
    assert!(page.contains("badge queued"));
    let cancel = page
        .split("action=\"")
        .filter_map(|rest| rest.split('"').next())
        .find(|path| path.ends_with("/cancel"));
    let cancel = cancel.unwrap().to_owned();
    assert_eq!(own.post(&cancel, &[]).await.status, 303);
    assert!(
        own.get(&format!("{project}/outgoing"))
            .await
            .body
            .contains("badge cancelled")
    );
    let twice = own.post(&cancel, &[]).await;
    assert!(
        twice.status == 422 && twice.body.contains("is already cancelled"),
        "{twice:?}"
    );
    assert_eq!(
        own.post(&cancel.replace("/cancel", "/retry"), &[])
            .await
            .status,
        303
    );
    assert!(
        own.get(&format!("{project}/outgoing"))
            .await
            .body
            .contains("badge queued")
    );
}

#[tokio::test]
async fn refusals_are_seen_by_the_project_they_concern() {
    let harness = Harness::start().await;
    let own = Visitor::of_default(&harness).await;
    let other = Visitor::sign_in(&harness, harness.other_key.as_str()).await;
    let administrator = Visitor::administrator(&harness).await;
    let theirs = harness.create_inbox_with(&harness.other_key).await;
    let refused = |recipient: String| RefusedMail {
        recipient,
        ..refusal()
    };
    harness
        .service
        .record_refusal(refused(format!("<{theirs}@{MAIL_DOMAIN}>")), None);
    harness
        .service
        .record_refusal(refused("<x@elsewhere.example>".to_owned()), None);
    let own_path = own.project_path().await;
    let other_path = other.project_path().await;
    let page = seen(&own, &format!("{own_path}/refused"), "x@elsewhere.example").await;
    assert!(
        !page.body.contains(&theirs)
            && page.body.contains("inbox full")
            && page.body.contains("452 4.2.2")
    );
    let page = seen(&other, &format!("{other_path}/refused"), &theirs).await;
    assert!(!page.body.contains("x@elsewhere.example"));
    let page = seen(&administrator, "/refused", "x@elsewhere.example").await;
    assert!(page.body.contains(&theirs));
}

/// A refusal.
pub fn refusal() -> RefusedMail {
    RefusedMail {
        peer: "192.0.2.1:4000".to_owned(),
        sender: "<a@b.example>".to_owned(),
        recipient: "<x@elsewhere.example>".to_owned(),
        inbox: None,
        authenticated: false,
        reason: RefusalReason::Smtp(Refusal::InboxFull),
        reply: "452 4.2.2 Inbox full".to_owned(),
        refused_at: START,
    }
}

/// The page when it shows `text`: refusals are stored in the background.
async fn seen(visitor: &Visitor<'_>, path: &str, text: &str) -> Answer {
    let looking = async {
        loop {
            let page = visitor.get(path).await;
            if page.body.contains(text) {
                return page;
            }
            tokio::task::yield_now().await;
        }
    };
    within(looking).await
}

#[tokio::test]
async fn getting_started_names_the_real_values() {
    let harness = Harness::start().await;
    let own = Visitor::of_default(&harness).await;
    let inbox = harness.create_inbox().await;
    let page = own
        .get(&format!("{}/inboxes/{inbox}", own.project_path().await))
        .await
        .body;
    for value in [
        ">restante.example.com<",
        ">1025<",
        &format!("{inbox}@{MAIL_DOMAIN}"),
        "http://restante.example.com:8025/v1",
    ] {
        assert!(page.contains(value), "{value}");
    }
    assert!(!page.contains(harness.key.as_str()));
}

#[tokio::test]
async fn an_inbox_is_linked_by_its_id_and_shows_its_label() {
    let harness = Harness::start().await;
    let own = Visitor::of_default(&harness).await;
    let administrator = Visitor::administrator(&harness).await;
    let mut request = testkit::request(&harness.key, "POST", "/v1/inboxes", "");
    request.headers_mut().insert(
        "x-restante-label",
        "sign%20up%20%E2%80%BA%20%3Cb%3Eworks".parse().unwrap(),
    );
    let id = harness.send(request).await.text("id");
    for visitor in [&own, &administrator] {
        let linked = visitor.get(&format!("/inboxes/{id}")).await;
        let project = own.project_path().await;
        assert_eq!(
            linked.headers["location"].to_str().unwrap(),
            format!("{project}/inboxes/{id}")
        );
        for page in [
            format!("{project}/inboxes/{id}"),
            format!("{project}/inboxes"),
        ] {
            let page = visitor.get(&page).await.body;
            assert!(page.contains("sign up \u{203a} &#60;b&#62;works"), "{page}");
        }
    }
    assert_eq!(administrator.get("/inboxes/none").await.status, 404);
    let foreign = Visitor::sign_in(&harness, harness.other_key.as_str()).await;
    let elsewhere = foreign.get(&format!("/inboxes/{id}")).await.headers["location"]
        .to_str()
        .unwrap()
        .to_owned();
    assert_eq!(foreign.get(&elsewhere).await.status, 404);
}
