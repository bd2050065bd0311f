//! `/openapi.json`: the contract as OpenAPI 3.1, with this installation's address and limits filled
//! in.
//!
//! [`document`] is generated from the handlers and the types of the API. It is published as
//! `docs/openapi.json`, which a test compares with it.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use super::app::App;
use super::describe::{ApiRouter, Operation, add_components};
use super::error::Error;
use super::response::JSON;
use super::{api, guide};

const DOCUMENT: &str = include_str!("../../docs/openapi.json");
const CONTRACT_VERSION: &str = "0.1.0";
const DESCRIPTION: &str = "\
A test creates an inbox, the application under test sends mail to its address, and the test sends one request that \
returns the parsed message as soon as it arrives: text, html, links and one-time code.

/api/v1 is an alias of /v1: every path can be used with either prefix. /health is an alias of /v1/health. The guide \
for people and language models is at /llm.

Every error is JSON of the shape {\"error\": string}. An unknown path returns 404 and `not found`; an unknown method \
of a path returns 405 and `method not allowed`. Every response carries X-Request-Id.

Endpoints and parameters marked as an extension are not part of contract 0.1.0, and may change before the rest does.";

/// The routes of the API and of its documents.
pub(super) fn routes() -> Router<Arc<App>> {
    Router::new()
        .nest("/v1", api::router().router)
        .nest("/api/v1", api::router().router)
        .merge(api::health_alias().router)
        .merge(guide::router().router)
        .merge(router().router)
}

fn router() -> ApiRouter {
    ApiRouter::default().get("/openapi.json", show, describe)
}

async fn show(State(app): State<Arc<App>>, headers: HeaderMap) -> Result<Response, Error> {
    let quoted = Value::from(app.base_url.for_client(&headers)).to_string();
    let document = app
        .filled_in(DOCUMENT)
        .replace("{base_url}", quoted.trim_matches('"'));
    Ok((
        [(CONTENT_TYPE, JSON), (CACHE_CONTROL, "no-cache")],
        document,
    )
        .into_response())
}

fn describe(operation: Operation<'_>) -> Operation<'_> {
    operation
        .named(
            "openapi",
            "documents",
            "This document",
            "An extension: the contract as OpenAPI 3.1.",
        )
        .public()
        .returns_document("This document.", &["openapi", "info", "paths"])
}

/// The document, with the placeholders of an installation.
///
/// # Errors
/// If it cannot be written as JSON.
pub fn document() -> serde_json::Result<String> {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let settings =
        settings.with(|settings| settings.definitions_path = "#/components/schemas/".into());
    let mut schemas = settings.into_generator();
    let mut paths = api::router().paths("/v1", &mut schemas);
    for router in [api::health_alias(), guide::router(), router()] {
        for (path, mut item) in router.paths("", &mut schemas) {
            // It exists without the alias prefix only.
            let description = "Without the alias prefix /api, which this path does not have.";
            item["servers"] = json!([server("{base_url}", description)]);
            paths.insert(path, item);
        }
    }
    let mut components = json!({"securitySchemes": security_schemes()});
    add_components(&mut components, &mut schemas);
    let mut definitions = schemas.take_definitions(true);
    definitions.sort_keys();
    components["schemas"] = definitions.into();
    let mut document = json!({
        "openapi": "3.1.0",
        "info": info(),
        "servers": [
            server("{base_url}", "This installation."),
            server("{base_url}/api", "The same under the alias prefix /api/v1."),
        ],
        "paths": paths,
        "components": components,
        "security": [{"bearer": []}, {"apiKey": []}],
        "tags": tags(),
    });
    tidy(&mut document);
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

/// Removes the formats of numbers that only Rust knows, and the line breaks of doc comments.
fn tidy(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            let is_number = fields
                .get("type")
                .is_some_and(|kind| kind == "integer" || kind == "number");
            fields.retain(|name, _| name != "format" || !is_number);
            if let Some(Value::String(description)) = fields.get_mut("description") {
                *description = unwrapped(description);
            }
            fields.values_mut().for_each(tidy);
        }
        Value::Array(items) => items.iter_mut().for_each(tidy),
        _ => {}
    }
}

/// The paragraphs of a text, each on one line.
fn unwrapped(text: &str) -> String {
    text.split("\n\n")
        .map(|paragraph| paragraph.replace('\n', " "))
        .collect::<Vec<_>>()
        .join("\n\n")
}

fn info() -> Value {
    json!({
        "title": "Restante",
        "summary": "Temporary inboxes for automated end-to-end tests.",
        "description": DESCRIPTION,
        "license": {"name": "Apache-2.0 OR MIT"},
        "version": CONTRACT_VERSION,
    })
}

fn server(url: &str, description: &str) -> Value {
    json!({"url": url, "description": description})
}

fn tags() -> Value {
    json!([
        {"name": "inboxes", "description": "Addresses at which tests receive mail."},
        {"name": "messages", "description": "Messages in inboxes, and sending from inboxes."},
        {"name": "project", "description": "The inboxes and messages of the whole project."},
        {"name": "health", "description": "Whether the service is healthy."},
        {"name": "documents", "description": "The published contract. Public."},
    ])
}

fn security_schemes() -> Value {
    let bearer = "The API key of a project, as `Authorization: Bearer <API_KEY>`. If both headers are present, this \
                  one wins.";
    json!({
        "bearer": {"type": "http", "scheme": "bearer", "description": bearer},
        "apiKey": {
            "type": "apiKey",
            "in": "header",
            "name": "X-Api-Key",
            "description": "The same key in the header X-Api-Key.",
        },
    })
}
