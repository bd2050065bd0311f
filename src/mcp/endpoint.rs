//! The streamable HTTP transport without sessions: each request is complete, so any node can answer
//! it.
//!
//! The response of a call is one JSON document. A client that closes its request ends the call, and
//! its wait frees its slot. A `notifications/cancelled` of an older protocol does the same if it
//! reaches the node that runs the call.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode};
use http_body_util::Full;
use rmcp::model::RequestId;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde::Deserialize;
use uuid::Uuid;

use super::protocol::Protocol;
use super::running::{CallId, Running};
use super::tools::Tools;
use crate::json;
use crate::service::Caller;

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
/// Longer session ids were not issued by this server.
const SESSION_BYTES: usize = 64;

/// Maximum number of values of a large body.
const MAX_VALUES: usize = 10_000;

/// The endpoint. Cheap to clone.
#[derive(Clone)]
pub struct Endpoint {
    http: StreamableHttpService<Protocol<Tools>, NeverSessionManager>,
    running: Running,
}

/// The fields of a message that are read before rmcp reads it.
#[derive(Deserialize)]
struct Envelope {
    id: Option<RequestId>,
    method: Option<String>,
    #[serde(default)]
    params: Params,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Params {
    #[serde(rename = "requestId")]
    request_id: Option<RequestId>,
    /// The tool of a call.
    name: Option<String>,
}

impl Endpoint {
    /// Creates the endpoint for these tools, with bodies of at most this many bytes.
    #[must_use]
    pub fn new(tools: Tools, largest_body: usize) -> Self {
        let protocol = Protocol::new(tools);
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            .with_json_response(true)
            .with_max_request_body_bytes(largest_body)
            // The HTTP layer has checked the host and the origin against the base URL.
            .disable_allowed_hosts()
            .disable_allowed_origins();
        let http = StreamableHttpService::new(move || Ok(protocol.clone()), Arc::default(), config);
        Self {
            http,
            running: Running::default(),
        }
    }

    /// Whether a body may be larger than others: a message that is sent. Many values would take
    /// many times their size.
    #[must_use]
    pub fn takes_large(body: &[u8]) -> bool {
        let tool = serde_json::from_slice::<Envelope>(body)
            .ok()
            .and_then(|envelope| envelope.params.name);
        let counted = json::count(body);
        // There are at least as many as values.
        let values = counted.brackets + counted.commas;
        tool.as_deref() == Some("send_message") && values <= MAX_VALUES
    }

    /// Answers a request of a caller whose key is valid.
    pub async fn handle(&self, caller: Caller, mut request: Request<Bytes>) -> Response<Body> {
        let envelope: Option<Envelope> = serde_json::from_slice(request.body()).ok();
        let session = session(request.headers());
        let call = |request| {
            session.clone().map(|session| CallId {
                key: caller.key,
                session,
                request,
            })
        };
        let method = envelope
            .as_ref()
            .and_then(|envelope| envelope.method.as_deref());
        let is_initialize = method == Some("initialize");
        let cancelled = envelope
            .as_ref()
            .filter(|_| method == Some("notifications/cancelled"));
        if let Some(id) = cancelled
            .and_then(|envelope| envelope.params.request_id.clone())
            .and_then(call)
        {
            self.running.cancel(&id);
        }
        let id = envelope.and_then(|envelope| envelope.id).and_then(call);
        request.extensions_mut().insert(caller);
        // rmcp has no use for the key, and may log the headers.
        request.headers_mut().remove(AUTHORIZATION);
        request.headers_mut().remove("x-api-key");
        let answering = self.http.handle(request.map(Full::new));
        let answer = match id.map(|id| self.running.start(id)) {
            Some(running) => running.run(answering).await,
            None => Some(answering.await),
        };
        // No client waits for the response of a cancelled call.
        let Some(answer) = answer else {
            return status_alone(StatusCode::ACCEPTED);
        };
        let mut answer = answer.map(Body::new);
        if is_initialize && answer.status().is_success() {
            let session = HeaderValue::from_str(&Uuid::now_v7().to_string());
            answer
                .headers_mut()
                .extend(session.ok().map(|session| (SESSION, session)));
        }
        answer
    }
}

fn session(headers: &HeaderMap) -> Option<String> {
    let session = headers.get(SESSION)?.to_str().ok()?;
    (session.len() <= SESSION_BYTES).then(|| session.to_owned())
}

fn status_alone(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}
