//! The waits of tests: those that are open, those that have ended, and why a wait timed out.

use std::time::Duration;

use futures_util::future::select_all;

use super::visitor::Visitor;
use testkit::{Answer, Engine, Harness, within};

/// The page as soon as it shows `text`: on PostgreSQL waits are written in the background.
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

#[testkit::each_engine]
async fn an_inbox_shows_its_waits(engine: Engine) {
    let harness = Harness::on(engine).await;
    let own = Visitor::of_default(&harness).await;
    let project = own.project_path().await;
    let inbox = harness.create_inbox().await;
    let page = format!("{project}/inboxes/{inbox}");
    let url = format!("/v1/inboxes/{inbox}/messages/wait");
    let deadline = harness.clock.instant().after(Duration::from_secs(60));
    let open = harness.spawn_get(&format!(
        "{url}?subject=Reset%20password&from=shop&has=otp&timeout=60000"
    ));
    let shown = seen(&own, &page, "1 open wait").await.body;
    for text in ["Reset password", "shop", "code", "in 1 min"] {
        assert!(shown.contains(text), "{text}: {shown}");
    }
    let shown = seen(&own, &format!("{project}/failures"), &inbox)
        .await
        .body;
    assert!(shown.contains("Reset password"), "{shown}");
    let shown = seen(&own, &format!("{project}/inboxes"), "1 open wait")
        .await
        .body;
    assert!(shown.contains("Reset password"), "{shown}");

    harness.deliver(&inbox, "Welcome").await;
    harness.at_deadline(deadline, open).await;
    let shown = seen(&own, &page, "Last wait: timed out").await.body;
    assert!(shown.contains("\">Why?</a>"), "{shown}");

    let found = harness.get(&format!("{url}?subject=wel")).await;
    assert_eq!(found.status, 200);
    let shown = seen(&own, &format!("{page}/waits"), "Show the").await.body;
    let id = found.text("id");
    assert!(
        shown.contains(&format!("{page}/messages/{id}")) && shown.contains("timed out"),
        "{shown}"
    );
    // The wait has a story, and the story its own page.
    let why = shown
        .split("href=\"/failures/")
        .nth(1)
        .unwrap()
        .split('"')
        .next()
        .unwrap()
        .to_owned();
    let shown = own.get(&format!("/failures/{why}")).await.body;
    for text in [
        "; arrived: ",
        "Change the filter, or",
        "does not match: subject, a one-time code",
    ] {
        assert!(shown.contains(text), "{text}: {shown}");
    }
}

#[tokio::test]
async fn every_end_of_a_wait_is_named() {
    let harness = Harness::start().await;
    let own = Visitor::of_default(&harness).await;
    let inbox = harness.create_inbox().await;
    let page = format!("{}/inboxes/{inbox}/waits", own.project_path().await);
    let url = format!("/v1/inboxes/{inbox}/messages/wait?timeout=60000");
    let (refused, _, mut open) = within(select_all((0..5).map(|_| harness.spawn_get(&url)))).await;
    assert_eq!(refused.unwrap().status, 429);
    seen(&own, &page, ">429<").await;
    open.pop().unwrap().abort();
    seen(&own, &page, ">cancelled<").await;
    harness
        .get(&format!("/v1/inboxes/{inbox}/messages/wait?timeout=0"))
        .await;
    seen(&own, &page, ">no message<").await;
    harness.deliver(&inbox, "Hello").await;
    for wait in open {
        assert_eq!(within(wait).await.unwrap().status, 200);
    }
    let shown = seen(&own, &page, ">message<").await.body;
    assert!(!shown.contains(">waiting<"), "{shown}");
}

#[testkit::each_engine]
async fn refused_waits_displace_no_others(engine: Engine) {
    let harness = Harness::on(engine).await;
    let own = Visitor::of_default(&harness).await;
    let inbox = harness.create_inbox().await;
    let page = format!("{}/inboxes/{inbox}/waits", own.project_path().await);
    let url = format!("/v1/inboxes/{inbox}/messages/wait?timeout");
    harness.get(&format!("{url}=0")).await;
    let _open: Vec<_> = (0..5)
        .map(|_| harness.spawn_get(&format!("{url}=60000")))
        .collect();
    seen(&own, &page, ">429<").await;
    for _ in 0..60 {
        assert_eq!(harness.get(&format!("{url}=60000")).await.status, 429);
    }
    harness.get(&format!("{url}=0&subject=the-last-one")).await;
    // A page may show a wait before its end. It shows this one after the end of the one before it.
    harness.get(&format!("{url}=60000&subject=marker")).await;
    let shown = seen(&own, &page, "marker").await.body;
    assert!(shown.contains("the-last-one"), "{shown}");
    assert_eq!(
        (
            shown.matches(">429<").count(),
            shown.matches(">no message<").count()
        ),
        (1, 2),
        "{shown}"
    );
}

#[tokio::test]
async fn an_empty_inbox_shows_why_its_last_wait_failed() {
    let harness = Harness::start().await;
    let own = Visitor::of_default(&harness).await;
    let inbox = harness.create_inbox().await;
    harness.time_out(&inbox, "").await;
    let page = format!("{}/inboxes/{inbox}", own.project_path().await);
    let shown = seen(&own, &page, "What to do").await.body;
    assert!(shown.contains("Nothing has connected"), "{shown}");
}

#[tokio::test]
async fn another_project_does_not_see_the_waits() {
    let harness = Harness::start().await;
    let other = Visitor::sign_in(&harness, harness.other_key.as_str()).await;
    let inbox = harness.create_inbox().await;
    let open = harness.spawn_get(&format!("/v1/inboxes/{inbox}/messages/wait?timeout=60000"));
    let own = Visitor::of_default(&harness).await;
    seen(
        &own,
        &format!("{}/failures", own.project_path().await),
        &inbox,
    )
    .await;
    let page = other
        .get(&format!("{}/failures", other.project_path().await))
        .await
        .body;
    assert!(
        page.contains("Nothing failed") && !page.contains(&inbox),
        "{page}"
    );
    open.abort();
}
