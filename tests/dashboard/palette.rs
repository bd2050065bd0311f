//! The command palette, and mail that arrives while the page is hidden, in a browser on a running
//! server.

use serde_json::json;

use super::journeys::sign_in;
use super::site::{KEY, Site};
use super::webdriver::Browser;

const ARROW_DOWN: &str = "\u{e015}";
const ARROW_UP: &str = "\u{e013}";
const CONTROL: &str = "\u{e009}";
const ENTER: &str = "\u{e007}";
const ESCAPE: &str = "\u{e00c}";

fn mail(site: &Site, recipient: &str, subject: &str) {
    let message = format!("From: shop@shop.example\nSubject: {subject}\n\nHello\n");
    assert!(site.mail(recipient, &message).starts_with("250"));
}

/// Whether `css` selects the element that has the focus.
fn focused(browser: &Browser, css: &str) -> bool {
    browser.run(&format!(
        "return document.activeElement.matches({})",
        json!(css)
    )) == true
}

#[test]
fn the_palette_finds_inboxes_and_messages_and_opens_one() {
    let site = Site::start();
    let browser = Browser::open(1280, 800, &[]);
    mail(&site, "invoices@restante.example.com", "Your invoice");
    mail(&site, "welcome@restante.example.com", "Nice to meet you");
    sign_in(&browser, &site, KEY);
    browser.press_together(&[CONTROL, "k"]);
    assert!(focused(&browser, ".palette input"));
    browser.type_keys(&["i", "n", "v", "o", "i"]);
    browser.waits_for(".palette-results:has([href*='/invoices']):not(:has([href*='/welcome']))");
    browser.sees(".palette-results", "invoices@restante.example.com");
    browser.sees(".palette-results", "Your invoice");
    browser.press(ARROW_DOWN);
    assert!(focused(&browser, ".palette .row-link"));
    browser.press(ARROW_UP);
    assert!(focused(&browser, ".palette input"));
    // An input method uses Enter to confirm a word.
    let composes = "return document.activeElement.dispatchEvent(new KeyboardEvent('keydown',
        { key: 'Enter', isComposing: true, bubbles: true, cancelable: true }));";
    assert_eq!(browser.run(composes), true, "the key was used");
    browser.press(ENTER);
    browser.sees(".message-row", "Your invoice");
    browser.waits_for(".palette:not([open])");

    // Enter opens what was typed, and not a result of the text before.
    browser.press_together(&[CONTROL, "k"]);
    browser.waits_for(".palette[open] [href*='/invoices']");
    browser.type_keys(&["w", "e", "l", "c", "o", ENTER]);
    browser.sees(".message-row", "Nice to meet you");
    browser.waits_for(".palette:not([open])");

    browser.press_together(&[CONTROL, "k"]);
    browser.waits_for(".palette[open]");
    browser.press(ESCAPE);
    browser.waits_for(".palette:not([open])");
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
    browser.type_keys(&["p", "e", "a", "r", "s"]);
    browser.sees(".palette", "Searched all 201 messages, found 1.");
    browser.sees(".palette-results", "Mail 0");
    browser.press(ESCAPE);
    browser.go(&site.url("/"));
    browser.click("[data-icon=mail]");
    browser.waits_for(".mail-row");
    browser
        .run("history.replaceState(null, '', `${location.pathname}?q=pears`); location.reload();");
    browser.sees(".mail-row", "Mail 0");
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

#[test]
fn mail_that_arrives_while_the_page_is_hidden_is_counted_and_shown_as_a_notification() {
    let site = Site::start();
    let browser = Browser::open(1280, 800, &[]);
    mail(&site, "hidden@restante.example.com", "Before");
    sign_in(&browser, &site, KEY);
    browser.devtools(
        "Browser.grantPermissions",
        &json!({"permissions": ["notifications"], "origin": site.url("")}),
    );
    browser.click(".inbox-row .row-link");
    browser.sees(".message-row", "Before");
    browser.click("[data-notify]");
    browser.sees("button", "Stop notifications");
    browser.run(
        "window.shown = [];
         window.Notification = class extends Notification {
             constructor(title, options) { super(title, options); window.shown.push([title, options.body]); }
         }",
    );
    browser.hide();
    mail(&site, "hidden@restante.example.com", "Meanwhile");
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
    mail(&site, "hidden@restante.example.com", "Later");
    browser.sees(".message-row", "Later");
    let title = browser.run("return document.title");
    assert!(
        title
            .as_str()
            .is_some_and(|title| title.starts_with("(1) ")),
        "{title}"
    );
}
