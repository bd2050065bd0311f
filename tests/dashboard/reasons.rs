//! The causes for which no message arrives. For each, the URL in the response of the wait leads to
//! the page that names the cause, says what to do and shows the evidence.

use super::journeys::sign_in;
use super::site::{KEY, Site};
use super::webdriver::Browser;

/// A cause: how it happens, and what its page shows.
struct Reason {
    name: &'static str,
    flags: &'static [&'static str],
    /// What the application does before the wait times out.
    before: fn(&Test),
    /// The filters of the wait.
    filters: fn(&Test) -> String,
    /// What the application does after that.
    after: fn(&Test),
    title: &'static str,
    sentence: &'static str,
    advice: &'static str,
    evidence: &'static str,
}

/// A test that waits for mail.
struct Test {
    site: Site,
    id: String,
    address: String,
}

impl Reason {
    /// A cause of which the application knows nothing.
    const fn new(name: &'static str, before: fn(&Test)) -> Self {
        let title = "";
        let sentence = "";
        let advice = "";
        let evidence = "";
        let filters = |_: &Test| String::new();
        Self {
            name,
            flags: &[],
            before,
            filters,
            after: nothing,
            title,
            sentence,
            advice,
            evidence,
        }
    }
}

const REASONS: [Reason; 12] = [
    Reason {
        title: "Nothing has connected",
        sentence: "Nothing has connected over SMTP since this inbox was created",
        advice: "Set the SMTP host and port of the application.",
        evidence: "No client has connected yet.",
        ..Reason::new("nothing connected", nothing)
    },
    Reason {
        title: "Nothing arrived for the address",
        sentence: "The newest mail went to",
        advice: "Check that the application sends this message, to which address",
        evidence: "The last client connected",
        ..Reason::new("connected elsewhere", |test| {
            test.mail(&test.site.create_inbox().1);
        })
    },
    Reason {
        title: "The wrong port",
        sentence: "This is SMTP, not HTTP",
        advice: "Swap the two ports in its settings.",
        evidence: "421 4.7.0",
        ..Reason::new("wrong port", |test| {
            test.says(&["GET / HTTP/1.1\r\n"], "421 4.7.0");
        })
    },
    Reason {
        filters: |_| "subject=acount".to_owned(),
        title: "No message matched the filters",
        sentence: "Expected subject \"acount\"; arrived: \"Confirm your account\" from a@shop.example.",
        advice: "Change the filter, or what the application sends.",
        evidence: "does not match: subject",
        ..Reason::new("filter", |test| test.mail(&test.address))
    },
    Reason {
        title: "A similar address got mail",
        sentence: "Is the address mistyped?",
        advice: "Compare the address that the test enters with the one that the application used.",
        evidence: "Other inboxes that received mail since then",
        ..Reason::new("typo", |test| {
            test.mail(&format!("{}u@restante.example.com", test.id));
        })
    },
    Reason {
        title: "Another domain",
        sentence: "before the wait ended: 550 5.7.1",
        advice: "This mail went to @shop.example: change the address in the test, or start the server with",
        evidence: "550 5.7.1",
        ..Reason::new("other domain", |test| {
            assert!(
                test.site
                    .mail(&format!("{}@shop.example", test.id), "")
                    .starts_with("550")
            );
        })
    },
    Reason {
        title: "Bare line feeds (LF without CR)",
        sentence: "was rejected",
        advice: "SMTP requires CR LF",
        evidence: "550 5.6.11",
        ..Reason::new("bare LF", |test| {
            let recipient = format!("RCPT TO:<{}>\r\n", test.address);
            let message = "Subject: Lines\n\nend with LF\n\r\n.\r\n";
            let lines = [
                "EHLO app.example\r\n",
                "MAIL FROM:<a@app.example>\r\n",
                &recipient,
                "DATA\r\n",
                message,
            ];
            test.says(&lines, "550 5.6.11");
        })
    },
    Reason {
        flags: &["--smtp-plaintext-auth"],
        title: "The SMTP login failed",
        sentence: "535 5.7.8",
        advice: "Use a valid API key of the project as the SMTP password",
        evidence: "535 5.7.8",
        ..Reason::new("AUTH failed", |test| {
            test.says(
                &[
                    "EHLO app.example\r\n",
                    "AUTH PLAIN AHVzZXIAcnN0X2xpdmVfd3JvbmdrZXl3cm9uZ2tleTAxMjM0NTY3ODk=\r\n",
                    "QUIT\r\n",
                ],
                "535 5.7.8",
            );
        })
    },
    Reason {
        title: "The mail was rejected",
        sentence: "ended without mail: 553 5.1.7",
        advice: "The sender's address is not valid.",
        evidence: "553 5.1.7",
        ..Reason::new("bad sender", |test| {
            test.says(
                &[
                    "EHLO app.example\r\n",
                    "MAIL FROM:<the shop@app.example>\r\n",
                    "QUIT\r\n",
                ],
                "553 5.1.7",
            );
        })
    },
    Reason {
        after: |test| test.mail(&test.address),
        title: "The message was late",
        sentence: "after the wait had ended",
        advice: "Use a timeout of",
        evidence: "Confirm your account",
        ..Reason::new("late", nothing)
    },
    Reason {
        title: "A fault was injected",
        sentence: "was rejected",
        advice: "A test has injected this fault.",
        evidence: "550",
        ..Reason::new("fault", |test| {
            let faults = r#"{"faults": [{"at": "rcpt", "do": "reject"}]}"#;
            assert_eq!(
                test.site
                    .call("PUT", &format!("/v1/inboxes/{}/faults", test.id), faults)
                    .0,
                200
            );
            assert!(test.site.mail(&test.address, "").starts_with("550"));
        })
    },
    Reason {
        flags: &["--max-inbox-messages", "1"],
        filters: |test| format!("after={}", test.last_message()),
        title: "The inbox is full",
        sentence: "452 4.2.2",
        advice: "Delete messages of this inbox",
        evidence: "452 4.2.2",
        ..Reason::new("inbox full", |test| {
            test.mail(&test.address);
            assert!(
                test.site
                    .mail(&test.address, "Subject: The second\n\nHello\n")
                    .starts_with("452")
            );
        })
    },
];

fn nothing(_: &Test) {}

impl Test {
    fn start(flags: &[&str]) -> Self {
        let site = Site::start_with(flags);
        let (id, address) = site.create_inbox();
        Self { site, id, address }
    }

    fn mail(&self, recipient: &str) {
        let message = "From: a@shop.example\nSubject: Confirm your account\n\nHello\n";
        assert!(self.site.mail(recipient, message).starts_with("250"));
    }

    fn last_message(&self) -> String {
        let (.., list) = self
            .site
            .call("GET", &format!("/v1/inboxes/{}/messages", self.id), "");
        list["messages"][0]["id"].as_str().unwrap().to_owned()
    }

    fn says(&self, lines: &[&str], reply: &str) {
        let replies = self.site.talk(lines);
        assert!(replies.contains(reply), "{replies}");
    }
}

#[test]
fn the_url_of_a_failed_wait_leads_to_each_cause() {
    let browser = Browser::open(1280, 800, &[]);
    for reason in REASONS {
        let test = Test::start(reason.flags);
        sign_in(&browser, &test.site, KEY);
        (reason.before)(&test);
        let url = test.site.times_out(&test.id, &(reason.filters)(&test));
        (reason.after)(&test);
        browser.go(&url);
        let places = [
            (".story h1", reason.title),
            (".sentence", reason.sentence),
            ("section[aria-labelledby=do]", reason.advice),
            (".why", reason.evidence),
            (".timeline", "The inbox was created."),
            (".side [aria-current=page]", "Failures 1"),
        ];
        for (css, text) in places {
            let shown = browser.text(css).replace('\n', " ");
            assert!(
                shown.contains(text),
                "{}: {css} shows \"{shown}\", not \"{text}\"",
                reason.name
            );
        }
    }
}

#[test]
fn a_connection_before_the_inbox_does_not_contradict_the_cause() {
    let site = Site::start_with(&[]);
    let browser = Browser::open(1280, 800, &[]);
    sign_in(&browser, &site, KEY);
    assert!(
        site.mail(&site.create_inbox().1, "Subject: Hello\n\nHello\n")
            .starts_with("250")
    );
    let (id, _) = site.create_inbox();
    browser.go(&site.times_out(&id, ""));
    browser.sees("h1", "Nothing has connected");
    browser.sees(
        ".why",
        "before the wait ended, before this inbox was created.",
    );
    browser.waits_for(".why time[data-exact]");
}

#[test]
fn a_failure_appears_without_a_reload() {
    let test = Test::start(&[]);
    let browser = Browser::open(1280, 800, &[]);
    sign_in(&browser, &test.site, KEY);
    browser.click(".side [data-icon=failures]");
    browser.sees("h2", "Nothing failed");
    // A page that was loaded again would have lost this.
    browser.run("window.stayed = true");
    let url = test.site.times_out(&test.id, "");
    browser.sees(".failure-row", &test.address);
    browser.sees(".failure-group", "Nothing has connected");
    browser.sees(".nav-count", "1");
    assert_eq!(browser.run("return window.stayed"), true);
    browser.click(".failure-row .row-link");
    browser.sees(".sentence", "Nothing has connected over SMTP");
    assert_eq!(browser.address(), url);
}

#[test]
fn signing_in_leads_to_the_wanted_page() {
    let test = Test::start(&[]);
    let browser = Browser::open(1280, 800, &[]);
    let url = test.site.times_out(&test.id, "");
    browser.go(&url);
    browser.sees("h1", "Sign in to Restante");
    browser.write("#secret", KEY);
    browser.click(".card .primary");
    browser.sees(".sentence", "Nothing has connected over SMTP");
    assert_eq!(browser.address(), url);
}

#[test]
fn a_link_on_another_site_leads_to_the_page_of_those_who_are_signed_in() {
    let test = Test::start(&[]);
    let browser = Browser::open(1280, 800, &[]);
    let url = test.site.times_out(&test.id, "");
    sign_in(&browser, &test.site, KEY);
    // As in the log of a CI job or in a chat.
    browser.go(&format!(
        "data:text/html,<a href='{url}'>What happened during this wait</a>"
    ));
    browser.click("a");
    browser.sees(".sentence", "Nothing has connected over SMTP");
    assert_eq!(browser.address(), url);
}

#[test]
fn the_evidence_leads_to_the_mail() {
    let test = Test::start(&[]);
    let browser = Browser::open(1280, 800, &[]);
    test.mail(&format!("{}u@restante.example.com", test.id));
    let url = test.site.times_out(&test.id, "");
    sign_in(&browser, &test.site, KEY);
    browser.go(&url);
    browser.click(".why .evidence a");
    browser.sees(".message-row", "Confirm your account");
}
