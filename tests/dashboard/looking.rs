//! The page for looking at mail, in a browser on a running server: the list beside the message, the
//! search, and the keys.

use std::process::{Command, Stdio};

use serde_json::json;

use super::journeys::{WELCOME, sign_in};
use super::site::{KEY, Site};
use super::webdriver::Browser;

const CONTROL: &str = "\u{e009}";
const ENTER: &str = "\u{e007}";
const ESCAPE: &str = "\u{e00c}";

fn mail(site: &Site, recipient: &str, subject: &str) {
    let message = format!("From: Ann Shop <shop@shop.example>\nSubject: {subject}\n\nHello\n");
    assert!(site.mail(recipient, &message).starts_with("250"));
}

/// Opens all mail.
fn open(browser: &Browser, site: &Site) {
    sign_in(browser, site, KEY);
    browser.click(".side [data-icon=mail]");
    browser.waits_for(".message-row");
}

#[test]
fn the_list_stays_while_messages_are_read() {
    let site = Site::start();
    let browser = Browser::open(1280, 800, &[]);
    for subject in ["First", "Second", "Third"] {
        mail(&site, "reader@restante.example.com", subject);
    }
    open(&browser, &site);
    // The newest is open, although none is selected.
    browser.sees(".letter", "Third");
    browser.sees(".from", "Ann Shop");
    browser.run("document.querySelector('.list').stayed = true");
    browser.press("j");
    browser.sees(".letter", "Second");
    browser.press("j");
    browser.sees(".letter", "First");
    browser.press("k");
    browser.sees(".letter", "Second");
    browser.waits_for(".message-row:nth-child(2)[data-open]:not(.unread)");
    browser.click(".message-row:nth-child(1) .row-link");
    browser.sees(".letter", "Third");
    assert_eq!(
        browser.run("return document.querySelector('.list').stayed"),
        true
    );
    // What this browser has opened is known after a reload.
    browser.go(&browser.address());
    browser.waits_for(".message-row:nth-child(2):not(.unread)");
    browser.press("#");
    browser.waits_for(".message-row:nth-child(2):last-child");
    browser.sees(".letter", "Second");
}

#[test]
fn a_message_is_selected_by_the_url_without_scripts() {
    let site = Site::start();
    let browser = Browser::open(1280, 800, &[]);
    mail(&site, "one@restante.example.com", "First");
    mail(&site, "two@restante.example.com", "Second");
    browser.devtools(
        "Emulation.setScriptExecutionDisabled",
        &json!({"value": true}),
    );
    open(&browser, &site);
    browser.sees(".letter", "Second");
    browser.click(".message-row:nth-child(2) .row-link");
    browser.sees(".letter", "First");
    browser.waits_for(".message-row:nth-child(2)[data-open]");
    assert!(
        browser.address().contains("/mail?m="),
        "{}",
        browser.address()
    );
}

#[test]
fn the_mail_begins_near_the_top() {
    let site = Site::start();
    assert!(
        site.mail("reader@restante.example.com", WELCOME)
            .starts_with("250")
    );
    for (width, height, limit) in [(1280, 800, 100), (1920, 1080, 100), (390, 844, 220)] {
        let browser = Browser::open(width, height, &[]);
        open(&browser, &site);
        browser.click(".message-row .row-link");
        browser.waits_for(".sheet iframe");
        let top = browser.run("return document.querySelector('.mail').getBoundingClientRect().top");
        assert!(top.as_f64().unwrap() <= f64::from(limit), "{width}: {top}");
    }
}

#[test]
fn new_mail_waits_while_the_reader_is_not_at_the_top() {
    let site = Site::start();
    let browser = Browser::open(1280, 800, &[]);
    for number in 0..60 {
        mail(
            &site,
            "reader@restante.example.com",
            &format!("Number {number}"),
        );
    }
    open(&browser, &site);
    browser.sees(".counted", "50 of 60");
    browser.run("document.querySelector('.list').scrollTop = 300");
    let place = "const row = document.querySelectorAll('.message-row')[20];
        return [row.dataset.key, Math.round(row.getBoundingClientRect().top)]";
    let before = browser.run(place);
    for number in 0..3 {
        mail(
            &site,
            "reader@restante.example.com",
            &format!("Late {number}"),
        );
        browser.sees(".newer", &format!("{} new", number + 1));
    }
    assert_eq!(browser.run(place), before);
    browser.click(".newer");
    browser.sees(".message-row", "Late 2");
    assert!(browser.text(".message-row:first-child").contains("Late 2"));
    assert_eq!(
        browser.run("return document.querySelector('.newer').hidden"),
        true
    );
    // At the top, it appears at once.
    mail(&site, "reader@restante.example.com", "Last");
    browser.sees(".message-row", "Last");
    assert!(browser.text(".message-row:first-child").contains("Last"));
    // The next page is loaded as the end comes near.
    browser.run("const list = document.querySelector('.list'); list.scrollTop = list.scrollHeight");
    browser.sees(".message-row", "Number 0");
}

#[test]
fn the_mail_of_an_open_wait_takes_its_place() {
    let site = Site::start();
    let browser = Browser::open(1280, 800, &[]);
    let url = site.url("/v1/inboxes/waiting@restante.example.com");
    let request = |method: &str, url: &str| {
        let authorization = format!("Authorization: Bearer {KEY}");
        let mut curl = Command::new("curl");
        curl.args(["--silent", "-X", method, "-H", &authorization, url])
            .stdout(Stdio::null());
        curl.spawn().unwrap()
    };
    assert!(request("PUT", &url).wait().unwrap().success());
    let wait = site.url("/v1/inboxes/waiting/messages/wait?timeout=60000");
    let mut waiting = request("GET", &wait);
    sign_in(&browser, &site, KEY);
    browser.click(".inbox-row .row-link");
    browser.waits_for("[data-until-mail] .badge.open");
    mail(&site, "waiting@restante.example.com", "Welcome");
    browser.sees(".letter", "Welcome");
    assert!(waiting.wait().unwrap().success());
    // Waits that the reader has chosen stay.
    browser.click(".list .tabs [href$='/waits']");
    browser.waits_for(".reader:not([data-until-mail]) .waits");
    mail(&site, "waiting@restante.example.com", "Later");
    browser.sees(".message-row", "Later");
    browser.waits_for(".reader .waits");
}

#[test]
fn no_shortcut_runs_while_something_is_open() {
    let site = Site::start();
    let browser = Browser::open(1280, 800, &[]);
    sign_in(&browser, &site, KEY);
    browser.sees("h1", "Inboxes");
    browser.click(".menu summary");
    browser.waits_for("#name:focus");
    browser.type_keys(&["q", "a", "-", "n"]);
    assert_eq!(
        browser.run("return document.querySelector('#name').value"),
        "qa-n"
    );
    browser.run("document.activeElement.blur()");
    browser.press("n");
    browser.press(ESCAPE);
    browser.waits_for(".menu:not([open])");
    browser.press("?");
    browser.waits_for(".shortcuts[open]");
    browser.press("n");
    browser.press(ESCAPE);
    browser.waits_for("dialog:not([open])");
    browser.sees("h2", "No inboxes yet");
}

#[test]
fn one_search_finds_inboxes_tests_and_mail() {
    let site = Site::start();
    let browser = Browser::open(1280, 800, &[]);
    mail(&site, "invoices@restante.example.com", "Nice to meet you");
    mail(&site, "welcome@restante.example.com", "Your invoices");
    sign_in(&browser, &site, KEY);
    browser.press_together(&[CONTROL, "k"]);
    browser.waits_for("[data-search]:focus");
    browser.type_keys(&["i", "n", "v", "o", "i"]);
    browser.sees(".found-row", "invoices@restante.example.com");
    browser.sees(".message-row", "Your invoices");
    browser.press("\u{e015}");
    browser.press(ENTER);
    browser.sees("p", "invoices@restante.example.com");
}

/// More text than one step of a search compares. Inboxes share the content of a message, so few
/// messages are enough.
fn fill(site: &Site) {
    let first = "From: shop@shop.example\nSubject: Mail 0\n\npears\n";
    assert!(
        site.mail("first@restante.example.com", first)
            .starts_with("250")
    );
    let text = "word ".repeat(12_000);
    let recipients: String = (0..100)
        .map(|number| format!("RCPT TO:<{number}@restante.example.com>\r\n"))
        .collect();
    let message = format!("DATA\r\nSubject: Long\r\n\r\n{text}\r\n.\r\n");
    let transaction = format!("MAIL FROM:<a@shop.example>\r\n{recipients}{message}");
    let replies = site.talk(&[
        "EHLO app.example\r\n",
        &transaction,
        &transaction,
        "QUIT\r\n",
    ]);
    assert_eq!(replies.matches("250 2.0.0 Stored").count(), 2, "{replies}");
}

#[test]
fn a_search_continues_by_itself_until_it_has_looked_at_everything_and_can_be_stopped() {
    let site = Site::start();
    let browser = Browser::open(1280, 800, &[]);
    fill(&site);
    sign_in(&browser, &site, KEY);
    browser.press_together(&[CONTROL, "k"]);
    browser.waits_for("[data-search]:focus");
    browser.type_keys(&["p", "e", "a", "r", "s"]);
    browser.sees(".message-row", "Mail 0");
    browser.sees(".searched", "Searched all 201 messages, found 1.");
    assert!(!browser.has("[data-searching]"));

    // Each further step waits until it is released, so that there is time to stop.
    browser.run(
        "const load = window.loads = window.fetch;
         window.fetch = (url, options) => String(url).includes('progress=')
             ? new Promise((resolve) => { window.release = () => resolve(load(url, options)); })
             : load(url, options);",
    );
    browser.run(
        "const field = document.querySelector('[data-search]');
         field.value = 'plums';
         field.dispatchEvent(new Event('input', { bubbles: true }));",
    );
    browser.waits_for("[data-searching] [data-stop]");
    browser.sees(".searched", "of about 201 messages, found 0.");
    browser.click("[data-stop]");
    browser.run("window.release();");
    browser.waits_for("[data-region=mail]:not([data-searching])");
    browser.sees("h2", "Nothing found yet");
    browser.run("window.fetch = window.loads;");
    browser.click("[data-continue]");
    browser.sees("h2", "Nothing matches");
    browser.sees(".searched", "Searched all 201 messages, found 0.");

    // A step is not repeated once the session has ended.
    browser.devtools("Network.clearBrowserCookies", &json!({}));
    browser.run("search(document.querySelector('[data-region=mail]'), { href: location.href })");
    browser.sees("h1", "Sign in to Restante");
}
