//! Messages on the pages: hostile text stays text, and a download cannot be shown as a page.

use axum::body::Body;
use http_body_util::BodyExt;
use tower::ServiceExt;

use super::visitor::Visitor;
use testkit::{Harness, within};

const MAIL: &str = "From: \"<b>Eve</b>\" <eve@evil.example>\r\n\
    Subject: <script>alert(1)</script>\r\n\
    X-Own: =?utf-8?q?=3Cimg_src=3Dx_onerror=3Dalert=281=29=3E?=\r\n\
    Content-Type: multipart/mixed; boundary=b\r\n\r\n\
    --b\r\nContent-Type: text/plain\r\n\r\n</pre><script>alert(2)</script> Your code is 123456.\r\n\
    --b\r\nContent-Type: application/pdf; name=\"../../<svg onload=alert(3)>.pdf\"\r\n\
    Content-Disposition: attachment\r\n\r\n%PDF\r\n\
    --b\r\nContent-Type: text/html; name=page.html\r\nContent-Disposition: attachment\r\n\r\n\
    <script>alert(4)</script>\r\n\
    --b\r\nContent-Type: image/png; name=dot.png\r\nContent-Transfer-Encoding: base64\r\n\r\niVBORw==\r\n\
    --b\r\nContent-Type: image/svg+xml\r\n\r\n<svg onload='alert(5)'/>\r\n--b--\r\n";

#[tokio::test]
async fn hostile_text_stays_text_in_every_tab() {
    let harness = Harness::start().await;
    let own = Visitor::of_default(&harness).await;
    let inbox = harness.create_inbox().await;
    let message = harness.deliver_raw(&inbox, MAIL).await;
    let base = format!(
        "{}/inboxes/{inbox}/messages/{message}",
        own.project_path().await
    );
    for (tab, expected) in [
        ("text", "&#60;/pre&#62;&#60;script&#62;alert(2)"),
        ("code", "A label is directly before the code."),
        ("headers", "&#60;img src=x onerror=alert(1)&#62;"),
        ("parts", "svg onload=alert(3).pdf"),
        ("source", "&#60;script&#62;alert(4)"),
        ("links", "No links in this message."),
    ] {
        let page = own.get(&format!("{base}?tab={tab}")).await;
        assert_eq!(page.status, 200);
        assert!(page.body.contains(expected), "{tab}: {}", page.body);
        assert_eq!(page.body.matches("<script").count(), 1, "{tab}");
        assert!(
            !page.body.contains("<img src=x")
                && !page.body.contains("<svg")
                && !page.body.contains("<b>Eve"),
            "{tab}"
        );
    }
}

#[tokio::test]
async fn a_search_waits_for_the_one_before_it() {
    let harness = Harness::start().await;
    let own = Visitor::of_default(&harness).await;
    let inbox = harness.create_inbox().await;
    harness.deliver(&inbox, "Found").await;
    let page = format!("{}/mail?q=hello", own.project_path().await);
    let caller = harness.service.authenticate(harness.key.as_str()).await;
    let project = caller.unwrap().unwrap().project;
    let scan = harness.service.jobs().scan(project.0).await.unwrap();
    tokio::time::pause();
    assert_eq!(own.get(&page).await.status, 503);
    tokio::time::resume();
    drop(scan);
    assert!(own.get(&page).await.body.contains("Found"));
    assert!(harness.service.jobs().are_idle());
}

/// Four batches of long texts, which take more than the time of one step to compare.
#[tokio::test]
async fn a_search_in_an_inbox_stops_in_time_and_continues() {
    let harness = Harness::start().await;
    let own = Visitor::of_default(&harness).await;
    let inbox = harness.create_inbox().await;
    let text = "word ".repeat(10_000);
    // The last batch is not full, so the search knows that it is over.
    for number in 0..160 {
        let text = if number == 0 { "pears" } else { &text };
        harness
            .deliver_raw(&inbox, &format!("Subject: Mail {number}\r\n\r\n{text}\r\n"))
            .await;
    }
    let first = format!("{}/inboxes/{inbox}?q=pears", own.project_path().await);
    let mut path = first.clone();
    let mut steps = 0;
    let found = loop {
        let page = own.get(&path).await.body;
        if page.contains(">Mail 0<") {
            break page;
        }
        steps += 1;
        assert!(
            page.contains("Nothing found") && page.contains("of about 160 messages, found 0."),
            "{page}"
        );
        let mut links = page
            .split("href=\"")
            .skip(1)
            .map(|rest| rest.split('"').next().unwrap());
        path = links
            .find(|link| link.contains("before="))
            .unwrap()
            .replace("&#38;", "&");
    };
    assert!(steps > 0, "the first step compared all messages");
    assert!(!found.contains("data-continue"), "{found}");
    assert!(
        found.contains("Searched all 160 messages, found 1."),
        "{found}"
    );
}

/// A page has a limit of bytes, so that a list of large messages is not read whole.
#[tokio::test]
async fn a_list_of_large_messages_has_all_of_them() {
    let harness = Harness::start().await;
    let own = Visitor::of_default(&harness).await;
    let inbox = harness.create_inbox().await;
    let text = "word ".repeat(300_000);
    for number in 0..5 {
        harness
            .deliver_raw(
                &inbox,
                &format!("Subject: Large {number}\r\n\r\n{text}\r\n"),
            )
            .await;
    }
    let project = own.project_path().await;
    for list in [
        format!("{project}/inboxes/{inbox}"),
        format!("{project}/mail"),
    ] {
        let page = own.get(&list).await.body;
        let list = page.split("<article").next().unwrap();
        let rows = list.split(">Large ").skip(1);
        let subjects: Vec<&str> = rows.map(|rest| &rest[..1]).collect();
        assert_eq!(subjects, ["4", "3", "2", "1", "0"], "{list}");
    }
}

#[tokio::test]
async fn the_trace_of_this_server_leads_the_headers() {
    let harness = Harness::start().await;
    let own = Visitor::of_default(&harness).await;
    let inbox = harness.create_inbox().await;
    let message = harness.deliver(&inbox, "Hello").await;
    let path = format!(
        "{}/inboxes/{inbox}/messages/{message}?tab=headers",
        own.project_path().await
    );
    let page = own.get(&path).await.body;
    assert!(page.find("Return-Path").unwrap() < page.find(">Subject<").unwrap());
}

#[tokio::test]
async fn the_header_and_the_links_cannot_turn_the_text_around() {
    let harness = Harness::start().await;
    let own = Visitor::of_default(&harness).await;
    let inbox = harness.create_inbox().await;
    let raw = "Subject: Hi\r\nX-Name: gnp\u{202e}.exe\r\nMessage-ID: <a\u{202e}b@shop.example>\r\n\
        Content-Type: text/html; charset=utf-8\r\n\r\n<a href=\"https://shop.example/x\">Sum\u{202e}mary</a>\r\n";
    let message = harness.deliver_raw(&inbox, raw).await;
    let path = format!(
        "{}/inboxes/{inbox}/messages/{message}",
        own.project_path().await
    );
    for (tab, text) in [
        ("headers", "<td>gnp‹U+202E›.exe</td>"),
        ("links", "\"auto\">Sum‹U+202E›mary</strong>"),
    ] {
        let page = own.get(&format!("{path}?tab={tab}")).await.body;
        assert!(
            page.contains(text) && !page.contains('\u{202e}'),
            "{tab}: {page}"
        );
    }
}

#[tokio::test]
async fn downloads_are_downloads_with_safe_names() {
    let harness = Harness::start().await;
    let own = Visitor::of_default(&harness).await;
    let inbox = harness.create_inbox().await;
    let message = harness.deliver_raw(&inbox, MAIL).await;
    let base = format!("{}/messages/{message}", own.project_path().await);
    for (path, content_type, disposition, body) in [
        (
            "parts/2",
            "application/octet-stream",
            "filename=\"svg onload_alert(3).pdf\"",
            "%PDF",
        ),
        (
            "parts/3",
            "application/octet-stream",
            "filename=\"page.html\"",
            "<script>alert(4)</script>",
        ),
        (
            "parts/5",
            "application/octet-stream",
            "filename=\"part-5\"",
            "<svg onload='alert(5)'/>",
        ),
        ("eml", "message/rfc822", ".eml\"", MAIL),
    ] {
        let answer = own.get(&format!("{base}/{path}")).await;
        assert_eq!(
            (
                answer.headers["content-type"].to_str().unwrap(),
                answer.body.as_str()
            ),
            (content_type, body)
        );
        let header = answer.headers["content-disposition"].to_str().unwrap();
        assert!(
            header.starts_with("attachment; ") && header.contains(disposition),
            "{header}"
        );
        assert_eq!(
            answer.headers["content-security-policy"],
            "default-src 'none'; sandbox"
        );
        assert_eq!(answer.headers["x-content-type-options"], "nosniff");
    }
    assert_eq!(own.get(&format!("{base}/images/5")).await.status, 404);
    assert_eq!(own.get(&format!("{base}/images/2")).await.status, 404);
    assert_eq!(own.get(&format!("{base}/parts/99")).await.status, 404);
    let request = own
        .request("GET", &format!("{base}/images/4"))
        .body(Body::empty())
        .unwrap();
    let image = within(harness.router.clone().oneshot(request))
        .await
        .unwrap();
    assert_eq!(image.headers()["content-type"], "image/png");
    assert_eq!(
        image.into_body().collect().await.unwrap().to_bytes(),
        &b"\x89PNG"[..]
    );
}

#[tokio::test]
async fn the_html_of_a_mail_is_answered_into_a_sandbox() {
    let harness = Harness::start().await;
    let own = Visitor::of_default(&harness).await;
    let inbox = harness.create_inbox().await;
    let html = "<p onclick=x>Hi <img src=cid:i@x></p>";
    let raw = format!(
        "Content-Type: multipart/related; boundary=b\r\n\r\n--b\r\nContent-Type: text/html\r\n\r\n{html}\r\n\
         --b\r\nContent-Type: image/gif\r\nContent-ID: <i@x>\r\nContent-Transfer-Encoding: base64\r\n\r\nR0lG\r\n\
         --b--\r\n"
    );
    let message = harness.deliver_raw(&inbox, &raw).await;
    let answer = own
        .get(&format!(
            "{}/messages/{message}/html",
            own.project_path().await
        ))
        .await;
    assert_eq!(
        answer.body,
        r#"<p>Hi <img src="data:image/gif;base64,R0lG"></p>"#
    );
    assert_eq!(
        answer
            .headers
            .get_all("content-type")
            .iter()
            .collect::<Vec<_>>(),
        ["text/html; charset=utf-8"]
    );
    let policy = answer.headers["content-security-policy"].to_str().unwrap();
    let (sandbox, rest) = policy.split_once("; ").unwrap();
    assert_eq!(
        sandbox,
        "sandbox allow-popups allow-popups-to-escape-sandbox"
    );
    assert!(
        rest.starts_with("default-src 'none'; img-src data:; style-src 'unsafe-inline';"),
        "{policy}"
    );
    assert_eq!(answer.headers["referrer-policy"], "no-referrer");
    assert_eq!(answer.headers["x-content-type-options"], "nosniff");
    assert_eq!(answer.headers["x-dns-prefetch-control"], "off");
}

#[tokio::test]
async fn the_code_tab_shows_the_line_that_its_reason_is_about() {
    let harness = Harness::start().await;
    let own = Visitor::of_default(&harness).await;
    let inbox = harness.create_inbox().await;
    let shown = async |subject: &str, text: &str| {
        let message = harness
            .deliver_raw(&inbox, &format!("Subject: {subject}\r\n\r\n{text}\r\n"))
            .await;
        let path = format!(
            "{}/inboxes/{inbox}/messages/{message}?tab=code",
            own.project_path().await
        );
        let page = own.get(&path).await.body;
        let line = page
            .split("<blockquote>")
            .nth(1)
            .unwrap()
            .split("</blockquote>")
            .next()
            .unwrap();
        let rule = page
            .split("<div class=\"sections\">")
            .nth(1)
            .unwrap()
            .split("<p>")
            .nth(1)
            .unwrap();
        (
            rule.split("</p>").next().unwrap().to_owned(),
            line.to_owned(),
        )
    };
    let before = "A label is directly before the code.".to_owned();
    // The digits of the code are also in the subject, and in an earlier line.
    let found = shown(
        "482913 is what you need to sign in",
        "Order 482913 is ready.\r\nYour code: 482913",
    )
    .await;
    assert_eq!(found, (before.clone(), "Your code: 482913".to_owned()));
    let found = shown("Your code: 4829", "Call 555 4829 13 now").await;
    assert_eq!(found, (before, "Your code: 4829".to_owned()));
    let found = shown("Ticket 482913", "Use 482913 now").await.1;
    assert_eq!(found, "Use 482913 now");
}

#[tokio::test]
async fn a_list_of_links_that_was_cut_says_so() {
    let harness = Harness::start().await;
    let own = Visitor::of_default(&harness).await;
    let inbox = harness.create_inbox().await;
    for (links, says) in [(1_000, false), (1_001, true)] {
        let text: String = (0..links)
            .map(|number| format!("https://a.example/{number}\r\n"))
            .collect();
        let message = harness
            .deliver_raw(&inbox, &format!("Subject: Links\r\n\r\n{text}"))
            .await;
        let page = own
            .get(&format!(
                "{}/inboxes/{inbox}/messages/{message}?tab=links",
                own.project_path().await
            ))
            .await;
        assert_eq!(
            page.body.contains("Only the first 1000 links"),
            says,
            "{links}"
        );
    }
}
