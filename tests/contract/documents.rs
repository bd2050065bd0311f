//! `/llm`, `/llms.txt` and `/openapi.json`: the published documents.

use serde_json::Value;

use crate::openapi::operations;
use testkit::{BASE_URL, Engine, Harness};

#[testkit::each_engine]
async fn the_guide_is_markdown_under_both_names(engine: Engine) {
    let api = Harness::on(engine).await;
    let guide = api.get("/llm").await;
    assert_eq!(guide.status, 200);
    assert_eq!(
        guide.headers["content-type"],
        "text/markdown; charset=utf-8"
    );
    let alias = api.get("/llms.txt").await;
    assert_eq!(
        (alias.status, alias.body, &alias.headers["content-type"]),
        (200, guide.body, &guide.headers["content-type"])
    );
}

#[testkit::each_engine]
async fn the_guide_names_this_installation_and_the_version(engine: Engine) {
    let api = Harness::on(engine).await;
    // A phrase may go on in the next line.
    let guide = api.get("/llm").await.body;
    let guide = guide.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        !guide.contains("{base_url}")
            && !guide.contains("{mail_domain}")
            && !guide.contains("_per_key}")
    );
    assert!(!guide.contains("_size}") && !guide.contains("{inbox_") && !guide.contains("{smtp_"));
    for part in [
        "`restante.example.com:1025`, which is host `restante.example.com` and port",
        "No other domain is accepted.",
        "| temporary inbox lifetime | 1h |",
        "| JSON body | 10MiB to send, 64KiB elsewhere |",
        "| received message | 25MiB |",
        "| messages in one inbox | 10000; ",
        "contract version 0.1.0",
        "curl -sS --fail-with-body -X POST -H \"$key\" \"$api/inboxes\"",
        "api=\"http://restante.example.com:8025/v1\"",
        "const api = \"http://restante.example.com:8025/v1\"",
        "API = \"http://restante.example.com:8025/v1\"",
        "`@restante.example.com`",
    ] {
        let part = part.replace("`@restante.example.com`", "@restante.example.com");
        assert!(guide.contains(&part), "{part}");
    }
}

#[testkit::each_engine]
async fn the_guide_names_the_accepted_domains(engine: Engine) {
    for (domains, sentence) in [
        (
            "example.com,*.shop.test",
            "These domains are accepted too (`*` stands for any subdomain): `example.com, *.shop.test`.",
        ),
        ("*", "Every other domain is accepted too."),
    ] {
        let guide = Harness::accepting(engine, domains)
            .await
            .get("/llm")
            .await
            .body;
        assert!(guide.contains(sentence), "{domains}");
    }
}

#[testkit::each_engine]
async fn the_guide_has_every_endpoint_and_every_error(engine: Engine) {
    let api = Harness::on(engine).await;
    let guide = api.get("/llm").await.body;
    let document: Value = api.get("/openapi.json").await.json();
    for operation in operations(&document) {
        assert!(guide.contains(&operation), "{operation}");
    }
    let mut texts = Vec::new();
    collect_error_texts(&document, &mut texts);
    assert!(texts.len() > 15, "{texts:?}");
    for text in texts {
        assert!(guide.contains(&format!("`{text}`")), "{text}");
    }
}

#[testkit::each_engine]
async fn another_origin_may_not_read_answers_and_the_guide_says_so(engine: Engine) {
    let api = Harness::on(engine).await;
    for (method, path) in [
        ("OPTIONS", "/v1/inboxes"),
        ("GET", "/v1/health"),
        ("POST", "/v1/inboxes"),
    ] {
        let mut request = testkit::request(&api.key, method, path, "");
        request
            .headers_mut()
            .insert("origin", "https://shop.example".parse().unwrap());
        request
            .headers_mut()
            .insert("access-control-request-method", "POST".parse().unwrap());
        let answer = api.send(request).await;
        let cors = answer
            .headers
            .keys()
            .find(|name| name.as_str().starts_with("access-control-"));
        assert_eq!(cors, None, "{method} {path}");
    }
    assert!(api.get("/llm").await.body.contains("CORS is off"));
}

/// Every text that the error schemas of the contract allow.
fn collect_error_texts(value: &Value, texts: &mut Vec<String>) {
    if let Some(error) = value
        .get("error")
        .and_then(|error| error.get("enum"))
        .and_then(Value::as_array)
    {
        texts.extend(error.iter().map(|text| text.as_str().unwrap().to_owned()));
    }
    match value {
        Value::Object(fields) => fields
            .values()
            .for_each(|field| collect_error_texts(field, texts)),
        Value::Array(items) => items
            .iter()
            .for_each(|item| collect_error_texts(item, texts)),
        _ => {}
    }
}

#[testkit::each_engine]
async fn the_contract_names_this_installation_and_the_version(engine: Engine) {
    let api = Harness::on(engine).await;
    let answer = api.get("/openapi.json").await;
    assert!(!answer.body.contains("{base_url}") && !answer.body.contains("_per_key}"));
    let document = answer.json();
    assert_eq!(document["openapi"], "3.1.0");
    assert_eq!(document["info"]["version"], "0.1.0");
    assert_eq!(document["servers"][0]["url"], BASE_URL);
    assert_eq!(document["servers"][1]["url"], format!("{BASE_URL}/api"));
}
