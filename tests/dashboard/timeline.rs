//! The timeline of an inbox, and that of an address at which mail was rejected.

use std::time::Duration;

use testkit::Harness;

use super::journeys::sign_in;
use super::site::{KEY, Site};
use super::visitor::Visitor;
use super::webdriver::Browser;

#[test]
fn the_timeline_shows_messages_waits_and_transcripts() {
    let site = Site::start();
    let browser = Browser::open(1280, 800, &[]);
    let (id, address) = site.create_inbox();
    assert!(
        site.mail(&address, "Subject: Photo \u{202e}gnp.exe\n\nHello\n")
            .starts_with("250")
    );
    let story = site.times_out(&id, "subject=acount");
    sign_in(&browser, &site, KEY);
    browser.go(&format!(
        "{}/{id}",
        browser.address().replace("/failures", "/inboxes")
    ));
    browser.click(".list .tabs a:nth-child(3)");
    browser.sees("h1", "Timeline");
    browser.sees(".timeline", "The inbox was created.");
    browser.sees(".timeline", "Photo ‹U+202E›gnp.exe");
    browser.click(".timeline summary");
    browser.sees("ol", &format!("RCPT TO:<{address}> → 250"));
    // The page follows the inbox, and an open transcript stays open.
    assert!(
        site.mail(&address, "Subject: The second\n\nHello\n")
            .starts_with("250")
    );
    browser.sees(".timeline", "The second");
    assert!(browser.has(".timeline details[open]"));
    browser.click(&format!(
        ".timeline a[href='{}']",
        story.trim_start_matches(&site.url(""))
    ));
    browser.sees(".sentence", "Expected subject \"acount\"; arrived: ");
    browser.sees(".timeline", "Photo ‹U+202E›gnp.exe");
}

#[test]
fn a_rejection_opens_its_transcript() {
    let site = Site::start();
    let browser = Browser::open(1280, 800, &[]);
    assert!(
        site.mail("someone@elsewhere.example", "")
            .starts_with("550")
    );
    sign_in(&browser, &site, KEY);
    for page in ["/failures", "/refused"] {
        browser.click(&format!(".side a[href$='{page}']"));
        browser.click("main .row .row-link");
        browser.sees("p", "someone@elsewhere.example");
        browser.sees(".note", "no inbox with this address");
        browser.click(".timeline summary");
        browser.sees("ol", "RCPT TO:<someone@elsewhere.example> → 550 5.7.1");
    }
}

#[tokio::test]
async fn the_timeline_of_an_inbox_outlives_it() {
    let harness = Harness::start().await;
    let own = Visitor::of_default(&harness).await;
    let inbox = harness.create_inbox().await;
    let path = format!("{}/inboxes/{inbox}/timeline", own.project_path().await);
    assert!(own.get(&path).await.body.contains("data-live"));
    harness.clock.advance(Duration::from_secs(1));
    assert_eq!(
        harness
            .call("DELETE", &format!("/v1/inboxes/{inbox}"), "")
            .await
            .status,
        204
    );
    let page = own.get(&path).await.body;
    assert!(
        page.contains("This inbox was deleted") && page.contains("The inbox was created."),
        "{page}"
    );
    assert!(!page.contains("data-live"), "{page}");

    let other = Visitor::sign_in(&harness, harness.other_key.as_str()).await;
    for name in [&inbox, "never", "never@elsewhere.example"] {
        let path = format!("{}/inboxes/{name}/timeline", other.project_path().await);
        assert_eq!(other.get(&path).await.status, 404, "{name}");
    }
}
