//! User journeys in a browser on a running server: in a wide window, on a phone, and without
//! scripts.

use serde_json::json;

use super::site::{KEY, Site};
use super::visitor::ADMIN;
use super::webdriver::Browser;

pub const WELCOME: &str = "From: Shop <SENDER>\nSubject: Confirm your address\nMessage-ID: <1@shop.example>\n\
    Content-Type: multipart/mixed; boundary=m\n\n\
    --m\nContent-Type: multipart/alternative; boundary=a\n\n\
    --a\nContent-Type: text/plain; charset=utf-8\n\nYour code is 482913.\nOr open https://shop.example/confirm?t=1\n\
    --a\nContent-Type: text/html; charset=utf-8\n\n\
    <h1>Welcome</h1><p>Your code is <b>482913</b>.</p><a href=\"https://shop.example/confirm?t=1\">Confirm</a>\n--a--\n\
    --m\nContent-Type: application/pdf; name=invoice.pdf\nContent-Disposition: attachment\n\n%PDF\n--m--\n";

pub fn sign_in(browser: &Browser, site: &Site, secret: &str) {
    browser.go(&site.url("/"));
    browser.write("#secret", secret);
    browser.click(".card .primary");
    browser.sees(".brand", "Restante");
    if secret == KEY {
        browser.click(".side [data-icon=inbox]");
        browser.sees("h1", "Inboxes");
    }
}

#[test]
fn an_engineer_watches_mail_arrive_reads_it_and_answers() {
    let site = Site::start();
    let browser = Browser::open(1280, 800, &[]);
    sign_in(&browser, &site, KEY);
    browser.sees("h2", "No inboxes yet");
    browser.click("[data-new]");
    browser.sees("h2", "No messages yet");
    browser.sees("pre", "messages/wait");
    let address = browser.text(".list h1");
    // A page that was loaded again would have lost this.
    browser.run("window.stayed = true");
    assert!(
        site.mail(
            &address,
            &WELCOME.replace("SENDER", "shop@restante.example.com")
        )
        .starts_with("250")
    );
    browser.sees(".message-row", "Confirm your address");
    browser.sees(".message-row", "482913");
    assert_eq!(browser.run("return window.stayed"), true);

    browser.sees(".letter", "Confirm your address");
    read_every_tab(&browser);
    assert_eq!(browser.run("return window.stayed"), true);

    // The answer goes to the shop's own inbox.
    assert!(
        site.mail("shop@restante.example.com", "Subject: Open\n\nx\n")
            .starts_with("250")
    );
    browser.press("r");
    browser.sees("h1", "Reply");
    assert_eq!(
        browser.run("return document.querySelector('#subject').value"),
        "Re: Confirm your address"
    );
    browser.write("#text", "Thank you");
    browser.click(".compose .primary");
    browser.sees("h1", "Outgoing");
    browser.sees(".sent", "sent");
    browser.click(".side [data-icon=inbox]");
    browser.sees(".inbox-row", "Re: Confirm your address");

    assert!(
        site.mail("someone@elsewhere.example", "")
            .starts_with("550")
    );
    browser.click(".side a[href$='/refused']");
    browser.sees(".failure-row", "relay not permitted");
    browser.sees(".failure-row", "someone@elsewhere.example");

    browser.click(".side [data-icon=inbox]");
    browser.sees(".inbox-row", &address);
    let row = format!(
        ".inbox-row[data-key='{}']",
        address.split('@').next().unwrap()
    );
    browser.click(&format!("{row} .row-link"));
    browser.sees("p", &address);
    browser.click(".list-top .menu summary");
    browser.click(".list-top .menu form:last-child .danger");
    browser.sees(".note", "This inbox was deleted");
    browser.sees(".timeline", "The inbox was deleted.");
    browser.click(".side [data-icon=inbox]");
    browser.sees("h1", "Inboxes");
    assert!(!browser.has(&row));

    browser.click("form[action='/sign-out'] button");
    browser.sees("h1", "Sign in to Restante");
}

fn read_every_tab(browser: &Browser) {
    browser.enter(".sheet iframe");
    browser.sees("h1", "Welcome");
    browser.leave();
    browser.press("2");
    browser.sees(".text", "Your code is 482913.");
    browser.press("3");
    browser.sees(".links", "https://shop.example/confirm?t=1");
    let link =
        browser.run("const a = document.querySelector('.links a'); return [a.target, a.rel]");
    assert_eq!(link, json!(["_blank", "noopener noreferrer nofollow"]));
    browser.press("4");
    browser.sees(".sections", "A label is directly before the code.");
    browser.press("5");
    browser.sees(".headers", "Return-Path");
    browser.press("6");
    browser.sees(".parts", "invoice.pdf");
    browser.press("7");
    browser.sees(".source", "boundary=m");
    browser.press("1");
    browser.click(".view-options summary");
    browser.click(".choice a:nth-child(2)");
    browser.sees(".phone", "");
    assert_eq!(
        browser.run("return document.querySelector('.sheet iframe').clientWidth"),
        375
    );
}

#[test]
fn an_administrator_does_the_same_on_a_phone() {
    let site = Site::start();
    let browser = Browser::open(390, 844, &[]);
    sign_in(&browser, &site, ADMIN);
    browser.click("[data-new] summary");
    browser.write("#name", "Checkout");
    browser.click(".pop .primary");
    browser.sees("h1", "API key of Checkout");
    let first_key = browser.text("#key");
    browser.click("main p a.button");
    browser.sees("td", "Checkout");
    browser.click("tbody tr:last-child .row-link");
    browser.sees("h2", "No inboxes yet");
    browser.click(".menu summary");
    browser.write("#name", "reports");
    browser.click(".pop .primary");
    browser.sees("h1", "reports@restante.example.com");

    assert!(
        site.mail(
            "reports@restante.example.com",
            &WELCOME.replace("SENDER", "a@b.example")
        )
        .starts_with("250")
    );
    browser.click(".message-row .row-link");
    browser.waits_for(".is-open");
    browser.sees(".letter", "Confirm your address");
    assert_eq!(
        browser.run("return getComputedStyle(document.querySelector('.list')).display"),
        "none"
    );
    assert_eq!(
        browser.run("return document.documentElement.scrollWidth"),
        390
    );
    browser.click(".letter .up");
    browser.waits_for("main:not(.is-open) .message-row");
    browser.sees(".message-row", "Confirm your address");

    browser.click(".more-button");
    browser.click(".more a[href$='/settings']");
    browser.click("details:has([action$='/rotate']) summary");
    // Tests may go on with the former key for a day, unless this is switched off.
    browser.click("[name=overlap]");
    browser.click("[action$='/rotate'] button");
    browser.sees("h1", "API key of Checkout");
    assert_ne!(browser.text("#key"), first_key);
    browser.click(".more-button");
    browser.click("form[action='/sign-out-everywhere'] button");
    browser.sees("h1", "Sign in to Restante");
    browser.write("#secret", &first_key);
    browser.click(".card .primary");
    browser.sees(".problem", "nvalid API key or administrator token");
}

#[test]
fn everything_can_be_read_without_scripts() {
    let site = Site::start();
    let browser = Browser::open(1280, 800, &[]);
    browser.devtools(
        "Emulation.setScriptExecutionDisabled",
        &json!({"value": true}),
    );
    assert!(
        site.mail(
            "reader@restante.example.com",
            &WELCOME.replace("SENDER", "a@b.example")
        )
        .starts_with("250")
    );
    sign_in(&browser, &site, KEY);
    browser.click(".inbox-row .row-link");
    browser.click(".message-row .row-link");
    for (tab, css, text) in [
        (2, ".text", "482913"),
        (3, ".links", "confirm"),
        (6, ".parts", "invoice.pdf"),
        (7, ".source", "%PDF"),
    ] {
        browser.click(&format!(".reader .tabs a:nth-child({tab})"));
        browser.sees(css, text);
    }
    browser.click(".reader .tabs a:first-child");
    browser.enter(".sheet iframe");
    browser.sees("h1", "Welcome");
}
