//! A link of a message in a browser: it opens in a new tab, after its URL was shown, and its site
//! learns nothing about the dashboard.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use serde_json::json;

use super::journeys::sign_in;
use super::site::{KEY, Site};
use super::webdriver::Browser;

/// A site that sends the header of each request, in lower case.
fn listen() -> (u16, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, requests) = channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let sender = sender.clone();
            // A browser opens some connections in advance and sends nothing over them.
            thread::spawn(move || answer(&stream.unwrap(), &sender));
        }
    });
    (port, requests)
}

fn answer(mut stream: &TcpStream, requests: &Sender<String>) {
    let lines = BufReader::new(stream).lines().map_while(Result::ok);
    let header: Vec<String> = lines
        .take_while(|line| !line.is_empty())
        .map(|line| line.to_lowercase())
        .collect();
    let page = "<title>Shop</title><h1>The shop</h1>";
    // The browser may have closed the connection, and the test may have ended.
    let _ = write!(
        stream,
        "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close\r\n\r\n{page}"
    );
    let _ = requests.send(header.join("\n"));
}

#[test]
fn a_link_of_a_message_opens_in_a_new_tab_after_its_url_was_shown() {
    let (port, requests) = listen();
    let rules = format!("--host-resolver-rules=MAP shop.example 127.0.0.1:{port}");
    let site = Site::start();
    let browser = Browser::open(1280, 800, &[rules]);
    let url = "http://shop.example/confirm?t=1&u=2";
    let html =
        format!("<p>Please <a href=\"{url}\" target=_top>confirm https://bank.example</a></p>");
    let mail = format!("Subject: Confirm\nContent-Type: text/html\n\n{html}\n");
    assert!(
        site.mail("reader@restante.example.com", &mail)
            .starts_with("250")
    );
    sign_in(&browser, &site, KEY);
    browser.click(".inbox-row .row-link");
    browser.waits_for(".list");
    browser.click(".message-row .row-link");
    browser.waits_for(".is-open");
    browser.waits_for(".sheet iframe");
    let message = browser.address();

    browser.enter(".sheet iframe");
    browser.click("a");
    browser.leave();
    let [reader, opened] = browser.windows(2).try_into().unwrap();
    browser.switch_to(&opened);
    browser.sees("h1", "Open this link?");
    assert_eq!(browser.text(".secret code"), url);
    assert_eq!(browser.text("main strong"), "shop.example");
    assert!(
        requests.try_recv().is_err(),
        "nothing is opened before the URL was shown"
    );

    browser.click("main .primary");
    browser.sees("h1", "The shop");
    let request = requests.recv_timeout(Duration::from_secs(20)).unwrap();
    assert!(
        request.starts_with("get /confirm?t=1&u=2 ") && !request.contains("\nreferer:"),
        "{request}"
    );
    assert_eq!(
        browser.run("return [window.opener, document.referrer]"),
        json!([null, ""])
    );
    browser.switch_to(&reader);
    assert_eq!(browser.address(), message);
    browser.sees(".letter", "Confirm");
}
