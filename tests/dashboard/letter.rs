//! An open message in the browser: what its size and its attachments must not hide.

use serde_json::Value;

use super::journeys::sign_in;
use super::site::{KEY, Site};
use super::webdriver::Browser;

const WIDTHS: [(u32, u32); 3] = [(390, 844), (820, 1180), (1280, 800)];

/// A message with as many attachments.
fn message(attachments: usize) -> String {
    let part =
        |number| format!("--b\nContent-Disposition: attachment; filename=\"{number}.pdf\"\n\nx\n");
    let parts: String = (0..attachments).map(part).collect();
    let html = "<p style=\"width: 1200px; background: silver\">A wide letter</p>";
    let body = format!("--b\nContent-Type: text/html\n\n{html}\n{parts}--b--\n");
    format!("Subject: Many\nContent-Type: multipart/mixed; boundary=b\n\n{body}")
}

/// Opens the only message of the site.
fn open(site: &Site, browser: &Browser) {
    sign_in(browser, site, KEY);
    browser.click(".inbox-row .row-link");
    browser.waits_for(".list");
    browser.click(".message-row .row-link");
    browser.waits_for(".is-open");
    browser.waits_for(".sheet iframe");
}

fn places(browser: &Browser) -> Value {
    browser.run(
        "const place = (css) => document.querySelector(css).getBoundingClientRect();
         const [sheet, mail] = [place('.sheet'), place('.mail')];
         return {
           tabs: place('.reader .tabs').bottom < innerHeight,
           fits: mail.left >= sheet.left && mail.right <= sheet.right,
           shown: document.querySelector('.attachments').checkVisibility(),
         };",
    )
}

#[test]
fn many_attachments_leave_the_tabs_in_view_and_every_width_fits() {
    let site = Site::start();
    assert!(
        site.mail("reader@restante.example.com", &message(300))
            .starts_with("250")
    );
    for (width, height) in WIDTHS {
        let browser = Browser::open(width, height, &[]);
        open(&site, &browser);
        // A phone has no choice of widths.
        let views: &[u32] = if width > 780 { &[2, 3, 4, 1] } else { &[1] };
        for view in views {
            if width > 780 {
                browser.click(".view-options summary");
                browser.click(&format!(
                    ".view-options .choice:first-child a:nth-child({view})"
                ));
            }
            browser.waits_for(&format!(
                ".view-options .choice:first-child a:nth-child({view})[aria-current]"
            ));
            let found = places(&browser);
            assert_eq!(found["fits"], true, "{width} {view}: {found}");
            assert_eq!(
                (&found["tabs"], &found["shown"]),
                (&true.into(), &false.into()),
                "{width} {view}: {found}"
            );
        }
        browser.click(".files summary");
        assert_eq!(places(&browser)["shown"], true, "{width}");
    }
}

#[test]
fn the_html_has_a_tab_of_its_own() {
    let site = Site::start();
    let browser = Browser::open(1280, 800, &[]);
    assert!(
        site.mail("reader@restante.example.com", &message(1))
            .starts_with("250")
    );
    open(&site, &browser);
    assert_eq!(
        places(&browser)["shown"],
        true,
        "a few attachments are shown at once"
    );
    browser.click(".view-options summary");
    browser.click(".view-options a[target=_blank]");
    let [_, opened] = browser.windows(2).try_into().unwrap();
    browser.switch_to(&opened);
    browser.sees("p", "A wide letter");
    assert!(browser.address().contains("/html"), "{}", browser.address());
}
