//! Access to routes: every case is run for all routes of the table from which the router is built.

use axum::body::Body;
use axum::http::Request;
use restante::http::dashboard::{Access, routes};
use restante::model::{OutgoingFilter, OutgoingStatus};
use tower::ServiceExt;

use super::visitor::{Visitor, request};
use testkit::{BASE_URL, Harness, within};

/// The data of one project: an id for every parameter of a path.
struct Ids {
    project: String,
    inbox: String,
    message: String,
    item: String,
    failure: String,
}

impl Ids {
    /// Creates an inbox with a message and an outgoing item.
    async fn of(harness: &Harness, visitor: &Visitor<'_>, key: &restante::model::ApiKey) -> Self {
        let project = visitor
            .project_path()
            .await
            .trim_start_matches("/projects/")
            .to_owned();
        let inbox = harness.create_inbox_with(key).await;
        let message = harness.deliver_raw(&inbox, PICTURE_MAIL).await;
        let body = r#"{"to":"somebody@elsewhere.example","subject":"Queued"}"#;
        let sent = harness
            .call_with(key, "POST", &format!("/v1/inboxes/{inbox}/messages"), body)
            .await;
        let failed = harness.time_out_with(key, &inbox, "subject=missing").await;
        let failure = failed.headers["link"]
            .to_str()
            .unwrap()
            .split(['/', '>'])
            .nth(4)
            .unwrap()
            .to_owned();
        Self {
            project,
            inbox,
            message,
            item: sent.text("id"),
            failure,
        }
    }

    fn fill(&self, path: &str) -> String {
        path.replace("{project}", &self.project)
            .replace("{inbox}", &self.inbox)
            .replace("{message}", &self.message)
            .replace("{item}", &self.item)
            .replace("{failure}", &self.failure)
            .replace("{part}", "1")
            .replace("{file}", "icon.svg")
    }
}

const PICTURE_MAIL: &str = "Subject: A picture\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n\
    --b\r\nContent-Type: image/png\r\n\r\nx\r\n--b--\r\n";

/// Only the status, because a stream of events has no end.
async fn status(harness: &Harness, request: Request<Body>) -> u16 {
    within(harness.router.clone().oneshot(request))
        .await
        .unwrap()
        .status()
        .as_u16()
}

async fn status_of_get(visitor: &Visitor<'_>, path: &str) -> u16 {
    status(
        visitor.harness,
        visitor.request("GET", path).body(Body::empty()).unwrap(),
    )
    .await
}

#[tokio::test]
async fn a_link_that_is_shortened_leads_to_the_list() {
    let harness = Harness::start().await;
    let own = Visitor::of_default(&harness).await;
    let administrator = Visitor::administrator(&harness).await;
    let project = own.project_path().await;
    for path in ["/failures", "/inboxes"] {
        let leads_to =
            async |visitor: &Visitor<'_>| visitor.get(path).await.headers["location"].clone();
        assert_eq!(leads_to(&own).await, format!("{project}{path}"));
        assert_eq!(leads_to(&administrator).await, "/projects");
    }
}

#[tokio::test]
async fn every_page_is_shown_to_those_who_may_see_it() {
    let harness = Harness::start().await;
    let own = Visitor::of_default(&harness).await;
    let administrator = Visitor::administrator(&harness).await;
    let ids = Ids::of(&harness, &own, &harness.key).await;
    for route in routes().iter().filter(|route| route.method == "GET") {
        let expected = if matches!(
            &*route.path,
            "/" | "/sign-in" | "/sign-in/{token}" | "/failures" | "/inboxes" | "/inboxes/{inbox}"
        ) {
            303
        } else {
            200
        };
        let path = ids.fill(&route.path);
        assert_eq!(
            status_of_get(&administrator, &path).await,
            expected,
            "{path}"
        );
        let expected = if route.access == Access::Administrator {
            404
        } else {
            expected
        };
        assert_eq!(status_of_get(&own, &path).await, expected, "{path}");
    }
}

#[tokio::test]
async fn no_page_opens_without_a_session() {
    let harness = Harness::start().await;
    let own = Visitor::of_default(&harness).await;
    let ids = Ids::of(&harness, &own, &harness.key).await;
    for route in routes()
        .iter()
        .filter(|route| route.access != Access::Public)
    {
        let path = ids.fill(&route.path);
        for cookie in ["", "restante_session=", "restante_session=0123456789"] {
            let request = request(route.method, &path)
                .header("origin", BASE_URL)
                .header("cookie", cookie);
            let expected = if route.method == "GET" { 303 } else { 401 };
            assert_eq!(
                status(&harness, request.body(Body::empty()).unwrap()).await,
                expected,
                "{path}"
            );
        }
        let stream = request(route.method, &path)
            .header("origin", BASE_URL)
            .header("accept", "text/event-stream");
        assert_eq!(
            status(&harness, stream.body(Body::empty()).unwrap()).await,
            401,
            "{path}"
        );
    }
}

#[tokio::test]
async fn no_other_host_is_served() {
    let harness = Harness::start().await;
    let administrator = Visitor::administrator(&harness).await;
    let ids = Ids::of(&harness, &Visitor::of_default(&harness).await, &harness.key).await;
    for route in routes() {
        let path = ids.fill(&route.path);
        for host in [
            Some("rebound.example"),
            Some("restante.example.com.evil.example:8025"),
            None,
        ] {
            let mut request = Request::builder().method(route.method).uri(&path);
            if let Some(host) = host {
                request = request.header("host", host);
            }
            let request = request
                .header("origin", BASE_URL)
                .header("cookie", &administrator.cookie);
            let form = Body::from(format!("csrf={}", administrator.csrf));
            assert_eq!(
                status(&harness, request.body(form).unwrap()).await,
                421,
                "{path} {host:?}"
            );
        }
    }
}

#[tokio::test]
async fn an_unknown_host_is_named_and_not_recommended() {
    let harness = Harness::start().await;
    let request = Request::builder()
        .uri("/sign-in")
        .header("accept", "text/html");
    let request = request
        .header("host", "rebound.example")
        .body(Body::empty());
    let page = harness.send(request.unwrap()).await.body;
    for text in ["&#34;rebound.example&#34;", BASE_URL, "--base-url"] {
        assert!(page.contains(text), "{text}: {page}");
    }
    assert!(!page.contains("http://rebound.example"), "{page}");
}

#[tokio::test]
async fn another_site_opens_a_page_and_loads_nothing() {
    let harness = Harness::start().await;
    let administrator = Visitor::administrator(&harness).await;
    let ids = Ids::of(&harness, &Visitor::of_default(&harness).await, &harness.key).await;
    for route in routes().iter().filter(|route| route.method == "GET") {
        let path = ids.fill(&route.path);
        for (site, mode, to, is_refused) in [
            ("same-site", "no-cors", "object", true),
            ("cross-site", "navigate", "iframe", true),
            ("cross-site", "navigate", "document", false),
            // The frame of a message.
            ("same-origin", "navigate", "iframe", false),
        ] {
            let request = administrator
                .request("GET", &path)
                .header("sec-fetch-site", site)
                .header("sec-fetch-mode", mode)
                .header("sec-fetch-dest", to);
            let request = request.body(Body::empty()).unwrap();
            let status = status(&harness, request).await;
            assert_eq!(
                status == 403,
                is_refused,
                "{path} {site} {mode} {to}: {status}"
            );
        }
    }
}

#[tokio::test]
async fn no_other_site_changes_anything() {
    let harness = Harness::start().await;
    let administrator = Visitor::administrator(&harness).await;
    let ids = Ids::of(&harness, &Visitor::of_default(&harness).await, &harness.key).await;
    for route in routes().iter().filter(|route| route.method == "POST") {
        let path = ids.fill(&route.path);
        let origins = [
            "null",
            "http://evil.example",
            "https://restante.example.com",
            "http://restante.example.com:8025.evil.example",
            "",
        ];
        for origin in origins.map(Some).into_iter().chain([None]) {
            let mut request = administrator.request("POST", &path);
            if let Some(origin) = origin {
                request = request.header("origin", origin);
            }
            let form = Body::from(format!("csrf={}&name=x&kind=permanent", administrator.csrf));
            assert_eq!(
                status(&harness, request.body(form).unwrap()).await,
                403,
                "{path} {origin:?}"
            );
        }
    }
    assert_untouched(&harness, &ids).await;
}

#[tokio::test]
async fn no_change_without_its_token() {
    let harness = Harness::start().await;
    let administrator = Visitor::administrator(&harness).await;
    let own = Visitor::of_default(&harness).await;
    let ids = Ids::of(&harness, &own, &harness.key).await;
    for route in routes()
        .iter()
        .filter(|route| route.method == "POST" && route.access != Access::Public)
    {
        let path = ids.fill(&route.path);
        for form in [
            "",
            "csrf=",
            "csrf=0000",
            &format!("csrf={}", own.csrf),
            &format!("CSRF={}", administrator.csrf),
        ] {
            let request = administrator
                .request("POST", &path)
                .header("origin", BASE_URL);
            let request = request.body(Body::from(form.to_owned())).unwrap();
            assert_eq!(status(&harness, request).await, 403, "{path} {form}");
        }
    }
    assert_untouched(&harness, &ids).await;
}

#[tokio::test]
async fn another_project_s_ids_are_no_ids() {
    let harness = Harness::start().await;
    let own = Visitor::of_default(&harness).await;
    let foreign = Visitor::sign_in(&harness, harness.other_key.as_str()).await;
    let theirs = Ids::of(&harness, &foreign, &harness.other_key).await;
    let mine = Ids::of(&harness, &own, &harness.key).await;
    // Every combination of own and foreign ids with at least one foreign id.
    let mixed = |bits: u8| Ids {
        project: if bits & 1 == 0 { &mine } else { &theirs }.project.clone(),
        inbox: if bits & 2 == 0 { &mine } else { &theirs }.inbox.clone(),
        message: if bits & 4 == 0 { &mine } else { &theirs }.message.clone(),
        item: if bits & 8 == 0 { &mine } else { &theirs }.item.clone(),
        failure: theirs.failure.clone(),
    };
    let mut tried = 0;
    for route in routes()
        .iter()
        .filter(|route| route.access == Access::Project)
    {
        let own_path = mine.fill(&route.path);
        for path in (1..16)
            .map(|bits| mixed(bits).fill(&route.path))
            .filter(|path| *path != own_path)
        {
            let request = match route.method {
                "GET" => own.request("GET", &path).body(Body::empty()).unwrap(),
                _ => own.form(
                    &path,
                    &[
                        ("to", "a@restante.example.com"),
                        ("subject", "x"),
                        ("kind", "temporary"),
                    ],
                ),
            };
            assert_eq!(
                status(&harness, request).await,
                404,
                "{} {path}",
                route.method
            );
            tried += 1;
        }
    }
    assert!(tried > 50, "{tried}");
    assert_eq!(
        status_of_get(&own, &theirs.fill("/failures/{failure}")).await,
        404
    );
    assert_untouched(&harness, &theirs).await;
}

#[tokio::test]
async fn a_key_opens_nothing_of_the_administrator_s() {
    let harness = Harness::start().await;
    let own = Visitor::of_default(&harness).await;
    let ids = Ids::of(&harness, &own, &harness.key).await;
    for route in routes()
        .iter()
        .filter(|route| route.access == Access::Administrator)
    {
        let path = ids.fill(&route.path);
        let request = match route.method {
            "GET" => own.request("GET", &path).body(Body::empty()).unwrap(),
            _ => own.form(&path, &[("name", "default")]),
        };
        assert_eq!(status(&harness, request).await, 404, "{path}");
    }
    assert_untouched(&harness, &ids).await;
}

/// Checks that nothing was changed.
async fn assert_untouched(harness: &Harness, ids: &Ids) {
    let projects = harness.service.projects().list().await.unwrap();
    assert_eq!(
        projects
            .iter()
            .map(|project| project.name.as_str())
            .collect::<Vec<_>>(),
        ["default", "other"]
    );
    let sent = harness
        .service
        .outbox()
        .list(&OutgoingFilter::default(), 100)
        .await
        .unwrap();
    assert!(
        sent.iter()
            .all(|item| item.status == OutgoingStatus::Queued && item.subject == "Queued"),
        "{sent:?}"
    );
    // Each project of a test has created one inbox and sent one message.
    assert_eq!(
        projects.iter().map(|project| project.inboxes).sum::<i64>(),
        i64::try_from(sent.len()).unwrap()
    );
    assert!(sent.iter().any(|item| item.id.to_string() == ids.item));
    for key in [&harness.key, &harness.other_key] {
        assert!(
            harness
                .service
                .authenticate(key.as_str())
                .await
                .unwrap()
                .is_some()
        );
    }
}
