//! HTTP requests, and their answers as JSON.

use std::time::Duration;

use serde_json::Value;

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
pub(crate) struct Http(ureq::Agent);

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
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(limit));
        Self(config.build().into())
    }

    /// Sends a request; an error if there is no complete answer.
    pub(crate) fn send(
        &self,
        url: &str,
        key: &str,
        request: &Request,
    ) -> Result<Answer, ureq::Error> {
        let uri = format!("{url}{}", request.path);
        let built = ureq::http::Request::builder()
            .method(request.method)
            .uri(uri);
        let built = built
            .header("x-api-key", key)
            .header("x-postmark-server-token", key);
        let built = built.header("accept", "application/json, text/event-stream");
        // A text is a form.
        let is_form = matches!(request.body, Some(Value::String(_)));
        let content_type = if is_form {
            "application/x-www-form-urlencoded"
        } else {
            "application/json"
        };
        let mut built = built.header("content-type", content_type);
        if !request.path.starts_with("/v1") {
            built = built.header("authorization", format!("Bearer {key}"));
        }
        let mut response = match &request.body {
            Some(Value::String(form)) => self
                .0
                .run(built.body(form.clone()).expect("a valid request"))?,
            Some(body) => self
                .0
                .run(built.body(body.to_string()).expect("a valid request"))?,
            None => self.0.run(built.body(()).expect("a valid request"))?,
        };
        let status = response.status().as_u16();
        let body = response
            .body_mut()
            .with_config()
            .limit(u64::MAX)
            .read_to_string()?;
        Ok(Answer {
            status,
            body: serde_json::from_str(&body).unwrap_or(Value::Null),
        })
    }
}
