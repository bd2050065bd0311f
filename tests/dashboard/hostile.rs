//! Hostile mail in a real browser: none of its code runs, and no other host is contacted.
//!
//! Every host name in the messages resolves to one listener, which counts connections. Other names,
//! which Chromium looks up on its own, do not resolve. At the end the browser opens a second
//! listener and then the first one, to check that the first one notices a connection.

use std::net::TcpListener;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::thread;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use serde_json::json;

use super::journeys::sign_in;
use super::site::{KEY, Site};
use super::webdriver::Browser;

/// One payload per line; lines that start with `#` are comments.
const PAYLOADS: &str = include_str!("hostile.txt");
/// What every script in the payloads would do.
const SCRIPT: &str =
    "document.documentElement.dataset.pwned=1;new Image().src=`//canary.example/ran`;alert(1)";

/// A port that counts every connection, even one without a request: a browser opens some in
/// advance.
fn listen() -> (u16, Receiver<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, connections) = channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            drop(stream.unwrap());
            // The test may have ended.
            let _ = sender.send(());
        }
    });
    (port, connections)
}

/// One test for a part of the payloads, so that several browsers run at once.
macro_rules! no_hostile_mail_runs_anything_or_asks_anybody {
    ($($share:ident: $number:literal),+; of $shares:literal) => {
        $(#[test]
        fn $share() {
            look_at_share($number, $shares);
        })+
    };
}

no_hostile_mail_runs_anything_or_asks_anybody! {
    first: 0, second: 1, third: 2; of 3
}

fn look_at_share(number: usize, shares: usize) {
    let payloads: Vec<String> = PAYLOADS
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| {
            line.replace("{script}", SCRIPT)
                .replace("{host}", "canary.example")
        })
        .collect();
    assert!(payloads.len() > 100, "{} payloads", payloads.len());
    look_at(
        payloads
            .chunks(payloads.len().div_ceil(shares))
            .nth(number)
            .unwrap(),
    );
}

/// The HTML of each payload is a page of its own in the frame. The tabs show text in which markup
/// is escaped, so one message has all payloads for them: in its header, its text, its HTML and the
/// names of its attachments.
fn look_at(payloads: &[String]) {
    let ((canary_port, canary), (control_port, control)) = (listen(), listen());
    let rules = format!(
        "--host-resolver-rules=MAP control.example 127.0.0.1:{control_port}, MAP *.example 127.0.0.1:{canary_port}, \
         MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE restante.localhost"
    );
    let site = Site::start();
    let browser = Browser::open(1280, 800, &[rules]);
    sign_in(&browser, &site, KEY);
    let project = inboxes(&browser);
    let messages = payloads.iter().map(std::slice::from_ref).chain([payloads]);
    for (number, payloads) in messages.enumerate() {
        let inbox = format!("hostile-{number}");
        assert!(
            site.mail(&format!("{inbox}@restante.example.com"), &message(payloads))
                .starts_with("250")
        );
        let (.., list) = site.call("GET", &format!("/v1/inboxes/{inbox}/messages"), "");
        let id = list["messages"][0]["id"].as_str().unwrap();
        let page = site.url(&format!("{project}/{inbox}/messages/{id}"));
        match payloads {
            [payload] => inspect(&browser, &page, payload),
            _ => look_at_tabs(&browser, &page),
        }
        assert_eq!(canary.try_recv(), Err(TryRecvError::Empty), "{payloads:?}");
    }
    // All of them in the lists, and in the results of a search.
    for page in ["inboxes", "mail", "mail?q=subject"] {
        browser.go(&site.url(&project.replace("inboxes", page)));
        assert_eq!(browser.run(STATE), json!([true, false, 1, 0]), "{page}");
    }
    // A connection that is still being opened arrives before this one.
    visit(&browser, "control.example", &control);
    assert_eq!(canary.try_recv(), Err(TryRecvError::Empty));
    visit(&browser, "canary.example", &canary);
}

/// Opens the host in the browser, and waits until its listener has a connection.
fn visit(browser: &Browser, host: &str, connections: &Receiver<()>) {
    browser.run(&format!("location.href = 'http://{host}/'"));
    connections
        .recv_timeout(Duration::from_secs(20))
        .expect(host);
}

/// Opens the message, clicks everything in it, and checks that nothing of the mail has run.
fn inspect(browser: &Browser, page: &str, payload: &str) {
    browser.go(page);
    browser.sees(".letter", "Subject");
    browser.enter(".sheet iframe");
    browser.click_all("a, area, button, input, summary, label, svg");
    browser.leave();
    browser.close_others();
    assert_eq!(browser.address(), page, "{payload}");
    assert_eq!(browser.run(STATE), json!([true, false, 1, 0]), "{payload}");
}

fn look_at_tabs(browser: &Browser, page: &str) {
    // The script puts a page that it has loaded in place of the current one.
    browser.go(page.split("/messages/").next().unwrap());
    browser.click(".message-row .row-link");
    browser.sees(".letter", "Subject");
    assert_eq!(browser.run(STATE), json!([true, false, 1, 0]));
    for tab in [
        "text",
        "links",
        "headers",
        "parts",
        "source",
        "html+source",
        "check",
    ] {
        browser.go(&format!("{page}?tab={tab}"));
        browser.sees(".letter", "Subject");
        assert_eq!(browser.run(STATE), json!([true, false, 1, 0]), "{tab}");
    }
}

/// Whether the frame, if there is one, has another origin; whether something ran; the scripts;
/// elements of the mail.
const STATE: &str = "
    const frame = document.querySelector('.sheet iframe');
    const strangers = 'main :is(object, embed, form:not([method]), svg, base, link, style, \
        iframe:not([sandbox^=\"allow-popups\"]))';
    return [!frame || frame.contentDocument === null, 'pwned' in document.documentElement.dataset,
            document.scripts.length, document.querySelectorAll(strangers).length]";

fn inboxes(browser: &Browser) -> String {
    let path = browser
        .run("return document.querySelector('.side [data-icon=inbox]').getAttribute('href')");
    path.as_str().unwrap().to_owned()
}

/// A message with the payloads as its HTML, in its header, in its text, and in the names of
/// attachments.
fn message(payloads: &[String]) -> String {
    let name = |payload: &String| format!("=?utf-8?b?{}?=", STANDARD.encode(payload));
    let subject = format!(
        "From: {0} <eve@canary.example>\nSubject: Subject {0}\n",
        name(&payloads[0])
    );
    let header: String = payloads
        .iter()
        .map(|payload| format!("X-Payload: {}\n", name(payload)))
        .collect();
    let text = payloads.join("\n");
    let attachment = |payload: &String| {
        format!(
            "--b\nContent-Type: text/plain; name=\"{0}\"\nContent-Disposition: attachment; filename=\"{0}\"\n\n\
             {payload}\n",
            name(payload)
        )
    };
    let attachments: String = payloads.iter().map(attachment).collect();
    format!(
        "{subject}{header}Content-Type: multipart/mixed; boundary=b\n\n\
         --b\nContent-Type: multipart/alternative; boundary=a\n\n\
         --a\nContent-Type: text/plain; charset=utf-8\n\n{text}\n\
         --a\nContent-Type: text/html; charset=utf-8\nContent-Transfer-Encoding: base64\n\n{html}\n--a--\n\
         {attachments}\
         --b\nContent-Type: image/svg+xml; name=x.svg\nContent-ID: <x>\n\n\
         <svg xmlns='http://www.w3.org/2000/svg' onload='{SCRIPT}'/>\n--b--\n",
        html = STANDARD.encode(&text),
    )
}
