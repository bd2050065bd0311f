//! Passes calls on to a server's `/mcp`, for a client that uses MCP over standard input and output.
//!
//! Only calls are passed on. The list of tools and the rest of the protocol are handled here. If
//! the server does not run yet, or rejects the key, the call therefore fails with an error that an
//! agent can read.

use std::time::Duration;

use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::http::{Method, Response, StatusCode};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::transport::{NoAnswer, Transport, no_answer};
use crate::mcp::{self, Backend, JsonObject};

/// Longer than the longest wait.
const ANSWER_WITHIN: Duration = Duration::from_secs(150);
/// A revision whose calls need nothing except their arguments.
const PROTOCOL: &str = "2025-11-25";
/// An attachment of 1 MiB as base64, as text and as data.
const MAX_RESPONSE_BYTES: usize = 16 * 1024 * 1024;
/// The characters that an error repeats of an answer that is not the server's, such as a proxy's
/// page.
const TEXT_SHOWN: usize = 300;

/// The server of the relay.
pub(super) struct Relay(pub(super) Transport);

/// Why a call has no result.
#[derive(Debug, thiserror::Error)]
enum CallError {
    #[error(
        "cannot reach the server at {url}: {cause}. Is `restante serve` running there? If it is elsewhere, set \
         RESTANTE_URL"
    )]
    Unreachable { url: String, cause: String },
    #[error(
        "unauthorized: {0} rejected the API key. Set RESTANTE_API_KEY to the key of a project on that server"
    )]
    Unauthorized(String),
    #[error(
        "{0} does not answer MCP: it is not a Restante server of this version, or it runs with --mcp off"
    )]
    Off(String),
    #[error("{url} answered {status}: {text}{}", remedy(*.status, .url))]
    Refused {
        url: String,
        status: StatusCode,
        text: String,
    },
    #[error("{url} rejected the call: {message}")]
    Protocol { url: String, message: String },
    #[error("{url} did not answer within {} s. Try again", ANSWER_WITHIN.as_secs())]
    Silent { url: String },
}

/// What to do about a status that is no answer to the call; empty if that is not known.
fn remedy(status: StatusCode, url: &str) -> String {
    match status.as_u16() {
        421 => format!(
            ". If that is not the server's own name, set RESTANTE_URL to its base URL, or start it with --base-url \
             {url}"
        ),
        502..=504 => ". Try again in a few seconds".to_owned(),
        _ => String::new(),
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Reply {
    Result { result: Value },
    Error { error: ReplyError },
}

#[derive(Deserialize)]
struct ReplyError {
    message: String,
}

impl Relay {
    async fn pass_on(&self, tool: &str, arguments: JsonObject) -> Result<Value, CallError> {
        let params = json!({"name": tool, "arguments": arguments});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let request = self
            .0
            .request(Method::POST, mcp::PATH)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, text/event-stream")
            .header("mcp-protocol-version", PROTOCOL);
        let answering = async {
            let answer = self.0.send(request, body.to_string()).await;
            self.read(answer.map_err(|error| self.unreachable(&error))?)
                .await
        };
        timeout(ANSWER_WITHIN, answering).await.unwrap_or_else(|_| {
            Err(CallError::Silent {
                url: self.0.url().to_owned(),
            })
        })
    }

    async fn read(&self, answer: Response<Incoming>) -> Result<Value, CallError> {
        let url = self.0.url().to_owned();
        let status = answer.status();
        let body = Limited::new(answer.into_body(), MAX_RESPONSE_BYTES);
        let body = body.collect().await;
        let body = body.map_err(|error| self.unreachable(&no_answer(&*error)))?;
        let body = body.to_bytes();
        let reply = serde_json::from_slice(&body);
        match (status.as_u16(), reply) {
            (401, _) => Err(CallError::Unauthorized(url)),
            (404 | 405, _) => Err(CallError::Off(url)),
            (_, Ok(Reply::Result { result })) => Ok(result),
            (_, Ok(Reply::Error { error })) => Err(CallError::Protocol {
                url,
                message: error.message,
            }),
            (200, _) => Err(CallError::Off(url)),
            _ => {
                let text = String::from_utf8_lossy(&body);
                let text = text.chars().take(TEXT_SHOWN).collect();
                Err(CallError::Refused { url, status, text })
            }
        }
    }

    fn unreachable(&self, cause: &NoAnswer) -> CallError {
        CallError::Unreachable {
            url: self.0.url().to_owned(),
            cause: cause.to_string(),
        }
    }
}

impl Backend for Relay {
    async fn call(&self, tool: &str, arguments: JsonObject) -> Value {
        let result = self.pass_on(tool, arguments).await;
        result.unwrap_or_else(|error| mcp::call_result(&format!("{error}."), None))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;
    use crate::model::ApiKey;

    /// The error of a call to a server that sends `answer` and then keeps the connection open.
    async fn refused_by(answer: String) -> CallError {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let relay = Relay(Transport::new(&url, Some(&ApiKey::generate())));
        let answering = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            assert_ne!(stream.read(&mut [0; 4096]).await.unwrap(), 0);
            stream.write_all(answer.as_bytes()).await.unwrap();
            std::future::pending::<CallError>().await
        };
        tokio::select! {
            result = relay.pass_on("setup", JsonObject::new()) => result.unwrap_err(),
            never = answering => never,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_response_that_is_missing_or_breaks_off_ends_the_call() {
        for answer in ["", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"] {
            let error = refused_by(answer.to_owned()).await;
            assert!(matches!(error, CallError::Silent { .. }), "{error}");
        }
    }

    #[test]
    fn only_a_status_with_a_known_remedy_has_one() {
        let error = |status| {
            let status = StatusCode::from_u16(status).unwrap();
            CallError::Refused {
                url: "http://mail".to_owned(),
                status,
                text: "no".to_owned(),
            }
            .to_string()
        };
        assert!(
            error(421).ends_with("or start it with --base-url http://mail"),
            "{}",
            error(421)
        );
        for status in [502, 503, 504] {
            assert!(
                error(status).ends_with(": no. Try again in a few seconds"),
                "{}",
                error(status)
            );
        }
        for status in [400, 413, 429, 500] {
            assert!(error(status).ends_with(": no"), "{}", error(status));
        }
    }

    #[tokio::test]
    async fn the_page_of_a_proxy_is_cut() {
        let length = 100_000;
        let page = format!(
            "HTTP/1.1 502 Bad\r\nContent-Length: {length}\r\n\r\n{}",
            "x".repeat(length)
        );
        let error = refused_by(page).await;
        assert!(
            matches!(&error, CallError::Refused { text, .. } if text.len() == TEXT_SHOWN),
            "{error}"
        );
    }
}
