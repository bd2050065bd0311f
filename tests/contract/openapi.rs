//! Compares the published contract with the service: the same paths and methods, and answers that
//! match their schemas.

use std::collections::BTreeSet;

use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};

use testkit::{Answer, Engine, Harness};

const METHODS: [&str; 8] = [
    "GET", "PUT", "POST", "DELETE", "OPTIONS", "PATCH", "TRACE", "QUERY",
];

fn document() -> Value {
    serde_json::from_str(include_str!("../../docs/openapi.json")).unwrap()
}

/// The operations of the contract, as `GET /v1/health`.
pub fn operations(document: &Value) -> BTreeSet<String> {
    let mut operations = BTreeSet::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for method in METHODS {
            if item.get(method.to_lowercase()).is_some() {
                operations.insert(format!("{method} {path}"));
            }
        }
    }
    operations
}

#[test]
fn the_published_document_is_that_of_the_code() {
    let document = restante::http::document().unwrap();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/openapi.json");
    if std::env::var_os("RESTANTE_WRITE_EXPECTED").is_some() {
        std::fs::write(path, &document).unwrap();
    }
    let published = std::fs::read_to_string(path).unwrap();
    assert!(
        document == published,
        "docs/openapi.json is out of date: RESTANTE_WRITE_EXPECTED=1 cargo test --test contract published_document"
    );
}

/// The operations of contract 0.1.0 (`operations.txt`) are never removed or renamed; others may be
/// added.
#[test]
fn no_operation_of_the_contract_disappears() {
    let document = document();
    let operations = operations(&document);
    let contract: Vec<&str> = include_str!("operations.txt").lines().collect();
    assert_eq!(
        contract.len(),
        11 + 1,
        "those of the specification, and the alias of the health check"
    );
    for operation in contract {
        assert!(operations.contains(operation), "{operation} is gone");
        let (method, path) = operation.split_once(' ').unwrap();
        let described = &document["paths"][path][method.to_lowercase()];
        assert!(
            described.get("x-extension").is_none(),
            "{operation} is part of the contract"
        );
    }
}

#[testkit::each_engine]
async fn the_router_answers_exactly_the_operations_of_the_contract(engine: Engine) {
    let api = Harness::on(engine).await;
    let document = document();
    let operations = operations(&document);
    for path in document["paths"].as_object().unwrap().keys() {
        let prefixes: &[&str] = if path.starts_with("/v1") {
            &["", "/api"]
        } else {
            &[""]
        };
        for (prefix, method) in prefixes
            .iter()
            .flat_map(|prefix| METHODS.map(|method| (prefix, method)))
        {
            let path_called = format!(
                "{prefix}{}",
                path.replace("{id}", "nobody").replace("{index}", "0")
            );
            let answer = api
                .send(
                    Request::builder()
                        .method(method)
                        .uri(&path_called)
                        .body(Body::empty())
                        .unwrap(),
                )
                .await;
            if operations.contains(&format!("{method} {path}")) {
                // Without a key, so that public operations are also recognised.
                assert!(
                    [200, 401].contains(&answer.status),
                    "{method} {path_called}: {answer:?}"
                );
                let public = document["paths"][path][method.to_lowercase()]
                    .get("security")
                    .is_some();
                assert_eq!(answer.status == 200, public, "{method} {path_called}");
            } else {
                assert_eq!(answer.status, 405, "{method} {path_called}");
            }
        }
    }
}

/// Follows a `$ref` into the document.
fn resolve<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
    match value.get("$ref").and_then(Value::as_str) {
        Some(reference) => document
            .pointer(&reference[1..])
            .unwrap_or_else(|| panic!("{reference} is nowhere")),
        None => value,
    }
}

/// Checks `value` against a schema of the document.
fn assert_valid(document: &Value, schema: &Value, value: &Value) {
    let whole = json!({"allOf": [schema], "components": document["components"]});
    let validator = jsonschema::options()
        .should_validate_formats(true)
        .build(&whole)
        .unwrap();
    let errors: Vec<_> = validator
        .iter_errors(value)
        .map(|error| error.to_string())
        .collect();
    assert_eq!(errors, Vec::<String>::new(), "{value} against {schema}");
}

#[test]
fn the_examples_of_the_contract_fit_its_schemas() {
    let document = document();
    let mut checked = 0;
    let mut visit = vec![&document];
    while let Some(value) = visit.pop() {
        if let (Some(schema), Some(example)) = (value.get("schema"), value.get("example")) {
            let example = Value::from(
                example
                    .to_string()
                    .replace("{mail_domain}", "restante.example.com"),
            );
            let example: Value = serde_json::from_str(example.as_str().unwrap()).unwrap();
            assert_valid(&document, schema, &example);
            checked += 1;
        }
        match value {
            Value::Object(fields) => visit.extend(fields.values()),
            Value::Array(items) => visit.extend(items),
            _ => {}
        }
    }
    assert!(checked > 15, "{checked}");
}

/// Requests that together produce every documented answer that a test can produce.
struct Case {
    method: &'static str,
    path: &'static str,
    /// The path of the template, with `{id}` filled in.
    call: String,
    body: String,
    status: u16,
}

fn case(
    method: &'static str,
    path: &'static str,
    call: impl Into<String>,
    body: impl Into<String>,
    status: u16,
) -> Case {
    Case {
        method,
        path,
        call: call.into(),
        body: body.into(),
        status,
    }
}

/// The inboxes and the message in the cases.
struct World {
    inbox: String,
    message: String,
    doomed: String,
    permanent: String,
    doomed_message: String,
    outgoing: String,
    /// An inbox of another project.
    foreign: String,
}

async fn world(api: &Harness) -> World {
    let inbox = api.create_inbox().await;
    let permanent = api.create_inbox().await;
    api.make_permanent(&permanent).await;
    let attached = "Subject: Hello\r\nContent-Type: application/pdf; name=a.pdf\r\n\r\n%PDF";
    let sent = json!({"to": format!("{inbox}@restante.example.com"), "subject": "s"}).to_string();
    let sent = api
        .call("POST", &format!("/v1/inboxes/{inbox}/messages"), sent)
        .await;
    World {
        message: api.deliver_raw(&inbox, attached).await,
        doomed_message: api.deliver(&inbox, "Hello").await,
        outgoing: sent.text("id"),
        doomed: api.create_inbox().await,
        foreign: api.create_inbox_with(&api.other_key).await,
        inbox,
        permanent,
    }
}

const INBOXES: &str = "/v1/inboxes";
const INBOX: &str = "/v1/inboxes/{id}";
const MESSAGES: &str = "/v1/inboxes/{id}/messages";
const WAIT: &str = "/v1/inboxes/{id}/messages/wait";
const MESSAGE: &str = "/v1/messages/{id}";
const RAW: &str = "/v1/messages/{id}/raw";
const DETAILS: &str = "/v1/messages/{id}/details";
const CHECKS: &str = "/v1/messages/{id}/checks";
const FORWARD: &str = "/v1/messages/{id}/forward";
const ATTACHMENT: &str = "/v1/messages/{id}/attachments/{index}";
const PAGE: &str = "/v1/messages/{id}/page";
const OUTGOING: &str = "/v1/outgoing/{id}";
const PROJECT_INBOXES: &str = "/v1/project/inboxes";
const PROJECT_MESSAGES: &str = "/v1/project/messages";
const EXPLAIN: &str = "/v1/inboxes/{id}/explain";
const EVENTS: &str = "/v1/inboxes/{id}/events";
const FAULTS: &str = "/v1/inboxes/{id}/faults";

#[allow(clippy::too_many_lines, reason = "it is a table")]
fn cases(world: &World) -> Vec<Case> {
    let World {
        inbox,
        message,
        doomed,
        permanent,
        doomed_message,
        outgoing,
        foreign,
    } = world;
    let at = |name: &str| format!("/v1/inboxes/{name}@restante.example.com");
    let of_message = |id: &str, rest: &str| format!("/v1/messages/{id}{rest}");
    let of = |inbox: &str, rest: &str| format!("/v1/inboxes/{inbox}{rest}");
    let send = |to: &str| json!({"to": to, "subject": "s", "in_reply_to": message}).to_string();
    let large = |bytes: usize| " ".repeat(bytes + 1);
    vec![
        case("GET", "/v1/health", "/v1/health", "", 200),
        case("GET", "/health", "/health", "", 200),
        case("GET", "/openapi.json", "/openapi.json", "", 200),
        case("PUT", INBOX, at("ada"), "", 201),
        case("PUT", INBOX, at("ada"), "{}", 200),
        case("PUT", INBOX, at("ada"), "[]", 400),
        case("PUT", INBOX, "/v1/inboxes/ada@example.com", "", 400),
        case("PUT", INBOX, at(foreign), "", 409),
        case("PUT", INBOX, at("ada"), large(64 * 1024), 413),
        case("POST", INBOXES, INBOXES, "{}", 201),
        case("POST", INBOXES, INBOXES, "[]", 400),
        case("POST", INBOXES, INBOXES, r#"{"a":1}"#, 400),
        case("POST", INBOXES, INBOXES, large(64 * 1024), 413),
        case(
            "GET",
            INBOXES,
            format!("/v1/inboxes?address={inbox}@restante.example.com"),
            "",
            200,
        ),
        case("GET", INBOXES, "/v1/inboxes", "", 400),
        case("GET", INBOXES, "/v1/inboxes?address=x", "", 404),
        case("GET", INBOX, of(inbox, ""), "", 200),
        case("GET", INBOX, of(permanent, ""), "", 200),
        case("GET", INBOX, of("nobody", ""), "", 404),
        case("DELETE", INBOX, of(doomed, ""), "", 204),
        case("DELETE", INBOX, of(permanent, ""), "", 403),
        case("DELETE", INBOX, of("nobody", ""), "", 404),
        case("GET", MESSAGES, of(inbox, "/messages"), "", 200),
        case("GET", MESSAGES, of(inbox, "/messages?before=x"), "", 400),
        case("GET", MESSAGES, of("nobody", "/messages"), "", 404),
        case(
            "POST",
            MESSAGES,
            of(inbox, "/messages"),
            send("a@example.com"),
            202,
        ),
        case(
            "POST",
            MESSAGES,
            of(inbox, "/messages"),
            send("nobody@restante.example.com"),
            404,
        ),
        case("POST", MESSAGES, of(inbox, "/messages"), "{}", 400),
        case(
            "POST",
            MESSAGES,
            of(inbox, "/messages"),
            large(10 * 1024 * 1024),
            413,
        ),
        case("GET", WAIT, of(inbox, "/messages/wait"), "", 200),
        case("GET", WAIT, of(inbox, "/messages/wait?after=x"), "", 400),
        case(
            "GET",
            WAIT,
            of(inbox, "/messages/wait?timeout=0&subject=x"),
            "",
            404,
        ),
        case("GET", MESSAGE, format!("/v1/messages/{message}"), "", 200),
        case("GET", MESSAGE, "/v1/messages/x", "", 404),
        case("DELETE", MESSAGE, of_message(doomed_message, ""), "", 204),
        case("DELETE", MESSAGE, of_message(doomed_message, ""), "", 404),
        case("GET", RAW, of_message(message, "/raw"), "", 200),
        case("GET", RAW, of_message("x", "/raw"), "", 404),
        case("GET", DETAILS, of_message(message, "/details"), "", 200),
        case(
            "GET",
            DETAILS,
            of_message(doomed_message, "/details"),
            "",
            404,
        ),
        case("GET", CHECKS, of_message(message, "/checks"), "", 200),
        case(
            "GET",
            CHECKS,
            of_message(doomed_message, "/checks"),
            "",
            404,
        ),
        case(
            "POST",
            FORWARD,
            of_message(message, "/forward"),
            r#"{"to": "me@company.example"}"#,
            202,
        ),
        case(
            "POST",
            FORWARD,
            of_message(message, "/forward"),
            r#"{"to": "x"}"#,
            400,
        ),
        case(
            "POST",
            FORWARD,
            of_message(message, "/forward"),
            large(10 * 1024 * 1024),
            413,
        ),
        case(
            "POST",
            FORWARD,
            of_message(doomed_message, "/forward"),
            r#"{"to": "me@company.example"}"#,
            404,
        ),
        case(
            "GET",
            ATTACHMENT,
            of_message(message, "/attachments/0"),
            "",
            200,
        ),
        case(
            "GET",
            ATTACHMENT,
            of_message(message, "/attachments/1"),
            "",
            404,
        ),
        case("GET", PAGE, of_message(message, "/page"), "", 200),
        case("GET", PAGE, of_message("x", "/page"), "", 404),
        case("GET", OUTGOING, format!("/v1/outgoing/{outgoing}"), "", 200),
        case("GET", OUTGOING, format!("/v1/outgoing/{message}"), "", 404),
        case("GET", PROJECT_INBOXES, PROJECT_INBOXES, "", 200),
        case(
            "GET",
            PROJECT_INBOXES,
            "/v1/project/inboxes?limit=1001",
            "",
            400,
        ),
        case("GET", PROJECT_MESSAGES, PROJECT_MESSAGES, "", 200),
        case(
            "GET",
            PROJECT_MESSAGES,
            "/v1/project/messages?before=x",
            "",
            400,
        ),
        case(
            "GET",
            EXPLAIN,
            of(inbox, "/explain?subject=x&has=otp"),
            "",
            200,
        ),
        case("GET", EXPLAIN, of(doomed, "/explain"), "", 200),
        case("GET", EXPLAIN, of(inbox, "/explain?has=x"), "", 400),
        case("GET", EXPLAIN, of("nobody", "/explain"), "", 404),
        case("GET", EVENTS, of(inbox, "/events"), "", 200),
        case("GET", EVENTS, of(doomed, "/events?after=0."), "", 200),
        case("GET", EVENTS, of(inbox, "/events?after=x"), "", 400),
        case("GET", EVENTS, of("nobody", "/events"), "", 404),
        case(
            "PUT",
            FAULTS,
            of(inbox, "/faults"),
            crate::faults::every_fault(),
            200,
        ),
        case("PUT", FAULTS, of(inbox, "/faults"), "{}", 400),
        case("PUT", FAULTS, of("nobody", "/faults"), "{}", 404),
        case("PUT", FAULTS, of(inbox, "/faults"), large(64 * 1024), 413),
        case("GET", FAULTS, of(inbox, "/faults"), "", 200),
        case("GET", FAULTS, of("nobody", "/faults"), "", 404),
        case("DELETE", FAULTS, of(inbox, "/faults"), "", 204),
        case("DELETE", FAULTS, of("nobody", "/faults"), "", 404),
    ]
}

fn assert_documented(document: &Value, case: &Case, answer: &Answer) {
    let operation = &document["paths"][case.path][case.method.to_lowercase()];
    let documented = resolve(document, &operation["responses"][answer.status.to_string()]);
    for (name, header) in documented["headers"].as_object().unwrap() {
        let value = answer
            .headers
            .get(name)
            .unwrap_or_else(|| panic!("{name} is missing"));
        let schema = &resolve(document, header)["schema"];
        assert_valid(document, schema, &Value::from(value.to_str().unwrap()));
    }
    match documented.get("content") {
        Some(content) if content.get("application/json").is_some() => {
            assert_valid(
                document,
                &content["application/json"]["schema"],
                &answer.json(),
            );
        }
        Some(_) => {}
        None => assert_eq!(answer.body, ""),
    }
}

#[testkit::each_engine]
async fn answers_fit_the_schemas_of_the_contract(engine: Engine) {
    let api = Harness::on(engine).await;
    let document = document();
    let world = world(&api).await;
    let mut provoked = BTreeSet::new();
    for case in cases(&world) {
        let answer = api.call(case.method, &case.call, case.body.clone()).await;
        assert_eq!(
            answer.status, case.status,
            "{} {}: {answer:.200?}",
            case.method, case.call
        );
        assert_documented(&document, &case, &answer);
        provoked.insert(format!("{} {} {}", case.method, case.path, case.status));
        let without_key = Request::builder()
            .method(case.method)
            .uri(&case.call)
            .body(Body::empty())
            .unwrap();
        let without_key = api.send(without_key).await;
        if without_key.status == 401 {
            assert_documented(&document, &case, &without_key);
            provoked.insert(format!("{} {} 401", case.method, case.path));
        }
    }
    assert_eq!(left_out(&document, &provoked), Vec::<String>::new());
}

/// The documented answers that no case produces, except those that need time, load or a failure.
/// Other tests check those.
fn left_out(document: &Value, provoked: &BTreeSet<String>) -> Vec<String> {
    let mut left_out = Vec::new();
    for operation in operations(document) {
        let (method, path) = operation.split_once(' ').unwrap();
        let responses = document["paths"][path][method.to_lowercase()]["responses"]
            .as_object()
            .unwrap();
        for status in responses.keys() {
            // The stream does not end.
            let elsewhere = ["408", "429", "500", "503"].contains(&status.as_str())
                || path.starts_with("/llm")
                || path == "/v1/project/changes";
            let answer = format!("{operation} {status}");
            if !elsewhere && !provoked.contains(&answer) {
                left_out.push(answer);
            }
        }
    }
    left_out
}
