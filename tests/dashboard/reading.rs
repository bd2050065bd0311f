//! What a person reads: all mail of a project, the head of a message, its links, the check of its
//! HTML, and the empty pages of a project that is not the default.

use restante::http::{App, router};

use super::visitor::Visitor;
use testkit::{BASE_URL, Harness, MAIL_DOMAIN};

const MAIL: &str = "From: \"Acme Shop\" <shop@shop.example>\r\nTo: Ann <ann@restante.example.com>\r\n\
    Cc: Team <team@shop.example>\r\nReply-To: <help@shop.example>\r\nSubject: Welcome\r\n\
    Content-Type: multipart/mixed; boundary=m\r\n\r\n\
    --m\r\nContent-Type: text/html\r\n\r\n<p style=\"display:flex\">Hi</p><img src=\"https://cdn.example/a.png\">\
    <a href=\"https://shop.example/confirm\">Confirm <b>now</b></a>\r\n\
    --m\r\nContent-Type: application/pdf; name=invoice.pdf\r\nContent-Disposition: attachment\r\n\r\n%PDF\r\n--m--\r\n";

#[tokio::test]
async fn all_mail_of_a_project_is_in_one_list() {
    let harness = Harness::start().await;
    let own = Visitor::of_default(&harness).await;
    let project = own.project_path().await;
    let foreign = harness.create_inbox_with(&harness.other_key).await;
    harness.deliver(&foreign, "Not mine").await;
    for number in 0..51 {
        harness
            .deliver(&format!("box-{}", number % 7), &format!("Number {number}"))
            .await;
    }
    let attached = harness.deliver_raw("files", MAIL).await;
    let page = own.get(&format!("{project}/mail")).await.body;
    assert_eq!(
        (page.matches("data-key").count(), page.contains("Not mine")),
        (50, false)
    );
    assert!(
        page.contains(&format!("{project}/mail?m={attached}")) && page.contains("1 attachment")
    );
    let older = page
        .split("href=\"")
        .find(|rest| rest.contains("/mail?before="))
        .unwrap()
        .split('"')
        .next()
        .unwrap();
    let page = own.get(older).await.body;
    assert_eq!(page.matches("data-key").count(), 2);
    assert!(
        page.contains("Number 0") && page.contains("Newest messages"),
        "{page}"
    );

    for (query, found) in [
        ("q=number+50", 1),
        (&format!("q=box-3%40{MAIL_DOMAIN}"), 7),
        ("q=CONFIRM+now", 1),
        ("q=has:attachment", 1),
        ("q=has:code", 0),
        ("q=nothing", 0),
    ] {
        let page = own.get(&format!("{project}/mail?{query}")).await.body;
        assert_eq!(page.matches("data-key").count(), found, "{query}");
    }
}

#[tokio::test]
async fn a_message_shows_its_head_its_links_and_its_html() {
    let harness = Harness::start().await;
    let own = Visitor::of_default(&harness).await;
    let inbox = harness.create_inbox().await;
    let message = harness.deliver_raw(&inbox, MAIL).await;
    let project = own.project_path().await;
    let page = format!("{project}/inboxes/{inbox}/messages/{message}");
    let shown = own.get(&page).await.body;
    for text in [
        "Acme Shop",
        "&lt;<bdi>team@shop.example</bdi>&gt;",
        "help@shop.example",
        "bounces@example.com",
        "2026-11-20T09:30:00.123Z",
        "invoice.pdf",
        "1 remote image is blocked",
        "Download .eml",
    ] {
        assert!(shown.contains(text), "{text}: {shown}");
    }
    let links = own.get(&format!("{page}?tab=links")).await.body;
    assert!(
        links.contains("Confirm now") && links.contains("https://shop.example/confirm"),
        "{links}"
    );
    assert!(
        links.contains("rel=\"noopener noreferrer nofollow\""),
        "{links}"
    );
    let source = own.get(&format!("{page}?tab=html+source")).await.body;
    assert!(
        source.contains("&#60;p style=&#34;display:flex&#34;"),
        "{source}"
    );
    let check = own.get(&format!("{page}?tab=check")).await.body;
    for text in [
        "display:flex",
        "An image has no alt attribute",
        "with a lang",
        "html, line 1",
    ] {
        assert!(check.contains(text), "{text}: {check}");
    }
    let unfilled = harness
        .deliver_raw(&inbox, "Subject: Dear {{name}}\r\n\r\nHi")
        .await;
    let check = own
        .get(&format!(
            "{project}/inboxes/{inbox}/messages/{unfilled}?tab=check"
        ))
        .await
        .body;
    assert!(
        check.contains("<code>{{name}}</code>") && !check.contains('`'),
        "{check}"
    );
    let reply = own
        .get(&format!("{project}/inboxes/{inbox}/send?reply={message}"))
        .await
        .body;
    assert!(
        reply.contains("<title>Reply") && reply.contains("&#62; Hi"),
        "{reply}"
    );
}

#[tokio::test]
async fn remote_images_are_shown_when_a_person_asks_for_them() {
    let harness = Harness::start().await;
    let own = Visitor::of_default(&harness).await;
    let inbox = harness.create_inbox().await;
    let message = harness.deliver_raw(&inbox, MAIL).await;
    let frame = format!("{}/messages/{message}/html", own.project_path().await);
    let policy = async |path: &str| {
        let answer = own.get(path).await;
        assert_eq!(answer.headers.get_all("content-type").iter().count(), 1);
        answer.headers["content-security-policy"]
            .to_str()
            .unwrap()
            .to_owned()
    };
    assert!(policy(&frame).await.contains("img-src data:;"));
    let shown = policy(&format!("{frame}?images=show")).await;
    assert!(
        shown.starts_with(
            "sandbox allow-popups allow-popups-to-escape-sandbox; default-src 'none'; img-src data: http: https:;"
        ),
        "{shown}"
    );
    let page = own
        .get(&format!("/v1/messages/{message}/page?images=show"))
        .await;
    assert_eq!(
        page.status, 401,
        "the API has no such choice, and needs a key"
    );
}

#[tokio::test]
async fn a_project_that_is_not_the_default_is_told_about_its_key() {
    let harness = Harness::start().await;
    let other = Visitor::sign_in(&harness, harness.other_key.as_str()).await;
    let project = other.project_path().await;
    for path in [format!("{project}/inboxes"), format!("{project}/start")] {
        let page = other.get(&path).await.body;
        assert!(
            page.contains("<strong>default project</strong>") && page.contains("API key (…"),
            "{page}"
        );
    }
    let own = Visitor::of_default(&harness).await;
    let page = own
        .get(&format!("{}/start", own.project_path().await))
        .await
        .body;
    assert!(!page.contains("<strong>default project</strong>"), "{page}");
}

#[tokio::test]
async fn getting_started_has_snippets_and_fills_an_inbox_in() {
    let harness = Harness::start().await;
    let own = Visitor::of_default(&harness).await;
    let project = own.project_path().await;
    let inbox = harness.create_inbox().await;
    let page = own
        .get(&format!("{project}/inboxes/{inbox}/start"))
        .await
        .body;
    for tool in [
        "Playwright",
        "pytest",
        "Go",
        "JUnit",
        "FastAPI",
        "Express",
        "Over HTTP",
        "curl",
        "Command line",
    ] {
        assert!(
            page.contains(&format!("<summary>{tool}</summary>")),
            "{tool}"
        );
    }
    assert_eq!(
        page.matches(&format!("{inbox}@{MAIL_DOMAIN}")).count(),
        5,
        "{page}"
    );
    let list = own.get(&format!("{project}/inboxes/{inbox}")).await.body;
    assert!(list.contains(&format!("{project}/inboxes/{inbox}/start")));
}

#[tokio::test]
async fn getting_started_shows_the_base_url_of_every_mail_api() {
    let mut harness = Harness::start().await;
    let senders = async |harness: &Harness, secret: &str| {
        let visitor = Visitor::sign_in(harness, secret).await;
        let page = visitor
            .get(&format!("{}/start", visitor.project_path().await))
            .await
            .body;
        let snippet = page
            .split_once("aria-label=\"Settings of mail APIs\"><code>")?
            .1
            .split_once("</code>")?
            .0;
        Some(snippet.replace("&#39;", "'").replace("&#34;", "\""))
    };
    let own = senders(&harness, harness.key.as_str()).await.unwrap();
    for line in [
        "export AWS_ENDPOINT_URL_SESV2='{}/ses' AWS_ENDPOINT_URL_SES='{}/ses'",
        "export RESEND_BASE_URL='{}/resend' RESEND_API_URL='{}/resend'",
        "{}/sendgrid",
        "{}/postmark",
        "{}/mailgun",
    ] {
        let line = line.replace("{}", &format!("{BASE_URL}/send"));
        assert!(
            own.lines().any(|shown| shown == line),
            "{line} is not in {own}"
        );
    }
    // Only in the default project do new inboxes belong to it without a key.
    let other = senders(&harness, harness.other_key.as_str()).await.unwrap();
    let hint = "With this project's API key as the credential";
    assert_eq!(
        (own.contains(hint), other.contains(hint)),
        (false, true),
        "{other}"
    );
    harness.router = router(App {
        send_apis: false,
        ..testkit::app(&harness.service)
    });
    assert_eq!(senders(&harness, harness.key.as_str()).await, None);
}

#[tokio::test]
async fn three_sample_messages_are_put_into_an_inbox() {
    let harness = Harness::start().await;
    let own = Visitor::of_default(&harness).await;
    let project = own.project_path().await;
    let page = own.get(&format!("{project}/mail")).await.body;
    let samples = format!("{project}/samples");
    assert!(page.contains(&format!("action=\"{samples}\"")), "{page}");
    assert_eq!(own.post(&samples, &[]).await.status, 303);
    let page = own.get(&format!("{project}/mail")).await.body;
    assert_eq!(page.matches("data-key").count(), 3, "{page}");
    assert!(
        page.contains("482913") && page.contains("Sample messages"),
        "{page}"
    );
}

#[tokio::test]
async fn a_text_has_links_and_a_monospace_font_on_request() {
    let harness = Harness::start().await;
    let own = Visitor::of_default(&harness).await;
    let inbox = harness.create_inbox().await;
    let raw = "Subject: Hi\r\n\r\nOpen https://shop.example/a?b=1&c=<b>. javascript:alert(1)";
    let message = harness.deliver_raw(&inbox, raw).await;
    let page = format!("{}/mail?m={message}&tab=Text", own.project_path().await);
    let shown = own.get(&page).await.body;
    assert!(
        shown.contains("<a href=\"https://shop.example/a?b=1&#38;c=\" target=\"_blank\"")
            && shown.contains("&#60;b&#62;. javascript:alert(1)</pre>")
            && shown.contains("class=\"text\""),
        "{shown}"
    );
    let mono = own.get(&format!("{page}&font=mono")).await.body;
    assert!(mono.contains("class=\"text source\""), "{mono}");
}

#[tokio::test]
async fn a_dark_preview_says_that_the_message_has_no_dark_style() {
    let harness = Harness::start().await;
    let own = Visitor::of_default(&harness).await;
    let inbox = harness.create_inbox().await;
    for (style, is_inverted) in [
        ("p { color: red }", true),
        (
            "@media (prefers-color-scheme: dark) { p { color: red } }",
            false,
        ),
    ] {
        let raw =
            format!("Subject: Hi\r\nContent-Type: text/html\r\n\r\n<style>{style}</style><p>Hi");
        let message = harness.deliver_raw(&inbox, &raw).await;
        let page = format!("{}/mail?m={message}", own.project_path().await);
        assert!(!own.get(&page).await.body.contains("shown inverted"));
        let dark = own.get(&format!("{page}&scheme=dark")).await.body;
        assert_eq!(
            dark.contains("no style for dark schemes"),
            is_inverted,
            "{dark}"
        );
    }
}
