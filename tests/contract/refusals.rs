//! Rules for every answer: errors are JSON, and all answers have certain headers.

use axum::body::Body;
use axum::http::Request;

use testkit::{Engine, Harness, request};

#[testkit::each_engine]
async fn a_path_that_does_not_exist_is_not_found(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    for path in [
        "/v1",
        "/v1/",
        "/v2/inboxes",
        "/api/inboxes",
        "/v1/inboxes/",
        "/v1/Inboxes",
        "//v1/inboxes",
        "/v1/inboxes/a/b",
        "/v1/messages",
        "/v1/%ff",
        "/v1/messages/a/b%zz",
        &format!("/v1/inboxes/{inbox}/messages/"),
        &format!("/v1/inboxes/{inbox}/messages/wait/x"),
    ] {
        assert_eq!(
            api.get(path).await.error(),
            (404, "not found".to_owned()),
            "{path}"
        );
    }
}

#[testkit::each_engine]
async fn a_method_that_a_path_does_not_have_is_refused_with_those_it_has(engine: Engine) {
    let api = Harness::on(engine).await;
    for (path, allowed) in [
        ("/v1/health", "GET,HEAD"),
        ("/health", "GET,HEAD"),
        ("/llm", "GET,HEAD"),
        ("/llms.txt", "GET,HEAD"),
        ("/openapi.json", "GET,HEAD"),
        ("/v1/inboxes", "GET,HEAD,POST"),
        ("/v1/inboxes/a", "GET,HEAD,PUT,DELETE"),
        ("/v1/inboxes/a/messages", "GET,HEAD,POST"),
        ("/api/v1/inboxes/a/messages/wait", "GET,HEAD"),
        ("/v1/messages/a", "GET,HEAD,DELETE"),
        ("/v1/messages/a/raw", "GET,HEAD"),
    ] {
        for method in [
            "GET",
            "POST",
            "PUT",
            "PATCH",
            "DELETE",
            "OPTIONS",
            "TRACE",
            "FROBNICATE",
        ] {
            if allowed.split(',').any(|allowed| allowed == method) {
                continue;
            }
            let refused = api.call(method, path, "").await;
            assert_eq!(
                refused.error(),
                (405, "method not allowed".to_owned()),
                "{method} {path}"
            );
            assert_eq!(refused.headers["allow"], allowed, "{method} {path}");
        }
    }
}

#[testkit::each_engine]
async fn every_answer_carries_its_own_request_id_and_is_not_cached(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    let mut ids = Vec::new();
    for path in [
        "/v1/health",
        "/v1/inboxes",
        &format!("/v1/inboxes/{inbox}/messages"),
        "/nowhere",
        "/llm",
        "/openapi.json",
    ] {
        let mut request = request(&api.key, "GET", path, Body::empty());
        request
            .headers_mut()
            .insert("x-request-id", "mine".parse().unwrap());
        let answer = api.send(request).await;
        assert_eq!(
            answer.headers["x-content-type-options"], "nosniff",
            "{path}"
        );
        let cached = if ["/llm", "/openapi.json"].contains(&path) {
            "no-cache"
        } else {
            "no-store"
        };
        assert_eq!(answer.headers["cache-control"], cached, "{path}");
        ids.push(answer.headers["x-request-id"].to_str().unwrap().to_owned());
    }
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 6);
    assert!(!ids.contains(&"mine".to_owned()));
}

#[testkit::each_engine]
async fn a_body_has_a_limit(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    let spaces = |bytes: usize| format!("{{}}{}", " ".repeat(bytes - 2));
    let send = format!("/v1/inboxes/{inbox}/messages");
    for (path, limit, within) in [
        ("/v1/inboxes", 64 * 1024, 201),
        (&send, 10 * 1024 * 1024, 400),
    ] {
        assert_eq!(
            api.call("POST", path, spaces(limit)).await.status,
            within,
            "{path}"
        );
        assert_eq!(
            api.call("POST", path, spaces(limit + 1)).await.error(),
            (413, "body too large".to_owned()),
            "{path}"
        );
    }
}

#[testkit::each_engine]
async fn the_body_decides_and_not_its_content_type(engine: Engine) {
    let api = Harness::on(engine).await;
    for content_type in [
        "application/json",
        "text/plain",
        "application/x-www-form-urlencoded",
        "nonsense",
    ] {
        let mut created = request(&api.key, "POST", "/v1/inboxes", "{}");
        created
            .headers_mut()
            .insert("content-type", content_type.parse().unwrap());
        assert_eq!(api.send(created).await.status, 201, "{content_type}");
        let mut refused = request(&api.key, "POST", "/v1/inboxes", "a=b");
        refused
            .headers_mut()
            .insert("content-type", content_type.parse().unwrap());
        assert_eq!(
            api.send(refused).await.error(),
            (400, "invalid JSON".to_owned()),
            "{content_type}"
        );
    }
}

#[testkit::each_engine]
async fn a_failing_database_is_an_internal_error_that_says_no_more(engine: Engine) {
    let api = Harness::on(engine).await;
    api.run_sql("ALTER TABLE inboxes RENAME TO elsewhere").await;
    let failed = api.call("POST", "/v1/inboxes", "").await;
    assert_eq!(failed.error(), (500, "internal error".to_owned()));
    assert_eq!(
        api.get("/v1/inboxes/a").await.error(),
        (500, "internal error".to_owned())
    );
}

#[testkit::each_engine]
async fn a_head_is_a_get_without_its_body(engine: Engine) {
    let api = Harness::on(engine).await;
    let head = api
        .send(
            Request::builder()
                .method("HEAD")
                .uri("/health")
                .body(Body::empty())
                .unwrap(),
        )
        .await;
    assert_eq!((head.status, head.body.as_str()), (200, ""));
    assert_eq!(head.headers["content-type"], "application/json");
}

#[testkit::each_engine]
async fn health_is_ok(engine: Engine) {
    let api = Harness::on(engine).await;
    for path in ["/v1/health", "/api/v1/health", "/health"] {
        assert_eq!(
            api.get(path).await.json(),
            serde_json::json!({"status": "ok"}),
            "{path}"
        );
    }
}
