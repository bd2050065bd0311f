//! When a page is updated, and what an update leaves as it was: the opened panels, the focus, the
//! selection. In a browser on a running server.

use serde_json::json;

use super::journeys::sign_in;
use super::site::{KEY, Site};
use super::webdriver::Browser;

const ADDRESS: &str = "live@restante.example.com";
/// Counts the events of the streams that are opened from now on, and holds every load of a part
/// until it is released.
const HELD: &str = "
    const count = (name) => {
        document.documentElement.dataset[name] = Number(document.documentElement.dataset[name] ?? 0) + 1;
    };
    window.EventSource = class extends EventSource {
        constructor(url) {
            super(url);
            this.addEventListener('open', () => count('opened'));
            this.addEventListener('message', () => count('events'));
        }
    };
    const load = window.fetch;
    window.fetch = async (url, options) => {
        const response = await load(url, options);
        if (!options.headers['x-part']) return response;
        return new Promise((resolve) => { window.release = () => resolve(response); count('loads'); });
    };";

fn mail(site: &Site, subject: &str) {
    let message = format!("From: shop@shop.example\nSubject: {subject}\n\nHello\n");
    assert!(site.mail(ADDRESS, &message).starts_with("250"));
}

/// Signs in and opens the inbox, which has one message.
fn open_inbox(browser: &Browser, site: &Site) {
    mail(site, "First");
    sign_in(browser, site, KEY);
    browser.click(".inbox-row .row-link");
    browser.sees(".message-row", "First");
    browser.run("window.stayed = true");
}

/// Whether `css` selects the element that has the focus.
fn focused(browser: &Browser, css: &str) -> bool {
    browser.run(&format!(
        "return document.activeElement.matches({})",
        json!(css)
    )) == true
}

#[test]
fn a_change_during_a_load_does_not_drop_its_result() {
    let site = Site::start();
    let browser = Browser::open(1280, 800, &[]);
    open_inbox(&browser, &site);
    browser.run(HELD);
    // Opens the page again, with a stream that is counted.
    browser.click(".list .tabs [href$='/waits']");
    browser.waits_for("[data-opened='1']");
    mail(&site, "Second");
    browser.waits_for("[data-events='1'][data-loads='1']");
    mail(&site, "Third");
    browser.waits_for("[data-events='2']");
    assert!(browser.has("[data-loads='1']"), "one load at a time");
    browser.run("window.release()");
    browser.sees(".message-row", "Second");
    browser.waits_for("[data-loads='2']");
    browser.run("window.release()");
    browser.sees(".message-row", "Third");
}

#[test]
fn a_panel_stays_as_it_is_when_its_count_changes() {
    let site = Site::start();
    let browser = Browser::open(1280, 800, &[]);
    open_inbox(&browser, &site);
    let faults = r#"{"faults": [{"at": "data", "do": "duplicate", "times": 5}]}"#;
    assert_eq!(site.call("PUT", "/v1/inboxes/live/faults", faults).0, 200);
    browser.waits_for(".faults[open]");
    browser.sees(".faults", "5 uses left");
    browser.click(".faults summary");
    browser.waits_for(".faults:not([open])");
    mail(&site, "Second");
    browser.sees(".faults", "4 uses left");
    assert!(browser.has(".faults:not([open])"), "closed by the user");
    assert!(focused(&browser, ".faults summary"));
    browser.click(".faults summary");
    mail(&site, "Third");
    browser.sees(".faults", "3 uses left");
    assert!(browser.has(".faults[open]"), "opened by the user");
}

#[test]
fn an_update_keeps_the_focus_and_the_start_of_a_range() {
    let site = Site::start();
    let browser = Browser::open(1280, 800, &[]);
    let choice = |number: usize| format!(".inbox-row[data-row]:nth-child({number}) .choose");
    for _ in 0..3 {
        site.create_inbox();
    }
    sign_in(&browser, &site, KEY);
    browser.waits_for(&choice(3));
    browser.click(&choice(1));
    let (_, address) = site.create_inbox();
    browser.sees(".inbox-row", &address);
    assert!(focused(&browser, &choice(2)), "the box of the same inbox");
    browser.click_with_shift(&choice(4));
    let chosen = "return [...document.querySelectorAll('.choose[name]')].map((box) => box.checked)";
    assert_eq!(browser.run(chosen), json!([false, true, true, true]));

    browser.run("document.querySelector('.inbox-row[data-row] .copy').focus()");
    let (_, address) = site.create_inbox();
    browser.sees(".inbox-row", &address);
    assert!(focused(&browser, ".inbox-row[data-row]:nth-child(2) .copy"));
}

#[test]
fn a_message_with_the_results_of_the_dns_is_updated() {
    let site = Site::start();
    let browser = Browser::open(1280, 800, &[]);
    open_inbox(&browser, &site);
    browser.click(".message-row .row-link");
    browser.sees(".letter", "First");
    browser.go(&format!("{}?dns=true", browser.address()));
    mail(&site, "Second");
    browser.sees(".message-row", "Second");
    assert!(browser.has(".letter"));
}

#[test]
fn a_search_on_a_page_without_updates_stays_on_it() {
    let site = Site::start();
    let browser = Browser::open(1280, 800, &[]);
    open_inbox(&browser, &site);
    browser.go(&browser.address().replace("/inboxes/live", "/mail?before=1"));
    browser.sees("h2", "No older messages");
    assert!(!browser.has("main[data-live]"));
    browser.run("window.stayed = true");
    browser.write("[data-search]", "First");
    browser.sees(".message-row", "First");
    mail(&site, "First again");
    browser.sees(".message-row", "First again");
    assert_eq!(browser.run("return window.stayed"), true);
}

#[test]
fn mail_that_arrives_while_the_page_is_hidden_is_counted_and_shown_as_a_notification() {
    let site = Site::start();
    let browser = Browser::open(1280, 800, &[]);
    open_inbox(&browser, &site);
    browser.devtools(
        "Browser.grantPermissions",
        &json!({"permissions": ["notifications"], "origin": site.url("")}),
    );
    browser.click("[data-notify]");
    browser.sees("button", "Stop notifications");
    browser.run(
        "window.shown = [];
         window.Notification = class extends Notification {
             constructor(title, options) { super(title, options); window.shown.push([title, options.body]); }
         }",
    );
    browser.hide();
    mail(&site, "Meanwhile");
    browser.sees(".message-row", "Meanwhile");
    let title = browser.run("return document.title");
    assert!(
        title
            .as_str()
            .is_some_and(|title| title.starts_with("(1) ")),
        "{title}"
    );
    assert_eq!(
        browser.run("return window.shown"),
        json!([["shop@shop.example", "Meanwhile"]])
    );
    browser.show();
    assert_eq!(browser.run("return document.title.startsWith('(')"), false);

    // A page that was opened in the background.
    browser.hide();
    browser.go(&browser.address());
    assert_eq!(browser.run("return document.hidden"), true);
    mail(&site, "Later");
    browser.sees(".message-row", "Later");
    let title = browser.run("return document.title");
    assert!(
        title
            .as_str()
            .is_some_and(|title| title.starts_with("(1) ")),
        "{title}"
    );
}
