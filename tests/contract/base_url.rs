//! The URLs in responses: with a base URL its, otherwise those of the address that the client
//! asked.

use axum::body::Body;
use axum::http::Request;
use restante::http::{App, BaseUrl, router};
use serde_json::{Value, json};

use testkit::{Answer, BASE_URL, Harness, SHORT_WAIT, answer, app, request, within};

const LISTENER: &str = "http://127.0.0.1:8025";

/// A server without a base URL.
async fn start() -> Harness {
    let mut api = Harness::start().await;
    api.router = router(App {
        base_url: BaseUrl::Listener(LISTENER.to_owned()),
        ..app(&api.service)
    });
    api
}

fn asking(host: &str, mut request: Request<Body>) -> Request<Body> {
    request.headers_mut().insert("host", host.parse().unwrap());
    request
}

async fn get(api: &Harness, host: &str, path: &str) -> Answer {
    api.send(asking(host, request(&api.key, "GET", path, "")))
        .await
}

/// The answer of a tool of `/mcp`.
async fn call(api: &Harness, host: &str, tool: &str, arguments: Value) -> Value {
    let call = json!({ "name": tool, "arguments": arguments });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call });
    let mut request = asking(host, request(&api.key, "POST", "/mcp", call.to_string()));
    request
        .headers_mut()
        .insert("content-type", "application/json".parse().unwrap());
    request.headers_mut().insert(
        "accept",
        "application/json, text/event-stream".parse().unwrap(),
    );
    api.send(request).await.json()["result"]["structuredContent"].clone()
}

/// The page of a wait that timed out, as the header of the response and the timeline name it.
async fn failure_url(api: &Harness, host: &str) -> String {
    let inbox = api.create_inbox().await;
    let deadline = api.clock.instant().after(SHORT_WAIT);
    let wait = format!(
        "/v1/inboxes/{inbox}/messages/wait?timeout={}",
        SHORT_WAIT.as_millis()
    );
    let wait = asking(host, request(&api.key, "GET", &wait, ""));
    let timed_out = api
        .at_deadline(deadline, tokio::spawn(answer(api.router.clone(), wait)))
        .await;
    assert_eq!(timed_out.error(), (408, "timeout".to_owned()));
    let url = timed_out.headers["link"]
        .to_str()
        .unwrap()
        .split(['<', '>'])
        .nth(1)
        .unwrap();
    let timeline = format!("/v1/inboxes/{inbox}/events");
    let recorded = async {
        // Waits are recorded in the background.
        loop {
            let timeline = get(api, host, &timeline).await.json();
            let events = timeline["events"].as_array().unwrap();
            match events.iter().find_map(|event| event["failure"].as_str()) {
                Some(failure) => return failure.to_owned(),
                None => tokio::task::yield_now().await,
            }
        }
    };
    assert_eq!(within(recorded).await, url);
    url.to_owned()
}

#[tokio::test]
async fn a_page_of_another_site_calls_no_tool() {
    let api = start().await;
    for (site, status) in [
        ("same-site", 403),
        ("cross-site", 403),
        ("same-origin", 200),
    ] {
        let call = r#"{"jsonrpc": "2.0", "id": 1, "method": "ping"}"#;
        let mut request = asking("localhost:8025", request(&api.key, "POST", "/mcp", call));
        for (name, value) in [
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
            ("sec-fetch-site", site),
        ] {
            request.headers_mut().insert(name, value.parse().unwrap());
        }
        assert_eq!(api.send(request).await.status, status, "{site}");
    }
}

#[tokio::test]
async fn without_a_base_url_a_client_gets_the_urls_of_the_address_that_it_asked() {
    let api = start().await;
    for (host, expected, pages) in [
        (
            "localhost:49153",
            "http://localhost:49153",
            "http://restante.localhost:49153",
        ),
        (
            "restante.localhost:49153",
            "http://127.0.0.1:49153",
            "http://restante.localhost:49153",
        ),
        (
            "172.17.0.2:8025",
            "http://172.17.0.2:8025",
            "http://172.17.0.2:8025",
        ),
        ("restante:8025", LISTENER, "http://restante.localhost:8025"),
    ] {
        assert!(
            failure_url(&api, host)
                .await
                .starts_with(&format!("{pages}/failures/")),
            "{host}"
        );
        assert!(
            get(&api, host, "/llm")
                .await
                .body
                .contains(&format!("api=\"{expected}/v1\"")),
            "{host}"
        );
        assert_eq!(
            get(&api, host, "/openapi.json").await.json()["servers"][0]["url"],
            expected
        );
    }
    let setup = call(&api, "localhost:49153", "setup", json!({})).await;
    assert_eq!(
        (&setup["base_url"], &setup["guide"]),
        (
            &"http://localhost:49153".into(),
            &"http://localhost:49153/llm".into()
        )
    );
}

#[tokio::test]
async fn a_base_url_is_that_of_every_client() {
    let api = Harness::start().await;
    let host = "127.0.0.1:49153";
    assert!(
        failure_url(&api, host)
            .await
            .starts_with(&format!("{BASE_URL}/failures/"))
    );
    assert!(
        get(&api, host, "/llm")
            .await
            .body
            .contains(&format!("api=\"{BASE_URL}/v1\""))
    );
    assert_eq!(
        get(&api, host, "/openapi.json").await.json()["servers"][0]["url"],
        BASE_URL
    );
    assert_eq!(
        call(&api, host, "setup", json!({})).await["base_url"],
        BASE_URL
    );
}
