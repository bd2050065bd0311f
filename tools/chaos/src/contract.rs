//! The statuses that the server's own document lists for each operation.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::http::{Http, Request};

pub(crate) struct Contract(HashMap<String, HashSet<u16>>);

impl Contract {
    /// Reads `/openapi.json`.
    pub(crate) fn read(http: &Http, url: &str) -> Self {
        let answer = http
            .send(url, "", &Request::get("/openapi.json", "/openapi.json"))
            .expect("the server runs");
        let mut operations = HashMap::new();
        for (path, methods) in answer.body["paths"]
            .as_object()
            .expect("an OpenAPI document")
        {
            for (method, operation) in methods.as_object().expect("a path item") {
                let Some(responses) = operation["responses"].as_object() else {
                    continue;
                };
                let statuses = responses
                    .keys()
                    .filter_map(|status| status.parse().ok())
                    .collect();
                operations.insert(name(method, path), statuses);
            }
        }
        Self(operations)
    }

    /// Whether the document lists this status, or does not describe the operation at all.
    pub(crate) fn allows(&self, method: &str, template: &str, status: u16) -> bool {
        self.0
            .get(&name(method, template))
            .is_none_or(|statuses| statuses.contains(&status))
    }
}

fn name(method: &str, path: &str) -> String {
    format!("{} {path}", method.to_ascii_uppercase())
}

/// The text of an error.
pub(crate) fn error(body: &Value) -> &str {
    body["error"].as_str().unwrap_or_default()
}
