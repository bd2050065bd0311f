//! The page of the failures of a project: waits that timed out and rejections, grouped by cause.

use std::time::Duration;

use super::pages::refusal;
use super::visitor::Visitor;
use restante::model::{InboxId, RefusalReason, RefusedMail};
use testkit::{Answer, Engine, Harness, MAIL_DOMAIN, within};

/// The page as soon as it shows `text`: stories and refusals are written in the background.
async fn seen(visitor: &Visitor<'_>, path: &str, text: &str) -> Answer {
    let looking = async {
        loop {
            let page = visitor.get(path).await;
            if page.body.contains(text) {
                return page;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    within(looking).await
}

async fn fails(harness: &Harness, inbox: &str, filter: &str) {
    harness.time_out(inbox, filter).await;
}

#[testkit::each_engine]
async fn failures_are_grouped_by_their_cause_and_counted(engine: Engine) {
    let harness = Harness::on(engine).await;
    let own = Visitor::of_default(&harness).await;
    let project = own.project_path().await;
    assert!(
        own.get(&format!("{project}/failures"))
            .await
            .body
            .contains("Nothing failed")
    );
    let one = harness.create_inbox().await;
    let two = harness.create_inbox().await;
    for inbox in [&one, &two] {
        harness.deliver(inbox, "Confirm your account").await;
        fails(&harness, inbox, "subject=acount").await;
    }
    let page = seen(&own, &format!("{project}/failures"), "2 timed out")
        .await
        .body;
    assert!(page.contains(&one) && page.contains(&two), "{page}");
    assert!(page.contains("aria-label=\"2 new\""), "{page}");
    assert_eq!(page.matches("class=\"failure-group\"").count(), 1, "{page}");
    assert_eq!(
        own.get("/").await.headers["location"].to_str().unwrap(),
        format!("{project}/failures")
    );

    let found = own.get(&format!("{project}/failures?q={one}")).await.body;
    assert!(
        found.contains("1 timed out") && !found.contains(&two),
        "{found}"
    );
    for search in [&one[..one.len() - 1], &one] {
        let found = own.get(&format!("{project}/inboxes?q={search}")).await.body;
        assert!(found.contains("1 failed"), "{search}: {found}");
    }
    let found = own
        .get(&format!("{project}/failures?cause=late"))
        .await
        .body;
    assert!(found.contains("Nothing matches"), "{found}");

    let story = page
        .split("href=\"/failures/")
        .nth(1)
        .unwrap()
        .split('"')
        .next()
        .unwrap();
    let story = own.get(&format!("/failures/{story}")).await.body;
    assert!(
        story.contains("Confirm your a<mark>c</mark>count"),
        "{story}"
    );
    assert!(story.contains("<dd>acount</dd>"), "{story}");

    let other = Visitor::sign_in(&harness, harness.other_key.as_str()).await;
    let path = other.project_path().await;
    assert!(
        other
            .get(&format!("{path}/failures"))
            .await
            .body
            .contains("Nothing failed")
    );
}

/// A wait whose inbox ends has a failure, too, with a page that outlives the inbox; and so has one
/// that expected no message.
#[testkit::each_engine]
async fn waits_that_fail_without_a_timeout_are_listed(engine: Engine) {
    let harness = Harness::on(engine).await;
    let own = Visitor::of_default(&harness).await;
    let failures = format!("{}/failures", own.project_path().await);
    let inbox = harness.create_inbox().await;
    let path = format!("/v1/inboxes/{inbox}");
    let waiting = harness.spawn_get(&format!("{path}/messages/wait?timeout=30000"));
    seen(&own, &failures, "1 open wait").await;
    harness.clock.advance(Duration::from_secs(2));
    assert_eq!(harness.call("DELETE", &path, "").await.status, 204);
    assert_eq!(waiting.await.unwrap().status, 404);
    let page = seen(&own, &failures, "1 failed").await.body;
    assert!(
        page.contains("was deleted while the wait was open") && !page.contains("timed out"),
        "{page}"
    );
    let story = page.split("href=\"/failures/").nth(1).unwrap();
    let story = format!("/failures/{}", story.split('"').next().unwrap());
    let page = own.get(&story).await;
    assert_eq!(page.status, 200);
    for text in [
        "<h1>The inbox was deleted</h1>",
        "was deleted while the wait was open",
        "The inbox was deleted.",
    ] {
        assert!(page.body.contains(text), "{text}: {}", page.body);
    }
    let inbox_page = format!("{}/inboxes/{inbox}", own.project_path().await);
    assert_eq!(own.get(&inbox_page).await.status, 200);
    let explained = harness.get(&format!("{path}/explain")).await;
    assert!(
        explained
            .body
            .contains("was deleted while the wait was open"),
        "{}",
        explained.body
    );

    let other = harness.create_inbox().await;
    harness.deliver(&other, "Welcome").await;
    let nothing = [("x-restante-expects", "none")];
    harness.time_out_saying(&nothing, &other, "").await;
    let title = "A message arrived although none was expected";
    let page = seen(&own, &failures, title).await.body;
    assert!(
        page.contains(&other) && !page.contains("timed out"),
        "{page}"
    );
}

/// A fault `drop` accepts the message, so no page says that it was rejected.
#[testkit::each_engine]
async fn dropped_mail_was_not_rejected(engine: Engine) {
    let harness = Harness::on(engine).await;
    let own = Visitor::of_default(&harness).await;
    let project = own.project_path().await;
    let inbox = harness.create_inbox().await;
    let dropped = RefusedMail {
        recipient: format!("<{inbox}@{MAIL_DOMAIN}>"),
        inbox: InboxId::parse(&inbox).ok(),
        reason: RefusalReason::DroppedOnRequest,
        reply: "accepted, and dropped on request".to_owned(),
        refused_at: harness.service.clock().now(),
        ..refusal()
    };
    harness.service.record_refusal(dropped, None);
    fails(&harness, &inbox, "").await;
    let page = seen(&own, &format!("{project}/failures"), "1 timed out")
        .await
        .body;
    let story = page.split("href=\"/failures/").nth(1).unwrap();
    let story = format!("/failures/{}", story.split('"').next().unwrap());
    let shown = own.get(&story).await.body;
    assert!(
        shown.contains("<h3>Accepted, and not delivered</h3>")
            && !shown.contains("<h3>Rejected</h3>"),
        "{shown}"
    );
    let shown = own.get(&format!("{project}/inboxes")).await.body;
    assert!(shown.contains("1 not delivered"), "{shown}");
    let shown = own.get(&format!("{project}/refused")).await.body;
    assert!(shown.contains("Nothing was rejected"), "{shown}");
}

#[testkit::each_engine]
async fn a_story_names_the_cause_first_and_marks_what_is_mistyped(engine: Engine) {
    let harness = Harness::on(engine).await;
    let own = Visitor::of_default(&harness).await;
    let inbox = harness.create_inbox().await;
    let failures = format!("{}/failures", own.project_path().await);
    // No generated id has a u, so it is clear where it differs.
    harness.deliver(&format!("{inbox}u"), "Hello").await;
    fails(&harness, &inbox, "subject=hello").await;
    let page = seen(&own, &failures, "1 timed out").await.body;
    let story = page
        .split("href=\"/failures/")
        .nth(1)
        .unwrap()
        .split('"')
        .next()
        .unwrap();
    let page = own.get(&format!("/failures/{story}")).await.body;
    assert!(
        page.contains(&format!("{inbox}<mark>u</mark>@{MAIL_DOMAIN}")),
        "{page}"
    );
    let page = page.split("<article").nth(1).unwrap();
    let parts = [
        "class=\"sentence\"",
        "What to do",
        "Expected and arrived",
        "The wait",
        "Evidence",
        "Timeline",
    ];
    let places: Vec<_> = parts.iter().map(|part| page.find(part).unwrap()).collect();
    assert!(places.is_sorted(), "{places:?}");
}

#[tokio::test]
async fn a_filter_with_backticks_is_no_code() {
    let harness = Harness::start().await;
    let own = Visitor::of_default(&harness).await;
    let inbox = harness.create_inbox().await;
    let failures = format!("{}/failures", own.project_path().await);
    harness.deliver(&inbox, "Hello").await;
    fails(&harness, &inbox, "subject=a%60b").await;
    let page = seen(&own, &failures, "Expected subject").await.body;
    assert!(page.contains("a`b&#34;; arrived: "), "{page}");
}

#[testkit::each_engine]
async fn a_story_marks_the_difference_of_each_filter(engine: Engine) {
    let harness = Harness::on(engine).await;
    let own = Visitor::of_default(&harness).await;
    let inbox = harness.create_inbox().await;
    let failures = format!("{}/failures", own.project_path().await);
    let lines = "Hello Ada,\r\nhere is your receipt.\r\nConfirm your account today.\r\nBye";
    let raw =
        format!("To: Ada <ada@shop.example>\r\nX-Campaign: welcome\r\nSubject: Hi\r\n\r\n{lines}");
    harness.deliver_raw(&inbox, &raw).await;
    fails(
        &harness,
        &inbox,
        "text=your+acount&to=ada@shop.exmple&header=X-Campaign:welcom2&from=shopp",
    )
    .await;
    let page = seen(&own, &failures, "1 timed out").await.body;
    let story = page
        .split("href=\"/failures/")
        .nth(1)
        .unwrap()
        .split('"')
        .next()
        .unwrap();
    let page = own.get(&format!("/failures/{story}")).await.body;
    for shown in [
        "<dt>text contains</dt>",
        "Confirm your a<mark>c</mark>count today.",
        "Ada &#60;ada@shop.ex<mark>a</mark>mple&#62;",
        "<dt>header X-Campaign contains</dt>",
        "welcom<mark>2</mark>",
        "<dt>from contains</dt>",
    ] {
        assert!(page.contains(shown), "{shown}: {page}");
    }
    let time = page
        .split("<time")
        .find(|time| time.contains("before the wait ended</time>"))
        .expect(&page);
    assert!(
        time.contains("data-exact"),
        "the script does not replace it: {time}"
    );
    // A header that the message does not have.
    fails(&harness, &inbox, "header=X-Missing:x").await;
    let page = seen(&own, &failures, "X-Missing").await.body;
    let story = page
        .split("href=\"/failures/")
        .nth(1)
        .unwrap()
        .split('"')
        .next()
        .unwrap();
    let page = own.get(&format!("/failures/{story}")).await.body;
    assert!(
        page.contains("<span class=\"dim\">nothing</span>"),
        "{page}"
    );
}

#[tokio::test]
async fn a_rejection_without_a_recipient_links_to_the_rejections_of_its_client() {
    let harness = Harness::start().await;
    let own = Visitor::of_default(&harness).await;
    let refused = RefusedMail {
        recipient: String::new(),
        ..refusal()
    };
    harness.service.record_refusal(refused, None);
    let project = own.project_path().await;
    let page = seen(&own, &format!("{project}/failures"), "1 rejected")
        .await
        .body;
    let link = page
        .split(&format!("href=\"{project}/refused?"))
        .nth(1)
        .expect(&page)
        .split('"')
        .next()
        .unwrap();
    let page = own
        .get(&format!(
            "{project}/refused?{}",
            link.replace("&#38;", "&").replace("&amp;", "&")
        ))
        .await
        .body;
    assert!(page.contains("\"row failure-row\""), "{page}");
}

#[tokio::test]
async fn equal_rejections_are_one_entry_that_is_found_by_reason_and_time() {
    let harness = Harness::start().await;
    let own = Visitor::of_default(&harness).await;
    let path = format!("{}/refused", own.project_path().await);
    let now = harness.service.clock().now();
    for minutes in [7_300, 61, 30, 2] {
        let refused_at = now.before(Duration::from_secs(minutes * 60));
        harness.service.record_refusal(
            RefusedMail {
                refused_at,
                ..refusal()
            },
            None,
        );
    }
    let reason = RefusalReason::from_label("bare_line_end".to_owned());
    let reply = "550 5.6.11 Bare LF".to_owned();
    harness.service.record_refusal(
        RefusedMail {
            reason,
            reply,
            refused_at: now,
            ..refusal()
        },
        None,
    );
    let rows = |page: &str| page.matches("\"row failure-row\"").count();
    let page = seen(&own, &path, "bare line end").await.body;
    assert!(
        rows(&page) == 2 && page.contains("4 times") && page.contains("SMTP requires CR LF"),
        "{page}"
    );
    for (filter, times) in [
        ("cause=inbox_full", "4 times"),
        ("cause=inbox_full&time=hour", "2 times"),
    ] {
        let page = own.get(&format!("{path}?{filter}")).await.body;
        assert!(rows(&page) == 1 && page.contains(times), "{filter}: {page}");
    }
    assert!(
        own.get(&format!("{path}?q=nobody"))
            .await
            .body
            .contains("Nothing matches")
    );
}

#[tokio::test]
async fn the_advice_about_a_rejection_is_not_repeated() {
    let harness = Harness::start().await;
    let own = Visitor::of_default(&harness).await;
    let inbox = harness.create_inbox().await;
    let project = own.project_path().await;
    let recipient = format!("<{inbox}@{MAIL_DOMAIN}>");
    let refused = |recipient: String| RefusedMail {
        recipient,
        reason: RefusalReason::from_label("bare_line_end".to_owned()),
        refused_at: harness.service.clock().now(),
        ..refusal()
    };
    harness.service.record_refusal(refused(recipient), None);
    fails(&harness, &inbox, "").await;
    let list = format!("{project}/failures");
    let page = seen(&own, &list, "1 timed out").await.body;
    assert!(
        page.contains("Bare line feeds (LF without CR)") && !page.contains("1 rejected"),
        "the wait failed by it: {page}"
    );
    let elsewhere = format!("<somebody@{MAIL_DOMAIN}>");
    harness.service.record_refusal(refused(elsewhere), None);
    let page = seen(&own, &list, "1 rejected").await.body;
    // One group and one vocabulary for both.
    for text in [
        "class=\"failure-group\"",
        "SMTP requires CR LF",
        "<option value=\"bare_line_end\"",
    ] {
        assert_eq!(page.matches(text).count(), 1, "{text}: {page}");
    }
    assert_eq!(page.matches("\"row failure-row\"").count(), 2, "{page}");
    let story = page
        .split("href=\"/failures/")
        .nth(1)
        .unwrap()
        .split('"')
        .next()
        .unwrap();
    let page = own.get(&format!("/failures/{story}")).await.body;
    assert_eq!(page.matches("SMTP requires CR LF").count(), 1, "{page}");
}

#[tokio::test]
async fn a_live_event_loads_only_the_content_of_the_page() {
    let harness = Harness::start().await;
    let own = Visitor::of_default(&harness).await;
    let inbox = harness.create_inbox().await;
    harness.deliver(&inbox, "Hello").await;
    let list = format!("{}/inboxes/{inbox}", own.project_path().await);
    let id = harness
        .get(&format!("/v1/inboxes/{inbox}/messages"))
        .await
        .json()["messages"][0]["id"]
        .clone();
    let path = format!("{list}/messages/{}", id.as_str().unwrap());
    let part = own
        .request("GET", &path)
        .header("x-part", "1")
        .body(axum::body::Body::empty())
        .unwrap();
    let page = own.get(&path).await.body;
    let part = harness.send(part).await.body;
    assert!(
        page.contains("<nav class=\"side\"") && page.contains("class=\"letter\""),
        "{page}"
    );
    assert!(
        !part.contains("<nav class=\"side\"") && !part.contains("class=\"letter\""),
        "{part}"
    );
    assert!(
        part.contains("data-region=\"mail\"") && part.contains("aria-current=\"true\""),
        "{part}"
    );
}

#[tokio::test]
async fn pages_are_compressed_unless_another_site_opens_them() {
    let harness = Harness::start().await;
    let own = Visitor::of_default(&harness).await;
    let path = format!("{}/inboxes", own.project_path().await);
    for (site, encoding) in [
        ("same-origin", Some("gzip")),
        ("none", Some("gzip")),
        ("cross-site", None),
    ] {
        let request = own
            .request("GET", &path)
            .header("accept-encoding", "gzip")
            .header("sec-fetch-site", site);
        let answer = harness
            .send(request.body(axum::body::Body::empty()).unwrap())
            .await;
        let got = answer
            .headers
            .get("content-encoding")
            .map(|encoding| encoding.to_str().unwrap());
        assert_eq!(got, encoding, "{site}");
    }
}
