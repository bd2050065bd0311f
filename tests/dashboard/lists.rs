//! Lists in a browser: selecting several inboxes, and the place in a list to which Back leads.

use serde_json::{Value, json};

use super::journeys::sign_in;
use super::site::{KEY, Site};
use super::webdriver::Browser;

/// The tops of the rows, the number of selected inboxes, and the label of that number.
const SELECTION: &str = "
    const boxes = [...document.querySelectorAll('.choose[name]')];
    return [boxes.map((box) => box.closest('.row').getBoundingClientRect().top), boxes.map((box) => box.checked),
        document.querySelector('.chosen-count').textContent];";

struct Selection {
    tops: Value,
    chosen: Value,
    count: Value,
}

fn selection(browser: &Browser) -> Selection {
    let [tops, chosen, count] = serde_json::from_value(browser.run(SELECTION)).unwrap();
    Selection {
        tops,
        chosen,
        count,
    }
}

fn choice(number: usize) -> String {
    format!(".inbox-row[data-row]:nth-child({number}) .choose")
}

#[test]
fn inboxes_are_selected_one_by_one_in_a_range_or_all_and_no_row_moves() {
    let site = Site::start();
    let browser = Browser::open(1280, 800, &[]);
    for _ in 0..5 {
        site.create_inbox();
    }
    sign_in(&browser, &site, KEY);
    browser.waits_for(&choice(5));
    let before = selection(&browser);
    assert_eq!(before.count, "");
    browser.click(&choice(2));
    let one = selection(&browser);
    assert_eq!(
        (&one.tops, one.count),
        (&before.tops, json!("1 selected")),
        "ticking a box moves no row"
    );
    assert_eq!(
        browser.run("return document.querySelector('[data-choose-all]').indeterminate"),
        true
    );

    browser.click_with_shift(&choice(4));
    let range = selection(&browser);
    assert_eq!(
        (range.chosen, range.count),
        (json!([false, true, true, true, false]), json!("3 selected"))
    );
    browser.click("[data-choose-all]");
    let all = selection(&browser);
    assert_eq!(
        (all.chosen, all.count, all.tops),
        (json!(vec![true; 5]), json!("5 selected"), before.tops)
    );
    browser.click("[data-choose-all]");
    assert_eq!(selection(&browser).chosen, json!(vec![false; 5]));

    browser.click(&choice(1));
    browser.click_with_shift(&choice(3));
    // A live event renews the rows and keeps the selection.
    let (_, address) = site.create_inbox();
    browser.sees(".inbox-row", &address);
    assert_eq!(selection(&browser).count, "3 selected");
    browser.click(".chosen summary");
    browser.click(".chosen .danger");
    browser.sees(".totals", "3 inboxes");
    assert_eq!(selection(&browser).chosen.as_array().unwrap().len(), 3);
}

/// Scrolls `css`, opens an entry and goes back.
fn goes_back(browser: &Browser, css: &str, entry: &str, opened: &str) {
    let scroller = json!(css);
    browser.run(&format!(
        "document.querySelector({scroller}).scrollTop = 300"
    ));
    browser.run(&format!(
        "document.querySelectorAll({})[12].click()",
        json!(entry)
    ));
    browser.waits_for(opened);
    browser.run("history.back()");
    browser.waits_for(&format!("body:not(:has({opened})) {entry}"));
    let top = browser.run(&format!(
        "return document.querySelector({scroller}).scrollTop"
    ));
    assert_eq!(top, 300, "{css} {entry}");
}

#[test]
fn back_leads_to_the_place_in_a_list() {
    let site = Site::start();
    let browser = Browser::open(1280, 800, &[]);
    for number in 0..40 {
        let message = format!("Subject: Mail {number}\n\nHello\n");
        assert!(
            site.mail("reader@restante.example.com", &message)
                .starts_with("250")
        );
        assert!(
            site.mail(&format!("{number}@elsewhere.example"), "")
                .starts_with("550")
        );
        site.create_inbox();
    }
    sign_in(&browser, &site, KEY);
    goes_back(&browser, "main", ".inbox-row .row-link", ".list .waiting");
    browser.click("[data-icon=mail]");
    browser.waits_for(".message-row");
    browser.run("document.querySelector('.list').scrollTop = 300");
    browser.run("document.querySelector('.side [data-icon=outgoing]').click()");
    browser.sees("h1", "Outgoing");
    browser.run("history.back()");
    browser.waits_for(".message-row");
    let top = browser.run("return document.querySelector('.list').scrollTop");
    assert_eq!(top, 300);
    browser.click(".side [data-icon=failures]");
    browser.waits_for(".failure-row");
    browser.click(".failure-group p:last-child a");
    browser.waits_for(".failure-row:nth-child(40)");
    goes_back(&browser, "main", ".failure-row .row-link", ".timeline");
}

#[test]
fn a_row_with_two_marks_shows_both() {
    let site = Site::start();
    let (id, address) = site.create_inbox();
    site.times_out(&id, "");
    let recipient = format!("RCPT TO:<{address}>\r\n");
    let lines = [
        "EHLO app.example\r\n",
        "MAIL FROM:<a@app.example>\r\n",
        &recipient,
        "DATA\r\n",
        "a\nb\r\n.\r\n",
    ];
    assert!(site.talk(&lines).contains("550 5.6.11"));
    for width in [390, 820, 1280] {
        let browser = Browser::open(width, 800, &[]);
        sign_in(&browser, &site, KEY);
        browser.go(&browser.address().replace("/failures", "/inboxes"));
        browser.sees(".inbox-row", "1 not delivered");
        let is_visible = "
            const what = document.querySelector('.inbox-row[data-row] .what').getBoundingClientRect();
            const badges = [...document.querySelectorAll('.inbox-row[data-row] .badge')];
            return badges.length === 2 && badges.every((badge) => badge.getBoundingClientRect().right <= what.right);";
        assert_eq!(browser.run(is_visible), true, "{width}");
    }
}

#[test]
fn a_filter_keeps_the_search_that_was_typed() {
    let site = Site::start();
    let browser = Browser::open(1280, 800, &[]);
    assert!(
        site.mail("reader@restante.example.com", "Subject: Hello\n\nHello\n")
            .starts_with("250")
    );
    site.create_inbox();
    sign_in(&browser, &site, KEY);
    browser.waits_for(&choice(2));
    browser.write("[data-search]", "reader");
    browser.click(".filters a[href*='q=reader'][href*='kind=temporary']");
    browser.waits_for(".filters a[aria-current][href*='kind=temporary']");
    assert!(
        browser.address().contains("q=reader"),
        "{}",
        browser.address()
    );
    browser.waits_for(".inbox-row[data-row]:only-child");
}
