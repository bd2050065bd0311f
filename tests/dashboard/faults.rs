//! The faults of an inbox on its page.

use std::time::Duration;

use serde_json::json;

use super::visitor::Visitor;
use testkit::Harness;

#[tokio::test]
async fn the_page_of_an_inbox_shows_its_faults_and_their_uses() {
    let harness = Harness::start().await;
    let own = Visitor::of_default(&harness).await;
    let inbox = harness.create_inbox().await;
    let page = format!("{}/inboxes/{inbox}", own.project_path().await);
    assert!(!own.get(&page).await.body.contains("Injected faults"));

    let faults = json!({"faults": [
        {"at": "data", "do": "duplicate"},
        {"at": "rcpt", "do": "defer", "times": 2, "reply": "450 4.2.0 <b>Later</b>"},
    ]});
    let path = format!("/v1/inboxes/{inbox}/faults");
    assert_eq!(
        harness.call("PUT", &path, faults.to_string()).await.status,
        200
    );
    harness.deliver(&inbox, "Hello").await;
    harness.clock.advance(Duration::from_secs(120));
    let shown = own.get(&page).await.body;
    assert!(
        shown.contains("Injected faults:\n2\n  uses left"),
        "{shown}"
    );
    assert!(shown.contains(
        "duplicate at data</span>,\nused 1 of 1:\n<time datetime=\"2026-11-20T09:30:00.123Z\""
    ));
    assert!(shown.contains("2 min ago"));
    assert!(
        shown.contains(
            "defer at rcpt: 450 4.2.0 &#60;b&#62;Later&#60;/b&#62;</span>,\nused 0 of 2</li>"
        ),
        "{shown}"
    );

    let cleared = own.post(&format!("{page}/clear-faults"), &[]).await;
    assert_eq!(cleared.status, 303);
    assert!(!own.get(&page).await.body.contains("Injected faults"));
}
