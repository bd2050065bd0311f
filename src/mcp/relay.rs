//! Passes calls on to a server's `/mcp`, for a client that uses MCP over standard input and output.
//!
//! Only calls are passed on. The list of tools and the rest of the protocol are handled here. If
//! the server does not run yet, or rejects the key, the call therefore fails with an error that an
//! agent can read.

use std::error::Error;
use std::time::Duration;

use axum::body::Bytes;
use axum::http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use axum::http::uri::InvalidUri;
use axum::http::{HeaderName, HeaderValue, Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::timeout;
use tokio_rustls::rustls;

use super::PATH;
use super::message::JsonObject;
use super::protocol::{Backend, call_result};
use crate::model::ApiKey;

/// How long connecting may take.
const CONNECT_WITHIN: Duration = Duration::from_secs(10);
/// Longer than the longest wait.
const ANSWER_WITHIN: Duration = Duration::from_secs(150);
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
/// A revision whose calls need nothing except their arguments.
const PROTOCOL: &str = "2025-11-25";
/// An attachment of 1 MiB as base64, as text and as data.
const MAX_RESPONSE_BYTES: usize = 16 * 1024 * 1024;
/// The characters that an error repeats of an answer that is not the server's, such as a proxy's
/// page.
const TEXT_SHOWN: usize = 300;

/// The server of the relay.
#[derive(Clone, Debug)]
pub struct ServerRelay {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    url: String,
    endpoint: Uri,
    authorization: HeaderValue,
}

/// Why a relay to a server cannot be created.
#[derive(Debug, thiserror::Error)]
pub enum RelayError {
    /// The address cannot be used.
    #[error("it is not the address of a server")]
    Address(#[from] InvalidUri),
    /// TLS cannot be used.
    #[error("cannot use TLS")]
    Tls(#[from] rustls::Error),
}

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
struct Reply {
    result: Option<Value>,
    error: Option<ReplyError>,
}

#[derive(Deserialize)]
struct ReplyError {
    message: String,
}

impl ServerRelay {
    /// A relay to the server at `url`, without a slash at its end.
    ///
    /// # Errors
    /// [`RelayError`].
    pub fn new(url: &str, key: &ApiKey) -> Result<Self, RelayError> {
        let mut http = HttpConnector::new();
        http.enforce_http(false);
        http.set_nodelay(true);
        http.set_connect_timeout(Some(CONNECT_WITHIN));
        let connector = HttpsConnectorBuilder::new()
            .with_provider_and_webpki_roots(rustls::crypto::ring::default_provider())?
            .https_or_http()
            .enable_http1()
            .wrap_connector(http);
        let client = Client::builder(TokioExecutor::new()).build(connector);
        let endpoint = format!("{url}{PATH}").parse()?;
        let mut authorization = HeaderValue::from_str(&format!("Bearer {}", key.as_str()))
            .unwrap_or_else(|_| HeaderValue::from_static(""));
        authorization.set_sensitive(true);
        Ok(Self {
            client,
            url: url.to_owned(),
            endpoint,
            authorization,
        })
    }

    async fn pass_on(&self, tool: &str, arguments: JsonObject) -> Result<Value, CallError> {
        let params = json!({"name": tool, "arguments": arguments});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
            .to_string();
        let mut request = Request::post(self.endpoint.clone())
            .body(Full::from(body))
            .expect("the URL was parsed before");
        let headers = request.headers_mut();
        headers.insert(AUTHORIZATION, self.authorization.clone());
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(
            ACCEPT,
            HeaderValue::from_static("application/json, text/event-stream"),
        );
        headers.insert(VERSION, HeaderValue::from_static(PROTOCOL));
        let answering = async {
            let answer = self.client.request(request).await;
            self.read(answer.map_err(|error| self.unreachable(&error))?)
                .await
        };
        timeout(ANSWER_WITHIN, answering).await.unwrap_or_else(|_| {
            Err(CallError::Silent {
                url: self.url.clone(),
            })
        })
    }

    async fn read(&self, answer: Response<Incoming>) -> Result<Value, CallError> {
        let url = self.url.clone();
        let status = answer.status();
        let body = Limited::new(answer.into_body(), MAX_RESPONSE_BYTES)
            .collect()
            .await;
        let body = body.map_err(|error| self.unreachable(&*error))?.to_bytes();
        match (status.as_u16(), serde_json::from_slice(&body)) {
            (401, _) => Err(CallError::Unauthorized(url)),
            (404 | 405, _) => Err(CallError::Off(url)),
            (
                _,
                Ok(Reply {
                    result: Some(result),
                    ..
                }),
            ) => Ok(result),
            (
                _,
                Ok(Reply {
                    error: Some(ReplyError { message }),
                    ..
                }),
            ) => Err(CallError::Protocol { url, message }),
            (200, _) => Err(CallError::Off(url)),
            _ => {
                let text = String::from_utf8_lossy(&body)
                    .chars()
                    .take(TEXT_SHOWN)
                    .collect();
                Err(CallError::Refused { url, status, text })
            }
        }
    }

    fn unreachable(&self, error: &(dyn Error + 'static)) -> CallError {
        let mut root = error;
        while let Some(cause) = root.source() {
            root = cause;
        }
        CallError::Unreachable {
            url: self.url.clone(),
            cause: root.to_string(),
        }
    }
}

impl Backend for ServerRelay {
    async fn call(&self, tool: &str, arguments: JsonObject) -> Value {
        let result = self.pass_on(tool, arguments).await;
        result.unwrap_or_else(|error| call_result(&format!("{error}."), None))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    /// The error of a call to a server that sends `answer` and then keeps the connection open.
    async fn refused_by(answer: String) -> CallError {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let relay = ServerRelay::new(
            &format!("http://{}", listener.local_addr().unwrap()),
            &ApiKey::generate(),
        )
        .unwrap();
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
