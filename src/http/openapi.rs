//! `/openapi.json`: the contract as OpenAPI 3.1, with this installation's address and limits filled
//! in.
//!
//! [`document`] is generated from the handlers and the types of the API. It is published as
//! `docs/openapi.json`, which a test compares with it.

use std::sync::Arc;

use aide::axum::ApiRouter;
use aide::axum::routing::get_with;
use aide::generate::in_context;
use aide::openapi::{
    ApiKeyLocation, Info, License, OpenApi, PathItem, ReferenceOr, SecurityRequirement,
    SecurityScheme, Server, Tag,
};
use aide::transform::{TransformOperation, TransformPathItem};
use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::app::App;
use super::describe::{Describe, complete, components};
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
pub(super) fn routes() -> ApiRouter<Arc<App>> {
    ApiRouter::new()
        .nest("/v1", api::router())
        .merge(api::health_alias().with_path_items(without_alias))
        .merge(guide::router().with_path_items(without_alias))
        .merge(router().with_path_items(without_alias))
}

fn router() -> ApiRouter<Arc<App>> {
    ApiRouter::new().api_route("/openapi.json", get_with(show, describe))
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

fn describe(operation: TransformOperation<'_>) -> TransformOperation<'_> {
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

/// These paths exist without the alias prefix only.
fn without_alias(mut path: TransformPathItem<'_>) -> TransformPathItem<'_> {
    let description = "Without the alias prefix /api, which this path does not have.";
    path.inner_mut().servers = vec![server("{base_url}", description)];
    path
}

/// The document, with the placeholders of an installation.
///
/// # Errors
/// If it cannot be written as JSON.
pub fn document() -> serde_json::Result<String> {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let settings =
        settings.with(|settings| settings.definitions_path = "#/components/schemas/".into());
    in_context(|context| context.schema = settings.into_generator());
    let mut document = OpenApi {
        info: info(),
        servers: vec![
            server("{base_url}", "This installation."),
            server("{base_url}/api", "The same under the alias prefix /api/v1."),
        ],
        security: ["bearer", "apiKey"]
            .map(|scheme| [(scheme.to_owned(), Vec::new())].into_iter().collect())
            .into(),
        tags: tags(),
        components: Some(components()),
        ..OpenApi::default()
    };
    if let Some(components) = &mut document.components {
        components.security_schemes = security_schemes()
            .map(|(name, scheme)| (name, ReferenceOr::Item(scheme)))
            .into();
    }
    let _: axum::Router<Arc<App>> = routes().finish_api(&mut document);
    for path in document
        .paths
        .iter_mut()
        .flat_map(|paths| paths.paths.values_mut())
        .filter_map(ReferenceOr::as_item_mut)
    {
        let PathItem {
            get,
            put,
            post,
            delete,
            ..
        } = path;
        [get, put, post, delete]
            .into_iter()
            .flatten()
            .for_each(complete);
    }
    if let Some(components) = &mut document.components {
        components.schemas.sort_unstable_keys();
    }
    let mut document = serde_json::to_value(&document)?;
    tidy(&mut document);
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

/// Removes what repeats the defaults of OpenAPI, the formats of numbers that only Rust knows, and
/// the line breaks of doc comments.
fn tidy(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            let is_number = fields
                .get("type")
                .is_some_and(|kind| kind == "integer" || kind == "number");
            fields.retain(|name, field| match name.as_str() {
                "format" => !is_number,
                "style" => !field.is_string(),
                _ => true,
            });
            if let Some(Value::String(description)) = fields.get_mut("description") {
                *description = unwrapped(description);
            }
            if fields.get("security") == Some(&serde_json::json!([SecurityRequirement::default()]))
            {
                fields.insert("security".to_owned(), Value::Array(Vec::new()));
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

fn info() -> Info {
    Info {
        title: "Restante".to_owned(),
        summary: Some("Temporary inboxes for automated end-to-end tests.".to_owned()),
        description: Some(DESCRIPTION.to_owned()),
        license: Some(License {
            name: "Apache-2.0 OR MIT".to_owned(),
            ..License::default()
        }),
        version: CONTRACT_VERSION.to_owned(),
        ..Info::default()
    }
}

fn server(url: &str, description: &str) -> Server {
    Server {
        url: url.to_owned(),
        description: Some(description.to_owned()),
        ..Server::default()
    }
}

fn tags() -> Vec<Tag> {
    let tags = [
        ("inboxes", "Addresses at which tests receive mail."),
        ("messages", "Messages in inboxes, and sending from inboxes."),
        ("project", "The inboxes and messages of the whole project."),
        ("health", "Whether the service is healthy."),
        ("documents", "The published contract. Public."),
    ];
    let tag = |(name, description): (&str, &str)| Tag {
        name: name.to_owned(),
        description: Some(description.to_owned()),
        ..Tag::default()
    };
    tags.map(tag).into()
}

fn security_schemes() -> [(String, SecurityScheme); 2] {
    let bearer = "The API key of a project, as `Authorization: Bearer <API_KEY>`. If both headers are present, this \
                  one wins.";
    let bearer = SecurityScheme::Http {
        scheme: "bearer".to_owned(),
        bearer_format: None,
        description: Some(bearer.to_owned()),
        extensions: Default::default(),
    };
    let api_key = SecurityScheme::ApiKey {
        location: ApiKeyLocation::Header,
        name: "X-Api-Key".to_owned(),
        description: Some("The same key in the header X-Api-Key.".to_owned()),
        extensions: Default::default(),
    };
    [
        ("bearer".to_owned(), bearer),
        ("apiKey".to_owned(), api_key),
    ]
}
