//! Keyboard shortcuts, automatic updates, and reconnecting, in a browser on a running server.

use serde_json::json;

use super::journeys::{WELCOME, sign_in};
use super::site::{KEY, Site};
use super::visitor::ADMIN;
use super::webdriver::Browser;

const ESCAPE: &str = "\u{e00c}";
const ENTER: &str = "\u{e007}";

/// Whether an element of `css` has the focus.
fn focused(browser: &Browser, css: &str) -> bool {
    browser.run(&format!(
        "return document.activeElement.matches({})",
        json!(css)
    )) == true
}

/// Signs in and opens an inbox with one message.
fn open_inbox(browser: &Browser, site: &Site, address: &str) {
    assert!(site.mail(address, WELCOME).starts_with("250"));
    sign_in(browser, site, KEY);
    browser.click(".inbox-row .row-link");
    browser.sees(".message-row", "Confirm your address");
}

#[test]
fn everything_is_done_from_the_keyboard() {
    let site = Site::start();
    let browser = Browser::open(1280, 800, &[]);
    for subject in ["First", "Second", "Third"] {
        let mail = format!("From: a@shop.example\nSubject: {subject}\n\nHello\n");
        assert!(
            site.mail("keys@restante.example.com", &mail)
                .starts_with("250")
        );
    }
    sign_in(&browser, &site, KEY);
    browser.sees(".inbox-row", "keys@restante.example.com");
    browser.press("j");
    assert!(focused(&browser, ".inbox-row .row-link"));
    browser.press(ENTER);
    browser.sees(".letter", "Third");
    browser.press("j");
    browser.sees(".letter", "Second");
    browser.press(ESCAPE);
    assert!(focused(&browser, ".message-row:nth-child(2) .row-link"));

    browser.press("/");
    assert!(focused(&browser, "[data-search]"));
    browser.press("F");
    browser.press("i");
    browser.press("r");
    browser.waits_for(".message-row:only-child");
    browser.sees(".message-row", "First");
    browser.press(ESCAPE);
    assert!(!focused(&browser, "[data-search]"));
    browser.press("?");
    browser.sees(".shortcuts", "Keyboard shortcuts");
    browser.press(ESCAPE);
    browser.waits_for("dialog:not([open])");
    browser.press("n");
    browser.sees("h1", "Send a message");
    assert!(focused(&browser, "#to"));
}

#[test]
fn a_key_opens_the_form_of_a_new_project() {
    let site = Site::start();
    let browser = Browser::open(1280, 800, &[]);
    sign_in(&browser, &site, ADMIN);
    browser.sees("h1", "Projects");
    browser.press("n");
    browser.waits_for("details[data-new][open]");
}

#[test]
fn a_link_within_the_page_keeps_what_was_written() {
    let site = Site::start();
    let browser = Browser::open(1280, 800, &[]);
    open_inbox(&browser, &site, "draft@restante.example.com");
    browser.press("n");
    browser.sees("h1", "Send a message");
    browser.write("#subject", "Half");
    browser.run("document.querySelector('.skip').click()");
    assert!(focused(&browser, "#main"));
    // A change of the address would be announced as another page.
    assert_eq!(
        browser.run("return [location.hash, document.querySelector('#subject').value]"),
        json!(["", "Half"])
    );
}

#[test]
fn a_queue_that_gets_stuck_is_watched_cancelled_and_tried_again() {
    let site = Site::start();
    let browser = Browser::open(1280, 800, &[]);
    open_inbox(&browser, &site, "out@restante.example.com");
    browser.press("n");
    browser.sees("h1", "Send a message");
    browser.write("#to", "away@elsewhere.example");
    browser.write("#subject", "Stuck");
    browser.click(".compose .primary");
    // Nothing listens at the relay of these servers.
    browser.sees(".sent-row", "1 attempt");
    browser.sees(".reply", "127.0.0.1");
    browser.click("form[action$='/cancel'] button");
    browser.sees(".badge", "cancelled");
    browser.click("form[action$='/retry'] button");
    browser.sees(".attempts", "All 2 attempts");
    browser.click(".attempts summary");
    browser.waits_for(".attempts[open] li:nth-child(2)");
}

#[test]
fn the_first_mail_lights_up_where_it_is_waited_for() {
    let site = Site::start();
    let browser = Browser::open(1280, 800, &[]);
    sign_in(&browser, &site, KEY);
    browser.click(".side a[href$='/start']");
    browser.sees(".arrivals", "Waiting for the first message");
    assert!(
        site.mail("first@restante.example.com", WELCOME)
            .starts_with("250")
    );
    browser.sees(".arrived", "It works");
    browser.click(".arrived a");
    browser.sees("h1", "Inboxes");
    browser.click("[data-new]");
    browser.sees(".waiting", "No messages yet");
    let address = browser.text(".list h1");
    assert!(site.mail(&address, WELCOME).starts_with("250"));
    browser.sees(".letter", "Confirm your address");
}

#[test]
fn a_page_catches_up_after_a_lost_connection() {
    let site = Site::start();
    let browser = Browser::open(390, 844, &[]);
    open_inbox(&browser, &site, "break@restante.example.com");
    browser.run("window.stayed = true");
    let site = site.restart(|| browser.waits_for(".lost:not([hidden])"));
    assert!(
        site.mail(
            "break@restante.example.com",
            "Subject: After the break\n\nx\n"
        )
        .starts_with("250")
    );
    browser.sees(".message-row", "After the break");
    browser.waits_for(".lost[hidden]");
    assert_eq!(browser.run("return window.stayed"), true);
}
