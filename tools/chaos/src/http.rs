//! HTTP requests, and their answers as JSON.

use std::time::Duration;

use serde_json::Value;
use testkit::http::{Client, Error};

/// Longer than any answer takes: the longest wait, and a frozen node.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// A request; `template` is its path in the document of the API.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) method: &'static str,
    pub(crate) template: &'static str,
    pub(crate) path: String,
    pub(crate) body: Option<Value>,
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Value,
}

#[derive(Clone)]
pub(crate) struct Http {
    client: Client,
    limit: Duration,
}

impl Request {
    pub(crate) fn get(template: &'static str, path: impl Into<String>) -> Self {
        Self {
            method: "GET",
            template,
            path: path.into(),
            body: None,
        }
    }

    pub(crate) fn delete(template: &'static str, path: impl Into<String>) -> Self {
        Self {
            method: "DELETE",
            ..Self::get(template, path)
        }
    }

    pub(crate) fn post(template: &'static str, path: impl Into<String>, body: Value) -> Self {
        Self {
            method: "POST",
            body: Some(body),
            ..Self::get(template, path)
        }
    }

    pub(crate) fn put(template: &'static str, path: impl Into<String>, body: Value) -> Self {
        Self {
            method: "PUT",
            ..Self::post(template, path, body)
        }
    }
}

impl Http {
    pub(crate) fn new() -> Self {
        Self::within(LONG)
    }

    /// No answer takes longer than this.
    pub(crate) fn within(limit: Duration) -> Self {
        Self {
            client: Client::new(),
            limit,
        }
    }

    /// Sends a request; an error if there is no complete answer.
    pub(crate) fn send(&self, url: &str, key: &str, request: &Request) -> Result<Answer, Error> {
        let uri = format!("{url}{}", request.path);
        let mut call = self
            .client
            .call(request.method, uri)
            .within(self.limit)
            .any_status()
            .header("x-api-key", key)
            .header("x-postmark-server-token", key)
            .header("accept", "application/json, text/event-stream");
        if !request.path.starts_with("/v1") {
            call = call.header("authorization", format!("Bearer {key}"));
        }
        // A text is a form.
        let (content_type, body) = match &request.body {
            Some(Value::String(form)) => ("application/x-www-form-urlencoded", form.clone()),
            Some(body) => ("application/json", body.to_string()),
            None => ("application/json", String::new()),
        };
        let answer = call.header("content-type", content_type).send(body)?;
        Ok(Answer {
            status: answer.status().as_u16(),
            body: serde_json::from_str(answer.body()).unwrap_or(Value::Null),
        })
    }
}
