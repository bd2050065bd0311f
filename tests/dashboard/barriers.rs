//! Checks every page with axe-core, at four widths, light and dark: no serious accessibility
//! problems. No page is wider than the window, each has one heading of the first level, and what
//! can be clicked is large enough to be hit.

use restante::http::dashboard::routes;
use serde_json::{Value, json};

use super::site::{KEY, Site};
use super::visitor::ADMIN;
use super::webdriver::Browser;
use testkit::http;

/// The path of axe-core, which `./test` installs.
const AXE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/target/axe/node_modules/axe-core/axe.min.js"
);
/// The last segments of paths that are not dashboard pages: streams, downloads, images, and the
/// messages themselves.
const NO_PAGES: [&str; 7] = ["events", "html", "eml", "{part}", "{file}", "{token}", ""];
const MAIL: &str = "From: Shop <shop@shop.example>\nSubject: Your code\nContent-Type: multipart/mixed; boundary=m\n\n\
    --m\nContent-Type: text/html\n\n<p>Your code is <b>482913</b>. \
    <a href=\"https://shop.example/confirm\">Confirm</a></p>\n\
    --m\nContent-Type: image/gif; name=dot.gif\nContent-Transfer-Encoding: base64\n\nR0lGODlhAQABAAAAACw=\n--m--\n";

/// The colour schemes in which pages are checked. Colours do not depend on the width, so two widths
/// have both.
const BOTH: &[&str] = &["light", "dark"];
const LIGHT: &[&str] = &["light"];

/// axe-core, and the schemes in which it checks a page.
struct Axe {
    script: String,
    schemes: &'static [&'static str],
}

#[test]
fn no_page_has_a_serious_barrier_on_a_wide_window() {
    look_at_every_page(1280, 800, BOTH);
}

#[test]
fn no_page_has_a_serious_barrier_on_a_large_screen() {
    look_at_every_page(1920, 1080, LIGHT);
}

#[test]
fn no_page_has_a_serious_barrier_on_a_tablet() {
    look_at_every_page(820, 1180, LIGHT);
}

#[test]
fn no_page_has_a_serious_barrier_on_a_phone() {
    look_at_every_page(390, 844, BOTH);
}

fn look_at_every_page(width: u32, height: u32, schemes: &'static [&'static str]) {
    let script = std::fs::read_to_string(AXE)
        .unwrap_or_else(|error| panic!("{AXE}: {error}; ./test fetches axe-core"));
    let axe = Axe { script, schemes };
    let site = Site::start();
    let browser = Browser::open(width, height, &[]);
    browser.go(&site.url("/sign-in"));
    let mut barriers = look(&browser, &axe);
    browser.write("#secret", "wrong");
    browser.click(".card .primary");
    browser.sees(".problem", "nvalid API key or administrator token");
    barriers.extend(look(&browser, &axe));
    browser.write("#secret", ADMIN);
    browser.click(".card .primary");
    browser.sees("h1", "Projects");
    let pages = pages(&site, &browser);
    assert!(pages.len() > 20, "{pages:?}");
    for page in &pages {
        browser.go(&site.url(page));
        barriers.extend(look(&browser, &axe));
    }
    let forward = pages
        .iter()
        .find(|page| page.ends_with("/forward"))
        .unwrap();
    browser.go(&site.url(forward));
    browser.write("#to", "none@restante.example.com");
    browser.click(".compose .primary");
    browser.sees(".problem", "Recipient not found");
    barriers.extend(look(&browser, &axe));
    barriers.extend(look_at_what_opens(&site, &browser, &axe));
    assert!(barriers.is_empty(), "{barriers:#?}");
}

/// The paths of all pages for the administrator, from the table of routes, with their tabs and
/// empty states.
fn pages(site: &Site, browser: &Browser) -> Vec<String> {
    let project = browser
        .run("return document.querySelector('tbody .row-link').getAttribute('href').split('/')[2]");
    assert!(
        site.mail("full@restante.example.com", MAIL)
            .starts_with("250")
    );
    assert!(
        site.mail("someone@elsewhere.example", "")
            .starts_with("550")
    );
    for recipient in ["full@restante.example.com", "away@elsewhere.example"] {
        let body = json!({"to": recipient, "subject": "Out"}).to_string();
        let url = format!("{}/v1/inboxes/full/messages", site.server.url);
        assert_eq!(
            http::post(url)
                .header("x-api-key", KEY)
                .send(body)
                .unwrap()
                .status(),
            202
        );
    }
    let list = http::get(format!(
        "{}/v1/inboxes/full/messages?subject=code",
        site.server.url
    ))
    .header("x-api-key", KEY)
    .call();
    let list: Value = serde_json::from_str(list.unwrap().body()).unwrap();
    let message = list["messages"][0]["id"].as_str().unwrap();
    let story = site.times_out("full", "subject=Yoor");
    let story = story.rsplit('/').next().unwrap();
    let fill = |path: &str| {
        let path = path
            .replace("{project}", project.as_str().unwrap())
            .replace("{inbox}", "full");
        path.replace("{message}", message)
            .replace("{failure}", story)
    };
    let is_page = |path: &String| !NO_PAGES.contains(&path.rsplit('/').next().unwrap());
    let routes = routes()
        .into_iter()
        .filter(|route| route.method == "GET")
        .map(|route| route.path);
    let mut pages: Vec<String> = routes.filter(is_page).map(|path| fill(&path)).collect();
    let tabs = [
        "text",
        "links",
        "code",
        "headers",
        "parts",
        "source",
        "html+source",
        "check",
        "html&width=phone&scheme=dark",
    ];
    let open = "/projects/{project}/inboxes/full/messages/{message}";
    pages.extend(tabs.map(|tab| fill(&format!("{open}?tab={tab}"))));
    let more = [
        "/full/send?reply={message}",
        "/full?q=code",
        "/full?q=nothing",
        "/none",
        "/full/waits",
        "?q=nothing",
        "/someone@elsewhere.example/timeline",
    ];
    pages.extend(more.map(|more| fill(&format!("/projects/{{project}}/inboxes{more}"))));
    let searches = [
        "?m={message}",
        "?q=full",
        "?q=nothing",
        "?q=is:failed",
        "?before=1",
    ];
    pages.extend(searches.map(|more| fill(&format!("/projects/{{project}}/mail{more}"))));
    pages
}

/// What is wrong with the layout of the current page: a missing heading or level, a scroll bar, the
/// name of a column that is cut off, small targets.
fn look_at_the_layout(browser: &Browser) -> Vec<String> {
    // Links within a sentence are as high as its line, and a checkbox has its label around it.
    let faults = browser.run(
        "const shown = (one) => one.checkVisibility() && one.getBoundingClientRect().width > 1;
         const faults = [];
         const headings = [...document.querySelectorAll('h1')].filter(shown).length;
         if (headings !== 1) faults.push(`${headings} headings of the first level`);
         let level = 0;
         for (const one of [...document.querySelectorAll('h1, h2, h3, h4, h5, h6')].filter(shown)) {
           const next = Number(one.tagName[1]);
           if (level > 0 && next > level + 1) faults.push(`h${next} after h${level}: ${one.outerHTML}`);
           level = next;
         }
         for (const one of [...document.querySelectorAll('.heading *, th')].filter(shown)) {
           const isSeen = one.closest('thead')?.clientHeight !== 1;
           const isCut = one.clientWidth > 0 && one.scrollWidth > one.clientWidth;
           if (isSeen && isCut) faults.push(`cut off: ${one.outerHTML}`);
         }
         const width = document.documentElement.scrollWidth;
         if (width > innerWidth) faults.push(`${width} pixels wide`);
         for (const one of [...document.querySelectorAll('button, summary, .side a, .tabs a')].filter(shown)) {
           const {width, height} = one.getBoundingClientRect();
           if (width < 24 || height < 16) faults.push(`${Math.round(width)} × ${Math.round(height)}: ${one.outerHTML}`);
         }
         return faults;",
    );
    serde_json::from_value(faults).unwrap()
}

/// Pages without a separate path: the key of a new project, an empty inbox, content that opens on a
/// click, the list of shortcuts.
fn look_at_what_opens(site: &Site, browser: &Browser, axe: &Axe) -> Vec<String> {
    let mut barriers = Vec::new();
    browser.go(&site.url("/projects"));
    browser.click("[data-new] summary");
    barriers.extend(look(browser, axe));
    browser.write("#name", "New");
    browser.click(".pop .primary");
    browser.sees("h1", "API key of New");
    barriers.extend(look(browser, axe));
    browser.click("main p a.button");
    browser.click("tbody tr:last-child .row-link");
    browser.sees("h2", "No inboxes yet");
    barriers.extend(look(browser, axe));
    browser.click("[data-new]");
    browser.sees("h2", "No messages yet");
    barriers.extend(look(browser, axe));
    browser.press("?");
    browser.sees(".shortcuts", "Keyboard");
    barriers.extend(look(browser, axe));
    barriers
}

/// The serious accessibility problems of the current page.
fn look(browser: &Browser, axe: &Axe) -> Vec<String> {
    let run = format!(
        "{};
         const worst = ({{impact}}) => impact === 'serious' || impact === 'critical';
         const describe = ({{id, nodes}}) => `${{id}}: ${{nodes.map(({{html}}) => html.slice(0, 200)).join(' ')}}`;
         axe.run({{resultTypes: ['violations'], iframes: false}})
            .then(({{violations}}) => done(violations.filter(worst).map(describe)), (error) => done([`${{error}}`]));",
        axe.script
    );
    let address = browser.address();
    let faults = look_at_the_layout(browser).into_iter();
    let mut barriers: Vec<String> = faults.map(|fault| format!("{address}: {fault}")).collect();
    for scheme in axe.schemes {
        let features = [
            ("prefers-color-scheme", *scheme),
            ("prefers-reduced-motion", "reduce"),
        ];
        let features = features.map(|(name, value)| json!({"name": name, "value": value}));
        browser.devtools("Emulation.setEmulatedMedia", &json!({"features": features}));
        let found: Vec<String> = serde_json::from_value(browser.run_until_done(&run)).unwrap();
        barriers.extend(
            found
                .into_iter()
                .map(|barrier| format!("{address} {scheme}: {barrier}")),
        );
    }
    barriers
}
