//! Keys, ownership, and the paths that need no key.

use axum::body::Body;
use axum::http::Request;

use testkit::{Answer, Engine, Harness};

/// Every endpoint that needs a key; `{id}` is an inbox or a message.
const WITH_KEY: [(&str, &str); 9] = [
    ("POST", "/inboxes"),
    ("GET", "/inboxes?address=a@restante.example.com"),
    ("GET", "/inboxes"),
    ("GET", "/inboxes/{id}"),
    ("DELETE", "/inboxes/{id}"),
    ("GET", "/inboxes/{id}/messages"),
    ("POST", "/inboxes/{id}/messages"),
    ("GET", "/inboxes/{id}/messages/wait"),
    ("GET", "/messages/{id}"),
];

async fn call(api: &Harness, method: &str, path: &str, headers: &[(&str, String)]) -> Answer {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, value);
    }
    api.send(request.body(Body::empty()).unwrap()).await
}

fn assert_unauthorized(answer: &Answer) {
    assert_eq!(answer.error(), (401, "unauthorized".to_owned()));
    assert_eq!(answer.headers["www-authenticate"], "Bearer");
}

#[testkit::each_engine]
async fn without_a_key_no_response_reveals_what_exists(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    for prefix in ["/v1", "/api/v1"] {
        for (method, path) in WITH_KEY {
            assert_unauthorized(
                &call(
                    &api,
                    method,
                    &format!("{prefix}{}", path.replace("{id}", &inbox)),
                    &[],
                )
                .await,
            );
        }
    }
}

#[testkit::each_engine]
async fn a_wrong_key_is_treated_like_no_key(engine: Engine) {
    let api = Harness::on(engine).await;
    let key = api.key.as_str();
    let stranger = restante::model::ApiKey::generate();
    for headers in [
        vec![("authorization", format!("Bearer {}", stranger.as_str()))],
        vec![("x-api-key", stranger.as_str().to_owned())],
        vec![("authorization", format!("Bearer {}", key.to_uppercase()))],
        vec![("authorization", format!("Bearer {key}x"))],
        vec![("authorization", "Bearer".to_owned())],
        vec![("authorization", key.to_owned())],
        vec![("authorization", format!("Basic {key}"))],
        vec![("x-api-key", String::new())],
        vec![("x-api-key", format!("Bearer {key}"))],
        // A Bearer key wins, even a wrong one.
        vec![
            ("authorization", "Bearer wrong".to_owned()),
            ("x-api-key", key.to_owned()),
        ],
    ] {
        assert_unauthorized(&call(&api, "POST", "/v1/inboxes", &headers).await);
    }
}

#[testkit::each_engine]
async fn a_key_is_taken_from_either_header(engine: Engine) {
    let api = Harness::on(engine).await;
    let key = api.key.as_str();
    for headers in [
        vec![("authorization", format!("Bearer {key}"))],
        vec![("authorization", format!("bearer {key}"))],
        vec![("authorization", format!("BEARER  {key}"))],
        vec![("x-api-key", key.to_owned())],
        vec![("X-API-KEY", key.to_owned())],
        vec![
            ("authorization", format!("Bearer {key}")),
            ("x-api-key", "wrong".to_owned()),
        ],
        // Another scheme is for another server, such as a proxy.
        vec![
            ("authorization", "Basic dXNlcjpwYXNz".to_owned()),
            ("x-api-key", key.to_owned()),
        ],
    ] {
        assert_eq!(
            call(&api, "POST", "/v1/inboxes", &headers).await.status,
            201,
            "{headers:?}"
        );
    }
}

#[testkit::each_engine]
async fn public_paths_need_no_key_and_ignore_a_wrong_one(engine: Engine) {
    let api = Harness::on(engine).await;
    for path in [
        "/llm",
        "/llms.txt",
        "/openapi.json",
        "/v1/health",
        "/api/v1/health",
        "/health",
    ] {
        assert_eq!(call(&api, "GET", path, &[]).await.status, 200, "{path}");
        assert_eq!(
            call(&api, "GET", path, &[("x-api-key", "wrong".to_owned())])
                .await
                .status,
            200,
            "{path}"
        );
    }
}

#[testkit::each_engine]
async fn the_alias_prefix_answers_like_the_first(engine: Engine) {
    let api = Harness::on(engine).await;
    let created = api.call("POST", "/api/v1/inboxes", "").await;
    assert_eq!(created.status, 201);
    let id = created.text("id");
    let message = api.deliver(&id, "Hello").await;
    for path in [
        "/health".to_owned(),
        format!("/inboxes/{id}"),
        format!("/inboxes?address={id}@restante.example.com"),
        format!("/inboxes/{id}/messages"),
        format!("/inboxes/{id}/messages/wait"),
        format!("/messages/{message}"),
    ] {
        let first = api.get(&format!("/v1{path}")).await;
        let alias = api.get(&format!("/api/v1{path}")).await;
        assert_eq!((first.status, &first.body), (200, &alias.body), "{path}");
    }
    let body = r#"{"to":"a@example.com","subject":"s"}"#;
    assert_eq!(
        api.call("POST", &format!("/api/v1/inboxes/{id}/messages"), body)
            .await
            .status,
        202
    );
    assert_eq!(
        api.call("DELETE", &format!("/api/v1/inboxes/{id}"), "")
            .await
            .status,
        204
    );
}

#[testkit::each_engine]
async fn what_belongs_to_another_key_does_not_exist(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    let message = api.deliver(&inbox, "Hello").await;
    for (method, path) in WITH_KEY
        .into_iter()
        .filter(|(_, path)| path.contains("{id}"))
    {
        let id = if path.starts_with("/messages") {
            &message
        } else {
            &inbox
        };
        let path = format!("/v1{}", path.replace("{id}", id));
        let answer = api.call_with(&api.other_key, method, &path, "").await;
        assert_eq!(answer.status, 404, "{method} {path}");
    }
    assert_eq!(
        api.get(&format!("/v1/messages/{message}")).await.status,
        200,
        "and it is still there"
    );
}

#[testkit::each_engine]
async fn the_key_is_checked_first_then_the_inbox_then_query_and_body(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    for (method, rest, text) in [
        ("GET", "messages?after=x", "invalid after"),
        ("GET", "messages?limit=x", "invalid limit"),
        ("GET", "messages/wait?after=x", "invalid after"),
        ("POST", "messages", "invalid JSON"),
    ] {
        let known = format!("/v1/inboxes/{inbox}/{rest}");
        let unknown = format!("/v1/inboxes/nobody/{rest}");
        assert_unauthorized(&call(&api, method, &known, &[]).await);
        assert_eq!(
            api.call(method, &unknown, "{").await.error(),
            (404, "inbox not found".to_owned()),
            "{unknown}"
        );
        assert_eq!(
            api.call(method, &known, "{").await.error(),
            (400, text.to_owned()),
            "{known}"
        );
    }
}
