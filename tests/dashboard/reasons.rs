//! The five reasons why a message does not arrive; each can be found on the page of the inbox.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::Value;

use super::journeys::sign_in;
use super::site::{KEY, Site};
use super::webdriver::Browser;

/// An inbox of a test that waited in vain.
struct Failed {
    site: Site,
    browser: Browser,
    id: String,
    address: String,
}

impl Failed {
    fn start() -> Self {
        let (site, browser) = (Site::start(), Browser::open(1280, 800, &[]));
        let created = ureq::post(site.url("/v1/inboxes")).header("x-api-key", KEY).send("").unwrap();
        let inbox: Value = serde_json::from_str(&created.into_body().read_to_string().unwrap()).unwrap();
        let field = |name: &str| inbox[name].as_str().unwrap().to_owned();
        sign_in(&browser, &site, KEY);
        Self { id: field("id"), address: field("address"), site, browser }
    }

    /// The test times out, and its author opens the inbox.
    fn times_out(&self, filters: &str) {
        let url = self.site.url(&format!("/v1/inboxes/{}/messages/wait?timeout=1&{filters}", self.id));
        assert!(ureq::get(url).header("x-api-key", KEY).call().is_err());
        let inboxes = self.browser.address();
        self.browser.go(&format!("{}/{}", inboxes.split('?').next().unwrap(), self.id));
        self.browser.sees(".notice", "Last wait: timed out");
    }

    fn is_told(&self, text: &str) {
        self.browser.sees(".why", text);
    }
}

#[test]
fn the_filter_does_not_fit() {
    let failed = Failed::start();
    failed.site.mail(&failed.address, "From: a@shop.example\nSubject: Confirm your address\n\nHello\n");
    failed.times_out("subject=welcome");
    failed.is_told("A message arrived, but it does not match the filters (subject)");
    failed.browser.sees(".evidence", "Confirm your address");
}

#[test]
fn the_mail_was_refused() {
    let failed = Failed::start();
    let mut stream = TcpStream::connect(&failed.site.server.smtp).unwrap();
    let recipient = format!("RCPT TO:<{}>\r\n", failed.address);
    let commands = ["EHLO app.example\r\n", "MAIL FROM:<app@shop.example>\r\n", &recipient, "DATA\r\n"];
    for command in commands.into_iter().chain(["Subject: Lines\n\nend with LF\n\r\n.\r\n", "QUIT\r\n"]) {
        stream.write_all(command.as_bytes()).unwrap();
    }
    let mut replies = String::new();
    stream.read_to_string(&mut replies).unwrap();
    assert!(replies.contains("550 5.6.11"), "{replies}");
    failed.times_out("");
    failed.is_told("was rejected");
    failed.is_told("SMTP requires CR LF");
    failed.browser.sees(".notice", "1 message to this address was rejected");
}

#[test]
fn the_address_was_mistyped() {
    let failed = Failed::start();
    failed.site.mail(&format!("{}x@restante.example.com", failed.id), "Subject: Welcome\n\nHello\n");
    failed.times_out("");
    failed.is_told("Is the address mistyped?");
    failed.browser.click(".evidence a");
    failed.browser.sees(".message-row", "Welcome");
}

#[test]
fn the_mail_went_to_another_domain() {
    let failed = Failed::start();
    assert!(failed.site.mail(&format!("{}@shop.example", failed.id), "").starts_with("550"));
    failed.times_out("");
    failed.is_told("Mail to @restante.example.com is accepted. This mail went to @shop.example");
    failed.browser.sees(".notice", "1 message to this address was rejected");
}

#[test]
fn nothing_was_sent() {
    let failed = Failed::start();
    failed.times_out("");
    failed.is_told("Nothing has connected over SMTP since this inbox was created");
    failed.is_told("No client has connected yet.");
}
